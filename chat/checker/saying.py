"""What the words around a figure say of it: its unit, what it is of, and which measure it can be."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.checker.context import Context, Part
from chat.checker.matching import Said
from chat.checker.names import Mention, Named, mentions, together
from chat.checker.numbers import Written
from chat.checker.placing import directly_behind, said_of
from chat.checker.unit_said import units_said
from chat.checker.words import hours_in, measures_for, measures_of_text
from chat.units import Kind

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
_OVERALL = re.compile(
    r"[\s*_]*(?:in (?:all|total)|overall|altogether|all in all|insgesamt|au total|en total|in totale)[*_]*[,:]", re.I
)
_EACH = re.compile(
    r"(?<![A-Za-z])(?:each|apiece|both|je|jeweils|chacune?|cada un[oa]|ciascun[oa]?|"
    r"\d+[- ]GPU[- ](?:jobs?|runs?))(?![A-Za-z])|各|每",
    re.I,
)
_JOB = re.compile(r"(?<![A-Za-z])(?:jobs?|auftrag\w*|tâche|travail|trabajo|run)(?![A-Za-z])|作业", re.I)
_VERSUS = re.compile(
    r"[*_`]*,?\s+(?:versus|vs\.?|against|compared (?:to|with)|gegenüber|gegen|contre|frente a|than)\s+[*_`]*", re.I
)
_PART = re.compile(r"[*_]*\s+(?:out of|of|von|sur|de)\s+(?:(?:the|its|den|les|los)\s+)?[*_]*\d", re.I)
_COLON = re.compile(r"[:;]\s|[\uff1a\uff1b]")
_WITHIN = re.compile(
    r"(?<![A-Za-z])(?:in|within|over|en|dans|sur|durant)\s+(?:(?:about|around|etwa|rund|environ)\s+)?[~≈]?$", re.I
)


def said(text: str, part: Part, figure: Written, context: Context, known: Named) -> Said:
    sentence, found = part.sentence, part.names
    begin, end = sentence.clause(text, figure.start)
    column = together(mentions(sentence.head(figure.start), known))
    head = sentence.label(text) if column else sentence.head(figure.start)  # a column of a job, its rows its measures
    words = _without(text, begin, end, found, " ")  # a partition `cpu` speaks of no CPUs
    clause = f"{head} {words}" if head else words
    places = [(one.start, one.end) for one in part.figures]
    hours = [*hours_in(text[sentence.start : figure.start]), *context.hours]
    names = said_of((figure.start, figure.end), places, _apart(text, figure, part), (begin, end))
    names = {**names, **column, **together(directly_behind(text, figure.end, found))}
    names = _other_side(text, figure, part, names, context.names)
    has_before = any(mention.end <= figure.start for mention in found)
    is_apart = not any(begin <= mention.start < end for mention in found)
    is_overall = not names and _OVERALL.match(text, sentence.start) is not None
    is_denominator = _OF.search(_without(text, begin, figure.start, found)) is not None
    return Said(
        units=units_said(figure, part, text[begin : figure.start], head, hours),
        names=names,
        carried={kind: value for kind, value in context.names.items() if kind not in names},
        is_apart=is_apart,
        has_before=has_before,
        is_whole=(not names and not context.is_named)
        or is_denominator
        or is_overall
        or _WHOLE.search(f"{head} {text[begin:end]}") is not None,
        measures=frozenset() if is_denominator else _measures(text, begin, head or clause, figure),
        seconds=part.seconds or context.seconds,
        is_carried=not part.seconds and not context.is_heading,
        is_each=_EACH.search(text, sentence.start, sentence.end) is not None,
        is_job=_is_of_a_job(text[sentence.start : sentence.end], names, context),
    )


def _is_of_a_job(sentence: str, names: Named, context: Context) -> bool:
    """Whether a user may be named for his job: it is spoken of, or no result tells anything else of him."""
    users = names.get("user", context.names.get("user", frozenset()))
    return context.is_job or _JOB.search(sentence) is not None or not users & context.owners


def _other_side(text: str, figure: Written, part: Part, names: Named, carried: Named) -> Named:
    """Behind "47 % versus" with no name of its own: of the other one of two that are spoken of."""
    last = max((one for one in part.figures if one.end <= figure.start), key=lambda one: one.end, default=None)
    if last is None or not _VERSUS.fullmatch(text, last.end, figure.start):
        return names
    if any(name.start >= figure.end for name in part.names):
        return names
    spoken = together(part.names)
    both = {kind: spoken.get(kind, own) | carried.get(kind, own) for kind, own in names.items()}
    others = {kind: both[kind] - own for kind, own in names.items() if len(own) == 1 and len(both[kind]) == 2}
    return {**names, **others}


def _apart(text: str, figure: Written, part: Part) -> Sequence[Mention]:
    """The names of the sentence without those that belong to later figures: 49 in all: 44 of a, 11 kWh of it in b."""
    later = [one for one in part.figures if one.start > figure.start]
    others = [name for one in later for name in directly_behind(text, one.end, part.names)]
    mark = _COLON.search(text, figure.end, part.sentence.end)
    is_end = mark is not None and (mark[0][0] in ";\uff1b" or any(one.start > mark.start() for one in later))
    end = mark.start() if mark is not None and is_end else part.sentence.end
    return [name for name in part.names if name.end <= end and name not in others]


def _measures(text: str, begin: int, words: str, figure: Written) -> frozenset[str]:
    """The measures that a figure can be of: 2.5 GPU-hours of waste in 15 h speaks of a run time, too, and 200 out of
    509 allocated are not themselves what is allocated."""
    spoken = measures_of_text(words)
    if _PART.match(text, figure.end):
        spoken = spoken - {"allocated"}
    if figure.unit is None or figure.unit.kind is not Kind.SECONDS:
        return spoken
    of_time = measures_for(Kind.SECONDS, spoken)
    return of_time | {"elapsed", "window"} if of_time and _WITHIN.search(text[begin : figure.start]) else of_time


def _without(text: str, begin: int, end: int, found: Sequence[Mention], blank: str = "_") -> str:
    """A piece of text with its names blanked: their digits and words are none."""
    piece = list(text[begin:end])
    for place in range(begin, end):
        if any(mention.start <= place < mention.end for mention in found):
            piece[place - begin] = blank
    return "".join(piece)


def is_of_a_job(question: str) -> bool:
    return _JOB.search(question) is not None
