"""Each figure of each sentence against the facts of the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from chat.checker.facts import Fact, facts_of, own_name
from chat.checker.names import Mention, Named, known_names, mentions, said_of, together
from chat.checker.numbers import Written, figures_in
from chat.checker.sentences import Sentence, sentences, silent_spans
from chat.checker.words import is_same_length, is_spoken_of, measures_of_text, periods_in
from chat.model import Figure, OnScreen, ToolResult
from chat.units import Kind, Unit, unit_at

_WHOLE = re.compile(
    r"(?<![A-Za-z])(?:cluster\w*|total|overall|altogether|in all|all|everybody|together|insgesamt|gesamt\w*|alle[rn]?|"
    r"au total|ensemble|en total|todos?|totale|全部|总)(?![A-Za-z])",
    re.I,
)
_OF = re.compile(
    r"(?:\bof|\bvon|\bsur|\bde|/)\s+(?:(?:its|the|their|all|his|her|den|seinen|ses|les|los|sus)\s+)?$", re.I
)
_MEASURED = (Kind.RATIO, Kind.GPU_HOURS, Kind.SECONDS, Kind.COUNT)


@dataclass(frozen=True, slots=True)
class Checked:
    """Figures of a text, and the spans of sentences that hold one which no result has."""

    figures: tuple[Figure, ...] = ()
    untraced: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class _Context:
    """What sentences before have named; a sentence without names goes on with it."""

    names: dict[str, frozenset[str]]
    seconds: list[float] = field(default_factory=list)

    def after(self, found: Sequence[Mention], text: str, sentence: Sentence) -> None:
        self.names.update(together(found))
        if text[sentence.start : sentence.end].rstrip("*_ ").endswith(":"):
            self.seconds = [seconds for _, _, seconds in periods_in(text[sentence.start : sentence.end])]
        elif not sentence.is_item:
            self.seconds = []


@dataclass(frozen=True, slots=True)
class _Said:
    """What a sentence says around one figure."""

    units: Sequence[Unit | None]  # as it may be meant
    names: Named
    carried: Named
    may_be_whole: bool
    measures: frozenset[str]
    seconds: Sequence[float]


def check(
    text: str,
    results: Sequence[ToolResult],
    question: str = "",
    on_screen: OnScreen | None = None,
    more: Named | None = None,
) -> Checked:
    """Trace the figures of `text` to `results`. Names in the question and on screen are what an answer without names
    speaks of; `more` are further names that exist, by kind."""
    facts = facts_of(results)[::-1]
    known = known_names(facts, more or {})
    context = _Context(_begun(results, known, question, on_screen or OnScreen()))
    named = mentions(text, known)
    silent = silent_spans(text) + [(mention.start, mention.end) for mention in named]
    periods = list(periods_in(text))
    figures = figures_in(text, silent + [(start, end) for start, end, _ in periods])
    checked: list[Figure] = []
    marked: list[tuple[int, int]] = []
    for sentence in sentences(text):
        found = [mention for mention in named if sentence.start <= mention.start < sentence.end]
        written = [figure for figure in figures if sentence.start <= figure.start < sentence.end]
        spoken = [seconds for start, _, seconds in periods if sentence.start <= start < sentence.end]
        traced = [
            _traced(figure, facts, _said(text, sentence, figure, written, found, context, spoken)) for figure in written
        ]
        checked += traced
        if not all(figure.is_traced for figure in traced):
            marked.append((sentence.start, sentence.end))
        context.after(found, text, sentence)
    return Checked(tuple(checked), tuple(marked))


def _begun(
    results: Sequence[ToolResult], known: Named, question: str, on_screen: OnScreen
) -> dict[str, frozenset[str]]:
    """What an answer speaks of before it names anything: the question's names, else what is on screen, else the one
    thing that the results are of."""
    made: dict[str, frozenset[str]] = {}
    own: dict[str, set[str]] = {}
    for kind, name in filter(None, map(own_name, results)):
        own.setdefault(kind, set()).add(name)
    made |= {kind: frozenset(names) for kind, names in own.items() if len(names) == 1}
    made |= {
        kind: frozenset({name})
        for kind, name in (("job", on_screen.job), ("node", on_screen.node), ("user", on_screen.user))
        if name and len(own.get(kind, ())) != 1
    }
    return made | together(mentions(question, known))


def _said(
    text: str,
    sentence: Sentence,
    figure: Written,
    written: Sequence[Written],
    found: Sequence[Mention],
    context: _Context,
    spoken: Sequence[float],
) -> _Said:
    begin, end = sentence.clause(text, figure.start)
    head = sentence.head(figure.start)
    clause = f"{head} {text[begin:end]}" if head else text[begin:end]
    names = said_of((figure.start, figure.end), [(one.start, one.end) for one in written], found, end)
    is_apart = not any(begin <= mention.start < end for mention in found)
    is_denominator = _OF.search(text, begin, figure.start) is not None
    return _Said(
        units=_units(figure, written, text[begin : figure.start], head),
        names=names,
        carried={kind: value for kind, value in context.names.items() if kind not in names},
        may_be_whole=not names or is_apart or _WHOLE.search(clause) is not None,
        measures=frozenset() if is_denominator else measures_of_text(head or clause),
        seconds=spoken or context.seconds,
    )


def _units(figure: Written, written: Sequence[Written], before: str, head: str) -> Sequence[Unit | None]:
    """The figure's own unit, else the one in front of it, else none or that of the figure before in the sentence."""
    own = figure.unit or _unit_before(before, head)
    if own is not None or head:
        return (own,)
    last = next((one.unit for one in reversed(written) if one.end <= figure.start and one.unit is not None), None)
    return (None,) if last is None else (None, last)


def _unit_before(words: str, head: str) -> Unit | None:
    """The unit that stands in the head of the column, or before the colon in front of the number."""
    before = head or (words.rstrip(" *`").removesuffix(":") if words.rstrip(" *`").endswith((":", "=")) else "")
    places = (match.start() for match in re.finditer(r"(?<![A-Za-z])[A-Za-z%€$°]", before))
    found = [unit for place in places if (unit := unit_at(before, place)) is not None]
    return max(found, key=lambda one: one[1])[0] if found else None


def _traced(figure: Written, facts: Sequence[Fact], said: _Said) -> Figure:
    fits = (
        fact
        for unit in said.units
        for fact in facts
        if _has_value(figure, fact, unit) and _is_subject(fact, said) and _fits(fact, said)
    )
    fact = next(fits, None)
    return Figure(figure.start, figure.end, fact.call_id if fact else "", fact.path if fact else "")


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


def _is_subject(fact: Fact, said: _Said) -> bool:
    """Whether a fact is of what the sentence names: no name of one kind may differ, and what it is of must be named."""
    for kind, names in said.names.items():
        if kind in fact.names and not fact.names[kind] & names:
            return False
    if fact.own is None or fact.own == ("size", "all"):
        return said.may_be_whole
    kind, name = fact.own
    return name in said.names.get(kind, said.carried.get(kind, frozenset()))


def _fits(fact: Fact, said: _Said) -> bool:
    """Whether the period and the measure that the sentence names can be the fact's."""
    if said.seconds:
        unknown = fact.seconds is None and fact.unit is not None and fact.unit.kind is Kind.GPU_HOURS
        if unknown or (fact.seconds is not None and not any(is_same_length(one, fact.seconds) for one in said.seconds)):
            return False
    if fact.unit is not None and fact.unit.kind in _MEASURED:
        return is_spoken_of(fact.measures, said.measures)
    return True
