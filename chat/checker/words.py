"""What a clause speaks of: its measures (idle, used, memory ...) and the length of the time that it names. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from chat.units import Kind, Unit, unit_at

# Measure -> beginnings of words in answers. A key speaks of a measure by its own parts, listed behind.
_MEASURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "idle": (r"idl(?:e|ing)|untätig|leerlauf|inacti[fv]\w*|ocios[oa]s?|inattiv\w*|空闲|アイドル|просто\w*", ("idle",)),
    "wasted": (r"wast\w+|verschwend\w+|vergeud\w+|gaspill\w+|desperdici\w+|sprec\w+|浪费|無駄", ("wasted", "cost")),
    "allocated": (
        r"allocat\w+|h[eo]ld\w*|zugeteilt\w*|belegt\w*|allou\w+|asignad\w*|assegnat\w*|已分配|выдел\w*",
        ("allocated", "held", "given"),
    ),
    "used": (r"used|(?:ge)?nutzte?n?|utilisée?s?|usad[oa]s?|utilizad[oa]s?|usat[oaei]|已使用", ("used",)),
    "utilization": (
        r"util(?:i[sz]ation|i[sz]ed)?|\w*auslastung|ausgelastet|taux d.utilisation|"
        r"utilizaci[oó]n|utilizzo|利用率|使用率",
        ("utilization", "util"),
    ),
    "coverage": (
        r"coverage|covered|measured|abdeckung|gemessen\w*|couverture|mesur\w+|cobertura|medid\w+|misurat\w+|覆盖",
        ("coverage", "measured"),
    ),
    "memory": (r"memory|v?ram|\w*speicher\w*|mémoire|memoria|内存|显存|メモリ", ("memory", "dram")),
    "cpu": (r"cpus?|cores?|prozessor\w*|kerne", ("cpu", "cpus")),
    "sm": (r"sm", ("sm",)),
    "tensor": (r"tensor\w*", ("tensor",)),
    "graphics": (r"graphics|gr|gr_?engine|gract", ("graphics",)),
    "occupancy": (r"occupancy|occ|belegungsgrad", ("occupancy",)),
    "dram": (r"dram", ("dram",)),
    "fp64": (r"fp64", ("fp64",)),
    "fp32": (r"fp32", ("fp32",)),
    "fp16": (r"fp16", ("fp16",)),
    "power": (r"power|watts?|draw\w*|leistung\w*|puissance|potencia|potenza|功率", ("power", "watts")),
    "temperature": (r"temperatur\w*|hot|warm|température", ("temperature",)),
    "wait": (r"wait\w*|queu\w+|wart\w+|attend\w*|attente|esper\w+|attes\w+|等待|待ち|ожид\w*", ("wait", "waits")),
    "elapsed": (
        r"elapsed|r[au]n(?:s|ning)?|runtime|läuft|laufzeit|lief|durée|tourne\w*|exécution|ejecución|esecuzione|after|nach|since|seit|depuis|passed|vergangen|écoulée?s?|运行",
        ("elapsed", "running", "start"),
    ),
    "window": (r"windows?|zeitfenster|fenster|fenêtre|ventana", ("window",)),
    "limit": (r"limits?|threshold|grenz\w+|schwell\w+|limite\w*|seuil|umbral", ("limit", "threshold")),
    "free": (r"free|available|frei\w*|libres?|disponib\w+|liber[io]|可用|空闲|свобод\w*", ("free",)),
    "busy": (r"busy|working|beschäftigt|occupé\w*|ocupad\w*", ("busy",)),
    "down": (r"down|ausgefallen|en panne|caíd\w*", ("down",)),
    "drained": (r"drain\w*", ("drained",)),
    "mixed": (
        r"mixed|part(?:ial)?ly|teilweise|parcial\w*|partiellement|gemischt\w*|mixtes?|mixt[oa]s?|mist[oi]|部分使用|混合",
        ("mixed",),
    ),
    "pending": (r"pending|wartende\w*|en attente|pendiente\w*", ("pending",)),
    "failed": (r"fail\w*|fehlgeschlagen\w*|échou\w*|fallid\w*|fallit\w*", ("failed",)),
    "share": (r"share|of all|of the total(?!\s+\d)|anteil|part|proporción|quota", ("share",)),
    "median": (r"median\w*|p50|médian\w*|mediana", ("p50",)),
    "p90": (r"p90|90(?:th|e|\.)? (?:percentile|centile|perzentil)|percentil 90", ("p90",)),
    "energy": (r"energy|k?wh|energie\w*|énergie|energía", ("energy", "kwh")),
    "cost": (r"costs?|kost\w+|coût\w*|cuesta\w*|prices?", ("amount",)),
}
_SPOKEN = {name: re.compile(rf"(?<![A-Za-z])(?:{form})(?![A-Za-z])", re.I) for name, (form, _) in _MEASURES.items()}
_OF_PART = {part: name for name, (_, parts) in _MEASURES.items() for part in parts}
# What may stand for another: a running job waits for nothing, but what is used of a part is measured of it.
_NEIGHBOURS = {
    "graphics": {"utilization"},
    "allocated": {"elapsed", "used"},
    "pending": {"wait"},
    "wait": {"pending"},
    "dram": {"memory"},
}

# Of no share, and of no GPU-hours: a clause that speaks of them, too, says them of another figure.
_OTHERS = frozenset({"elapsed", "power", "temperature", "wait", "pending", "median", "p90", "energy"})
# Said of ratios alone.
_SHARES = frozenset({"utilization", "share", "sm", "tensor", "occupancy", "graphics"})
_NO_COUNTS = frozenset({"used", "median", "p90", "power", "temperature", "energy"})
_NO_TIMES = frozenset({"used", "power", "temperature", "energy", "wasted", "memory", "cpu", "allocated"})

_LAST = (
    r"last|past|previous|preceding|within(?: the last)?|in the last|over the last|letzten?|vergangenen?|derni[eè]re?s?|"
    r"últim[oa]s?|ultim[eio]|过去|最近|последни\w*"
)
_LENGTH = re.compile(rf"(?<![A-Za-z])(?:{_LAST})\s*(?P<number>\d+(?:[.,]\d+)?)\s*[-\u2010\u2011]?\s*", re.I)
_NAMED = (
    (r"(?:last|past|previous) day|letzten Tag|dernier jour|último día", 86400.0),
    (
        r"(?:last|past|previous) week|(?:letzten?|vergangenen?) woche|semaine dernière|dernière semaine|"
        r"(?:la )?última semana|semana pasada|上周|过去一周",
        604800.0,
    ),
    (
        r"(?:last|past|previous) month|letzten? monats?|mois dernier|dernier mois|último mes|mes pasado|上个月",
        2592000.0,
    ),
    (r"(?:last|past|previous) hour|letzten? stunde|dernière heure|última hora", 3600.0),
)
_BARE_LENGTH = re.compile(
    r"(?<![A-Za-z])(?:in|over|during|across|en|sur|durant)\s+(?:(?:the|these|those|all|den|les|los)\s+)?(?P<number>\d{1,3})[\s-]",
    re.I,
)
_HOURS = re.compile(r"(?<![A-Za-z])(?:GPU|heures?|horas?|ore)", re.I)
_WEEKS = tuple((re.compile(rf"(?<![A-Za-z])(?:{form})(?![A-Za-z])", re.I), seconds) for form, seconds in _NAMED)
_MONTHS = re.compile(r"months?|monate?n?|mois|mes(?:es)?|mesi", re.I)
_MONTH, _DAY = 2592000.0, 86400.0
_GLOSS = re.compile(r"\s*\((?:\d{1,2}|24) (?:days|hours|Tage|Stunden|jours|heures|días|horas)\)")


def hours_in(words: str) -> list[Unit]:
    """GPU-hours, where words name them: the GPU-hours fell from 15,364 to 14,511."""
    found = (unit_at(words, match.start()) for match in _HOURS.finditer(words))
    return [unit for unit, _ in filter(None, found) if unit.kind is Kind.GPU_HOURS][:1]


def measures_of_text(clause: str) -> frozenset[str]:
    """The measures that a clause names."""
    return frozenset(name for name, form in _SPOKEN.items() if form.search(clause))


def measures_of_key(path: str) -> frozenset[str]:
    """The measures that the parts of a key name, with those that may stand for them."""
    own = {_OF_PART[part] for part in re.split(r"[_.\[\]]", path) if part in _OF_PART}
    return frozenset(own.union(*(_NEIGHBOURS.get(name, set()) for name in own)))


def measures_for(kind: Kind, spoken: frozenset[str]) -> frozenset[str]:
    """Of the measures of a clause those that a value of this kind can be of: what is 99 % busy is used at 99 %, and
    hours at a utilization of 77 % are no utilization."""
    if kind is Kind.RATIO:
        kept = spoken - _OTHERS - {"busy", "used"}
        return kept | {"utilization"} if "busy" in spoken else kept
    if kind is Kind.GPU_HOURS:
        return spoken - _SHARES - _OTHERS
    return spoken - _SHARES - (_NO_TIMES if kind is Kind.SECONDS else _NO_COUNTS)


def is_spoken_of(key_measures: frozenset[str], clause_measures: frozenset[str]) -> bool:
    """Whether a field can be what a clause speaks of: they share a measure, or one of them names none."""
    return not key_measures or not clause_measures or bool(key_measures & clause_measures)


def periods_in(text: str) -> Iterator[tuple[int, int, float]]:
    """The lengths of time that a text names as the period behind it, in seconds, each with its place."""
    for match in _LENGTH.finditer(text):
        number = float(match["number"].replace(",", "."))
        if (month := _MONTHS.match(text, match.end())) is not None:
            yield match.start(), month.end(), number * _MONTH
        elif (found := unit_at(text, match.end())) is not None and _is_span(match[0], found[0]):
            yield match.start(), found[1], number * found[0].factor
    for form, seconds in _WEEKS:
        yield from ((match.start(), _behind_gloss(text, match.end()), seconds) for match in form.finditer(text))


def lengths_in(text: str, lengths: Collection[float]) -> Iterator[tuple[int, int, float]]:
    """Periods told by their length alone, where a result has that length: wasted in 7 days."""
    for match in _BARE_LENGTH.finditer(text):
        found = unit_at(text, match.end())
        seconds = 0.0 if found is None or found[0].kind is not Kind.SECONDS else int(match["number"]) * found[0].factor
        if found is not None and seconds >= _DAY and any(is_same_length(seconds, one) for one in lengths):
            yield match.start(), found[1], seconds


def _is_span(said: str, unit: Unit) -> bool:
    """Whether it is a span of time that is looked at: jobs that start within 8 hours say how long they wait."""
    is_within = said.lower().startswith("within") and "last" not in said.lower()
    return unit.kind is Kind.SECONDS and (unit.factor >= _DAY or not is_within)


def _behind_gloss(text: str, end: int) -> int:
    """Where a period ends that is said twice: last week (7 days)."""
    gloss = _GLOSS.match(text, end)
    return end if gloss is None else gloss.end()


def is_same_length(asked: float, seconds: float) -> bool:
    """Whether a period is meant by a length: months differ, and a range may end at a full hour."""
    return abs(asked - seconds) <= max(0.06 * asked, 60.0)
