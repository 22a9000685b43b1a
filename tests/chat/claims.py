"""Sentences over real results of tools, in many wordings and five languages: honest ones, and such with one thing
changed. What is said where is written out here by hand, apart from the code that checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from chat.model import ToolResult

# A field by its key: what it is called in English, German, French, Spanish, Chinese.
MEASURES: Mapping[str, tuple[str, str, str, str, str]] = {
    "utilization_ratio": ("utilization", "Auslastung", "utilisation", "utilización", "利用率"),
    "gpu_utilization_ratio": (
        "GPU utilization",
        "GPU-Auslastung",
        "utilisation GPU",
        "utilización de GPU",
        "GPU 利用率",
    ),
    "cpu_ratio": ("CPU efficiency", "CPU-Effizienz", "efficacité CPU", "eficiencia de CPU", "CPU 效率"),
    "gpu_memory_ratio": ("GPU memory use", "GPU-Speicher", "mémoire GPU", "memoria de GPU", "显存"),
    "coverage_ratio": ("coverage", "Abdeckung", "couverture", "cobertura", "覆盖率"),
    "wasted_gpu_hours": ("waste", "Verschwendung", "gaspillage", "desperdicio", "浪费"),
    "idle_gpu_hours": ("idle time", "Leerlauf", "temps inactif", "tiempo inactivo", "空闲时间"),
    "allocated_gpu_hours": ("allocated time", "zugeteilte Zeit", "temps alloué", "tiempo asignado", "已分配时间"),
    "elapsed_seconds": ("runtime", "Laufzeit", "durée", "duración", "运行时间"),
    "wait_seconds": ("wait", "Wartezeit", "attente", "espera", "等待时间"),
    "wait_p50_seconds": ("median wait", "mittlere Wartezeit (Median)", "attente médiane", "espera mediana", "等待时间"),
    "power_watts": ("power draw", "Leistung", "puissance", "potencia", "功率"),
    "memory_bytes": ("memory", "Arbeitsspeicher", "mémoire", "memoria", "内存"),
    "gpu_memory_peak_bytes": ("peak GPU memory", "GPU-Speicher", "mémoire GPU", "memoria de GPU", "显存"),
}
LANGUAGES = ("en", "de", "fr", "es", "zh")
SUBJECTS: Mapping[str, Sequence[str]] = {
    "job": ("job {}", "Job {}", "le job {}", "el trabajo {}", "作业 {}"),
    "user": ("user {}", "{}", "l'utilisateur {}", "el usuario {}", "用户 {}"),
    "node": ("node {}", "Knoten {}", "le nœud {}", "el nodo {}", "节点 {}"),
    "partition": ("partition `{}`", "Partition `{}`", "la partition `{}`", "la partición `{}`", "分区 `{}`"),
    "cluster": ("the cluster", "der ganze Cluster", "tout le cluster", "todo el cluster", "整个集群"),
}
WEEK = ("in the last 7 days", "in den letzten 7 Tagen", "ces 7 derniers jours", "en los últimos 7 días", "在过去7天")
MONTH = (
    "in the last 30 days",
    "in den letzten 30 Tagen",
    "durant les derniers 30 jours",
    "en los últimos 30 días",
    "在过去30天",
)
TEMPLATES: Mapping[str, Sequence[str]] = {
    "en": (
        "The {m} of {s} is {v}.",
        "{s} has a {m} of {v}.",
        "For {s}, the card shows a {m} of **{v}**.",
        "I looked at {s}: its {m} is {v}.",
        "At {v}, the {m} of {s} stands out.",
        "{s} deserves a look. The {m} is {v}.",
        "- {s}: {m} {v}",
        "1. **{s}** — {m}: {v}",
        "| what | {m} |\n|---|---|\n| {s} | {v} |",
        "It is {s} whose {m} comes to {v}, as far as it was measured by the source.",
    ),
    "de": (
        "Bei {s} beträgt die {m} {v}.",
        "{s}: {m} {v}.",
        "Die Karte zeigt für {s} {v} ({m}).",
        "Auffällig ist {s}. Hier liegt die {m} bei {v}.",
    ),
    "fr": ("Pour {s}, {m} : {v}.", "{s} montre {v} ({m}).", "On voit {v} de {m} pour {s}."),
    "es": ("Para {s}, {m}: {v}.", "{s} tiene {v} de {m}.", "La tarjeta muestra {v} de {m} para {s}."),
    "zh": ("{s} 的{m}为 {v}。", "{s}\uff1a{m} {v}。"),
}
TIMED = {"en": "{p}, {x}", "de": "{p}: {x}", "fr": "{p} : {x}", "es": "{p}, {x}", "zh": "{p}\uff0c{x}"}


@dataclass(frozen=True)
class Claim:
    """A value of a result with what it is of. `is_timed`: it belongs to the week that the result covers."""

    kind: str
    name: str
    key: str
    value: float
    is_timed: bool = False


@dataclass(frozen=True)
class Sentence:
    text: str
    how: str  # honest; or value, unit, subject, period: what was changed
    claim: Claim


def claims(results: Sequence[ToolResult]) -> list[Claim]:
    """What results say of jobs, users, nodes, partitions and the cluster, as far as it has a name above."""
    return [claim for result in results for claim in _claims(result.value or {}, "cluster", "", timed=False)]


def _claims(value: Any, kind: str, name: str, *, timed: bool) -> Iterator[Claim]:
    if not isinstance(value, Mapping):
        return
    timed = timed or "from_at" in value
    kind, name = _named(value) or (kind, name)
    for key, inner in value.items():
        if key in MEASURES and isinstance(inner, int | float) and inner:
            yield Claim(kind, name, key, float(inner), timed and key.endswith("gpu_hours"))
        elif isinstance(inner, Mapping) and "rows" in inner:
            is_parts = key == "partitions" and kind == "cluster"
            rows = [row for row in inner["rows"] if isinstance(row, Mapping)]
            for row in rows:
                if is_parts:
                    yield from _claims({**row, "nodes": None}, "partition", row["name"], timed=timed)
                elif _named(row):
                    yield from _claims(row, kind, name, timed=timed)
        elif key == "total":
            yield from _claims(inner, kind, name, timed=timed)


def _named(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a row is of: its first name; a device of a node is none of these."""
    if "device" in row:
        return None
    return next(((key, str(row[key])) for key in ("job", "node", "user") if isinstance(row.get(key), str)), None)


