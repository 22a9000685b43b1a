"""How the names that are known can be written in an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from chat.checker.days import day_form, weekday_forms

# Names that are words, too: they count only beside the word for their kind, or marked as code or bold.
_WORDS = frozenset(
    {"gpu", "cpu", "all", "normal", "long", "short", "debug", "test", "main", "idle", "free", "default", "high", "low"}
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
        word = KIND_WORDS.get(kind, kind)
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
