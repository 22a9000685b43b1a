"""Findings and states that a filter names: one that nothing knows is refused, for an empty answer would mislead."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any

from data.errors import BadRequest
from data.findings import FINDINGS
from data.queries.history.compiled import compiled
from data.queries.history.model import HistoryFilter
from data.queries.history.reading import Reading
from data.queries.history.relations import Tables
from data.slurm.job_states import JOB_STATES, TERMINAL_STATES

STATES = JOB_STATES | TERMINAL_STATES


def require_known_words(wanted: HistoryFilter, tables: Tables, reading: Reading) -> None:
    """Raise BadRequest for a finding or state that neither the product, nor Slurm, nor the history of the range has.

    History is looked through only for words that are not known without it."""
    jobs, usage = tables.jobs, tables.usage
    _require("finding", wanted.findings, FINDINGS, reading, lambda: jobs.select(word=jobs.findings.unnest()))
    _require("state", wanted.states, STATES, reading, lambda: _states(jobs).union(_states(usage)))


def _states(rows: Any) -> Any:
    return rows.select(word=rows.state)


def _require(
    name: str, words: Collection[str], known: Collection[str], reading: Reading, held: Callable[[], Any]
) -> None:
    if not set(words) - set(known):
        return
    text = compiled(held().distinct())
    names = {*known, *(row["word"] for row in reading.run(text.sql, text.tables).to_pylist() if row["word"])}
    for word in sorted(set(words) - names):
        near = get_close_matches(word, names, 3) or sorted(names)
        raise BadRequest(
            f"{name}={word[:60]} is not known, and nothing in the range has it", hint=f"Such as {', '.join(near)}."
        )