def number(value: float, digits: int, language: str, chance: Random) -> str:
    text = f"{value:,.{digits}f}"
    if language in ("de", "es"):
        return text.translate(str.maketrans(",.", ".,"))
    if language == "fr":
        return text.translate(str.maketrans(",.", "\u202f,"))
    return text if chance.random() < 0.7 else text.replace(",", "")


Written = Callable[[float, str, Random], str]


def _ratio(value: float, language: str, chance: Random) -> str:
    return number(value * 100, chance.choice((0, 1, 1)), language, chance) + chance.choice((" %", "%", "\u00a0%"))


def _gpu_hours(value: float, language: str, chance: Random) -> str:
    if language == "en" and value > 100 and chance.random() < 0.2:
        return number(value / 24, 1, language, chance) + " GPU-days"
    units = {"de": "GPU-Stunden", "fr": "heures GPU", "es": "horas de GPU", "zh": "GPU 小时"}
    unit = units.get(language) or chance.choice(("GPU-hours", "GPU hours", "GPU-h"))
    return f"{number(value, chance.choice((1, 2)) if value < 1000 else chance.choice((0, 1)), language, chance)} {unit}"


def _seconds(value: float, language: str, chance: Random) -> str:
    hours = {"en": "h", "de": "Stunden", "fr": "heures", "es": "horas", "zh": "小时"}[language]
    minutes = {"en": "minutes", "de": "Minuten", "fr": "minutes", "es": "minutos", "zh": "分钟"}[language]
    if language == "en" and value > 7200 and chance.random() < 0.3:
        whole = round(value / 60)
        return f"{whole // 60} h {whole % 60} min"
    if value > 7200:
        return f"{number(value / 3600, 1, language, chance)} {hours}"
    return f"{number(value / 60, 1, language, chance)} {minutes}"


def _watts(value: float, language: str, chance: Random) -> str:
    return (
        f"{number(value / 1000, 2, language, chance)} kW" if value > 2000 else f"{number(value, 0, language, chance)} W"
    )


def _bytes(value: float, language: str, chance: Random) -> str:
    size, unit = chance.choice(((2.0**30, "GiB"), (1e9, "GB")))
    return f"{number(value / size, 1, language, chance)} {unit}"


