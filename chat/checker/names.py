"""Finds the jobs, nodes, users and groups that an answer names, and which of them a figure is said of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chat.checker.days import day_form, days_beside, weekday_forms
from chat.checker.facts import Fact
from chat.checker.numbers import figures_in

Named = Mapping[str, frozenset[str]]

# Names that are words, too: they count only beside the word for their kind, or marked as code or bold.
_WORDS = frozenset(
    {"gpu", "cpu", "all", "normal", "long", "short", "debug", "test", "main", "idle", "free", "default", "high", "low"}
)
_KIND_WORDS = {
    "partition": r"partitions?|partitionen|partici[oó]n|partizione",
    "account": r"accounts?|konto|compte|cuenta|groups?|projects?",
    "user": r"users?|nutzer\w*|benutzer\w*|l.utilisateur|utilisat\w+|usuari[oa]|utente|用户|ユーザー",
    "qos": r"qos",
    "department": r"departments?",
    "application": r"applications?|apps?",
}
_OTHERWISE = ("day", "size", "finding")  # written in several ways
_JOB = re.compile(
    r"(?:jobs?|auftrag|aufträge|tâche|travail|trabajo|task|作业|ジョブ|#)\s*(?:id)?\s*[#:`*]*(\d{3,}(?:_\d+)?)", re.I
)
_LONG = re.compile(r"(?<![\w.,#-])\d{6,18}(?:_\d+)?(?![\w%]|[.,]\d)")
_NODE = re.compile(r"(?<![\w/.-])[a-z]{1,12}-?\d{2,5}(?![\w/])")
_NOT_NODES = re.compile(r"(?:fp|bf|tf|int|sm|cu|py|utf|p|x|e|v|step|mp|top)-?\d+")
_MODEL = re.compile(r"[A-Z]{1,4}\d{1,4}[A-Z]{0,2}")
_BY_A_WORD = re.compile(
    r"[*_`]*\s+(?:\((?:(?:on|in|of|for)\s+)?|(?:of (?:that|it|this|these) )?"
    r"(?:on|in|of|for|at|by|am|im|in|auf|bei|von|für|le|en|de|du|sur|pour|dans|el|para)\s+)"
    r"(?:(?:the|job|user|node|partition|knoten|nutzer|le|la|el|der|dem)\s+)*[`*\"']*",
    re.I,
)


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
        for kind, names, form in _forms(known, text.lower())
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


def _forms(known: Named, text: str) -> Iterable[tuple[str, frozenset[str], re.Pattern[str]]]:
    """How each name can be written; a plain one that is nowhere in the text is left out."""
    for kind, names in known.items():
        for name in names if kind in _OTHERWISE else (name for name in names if name.lower() in text):
            yield kind, frozenset({name}), re.compile(_form(kind, name))
    for same, form in weekday_forms(known.get("day", frozenset())):
        yield "day", same, form
    devices = known.get("device", frozenset())
    for number in {name.rpartition("/")[2] for name in devices}:
        same = frozenset(name for name in devices if name.rpartition("/")[2] == number)
        yield "device", same, re.compile(rf"(?<![\w-])GPU\s?#?{re.escape(number)}(?![\w.,]*\s?(?:%|GPU)|\w)")
    for short in {match[0] for name in known.get("model", ()) for match in _MODEL.finditer(name)}:
        same = frozenset(name for name in known["model"] if short in name)
        yield "model", same, re.compile(rf"(?<![\w-]){re.escape(short)}(?!\w)")


def _form(kind: str, name: str) -> str:
    if kind == "day":
        return day_form(name)
    if kind == "size":
        return _size_form(name)
    if kind == "finding":
        return rf"(?i:(?<!\w){'[ _-]'.join(map(re.escape, name.split('_')))})"
    first = f"[{name[0]}{name[0].upper()}]" if name[0].isalpha() and len(name) > 3 else re.escape(name[0])
    plain = rf"(?<![A-Za-z0-9_/.]){first}{re.escape(name[1:])}(?![A-Za-z0-9_/]|-\w)"
    if name.lower() in _WORDS or len(name) < 3:
        word = _KIND_WORDS.get(kind, kind)
        marked = rf"(?<=[`*\"']){re.escape(name)}(?=[`*\"'])|(?<=\| ){re.escape(name)}(?= \|)"
        labelled = (
            rf"|{plain}(?=[*_]*(?::|\s\(|\s(?:with|at|mit|bei|avec|con)\s)[*_\s]*[~≈]?\d)"
            if kind in ("partition", "account")
            else ""
        )
        named = rf"(?:(?i:{word})\s+[`*\"']*){re.escape(name)}(?![\w-])|{plain}(?=[`*\"']*\s+(?i:{word}))"
        return rf"{marked}{labelled}|{named}"
    return plain


def _size_form(size: str) -> str:
    if size in ("all", "CPU only"):
        return (
            r"(?i:\b(?:all|overall|every)\b)" if size == "all" else r"(?i:CPU[- ]only|without (?:a )?GPUs?|ohne GPUs?)"
        )
    if size.startswith(">"):
        return rf"(?i:(?:more than|over|above|>|mehr als|plus de|más de)\s?{size[1:]}(?!\d))"
    first, _, last = size.partition("-")
    if last:
        return rf"(?<![\d.,]){first}\s?(?:[-–]|to|bis|à|a)\s?{last}(?![\d.,]\d)"
    alone = r"单个?|one|single|ein\w*|une?|un" if first == "1" else re.escape(first)
    return rf"(?i:(?<![\d.,-])(?:{first}|{alone})[ -]GPUs?)"


def _is_id(text: str, match: re.Match[str]) -> bool:
    """A long number without separators or a unit names a job."""
    figures = figures_in(text[match.start() : match.end() + 40], ())
    return all(figure.unit is None or bool(figure.unit.noun) for figure in figures if figure.start == 0)


def _by_kind_word(text: str) -> list[Mention]:
    """`user eve`: a name that is marked and stands behind the word for its kind, though no result knows it."""
    return [
        Mention(*match.span("name"), kind, frozenset({match["name"]}))
        for kind, word in _KIND_WORDS.items()
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
    return [first] if is_bare_day or _BY_A_WORD.fullmatch(text, end, first.start) else []


def _groups(found: Sequence[Mention], places: Sequence[tuple[int, int]]) -> list[list[Mention]]:
    """Names with no figure between them belong together."""
    groups: list[list[Mention]] = []
    for mention in found:
        if not groups or any(groups[-1][-1].end <= start < mention.start for start, _ in places):
            groups.append([])
        groups[-1].append(mention)
    return groups
