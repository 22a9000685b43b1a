"""Whether a fact is what a sentence says around a figure: its value, its unit, its subject, its period, its measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chat.checker.facts import DESCRIBED, Fact
from chat.checker.names import Named
from chat.checker.numbers import Written
from chat.checker.words import is_same_length, is_spoken_of, measures_for
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
    is_job: bool  # it speaks of a job; a user who is named may say whose


def traced(figure: Written, facts: Sequence[Fact], said: Said) -> Figure:
    fits = (
        fact
        for unit in said.units
        for fact in facts
        if _has_value(figure, fact, unit) and _is_subject(fact, said) and _fits(fact, said)
    )
    fact = next(fits, None) or (_shared(figure, facts, said) if said.is_each else None)
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


def _has_value(figure: Written, fact: Fact, unit: Unit | None) -> bool:
    if not _is_kind(figure, fact, unit):
        return False
    factor = 1.0 if figure.unit is not None or unit is None else unit.factor
    return any(reading.times(factor).is_of(fact.value) for reading in figure.readings)


def _is_kind(figure: Written, fact: Fact, unit: Unit | None) -> bool:
    if unit is None:
        is_share = fact.unit is not None and fact.unit.kind is Kind.RATIO and figure.readings[0].half < 0.5
        return is_share or fact.unit is None or fact.unit.kind is Kind.COUNT
    if fact.unit is None or fact.unit.kind is not unit.kind:
        return fact.unit is None and unit.kind is Kind.COUNT
    return not unit.noun or not fact.unit.noun or unit.noun == fact.unit.noun


def _is_subject(fact: Fact, said: Said) -> bool:
    """Whether a fact is of what the sentence names: no name of one kind may differ, and what it is of must be named."""
    for kind, names in said.names.items():
        if kind in fact.names and not fact.names[kind] & names:
            return False
    if fact.own is None or fact.own == ("size", "all"):
        is_count = fact.unit is None or fact.unit.kind is Kind.COUNT
        return said.is_whole or (said.is_apart and (is_count or said.has_before))
    kind, name = fact.own
    if fact.own == DESCRIBED:
        return True
    if kind == "job" and said.is_job and "job" not in said.names and "job" not in said.carried:
        users = said.names.get("user", said.carried.get("user", frozenset()))
        return bool(users & fact.names.get("user", frozenset()))
    return name in said.names.get(kind, said.carried.get(kind, frozenset()))


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
