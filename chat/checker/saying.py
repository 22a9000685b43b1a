"""What the words around a figure say of it: its unit, what it is of, and which measure it can be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chat.checker.matching import Said
from chat.checker.names import Mention, Named, directly_behind, mentions, said_of, together
from chat.checker.numbers import Written
from chat.checker.sentences import Sentence
from chat.checker.words import measures_for, measures_of_text
from chat.units import Kind, Unit, unit_at

_WHOLE = re.compile(
    r"(?<![A-Za-z])(?:cluster\w*|total|overall|altogether|in all|all|everybody|together|insgesamt|gesamt\w*|alle[rn]?|"
    r"au total|ensemble|en total|todos?|totale|全部|总)(?![A-Za-z])",
    re.I,
)
# 12 of its 16 GPUs: the second number is of the whole of something.
_OF = re.compile(
    r"\d[^.;|]{0,25}?(?:\bof|\bvon|\bsur|\bde|/)\s+(?:(?:its|the|their|all|his|her|den|seinen|ses|les|los|sus)\s+)?$",
    re.I,
)
_COLON = re.compile(r"[:;]\s|[\uff1a\uff1b]")
_WITHIN = re.compile(
    r"(?<![A-Za-z])(?:in|within|over|en|dans|sur|durant)\s+(?:(?:about|around|etwa|rund|environ)\s+)?[~≈]?$", re.I
)


@dataclass(slots=True)
class Context:
    """What sentences before have named; a sentence without names goes on with it."""

    names: dict[str, frozenset[str]]
    seconds: Sequence[float] = ()
    is_named: bool = False  # by the question or a sentence
    is_heading: bool = False  # the period stands over a list or table
    line: int = -1

    def before(self, text: str, sentence: Sentence) -> None:
        """A period holds for its paragraph, and over the list that it heads."""
        line = text.count("\n", 0, sentence.start)
        self.is_heading = self.is_heading and sentence.is_item
        if line != self.line and not self.is_heading:
            self.seconds = ()
        self.line = line

    def after(self, found: Sequence[Mention], spoken: Sequence[float], said: str) -> None:
        self.names.update(together(found))
        self.is_named = self.is_named or bool(found)
        self.seconds = spoken or self.seconds
        self.is_heading = self.is_heading or (bool(spoken) and said.rstrip("*_ ").endswith(":"))


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence with its figures, its names, and the lengths of time that it names."""

    sentence: Sentence
    figures: Sequence[Written]
    names: Sequence[Mention]
    seconds: Sequence[float]

    @classmethod
    def of(
        cls,
        sentence: Sentence,
        figures: Sequence[Written],
        names: Sequence[Mention],
        periods: Sequence[tuple[int, int, float]],
    ) -> Part:
        start, end = sentence.start, sentence.end
        return cls(
            sentence,
            [figure for figure in figures if start <= figure.start < end],
            [name for name in names if start <= name.start < end],
            [seconds for place, _, seconds in periods if start <= place < end],
        )


def said(text: str, part: Part, figure: Written, context: Context, known: Named) -> Said:
    sentence, found = part.sentence, part.names
    begin, end = sentence.clause(text, figure.start)
    column = together(mentions(sentence.head(figure.start), known))
    head = sentence.label(text) if column else sentence.head(figure.start)  # a column of a job, its rows its measures
    clause = f"{head} {text[begin:end]}" if head else text[begin:end]
    places = [(one.start, one.end) for one in part.figures]
    names = said_of((figure.start, figure.end), places, _apart(text, figure, part), (begin, end))
    names = {**names, **column, **together(directly_behind(text, figure.end, found))}
    has_before = any(mention.end <= figure.start for mention in found)
    is_apart = not any(begin <= mention.start < end for mention in found)
    is_denominator = _OF.search(_without(text, begin, figure.start, found)) is not None
    return Said(
        units=_units(figure, part, text[begin : figure.start], head),
        names=names,
        carried={kind: value for kind, value in context.names.items() if kind not in names},
        is_apart=is_apart,
        has_before=has_before,
        is_whole=(not names and not context.is_named) or is_denominator or _WHOLE.search(clause) is not None,
        measures=frozenset() if is_denominator else _measures(text[begin : figure.start], head or clause, figure),
        seconds=part.seconds or context.seconds,
        is_carried=not part.seconds and not context.is_heading,
    )


def _apart(text: str, figure: Written, part: Part) -> Sequence[Mention]:
    """The names of the sentence without those that belong to later figures: 49 in all: 44 of a, 11 kWh of it in b."""
    later = [one for one in part.figures if one.start > figure.start]
    others = [name for one in later for name in directly_behind(text, one.end, part.names)]
    mark = _COLON.search(text, figure.end, part.sentence.end)
    end = part.sentence.end if mark is None or not any(one.start > mark.start() for one in later) else mark.start()
    return [name for name in part.names if name.end <= end and name not in others]


def _measures(before: str, words: str, figure: Written) -> frozenset[str]:
    """The measures that a figure can be of: 2.5 GPU-hours of waste in 15 h speaks of a run time, too."""
    spoken = measures_of_text(words)
    if figure.unit is None or figure.unit.kind is not Kind.SECONDS:
        return spoken
    of_time = measures_for(Kind.SECONDS, spoken)
    return of_time | {"elapsed"} if of_time and _WITHIN.search(before) else of_time


def _without(text: str, begin: int, end: int, found: Sequence[Mention]) -> str:
    """A piece of text with its names blanked: their digits are none."""
    piece = list(text[begin:end])
    for place in range(begin, end):
        if any(mention.start <= place < mention.end for mention in found):
            piece[place - begin] = "_"
    return "".join(piece)


def _units(figure: Written, part: Part, before: str, head: str) -> Sequence[Unit | None]:
    """The figure's own unit, else the one in front of it, else none or one of the sentence so far; in a row of a
    table, one of its heads."""
    own = figure.unit or _unit_before(before, head)
    if own is not None:
        return (own,)
    before_it = [one.unit for one in part.figures if one.end <= figure.start]
    others = [_unit_before("", name) for _, _, name in part.sentence.heads] if head else before_it
    return (None, *dict.fromkeys(unit for unit in others if unit is not None))


def _unit_before(words: str, head: str) -> Unit | None:
    """The unit that stands in the head of the column, or before the colon in front of the number."""
    before = head or (words.rstrip(" *`").removesuffix(":") if words.rstrip(" *`").endswith((":", "=")) else "")
    places = (match.start() for match in re.finditer(r"(?<![A-Za-z])[A-Za-z%€$°]", before))
    found = [unit for place in places if (unit := unit_at(before, place)) is not None]
    return max(found, key=lambda one: one[1])[0] if found else None
