"""The figures of one sentence after another: looked up, else derived from others, else no claim at all. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chat.checker.context import Context, Part
from chat.checker.derived import Numbers, derived
from chat.checker.facts import Fact
from chat.checker.matching import Said, traced
from chat.checker.names import Named
from chat.checker.numbers import Written, is_bare_and_small
from chat.checker.restated import is_restated
from chat.checker.saying import said
from chat.checker.shares import mean_of_field, share_of_field
from chat.checker.unclaimed import is_unclaimed
from chat.model import Figure

MOST_STATED = 60  # numbers of one sentence; in a longer one nothing is derived
_REMEMBERED = 12  # numbers of the sentences before, which a difference may be of


@dataclass(slots=True)
class Reader:
    """Reads a text with the facts and names that are known; figures from the place `last` on are not looked up."""

    facts: Sequence[Fact]
    known: Named
    text: str
    last: int
    question: str
    asked: Sequence[Written]  # the numbers of the question
    _earlier: list[tuple[Written, Figure]] = field(default_factory=list)
    _end: int = 0

    def figures(self, part: Part, context: Context) -> list[Figure]:
        """The figures of the next sentence, without numbers that claim nothing."""
        if "\n\n" in self.text[self._end : part.sentence.start]:
            self._earlier.clear()
        self._end = part.sentence.end
        stated = [(one, *self._look_up(one, part, context)) for one in part.figures]
        is_short = len(part.figures) + len(part.small) <= MOST_STATED
        if is_short and not all(figure.is_traced for _, figure, _ in stated):
            stated += [(one, *self._look_up(one, part, context)) for one in part.small]
            stated.sort(key=lambda one: one[0].start)
        plain = [(one, figure) for one, figure, _ in stated]
        found = [
            self._found(place, plain, around, part)
            for place, (one, _, around) in enumerate(stated)
            if not is_bare_and_small(one)
        ]
        self._earlier = [*self._earlier, *plain][-_REMEMBERED:]
        return [figure for figure in found if figure is not None]

    def _look_up(self, number: Written, part: Part, context: Context) -> tuple[Figure, Said | None]:
        if number.start >= self.last:
            return Figure(number.start, number.end), None
        around = said(self.text, part, number, context, self.known)
        return traced(number, self.facts, around), around

    def _found(self, place: int, stated: Numbers, around: Said | None, part: Part) -> Figure | None:
        """One of the stated numbers, derived where it is not traced itself; None where it claims nothing."""
        number, figure = stated[place]
        if figure.is_traced or around is None:
            return figure
        if len(stated) <= MOST_STATED:
            figure = figure if part.sentence.heads else derived(self.text, place, stated, self._earlier)
            others = [one for _, one in stated if one.is_traced]
            figure = figure if figure.is_traced else self._share(number, others, around) or figure
        return None if not figure.is_traced and self._is_no_claim(number, around, part) else figure

    def _share(self, number: Written, others: Sequence[Figure], around: Said) -> Figure | None:
        before = [
            *(one for _, one in self._earlier if one.is_traced),
            *(one for one in others if one.end <= number.start),
        ]
        mean = mean_of_field(self.text, number, before, self.facts)
        return mean or share_of_field(self.text, number, others, self.facts, around)

    def _is_no_claim(self, number: Written, around: Said, part: Part) -> bool:
        begin, end = part.sentence.clause(self.text, number.start)
        return is_unclaimed(self.text, part.sentence.start, end, number) or is_restated(
            self.text, begin, number, self.asked, self.facts, around, self.question
        )
