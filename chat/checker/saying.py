"""What the words around a figure say of it: its unit, what it is of, and which measure it can be."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.checker.context import Context, Part
from chat.checker.matching import Said
from chat.checker.measures_said import measures_said, own_end
from chat.checker.names import Mention, Named, mentions, together
from chat.checker.numbers import Written
from chat.checker.placing import directly_behind, said_of
from chat.checker.sentences import Sentence
from chat.checker.spoken import spoken_in
from chat.checker.unit_said import units_said
from chat.checker.words import hours_in

_WHOLE = re.compile(
    r"(?<![A-Za-z])(?:cluster\w*|total|overall|altogether|in all|all|everybody|together|insgesamt|gesamt\w*|alle[rn]?|"
    r"au total|ensemble|en total|todos?|totale|全部|总)(?![A-Za-z])",
    re.I,
)
# 12 of its 16 GPUs: the second number is of the whole of something.
_OF = re.compile(
    r"(?:\d|\b(?:one|two|three|none|eine?r?|zwei|drei|keine?r?|une?|seule?|aucun|una?|uno|sol[oa])\b)[^.;|]{0,25}?"
    r"(?:\bof|\bvon|\bder|\baus|\bsur|\bdel?|\bsu|/)\s+(?:(?:its|the|their|all|his|her|den|seinen|ses|les|los|sus|las|"
    r"at|most|about|insgesamt|total|"
    r"höchstens|maximal|au|plus|máximo|un)\s+){0,2}[*_]*$",
    re.I,
)
_OVERALL = re.compile(
    r"[\s*_]*(?:in (?:all|total)|overall|altogether|all in all|insgesamt|au total|en total|in totale)[*_]*[,:]", re.I
)
_VERSUS = re.compile(
    r"[^\d.;:()|]{0,24}[*_`]*,?\s+(?:versus|vs\.?|against|compared (?:to|with)|gegenüber|gegen|contre|frente a|than|"
    r"instead of|rather than|statt|au lieu d[e']|en lugar de)\s+[*_`]*",
    re.I,
)
_OF_THEM = re.compile(r"[*_]*\s+(?:of (?:them|these|those)|davon|d.entre (?:eux|elles)|de ell[oa]s)\b", re.I)
_REACH = 800  # characters in front of a figure, in which its sentence may speak of GPU-hours
_COLON = re.compile(r"[:;]\s|[\uff1a\uff1b]")


def said(text: str, part: Part, figure: Written, context: Context, known: Named) -> Said:
    sentence, found = part.sentence, part.names
    begin, end = sentence.clause(text, figure.start)
    spoken = spoken_in(text[sentence.start : sentence.end])
    column = together(mentions(sentence.head(figure.start), known))
    head = sentence.label(text) if column else sentence.head(figure.start)  # a column of a job, its rows its measures
    words = _without(text, begin, own_end(text, figure, part, end), found, " ")  # a partition `cpu` speaks of no CPUs
    hours = [*hours_in(text[max(sentence.start, figure.start - _REACH) : figure.start]), *context.hours]
    names = _names(text, part, figure, context, known, column)
    is_denominator = _OF.search(_without(text, begin, figure.start, found)) is not None
    is_of_them = _OF_THEM.match(text, figure.end) is not None
    clause = f"{head} {words}" if head else words
    return Said(
        units=units_said(figure, part, text[begin : figure.start], head, hours, is_of_them=is_of_them),
        names=names,
        carried=context.carried(names),
        is_apart=not any(begin <= mention.start < end for mention in found),
        has_before=any(mention.end <= figure.start for mention in found),
        is_whole=is_denominator
        or _WHOLE.search(f"{head} {text[begin:end]}") is not None
        or (not names and _is_of_all(text, sentence, figure, context)),
        measures=frozenset() if is_denominator else measures_said(text, begin, head or clause, figure),
        seconds=part.seconds_of(figure, begin, end, text) or context.seconds,
        is_carried=not part.seconds and not context.is_heading,
        is_each=spoken.is_each,
        is_first=not names and (spoken.is_first or spoken_in(context.question).is_first),
        is_job=spoken.is_job or _is_of_a_job(names, context),
    )


def _names(text: str, part: Part, figure: Written, context: Context, known: Named, column: Named) -> Named:
    """What a figure is said of: by the words around it, by the head of its column, or as the other one of two."""
    places = [(one.start, one.end) for one in part.figures]
    clause = part.sentence.clause(text, figure.start)
    names = said_of((figure.start, figure.end), places, _apart(text, figure, part), clause)
    names = {**names, **column, **together(directly_behind(text, figure.end, part.names))}
    names = _of_one(names, figure, part.names, context)
    return _other_side(text, figure, part, names, context.names, known)


def _is_of_all(text: str, sentence: Sentence, figure: Written, context: Context) -> bool:
    """Whether a figure that is said of nobody is of the whole: nothing is named, or the sentence or the one before says
    so."""
    in_all_at = sentence.start + spoken_in(text[sentence.start : sentence.end]).in_all_at
    is_said = _OVERALL.match(text, sentence.start) is not None or in_all_at < figure.start
    return is_said or context.is_whole or not context.is_named


def _is_of_a_job(names: Named, context: Context) -> bool:
    """Whether a user may be named for his job: it is asked of, or no result tells anything else of him."""
    users = names.get("user", context.names.get("user", frozenset()))
    return context.is_job or not users & context.owners


def _of_one(names: Named, figure: Written, found: Sequence[Mention], context: Context) -> Named:
    """A job and a user who is not its owner: the one that is named last before the figure counts."""
    jobs, users = names.get("job", frozenset()), names.get("user", frozenset())
    if not jobs or not users or any(context.users.get(job, users) & users for job in jobs):
        return names
    last = next((one.kind for one in reversed(found) if one.end <= figure.start and one.kind in ("job", "user")), "job")
    return {kind: value for kind, value in names.items() if kind == last or kind not in ("job", "user")}


def _other_side(text: str, figure: Written, part: Part, names: Named, carried: Named, known: Named) -> Named:
    """Behind "47 % versus" with no name of its own: of the other one of two that are spoken of."""
    last = max((one for one in part.figures if one.end <= figure.start), key=lambda one: one.end, default=None)
    if last is None or not _VERSUS.fullmatch(text, last.end, figure.start):
        return names
    if any(figure.end <= name.start < part.sentence.clause(text, figure.start)[1] for name in part.names):
        return names
    spoken = together(part.names)
    both = {kind: spoken.get(kind, own) | carried.get(kind, own) for kind, own in names.items()}
    both |= {kind: known[kind] for kind in both if len(both[kind]) < 2 and len(known.get(kind, ())) == 2}
    others = {kind: both[kind] - own for kind, own in names.items() if len(own) == 1 and len(both[kind]) == 2}
    return {**names, **others}


def _apart(text: str, figure: Written, part: Part) -> Sequence[Mention]:
    """The names of the sentence without those that belong to later figures: 49 in all: 44 of a, 11 kWh of it in b."""
    if not part.names:
        return ()
    later = [one for one in part.figures if one.start > figure.start]
    others = [name for one in later for name in directly_behind(text, one.end, part.names)]
    mark = _COLON.search(text, figure.end, part.sentence.end)
    is_end = mark is not None and (mark[0][0] in ";\uff1b" or any(one.start > mark.start() for one in later))
    end = mark.start() if mark is not None and is_end else part.sentence.end
    return [name for name in part.names if name.end <= end and name not in others]


def _without(text: str, begin: int, end: int, found: Sequence[Mention], blank: str = "_") -> str:
    """A piece of text with its names blanked: their digits and words are none."""
    piece = list(text[begin:end])
    for place in range(begin, end):
        if any(mention.start <= place < mention.end for mention in found):
            piece[place - begin] = blank
    return "".join(piece)
