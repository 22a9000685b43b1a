"""How the names that are known can be written in an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from chat.checker.days import day_form, weekday_forms

# Names that are words, too: they count only beside the word for their kind, or marked as code or bold.
_WORDS = frozenset(
    {
        "gpu",
        "cpu",
        "all",
        "normal",
        "long",
        "short",
        "debug",
        "test",
        "main",
        "idle",
        "free",
        "default",
        "high",
        "low",
        "interactive",
    }
)
KIND_WORDS = {
    "partition": r"partitions?|partitionen|partici[oó]n|partizione",
    "account": r"accounts?|konto|compte|cuenta|groups?|projects?",
    "user": r"users?|nutzer\w*|benutzer\w*|l.utilisateur|utilisat\w+|usuari[oa]|utente|用户|ユーザー",
    "qos": r"qos",
    "department": r"departments?",
    "application": r"applications?|apps?",
}
_OTHERWISE = ("day", "size", "finding")  # written in several ways
_MODEL = re.compile(r"[A-Z]{1,4}\d{1,4}[A-Z]{0,2}")


def forms(known: Mapping[str, frozenset[str]], text: str) -> Iterable[tuple[str, frozenset[str], re.Pattern[str]]]:
    """How each name can be written; a plain one that is nowhere in the text is left out."""
    for kind, names in known.items():
        for name in names if kind in _OTHERWISE else (name for name in names if name.lower() in text):
            yield kind, frozenset({name}), re.compile(_form(kind, name))
    for same, form in weekday_forms(known.get("day", frozenset())):
        yield "day", same, form
    yield from _arrays(known.get("job", frozenset()), text)
    devices = known.get("device", frozenset())
    for number in {name.rpartition("/")[2] for name in devices}:
        same = frozenset(name for name in devices if name.rpartition("/")[2] == number)
        yield "device", same, re.compile(rf"(?<![\w-])GPU\s?#?{re.escape(number)}(?![\w.,]*\s?(?:%|GPU)|\w)")
    for short in {match[0] for name in known.get("model", ()) for match in _MODEL.finditer(name)}:
        same = frozenset(name for name in known["model"] if short in name)
        yield "model", same, re.compile(rf"(?<![\w-]){re.escape(short)}s?(?!\w)")


def _arrays(jobs: frozenset[str], text: str) -> Iterator[tuple[str, frozenset[str], re.Pattern[str]]]:
    """Tasks of an array and parts of a job are called by the number in front, too: 48252064 for 48252064_[7-11%1]."""
    for base in {re.split(r"[_+]", name)[0] for name in jobs if "_" in name or "+" in name}:
        if base in text:
            same = frozenset(name for name in jobs if re.split(r"[_+]", name)[0] == base)
            yield "job", same | {base}, re.compile(rf"(?<![\w.,-]){re.escape(base)}(?![\w+]|[.,]\d)")


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
        word = KIND_WORDS.get(kind, kind)
        marked = rf"(?<=[`*\"']){re.escape(name)}(?=[`*\"'])|(?<=\| ){re.escape(name)}(?= \|)"
        labelled = (
            rf"|{plain}(?=[*_]*(?::|\s\(|\s[—–]|\s(?:with|at|mit|bei|avec|con)\s)[*_\s]*[~≈]?\d)"
            if kind in ("partition", "account")
            else ""
        )
        named = rf"(?:(?i:{word})\s+[`*\"']*){re.escape(name)}(?![\w-])|{plain}(?=[`*\"']*\s+(?i:{word}))"
        asked = rf"|(?<=\b(?:in|on|of) ){re.escape(name)}(?=[?!.,;:)]|$|\s\d)" if kind == "partition" else ""
        return rf"{marked}{labelled}{asked}|{named}"
    return plain


def _size_form(size: str) -> str:
    if size in ("all", "CPU only"):
        return (
            r"(?i:\b(?:all|overall|every)\b)" if size == "all" else r"(?i:CPU[- ]only|without (?:a )?GPUs?|ohne GPUs?)"
        )
    if size.startswith(">"):
        over = r"more than|over|above|>|mehr als|plus de|más de|più di|超过"
        return rf"(?i:(?:{over})\s?{size[1:]}(?!\d)|(?<!\d){size[1:]}\s?GPU\s?を超える)"
    first, _, last = size.partition("-")
    if last:
        return rf"(?<![\d.,]){first}\s?(?:[-–]|to|bis|à|a)\s?{last}(?![\d.,]\d)"
    alone = r"单个?|one|single|ein\w*|un[aeo]?" if first == "1" else re.escape(first)
    return rf"(?i:(?<![\d.,-])(?:{first}|{alone})(?:\s(?:sol[ao]|seule?|einzigen?|single|única?))?[ -]GPUs?)"
