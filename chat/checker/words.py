"""What a clause speaks of: its measures (idle, used, memory ...). Pure."""

from __future__ import annotations

import re

from chat.units import Kind, Unit, unit_at

# Measure -> beginnings of words in answers. A key speaks of a measure by its own parts, listed behind.
_MEASURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "idle": (
        r"idl(?:e|ing)|unused|ungenutzt\w*|untätig|leerlauf|inacti[fv]\w*|ocios[oa]s?|inattiv\w*|空闲|アイドル|просто\w*",
        ("idle",),
    ),
    "wasted": (
        r"wast\w+|verschwend\w+|vergeud\w+|gaspill\w+|desperdici\w+|sprec\w+|lost|verloren\w*|perdu\w*|perdid\w*|浪费|"
        r"損失|损失|無駄",
        ("wasted", "cost"),
    ),
    "allocated": (
        r"allocat\w+|taken|in use|in Benutzung|occupied|"
        r"h[eo]ld\w*|zugeteilt\w*|belegt\w*|allou\w+|asignad\w*|assegnat\w*|分配|割り当て|выдел\w*",
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
        r"elapsed|r[au]n(?:s|ning)?|t[ao]kes?|took|lasted|dauerte?n?|duró|runtime|läuft|laufzeit|lief|durée|tourne\w*|"
        r"exécution|ejecución|esecuzione|passed|vergangen|écoulée?s?|运行",
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
    "share": (
        r"share|of (?:all|the) gpu[- ](?:time|hours)|der gpu-(?:zeit|stunden)|"
        r"of all|of the total(?!\s+\d)|anteil|part|proporción|quota",
        ("share",),
    ),
    "median": (r"median\w*|p50|médian\w*|mediana", ("p50",)),
    "p90": (r"p90|90(?:th|e|\.)? (?:percentile|centile|perzentil)|percentil 90", ("p90",)),
    "energy": (r"energy|k?wh|energie\w*|énergie|energía", ("energy", "kwh")),
    "left": (
        r"left|remain\w*|to go|übrig\w*|verbleib\w*|restant\w*|quedan?|restan|rimangono|剩余|还剩|残り",
        ("left",),
    ),
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
_OTHERS = frozenset({"elapsed", "power", "temperature", "wait", "pending", "median", "p90", "energy", "left"})
# What nodes and GPUs are in: of no share either, and of no hours. Utilization may go down, too.
_STATES = frozenset({"down", "drained", "mixed", "free"})
# Said of ratios alone.
_SHARES = frozenset({"utilization", "share", "sm", "tensor", "occupancy", "graphics"})
_NO_COUNTS = frozenset({"used", "median", "p90", "power", "temperature", "energy", "left"})
_OF_TIMES = frozenset({"elapsed", "window", "wait", "pending", "limit", "idle", "median", "p90", "left"})

_HOURS = re.compile(r"(?<![A-Za-z])(?:GPU|heures?|horas?|ore)", re.I)


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
        kept = spoken - _OTHERS - _STATES - {"busy", "used"}
        return kept | {"utilization"} if "busy" in spoken else kept
    if kind is Kind.GPU_HOURS:
        return spoken - _SHARES - _OTHERS - _STATES
    return spoken & _OF_TIMES if kind is Kind.SECONDS else spoken - _SHARES - _NO_COUNTS


def is_spoken_of(key_measures: frozenset[str], clause_measures: frozenset[str]) -> bool:
    """Whether a field can be what a clause speaks of: they share a measure, or one of them names none."""
    return not key_measures or not clause_measures or bool(key_measures & clause_measures)
