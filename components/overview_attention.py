"""The Overview's list of what needs somebody: each kind of line with its mark and its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from components.attention import KEPT_ROWS, AttentionRow
from components.elements import SOURCE_NAMES, age, until
from components.policy_words import following_step
from data.attention import Attention, Severity
from data.model import ClusterSnapshot
from data.words import number
from policy.model import JobVerdict

_MARKS = {Severity.BAD: ("bad", "bad"), Severity.WARN: ("waste", "waste"), Severity.INFO: ("info", "info")}
_KIND_MARKS = {"node_drained": ("drained", "none"), "silent_node": ("none", "none")}
_TITLES = {
    "source_failing": "does not answer",
    "node_down": "down",
    "node_drained": "drained",
    "xid": "XID error",
    "hot": "hot",
    "idle_job": "idle GPUs",
    "silent_node": "no metrics",
    "no_host_joins": "hosts do not join",
    "gpu_count_differs": "GPU counts differ",
    "gpus_not_tracked": "GPUs not tracked",
    "mapping_disagrees": "mapping disagrees",
    "signals_disagree": "signals disagree",
    "unlisted_nodes": "nodes that Slurm does not list",
    "cache_fails": "cache fails",
}
_WHAT = {"node_down": "down", "node_drained": "drained", "idle_job": "idle", "silent_node": "unseen"}


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a row says apart from its kind: a word for the state, the rest of the sentence, how many GPUs are held."""

    word: str
    said: str
    held: int = 0


def attention_rows(
    found: Iterable[Attention],
    base: str = "/",
    at: str = "",
    *,
    low: Iterable[JobVerdict] = (),
    picture: ClusterSnapshot | None = None,
) -> Sequence[AttentionRow]:
    """Rows by GPUs affected, the most first; equal ones keep their order by severity. Each leads to its node, job or
    Health below `base`, at the same moment. Jobs that are `low` by a rule say so, with what comes next. With the
    `picture` that they are of, nothing is said twice."""
    judged = {one.job.display_id: one for one in low}
    others = [one for one in found if not (one.target_kind == "job" and one.target in judged)]
    about = {} if picture is None else _subjects(picture)
    told = [_row(one, about.get((one.kind, one.target)), base, at) for one in others]
    return sorted([_low_row(one, base) for one in judged.values()] + told, key=lambda row: -(row.amount or 0))


def _subjects(picture: ClusterSnapshot) -> Mapping[tuple[str, str], _Subject]:
    """By kind and target: nodes that take no work, and jobs."""
    held = Counter(job_id for gpu in picture.gpus for job_id in gpu.job_ids)
    jobs = {
        ("idle_job", one.display_id): _Subject("idle", one.user or "", held[one.job_id])
        for one in picture.jobs
        if one.display_id
    }
    nodes = {
        (kind, one.name): _Subject(one.state.display.lower(), one.reason or "no reason given")
        for one in picture.nodes
        for kind in ("node_down", "node_drained")
    }
    return {**nodes, **jobs}


def _low_row(one: JobVerdict, base: str) -> AttentionRow:
    verdict, job = one.verdict, one.job
    context: list[Any] = [verdict.sentence, *([f" User {job.user}."] if job.user else [])]
    if verdict.next_at is not None:
        is_due = verdict.next_at <= one.time
        when = ["with the next run"] if is_due else ["in ", until(verdict.next_at, one.time)]
        context += [f" {following_step(verdict)} ", *when, "."]
    href = f"{base}policy?{urlencode({'job': job.display_id})}"
    gpus = verdict.devices_low or one.gpus
    what = "GPU low" if gpus == 1 else "GPUs low"
    return AttentionRow(
        ("waste", "waste"), f"Job {job.display_id}: low by {verdict.rule}", tuple(context), gpus, what, href
    )


@lru_cache(maxsize=KEPT_ROWS)
def _row(one: Attention, about: _Subject | None, base: str, at: str) -> AttentionRow:
    mark = _KIND_MARKS.get(one.kind, _MARKS[one.severity])
    held = about.held if about else 0
    noun = ("slice" if one.are_slices else "GPU") + ("" if (held or one.gpus) == 1 else "s")
    what = f"{noun} {_WHAT[one.kind]}" if one.kind in _WHAT else noun
    what = f"of {number(held)} {what}" if held else what
    return AttentionRow(mark, _title(one, about), _context(one, about), one.gpus or None, what, _href(one, base, at))


def _href(one: Attention, base: str, at: str) -> str:
    moment = f"?{urlencode({'at': at})}" if at else ""
    if one.target_kind == "source":
        return f"{base}health"
    return f"{base}{one.target_kind}s/{quote(one.target, safe='')}{moment}" if one.target else ""


def _title(one: Attention, about: _Subject | None) -> str:
    subject = f"Job {one.subject}" if one.target_kind == "job" else one.subject
    if one.kind == "runaway_jobs":
        return subject
    if about:
        return f"{subject}: {about.word}"
    if one.are_slices:
        return f"{subject}: idle slices"
    subject = SOURCE_NAMES.get(subject, subject) if one.target_kind == "source" else subject
    return f"{subject}: {_TITLES.get(one.kind, one.kind.replace('_', ' '))}"


def _context(one: Attention, about: _Subject | None) -> tuple[Any, ...]:
    said = about.said if about else one.text
    if one.since is None:
        return (said,)
    before = f"{said}, " if said else ""
    return (before + ("runs " if one.kind == "idle_job" else "for "), age(one.since))