FORMS: Mapping[str, Written] = {
    "_ratio": _ratio, "_gpu_hours": _gpu_hours, "_seconds": _seconds, "_watts": _watts, "_bytes": _bytes,
}  # fmt: skip
OTHER_UNITS = {
    "GPU-hours": ("GPU-days", "hours", "%", "kWh"), "GPU hours": ("GPU days", "hours"), "GPU-h": ("h", "GPU-days"),
    "GPU-days": ("GPU-hours", "days"), "GPU-Stunden": ("Stunden", "GPU-Tage"), "heures GPU": ("heures", "jours GPU"),
    "horas de GPU": ("horas", "días de GPU"), "GPU 小时": ("小时", "GPU 天"), "%": ("GPU-hours", "W", "GiB", "h"),
    "kW": ("W", "MW", "kWh"), "W": ("kW", "Wh", "%"), "GiB": ("MiB", "TiB", "GB/s"), "GB": ("MB", "TB", "%"),
    "h": ("min", "GPU-h", "d"), "minutes": ("hours", "seconds", "%"), "Stunden": ("Minuten", "GPU-Stunden"),
    "Minuten": ("Stunden", "%"), "heures": ("minutes", "heures GPU"), "horas": ("minutos", "horas de GPU"),
    "minutos": ("horas", "%"), "小时": ("分钟", "GPU 小时"), "分钟": ("小时", "%"),
}  # fmt: skip


def honest(claim: Claim, chance: Random) -> Sentence:
    """The claim in some wording."""
    place = chance.choices(range(len(LANGUAGES)), (12, 3, 2, 2, 1))[0]
    language = LANGUAGES[place]
    text = _worded(claim, _value(claim, language, chance), place, chance, WEEK)
    return Sentence(text, "honest", claim)


def changed(claim: Claim, others: Sequence[Claim], how: str, chance: Random) -> Sentence | None:
    """The claim with its value, unit, subject or period changed; None where that cannot be done to it."""
    place = chance.choices(range(len(LANGUAGES)), (12, 3, 2, 2, 1))[0]
    language = LANGUAGES[place]
    value, period = _value(claim, language, chance), WEEK
    if how == "value":
        wrong = claim.value * chance.choice((0.5, 0.8, 0.9, 1.07, 1.15, 1.5, 2.0, 10.0, chance.uniform(0.2, 3)))
        if not _is_other(wrong, claim):
            return None
        value = _value(replace(claim, value=wrong), language, chance)
    elif how == "unit":
        unit = next((one for one in sorted(OTHER_UNITS, key=len, reverse=True) if value.endswith(one)), None)
        if unit is None or " min" in value:
            return None
        value = value.removesuffix(unit) + " " * (unit == "%" and value[-2] != " ") + chance.choice(OTHER_UNITS[unit])
    elif how == "subject":
        same = {one.name for one in others if one.key == claim.key and not _is_other(one.value, claim)}
        names = {one.name for one in others if one.kind == claim.kind} - same
        names |= {"job": {"99912345"}, "node": {"zz99"}}.get(claim.kind, set())
        if not names:
            return None
        claim = replace(claim, name=chance.choice(sorted(names)))
    elif claim.is_timed:
        period = MONTH
    else:
        return None
    return Sentence(_worded(claim, value, place, chance, period), how, claim)


def _is_other(value: float, claim: Claim) -> bool:
    """Whether a value is another one however coarsely both are written."""
    finest = {"_ratio": 0.01, "_gpu_hours": 2.4 if claim.value > 100 else 0.1, "_watts": 10.0, "_bytes": 1.1e8}
    step = next((step for end, step in finest.items() if claim.key.endswith(end)), 360.0 if claim.value > 7200 else 6.0)
    return abs(value - claim.value) > max(step, 0.02 * claim.value)


def _value(claim: Claim, language: str, chance: Random) -> str:
    form = next(form for end, form in FORMS.items() if claim.key.endswith(end))
    return form(claim.value, language, chance)


def _worded(claim: Claim, value: str, place: int, chance: Random, period: Sequence[str]) -> str:
    language = LANGUAGES[place]
    template = chance.choice(TEMPLATES[language])
    subject = chance.choice([SUBJECTS[claim.kind][place]] * 2 + ["`{}`"] * (claim.kind in ("node", "user")))
    said = template.format(m=MEASURES[claim.key][place], s=subject.format(claim.name), v=value)
    if claim.is_timed and not said.startswith(("|", "-", "1.")):
        said = TIMED[language].format(p=period[place], x=said)
    elif claim.is_timed:
        said = f"{period[place]}:\n{said}"
    return said[0].upper() + said[1:] if not said.startswith("`") else said
