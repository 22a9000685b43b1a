"""Each figure of each sentence against the facts of the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chat.checker.context import Context, Part
from chat.checker.facts import Fact, facts_of, own_names
from chat.checker.names import Mention, Named, known_names, mentions, together
from chat.checker.numbers import is_bare_and_small, numbers_in
from chat.checker.periods import lengths_in, periods_in
from chat.checker.reader import Reader
from chat.checker.sentences import Sentence, sentences, silent_spans
from chat.checker.spoken import spoken_in
from chat.checker.words import hours_in
from chat.model import Figure, OnScreen, ToolResult

MOST_FIGURES = 500  # those that follow in an answer are not looked up: they stay untraced

_GPUS = re.compile(r"(?:number of )?GPUs?(?: count| per job| je Job)?|GPU[- ]?(?:count|Anzahl)", re.I)
_SHARE_OF_WAITS = re.compile(
    r"(?<![\d.,])(?:90|50|10)\s?%(?=[^.;|\n]{0,40}(?:wait|start|longer|within|wart|länger|innerhalb|attend|\s(?:in|en|"
    r"dans)\s\d))|(?<![\d.,])(?:90|50|10)\s?%(?=[^。|\n]{0,40}(?:启动|开始|等待|開始|待))",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """Figures of a text, and the spans of sentences that hold one which no result has."""

    figures: tuple[Figure, ...] = ()
    untraced: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an answer may rest on: results, the facts in them (newest first), and the names that exist by kind."""

    results: Sequence[ToolResult]
    facts: Sequence[Fact]
    known: Named

    def check(self, text: str, question: str = "", on_screen: OnScreen | None = None) -> Checked:
        """Trace the figures of a text. Names in the question and on screen are what an answer without names speaks
        of."""
        named, periods = mentions(text, self.known), [*periods_in(text), *lengths_in(text, self._lengths())]
        silent = [
            *silent_spans(text),
            *self._percentiles(text),
            *((one.start, one.end) for one in named),
            *((a, b) for a, b, _ in periods),
        ]
        numbers = numbers_in(text, silent)
        figures = [number for number in numbers if not is_bare_and_small(number)]
        last = figures[MOST_FIGURES].start if len(figures) > MOST_FIGURES else len(text)
        asked = together(mentions(question, self.known))
        context = Context(
            _begun(self, on_screen or OnScreen()) | asked,
            is_named=bool(asked),
            is_job=spoken_in(question).is_job,
            question=question,
            hours=hours_in(question),
            owners=frozenset(fact.own[1] for fact in self.facts if fact.own and fact.own[0] == "user"),
            users={fact.own[1]: fact.names["user"] for fact in self.facts if _is_users_job(fact) and fact.own},
        )
        on = Reader(self.facts, self.known, text, last, question, numbers_in(question, silent_spans(question)))
        checked: list[Figure] = []
        marked: list[tuple[int, int]] = []
        for sentence in sentences(text):
            part = Part.of(sentence, numbers, [*named, *self._sizes(text, sentence)], periods)
            context.before(text, sentence)
            found = on.figures(part, context)
            context.after(part, text[sentence.start : sentence.end])
            checked += found
            marked += [] if all(figure.is_traced for figure in found) else [(sentence.start, sentence.end)]
        return Checked(tuple(checked), tuple(marked))

    def _lengths(self) -> frozenset[float]:
        return frozenset(fact.seconds for fact in self.facts if fact.seconds is not None)

    def _percentiles(self, text: str) -> list[tuple[int, int]]:
        """The shares in "90 % start within 8 h", "10 % wait longer": a percentile's name, where a result has it."""
        has_one = any("p90" in fact.measures for fact in self.facts)
        return [match.span() for match in _SHARE_OF_WAITS.finditer(text)] if has_one else []

    def _sizes(self, text: str, sentence: Sentence) -> list[Mention]:
        """The first cell of a row under the head GPUs names a size of jobs."""
        label, sizes = sentence.label(text).strip("*` "), self.known.get("size", frozenset())
        if label not in sizes or not _GPUS.fullmatch(sentence.heads[0][2].strip("*` ")):
            return []
        return [Mention(sentence.heads[0][0], sentence.heads[0][1], "size", frozenset({label}))]


def _is_users_job(fact: Fact) -> bool:
    return fact.own is not None and fact.own[0] == "job" and "user" in fact.names


def grounds(results: Sequence[ToolResult], more: Named | None = None) -> Grounds:
    """The grounds that results are; `more` are further names that exist, by kind."""
    facts = facts_of(results)[::-1]
    return Grounds(results, facts, known_names(facts, more or {}))


def check(
    text: str,
    results: Sequence[ToolResult],
    question: str = "",
    on_screen: OnScreen | None = None,
    more: Named | None = None,
) -> Checked:
    """Trace the figures of `text` to `results`; see `Grounds`."""
    return grounds(results, more).check(text, question, on_screen)


def _begun(on: Grounds, on_screen: OnScreen) -> dict[str, frozenset[str]]:
    """What an answer speaks of before anything is named: what all results are of, one or two, else what is on
    screen."""
    own: dict[str, set[frozenset[str]]] = {}
    for kind, names in filter(None, map(own_names, on.results)):
        own.setdefault(kind, set()).add(names)
    made = {kind: min(groups) for kind, groups in own.items() if len(groups) == 1}
    made |= {
        kind: frozenset({name})
        for kind, name in (("job", on_screen.job), ("node", on_screen.node), ("user", on_screen.user))
        if name and len(own.get(kind, ())) != 1
    }
    return made
