"""What the sentences before have named, and a sentence with what stands in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chat.checker.names import Mention, Named, together
from chat.checker.numbers import Written, is_bare_and_small
from chat.checker.sentences import Sentence
from chat.checker.words import hours_in
from chat.units import Kind, Unit

_CLUSTER = re.compile(r"cluster|集群|クラスタ", re.I)


@dataclass(slots=True)
class Context:
    """What sentences before have named; a sentence without names goes on with it."""

    names: dict[str, frozenset[str]]
    seconds: Sequence[float] = ()
    is_named: bool = False  # by the question or a sentence
    is_heading: bool = False  # the period stands over a list or table
    is_job: bool = False  # the question is of a job
    owners: frozenset[str] = frozenset()  # users of whom results tell more than their jobs
    users: Mapping[str, frozenset[str]] = field(default_factory=dict)  # job -> whose it is
    hours: Sequence[Unit] = ()  # GPU-hours, where the sentence before tells such
    question: str = ""
    line: int = -1
    is_whole: bool = False  # the sentence before speaks of the whole cluster

    def before(self, text: str, sentence: Sentence) -> None:
        """A period holds for its paragraph, and over the list that it heads."""
        line = text.count("\n", 0, sentence.start)
        self.is_heading = self.is_heading and sentence.is_item
        if line != self.line and not self.is_heading:
            self.seconds = ()
        self.line = line

    def carried(self, names: Named) -> dict[str, frozenset[str]]:
        """What a sentence that has these names goes on with: a job no longer where somebody else is named."""
        kept = {kind: value for kind, value in self.names.items() if kind not in names}
        if users := names.get("user"):
            jobs = frozenset(job for job in kept.pop("job", ()) if self.users.get(job, users) & users)
            kept |= {"job": jobs} if jobs else {}
        return kept

    def after(self, part: Part, said: str) -> None:
        self.names.update(together(part.names))
        self.is_named = self.is_named or bool(part.names)
        self.is_whole = not part.names and (self.is_whole or _CLUSTER.search(said) is not None)
        self.seconds = part.seconds or self.seconds
        self.is_heading = self.is_heading or (bool(part.seconds) and said.rstrip("*_ ").endswith(":"))
        units = [*(figure.unit for figure in part.figures if figure.unit is not None), *hours_in(said)]
        self.hours = [unit for unit in units if unit.kind is Kind.GPU_HOURS] or self.hours


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence with its figures, its names, and the lengths of time that it names."""

    sentence: Sentence
    figures: Sequence[Written]
    small: Sequence[Written]  # counts up to 10
    names: Sequence[Mention]
    periods: Sequence[tuple[int, float]]  # place and length

    @classmethod
    def of(
        cls,
        sentence: Sentence,
        numbers: Sequence[Written],
        names: Sequence[Mention],
        periods: Sequence[tuple[int, int, float]],
    ) -> Part:
        start, end = sentence.start, sentence.end
        own = [number for number in numbers if start <= number.start < end]
        return cls(
            sentence,
            [number for number in own if not is_bare_and_small(number)],
            [number for number in own if is_bare_and_small(number)],
            [name for name in names if start <= name.start < end],
            [(place, seconds) for place, _, seconds in periods if start <= place < end],
        )

    @property
    def seconds(self) -> Sequence[float]:
        return [seconds for _, seconds in self.periods]

    def seconds_of(self, figure: Written, begin: int, end: int, text: str) -> Sequence[float]:
        """The periods in a figure's clause [begin, end), else the last before it, else those behind in its part of the
        sentence."""
        own = [seconds for place, seconds in self.periods if begin <= place < end]
        before = [seconds for place, seconds in self.periods if place < figure.start]
        last = text.find(";", figure.end, self.sentence.end)
        behind = [seconds for place, seconds in self.periods if place >= figure.end and (last < 0 or place < last)]
        return own or before[-1:] or behind
