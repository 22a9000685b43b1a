"""Which of the names of a sentence a figure is said of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from chat.checker.names import Mention, Named, together

_BY_A_WORD = re.compile(
    r"[*_`]*\s+(?:\((?:(?:on|in|of|for)\s+)?|(?:of (?:that|it|this|these) )?"
    r"(?:on|in|of|for|at|by|am|im|in|auf|bei|von|für|le|en|de|du|sur|pour|dans|el|para)\s+)"
    r"(?:(?:the|job|user|node|partition|knoten|nutzer|le|la|el|der|dem)\s+)*[`*\"']*",
    re.I,
)


def said_of(
    figure: tuple[int, int], places: Sequence[tuple[int, int]], found: Sequence[Mention], clause: tuple[int, int]
) -> Named:
    """The names that a figure is said of within its sentence: the nearest before it in its clause, completed by kinds
    that only the rest of the clause or earlier clauses name; without any of them, the first behind it."""
    behind = [mention for mention in found if mention.start >= figure[1]]
    near = [mention for mention in behind if mention.start < clause[1]]
    groups = _groups([mention for mention in found if mention.end <= figure[0]], places)[::-1]
    own = [group for group in groups if group[-1].start >= clause[0]]
    order = [*own, near, *groups[len(own) :]]
    if not groups and not near and not _is_shared_out(figure, behind, places):
        order = _groups(behind, places)[:1]
    made: dict[str, frozenset[str]] = {}
    for group in order:
        made = {**together(group), **made}
    return made


def _is_shared_out(figure: tuple[int, int], behind: Sequence[Mention], places: Sequence[tuple[int, int]]) -> bool:
    """Whether names behind a figure belong to further figures: 20 in all, 11 in partition a and 7 in b."""
    if not behind or not any(figure[1] <= start < behind[0].start for start, _ in places):
        return False
    return any(one.kind == behind[0].kind and one.names != behind[0].names for one in behind)


def directly_behind(text: str, end: int, found: Iterable[Mention]) -> list[Mention]:
    """The name that a figure is said of by a word between them: 80 % on 25 November, 44 in `gpu`."""
    first = next((mention for mention in found if mention.start >= end), None)
    if first is None:
        return []
    is_bare_day = first.kind == "day" and not text[end : first.start].strip("*_ ")  # 81 % today
    word = _BY_A_WORD.fullmatch(text, end, first.start)
    is_aside = (
        word is not None and word[0].rstrip("*_` ").endswith("(") and text[first.end : first.end + 1] not in ")`*,"
    )
    return [first] if is_bare_day or (word is not None and not is_aside) else []


def _groups(found: Sequence[Mention], places: Sequence[tuple[int, int]]) -> list[list[Mention]]:
    """Names with no figure between them belong together."""
    groups: list[list[Mention]] = []
    for mention in found:
        if not groups or any(groups[-1][-1].end <= start < mention.start for start, _ in places):
            groups.append([])
        groups[-1].append(mention)
    return groups
