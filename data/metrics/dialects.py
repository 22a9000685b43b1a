"""Which names, labels and scales each exporter uses. The facts are in dialects.json, in order of precedence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Term:
    """One raw series name: value = raw * scale, only of series whose labels are as in `match`."""

    name: str
    scale: float = 1.0
    optional: bool = False
    match: tuple[tuple[str, str], ...] = ()


Formula = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One exporter. `labels` gives the label names by role (host, index, uuid, bus_id, device, minor, model,
    slice, slice_profile, slice_kind, job, user); `metrics` the formulas of each metric, best first.

    `scope`: "device" exporters see every device, "job" ones number the devices within each job, "host" ones
    have no devices. `key` is the role that tells the devices of one host apart.
    """

    id: str
    title: str
    labels: Mapping[str, tuple[str, ...]]
    metrics: Mapping[str, tuple[Formula, ...]]
    scope: str = "device"
    key: str = "index"
    inventory: tuple[str, ...] = ()
    select: tuple[tuple[str, str], ...] = ()
    prefixes: tuple[str, ...] = ("",)
    sum_labels: tuple[str, ...] = ()
    not_on_slices: frozenset[str] = frozenset()
    whole_kinds: frozenset[str] = frozenset()
    zero_unreported_on_slices: bool = False
    job_pattern: re.Pattern[str] | None = None
    job_value: str = ""
    index_value: str = ""
    switch_on: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> Iterator[str]:
        """All series names that the exporter may use."""
        terms = (term for choices in self.metrics.values() for formula in choices for term in formula)
        return (prefix + term.name for term in terms for prefix in self.prefixes)


@dataclass(frozen=True, slots=True)
class BoundDialect:
    """A dialect with the series names that one server really has. `rank` 0 counts before 1.

    `inventory` is the series that knows the devices and their jobs, `job_value` one whose value is the job id, and
    `index_value` one whose value is the device's index.
    `present` are the label names that its series have there (empty = not known).
    """

    dialect: Dialect
    rank: int
    formulas: Mapping[str, Formula]
    inventory: str
    job_value: str = ""
    index_value: str = ""
    present: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        return self.dialect.id

    @property
    def told_by_value(self) -> frozenset[str]:
        """Series whose value tells the job, or the index where no label does."""
        has_label = not self.present.isdisjoint(self.dialect.labels.get("index", ()))
        return frozenset((self.job_value, "" if has_label else self.index_value)) - {""}


@cache
def shipped_dialects() -> tuple[Dialect, ...]:
    """The dialects of dialects.json, in order of precedence."""
    text = Path(__file__).with_name("dialects.json").read_text(encoding="utf-8")
    return tuple(_dialect(entry) for entry in json.loads(text)["dialects"])


def bind(dialect: Dialect, rank: int, found: Mapping[str, str], names: Mapping[str, str]) -> BoundDialect | None:
    """Fit a dialect to the names of a server; None when the server has none of them.

    `found` maps names, as they are and in lower case, to the real ones (relabelling may have changed the case);
    `names` are the site's own names by metric, in the dialect's unit.
    """
    formulas = {}
    for metric, choices in dialect.metrics.items():
        if metric in names:
            choices = ((_renamed(choices[0][0], names[metric]),),)
        formula = next(filter(None, (_resolve(choice, dialect, found) for choice in choices)), None)
        if formula:
            formulas[metric] = formula
    if not formulas:
        return None
    first = next(iter(formulas.values()))[0].name
    known = (_actual(name, dialect, found) for name in dialect.inventory)
    inventory = next(filter(None, known), first)
    job_value, index_value = (found.get(name.lower(), "") for name in (dialect.job_value, dialect.index_value))
    return BoundDialect(dialect, rank, formulas, inventory, job_value, index_value)


def _renamed(term: Term, name: str) -> Term:
    return Term(name, term.scale, match=term.match)


def _resolve(formula: Formula, dialect: Dialect, found: Mapping[str, str]) -> Formula:
    terms = []
    for term in formula:
        actual = _actual(term.name, dialect, found)
        if actual:
            terms.append(Term(actual, term.scale, term.optional, term.match))
        elif not term.optional:
            return ()
    return tuple(terms)


def _actual(name: str, dialect: Dialect, found: Mapping[str, str]) -> str | None:
    spellings = [prefix + name for prefix in dialect.prefixes]
    candidates = (found.get(text) for text in (*spellings, *(text.lower() for text in spellings)))
    return next(filter(None, candidates), None)


def _dialect(entry: Mapping[str, Any]) -> Dialect:
    pattern = entry.get("job_pattern")
    return Dialect(
        id=entry["id"],
        title=entry["title"],
        labels={role: tuple(names) for role, names in entry["labels"].items()},
        metrics={metric: tuple(_formulas(spec)) for metric, spec in entry["metrics"].items()},
        scope=entry.get("scope", "device"),
        key=entry["key"],
        inventory=tuple(entry["inventory"]),
        select=tuple(entry.get("select", {}).items()),
        prefixes=tuple(entry.get("prefixes", [""])),
        sum_labels=tuple(entry.get("sum_labels", [])),
        not_on_slices=frozenset(entry.get("not_on_slices", [])),
        whole_kinds=frozenset(entry.get("whole_kinds", [])),
        zero_unreported_on_slices=entry.get("zero_unreported_on_slices", False),
        job_pattern=re.compile(pattern) if pattern else None,
        job_value=entry.get("job_value", ""),
        index_value=entry.get("index_value", ""),
        switch_on=entry.get("switch_on", {}),
    )


def _formulas(spec: Any) -> Iterator[Formula]:
    for choice in spec if isinstance(spec, list) else [spec]:
        terms = choice.get("sum", [choice])
        yield tuple(
            Term(t["name"], t["scale"], t.get("optional", False), tuple(t.get("match", {}).items())) for t in terms
        )
