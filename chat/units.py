"""Units, once for both sides: what the end of a result's key means, and how units are written in an answer. Pure.

Base units: ratio 0..1, seconds, bytes, bytes per second, GPU-hours, watts, joules, degrees Celsius, hertz, money.
Everything else is a count, of what its noun says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    RATIO = "ratio"
    SECONDS = "seconds"
    BYTES = "bytes"
    RATE = "bytes_per_second"
    GPU_HOURS = "gpu_hours"
    WATTS = "watts"
    JOULES = "joules"
    CELSIUS = "celsius"
    HERTZ = "hertz"
    MONEY = "amount"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Unit:
    """`factor` times the number as written is the value in the base unit; `noun` is what a count counts."""

    kind: Kind
    factor: float = 1.0
    noun: str = ""


# The end of a key and its unit; the first that fits counts.
KEY_ENDS: tuple[tuple[str, Unit], ...] = (
    ("_bytes_per_second", Unit(Kind.RATE)),
    ("_bytes", Unit(Kind.BYTES)),
    ("_gpu_hours", Unit(Kind.GPU_HOURS)),
    ("_ratio", Unit(Kind.RATIO)),
    ("_percent", Unit(Kind.RATIO, 0.01)),
    ("_seconds", Unit(Kind.SECONDS)),
    ("_watts", Unit(Kind.WATTS)),
    ("_kwh", Unit(Kind.JOULES, 3.6e6)),
    ("_joules", Unit(Kind.JOULES)),
    ("_celsius", Unit(Kind.CELSIUS)),
    ("_hertz", Unit(Kind.HERTZ)),
    ("_amount", Unit(Kind.MONEY)),
)

# What is counted, as words of answers and of keys; GPUs, devices and cards are the same things.
NOUNS: dict[str, tuple[str, ...]] = {
    "gpus": ("gpus", "gpu", "devices", "device", "cards", "card", "geräte", "grafikkarten"),
    "slices": ("slices", "slice", "instances"),
    "jobs": (
        "jobs",
        "job",
        "waits",
        "aufträge",
        "auftrag",
        "tâches",
        "travaux",
        "trabajos",
        "verdicts",
        "作业",
        "ジョブ",
    ),
    "nodes": ("nodes", "node", "knoten", "nœuds", "noeuds", "nodos", "nodi", "hosts", "servers", "节点", "ノード"),
    "users": ("users", "user", "people", "nutzer", "nutzern", "benutzer", "utilisateurs", "usuarios", "utenti", "用户"),
    "cpus": ("cpus", "cpu", "cores", "core", "kerne", "cœurs", "núcleos"),
    "accounts": ("accounts", "account", "konten", "comptes", "cuentas"),
    "partitions": ("partitions", "partition", "partitionen", "particiones"),
    "samples": ("samples", "points", "messwerte"),
    "files": ("files",),
    "steps": ("steps", "warnings"),
}

_SIZES = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BINARY = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40, "pi": 2.0**50}
_HOUR = r"(?:h|hrs?|std\.?|hours?|stunden?|heures?|horas?|ore|uren|uur|час\w*|小时|時間)"
_DAY = r"(?:d|days?|tage?n?|jours?|días?|dias?|giorni|dagen|дн\w*|天|日)"
_MINUTE = r"(?:min|mins|minutes?|minuten?|minutos?|minuti|минут\w*|分钟|分)"
_SECOND = r"(?:s|secs?|seconds?|sekunden?|secondes?|segundos?|secondi|секунд\w*|秒)"
_WEEK = r"(?:weeks?|wochen?|semaines?|semanas?|settimane|недел\w*|周)"
_OF_GPU = r"(?:[-\u2010\u2011\s·]?(?:de\s+)?gpus?)"

# How a unit is written behind a number; the first that fits counts, so longer forms come first.
_WRITTEN: tuple[tuple[str, Unit], ...] = (
    (rf"gpu[-\u2010\u2011\s·]?{_DAY}|(?:jours?|días?|dias?|giorni){_OF_GPU}", Unit(Kind.GPU_HOURS, 24.0)),
    (rf"gpu[-\u2010\u2011\s·]?{_MINUTE}", Unit(Kind.GPU_HOURS, 1 / 60)),
    (rf"gpu[-\u2010\u2011\s·]?{_HOUR}|(?:heures?|horas?|ore){_OF_GPU}", Unit(Kind.GPU_HOURS)),
    (r"%|\uff05|٪", Unit(Kind.RATIO, 0.01)),
    (r"percent(?:age\s+points?)?|per\s+cent|prozent(?:punkten?)?", Unit(Kind.RATIO, 0.01)),
    (r"pour\s?cent|por\s?ciento|per\s?cento|процент\w*", Unit(Kind.RATIO, 0.01)),
    (r"(?:percentage\s+)?points?(?!\s+(?:were|was|are|read|measured|per|in|every))|pp", Unit(Kind.RATIO, 0.01)),
    (r"kwh", Unit(Kind.JOULES, 3.6e6)),
    (r"mwh", Unit(Kind.JOULES, 3.6e9)),
    (r"wh", Unit(Kind.JOULES, 3.6e3)),
    (r"gj", Unit(Kind.JOULES, 1e9)),
    (r"mj", Unit(Kind.JOULES, 1e6)),
    (r"kj", Unit(Kind.JOULES, 1e3)),
    (r"j|joules?", Unit(Kind.JOULES)),
    (r"kw|kilowatts?", Unit(Kind.WATTS, 1e3)),
    (r"mw|megawatts?", Unit(Kind.WATTS, 1e6)),
    (r"w|watts?|vatios", Unit(Kind.WATTS)),
    (r"°\s?c|degrees?(?:\s+celsius)?|grad|degrés", Unit(Kind.CELSIUS)),
    (r"ghz", Unit(Kind.HERTZ, 1e9)),
    (r"mhz", Unit(Kind.HERTZ, 1e6)),
    (r"hz", Unit(Kind.HERTZ)),
    (r"€|euros?|eur|\$|dollars?|usd|£|gbp|chf", Unit(Kind.MONEY)),
    (r"ms|milliseconds?", Unit(Kind.SECONDS, 1e-3)),
    (_WEEK, Unit(Kind.SECONDS, 604800.0)),
    (_MINUTE, Unit(Kind.SECONDS, 60.0)),
    (_HOUR, Unit(Kind.SECONDS, 3600.0)),
    (_DAY, Unit(Kind.SECONDS, 86400.0)),
    (_SECOND, Unit(Kind.SECONDS)),
)
_END = r"(?![A-Za-zÀ-ÿ0-9_]|['\u2019]\w)"  # 270 d'inactivité is no span of days
_BYTES = re.compile(
    rf"((?:[kmgtp]i?)?)(?:b(?![A-Za-z])|bytes|octets|(?<=(?-i:[kKMGTPi]))o)(\s?/\s?s|\s?ps|\s+per\s+second)?{_END}",
    re.I,
)
_RUN_ON = (  # 2d3h, 1h24m, 5m30s
    (re.compile(r"d(?=\d{1,2}\s?h)"), Unit(Kind.SECONDS, 86400.0)),
    (re.compile(r"h(?=\d{1,2}\s?m)"), Unit(Kind.SECONDS, 3600.0)),
    (re.compile(r"m(?=\s?\d{1,2}\s?s)"), Unit(Kind.SECONDS, 60.0)),
    (re.compile(rf"(?<=h\d)m{_END}|(?<=h\d\d)m{_END}|(?<=h \d)m{_END}|(?<=h \d\d)m{_END}"), Unit(Kind.SECONDS, 60.0)),
)
_UNITS = (*((re.compile(rf"(?:{form}){_END}", re.I), unit) for form, unit in _WRITTEN), *_RUN_ON)
_NOUN_OF = {word: noun for noun, words in NOUNS.items() for word in words}
_CLAUSE_END = re.compile(
    r"[,;:.!?()\[\]|\n]|(?<![A-Za-z0-9])\d|(?<![A-Za-z])(?:and|und|et|or|oder|while|but|in|on|for|with|per|pro|par|por)(?![A-Za-z])",
    re.I,
)
_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)


def unit_of_key(key: str, within: str = "") -> Unit:
    """The unit of a number under this key; `within` is the key of what holds it, which may name what is counted."""
    for end, unit in KEY_ENDS:
        if key.endswith(end) or key == end[1:]:
            return unit
    return Unit(Kind.COUNT, noun=_noun_of_key(key) or _noun_of_key(within))


def _noun_of_key(key: str) -> str:
    plural = (part for part in key.split("_") if part.endswith("s"))
    return next((_NOUN_OF[part] for part in plural if part in _NOUN_OF), "")


def unit_at(text: str, place: int) -> tuple[Unit, int] | None:
    """The unit that is written at this place of a text, and where it ends."""
    found = _BYTES.match(text, place)
    if found is not None:
        size = found[1].lower()
        factor = _BINARY.get(size) or _SIZES.get(size) or 1.0
        return Unit(Kind.RATE if found[2] else Kind.BYTES, factor), found.end()
    for form, unit in _UNITS:
        if (match := form.match(text, place)) is not None:
            return unit, match.end()
    return None


def noun_of(word: str) -> str:
    """What a word counts; empty for a word that counts nothing known."""
    return _NOUN_OF.get(word.lower(), "")


def noun_after(text: str, place: int, most_words: int = 3) -> str:
    """What is counted by a number that ends here: the first noun among the words that follow in the same clause."""
    piece = _CLAUSE_END.split(text[place : place + 80], maxsplit=1)[0]
    nouns = [noun_of(word) for word in _WORD.findall(piece)[: most_words + 1]]
    first = next((number for number, noun in enumerate(nouns) if noun), None)
    if first is None:
        return ""
    is_compound = len(nouns) > first + 1 and nouns[first + 1]  # GPU jobs are jobs
    return nouns[first + 1] if is_compound else nouns[first]
