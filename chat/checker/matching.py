"""Whether a fact is what a sentence says around a figure: its value, its unit, its subject, its period, its measure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from chat.checker.facts import DESCRIBED, DIFFERENCE, Fact
from chat.checker.names import Named
from chat.checker.numbers import Written
from chat.checker.periods import is_same_length
from chat.checker.words import is_spoken_of, measures_for
from chat.model import Figure
from chat.units import Kind, Unit

_MEASURED = (Kind.RATIO, Kind.GPU_HOURS, Kind.SECONDS, Kind.COUNT)


@dataclass(frozen=True, slots=True)
class Said:
    """What a sentence says around one figure."""

    units: Sequence[Unit | None]  # as it may be meant
    names: Named
    carried: Named
    is_apart: bool  # no name in its own clause
    has_before: bool  # but one before it in the sentence
    is_whole: bool  # the clause speaks of the cluster, or of all
    measures: frozenset[str]
    seconds: Sequence[float]
    is_carried: bool  # the period is that of a sentence before
    is_each: bool  # a count that several things share: each with 16 GPUs
    is_first: bool  # nobody is named, but the worst or the most of something
    is_job: bool  # it speaks of a job; a user who is named may say whose


def traced(figure: Written, facts: Sequence[Fact], said: Said) -> Figure:
    fits = (
        fact
        for unit in said.units
        for fact in facts
        if _has_value(figure, fact, unit) and _is_subject(fact, said) and _fits(fact, said)
    )
    fact = next(fits, None) or (_shared(figure, facts, said) if said.is_each else None) or _of_all(figure, facts, said)
    return Figure(figure.start, figure.end, fact.call_id if fact else "", fact.path if fact else "")


def _shared(figure: Written, facts: Sequence[Fact], said: Said) -> Fact | None:
    """A fact that several things have in common: their count of the same."""
    same = [
        fact
        for unit in said.units
        if unit is not None and unit.noun
        for fact in facts
        if fact.unit == unit and fact.own is not None and _has_value(figure, fact, unit)
    ]
    kinds = [(fact.own[0], fact.path.rpartition(".")[2]) for fact in same if fact.own is not None]
    return next((fact for fact, kind in zip(same, kinds, strict=True) if kinds.count(kind) > 1), None)


def _of_all(figure: Written, facts: Sequence[Fact], said: Said) -> Fact | None:
    """What most devices of a job or node have in common is said of that job or node, too."""
    if "device" in said.names:
        return None
    devices = [fact for fact in facts if fact.own is not None and fact.own[0] == "device" and _has_names(fact, said)]
    fitting = [fact for fact in devices if any(_has_value(figure, fact, unit) for unit in said.units)]
    for key, fact in {_key(fact): fact for fact in fitting}.items():
        is_common = 2 * sum(_key(one) == key for one in fitting) >= sum(_key(one) == key for one in devices)
        if is_common and _fits(fact, said) and any(_is_subject(one, said) for one in _of_holders(fact)):
            return fact
    return None


def _key(fact: Fact) -> tuple[str, str]:
    return fact.call_id, _plain(fact.path)


@lru_cache(maxsize=4096)
def _plain(path: str) -> str:
    """A path without the place of the device among the rows."""
    return re.sub(r"\[\d+\]", "", path, count=1)


def _of_holders(fact: Fact) -> list[Fact]:
    kinds = [kind for kind in ("job", "node") if len(fact.names.get(kind, ())) == 1]
    return [replace(fact, own=(kind, min(fact.names[kind]))) for kind in kinds]


def _has_value(figure: Written, fact: Fact, unit: Unit | None) -> bool:
    if not is_same_kind(figure, fact, unit):
        return False
    factor = 1.0 if figure.unit is not None or unit is None else unit.factor
    return any(reading.times(factor).is_of(fact.value) for reading in figure.readings)


def is_same_kind(figure: Written, fact: Fact, unit: Unit | None) -> bool:
    """Whether a figure that has this unit, or none, can be a fact by what both count or measure."""
    if unit is None:
        is_share = fact.unit is not None and fact.unit.kind is Kind.RATIO and figure.readings[0].half < 0.5
        return is_share or fact.unit is None or fact.unit.kind is Kind.COUNT
    if fact.unit is None or fact.unit.kind is not unit.kind:
        return fact.unit is None and unit.kind is Kind.COUNT
    return not unit.noun or not fact.unit.noun or unit.noun == fact.unit.noun


def is_said_of(fact: Fact, said: Said, is_of_any: bool = False) -> bool:
    """Whether a sentence speaks of a fact, whatever its value; `is_of_any`: whomever it is of."""
    return (is_of_any or _is_subject(fact, said)) and _fits(fact, said)


def _is_subject(fact: Fact, said: Said) -> bool:
    """Whether a fact is of what the sentence names: no name of one kind may differ, and what it is of must be named."""
    if not _has_names(fact, said):
        return False
    if fact.own is None or (fact.own == ("size", "all") and not said.names.get("size", said.carried.get("size"))):
        is_count = fact.unit is None or fact.unit.kind is Kind.COUNT
        return said.is_whole or (said.is_apart and (is_count or said.has_before))
    kind, name = fact.own
    if said.is_first and kind not in said.carried and fact.path.find("rows[") == fact.path.find("rows[0]"):
        return True
    if fact.own in (DESCRIBED, DIFFERENCE):
        return True
    if kind == "job" and said.is_job and "job" not in said.names and "job" not in said.carried:
        users = said.names.get("user", said.carried.get("user", frozenset()))
        return bool(users & fact.names.get("user", frozenset()))
    return name in said.names.get(kind, said.carried.get(kind, frozenset()))


def _has_names(fact: Fact, said: Said) -> bool:
    return all(fact.names[kind] & names for kind, names in said.names.items() if kind in fact.names)


def _fits(fact: Fact, said: Said) -> bool:
    """Whether the period and the measure that the sentence names can be the fact's."""
    if said.seconds:
        is_hours = fact.unit is not None and fact.unit.kind is Kind.GPU_HOURS
        is_unknown = fact.seconds is None and is_hours and not said.is_carried
        if is_unknown or (
            fact.seconds is not None and not any(is_same_length(one, fact.seconds) for one in said.seconds)
        ):
            return False
    if fact.unit is not None and fact.unit.kind in _MEASURED:
        return is_spoken_of(fact.measures, measures_for(fact.unit.kind, said.measures))
    return True
