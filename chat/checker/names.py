"""Finds the jobs, nodes, users and groups that an answer names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chat.checker.days import days_beside
from chat.checker.facts import Fact
from chat.checker.forms import KIND_WORDS, forms
from chat.checker.numbers import figures_in

Named = Mapping[str, frozenset[str]]

_JOB = re.compile(
    r"(?:(?:job|auftrag|tâche|travail|trabajo|task|作业|ジョブ|#)\s*(?:id)?\s*[#:`*]*(?=\d{3})|"
    r"(?:jobs|aufträge|tâches|travaux|trabajos|tasks)\s*[#:`*]*(?=\d{5}))(\d+(?:_\d+)?)",  # the ok jobs 102: a count
    re.I,
)
_LONG = re.compile(r"(?<![\w.,#-])\d{6,18}(?:_\d+)?(?![\w%]|[.,]\d)")
_NODE = re.compile(r"(?<![\w/.-])[a-z]{1,12}-?\d{2,5}(?![\w/])")
_NOT_NODES = re.compile(r"(?:fp|bf|tf|int|sm|cu|py|utf|p|x|e|v|step|mp|top)-?\d+")


@dataclass(frozen=True, slots=True)
class Mention:
    """Names of one kind at a place of the text: several where the text may mean any of them."""

    start: int
    end: int
    kind: str
    names: frozenset[str]


def known_names(facts: Iterable[Fact], more: Named) -> dict[str, frozenset[str]]:
    """The names of all things that results speak of, and `more`, by kind."""
    found: dict[str, set[str]] = {kind: set(names) for kind, names in more.items()}
    for fact in facts:
        for kind, names in fact.names.items():
            found.setdefault(kind, set()).update(names)
    return {kind: frozenset(names) for kind, names in found.items()}


def mentions(text: str, known: Named) -> list[Mention]:
    """The names in a text in order: known ones, and what only can be a job or a node."""
    found = [
        Mention(*match.span(), kind, names)
        for kind, names, form in forms(known, text.lower())
        for match in form.finditer(text)
    ]
    found += [Mention(*match.span(1), "job", frozenset({match[1]})) for match in _JOB.finditer(text)]
    found += [
        Mention(*match.span(), "job", frozenset({match[0]})) for match in _LONG.finditer(text) if _is_id(text, match)
    ]
    found += [
        Mention(*match.span(), "node", frozenset({match[0]}))
        for match in _NODE.finditer(text)
        if not _NOT_NODES.fullmatch(match[0]) and not _is_another(match[0], known)
    ]
    found += _by_kind_word(text)
    found += [
        Mention(a, b, "day", days) for a, b, days in days_beside(text, [one for one in found if one.kind == "day"])
    ]
    return _without_doubles(found)


def _is_another(name: str, known: Named) -> bool:
    """Whether what looks like a node is known as something else: a partition a100."""
    kinds = [kind for kind, names in known.items() if name in names]
    return bool(kinds) and "node" not in kinds


def _is_id(text: str, match: re.Match[str]) -> bool:
    """A long number without separators or a unit names a job."""
    figures = figures_in(text[match.start() : match.end() + 40], ())
    return all(figure.unit is None or bool(figure.unit.noun) for figure in figures if figure.start == 0)


def _by_kind_word(text: str) -> list[Mention]:
    """`user eve`: a name that is marked and stands behind the word for its kind, though no result knows it."""
    return [
        Mention(*match.span("name"), kind, frozenset({match["name"]}))
        for kind, word in KIND_WORDS.items()
        for match in re.finditer(rf"(?i:{word})\s+[`*\"']+(?P<name>[A-Za-z][\w.-]+)[`*\"']+", text)
    ]


def _without_doubles(found: Sequence[Mention]) -> list[Mention]:
    """In order of place; of those that overlap the longest, and one per kind and place."""
    kept: list[Mention] = []
    for mention in sorted(found, key=lambda one: (one.start, one.start - one.end)):
        twin = next((one for one in reversed(kept[-8:]) if mention.start < one.end), None)
        is_same_place = twin is not None and (twin.start, twin.end) == (mention.start, mention.end)
        if twin is None or (is_same_place and twin.kind != mention.kind):
            kept.append(mention)
    return kept


def together(found: Iterable[Mention]) -> dict[str, frozenset[str]]:
    made: dict[str, frozenset[str]] = {}
    for mention in found:
        made[mention.kind] = made.get(mention.kind, frozenset()) | mention.names
    return made
