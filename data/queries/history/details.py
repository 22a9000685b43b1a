"""How the GPUs were used, in detail, over any range of history: each metric weighted by its own measured hours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from data.efficiency.hours import GpuHours
from data.findings.diagnosis import MetricRow, diagnose
from data.gpu_models import gpu_model
from data.history.columns import RATE_METRICS, RATIO_METRICS
from data.model import Role, Viewer
from data.queries.history.grouping import Place, Sums, ordered, places_of, raw_group
from data.queries.history.groups import Group
from data.queries.history.measures import GAP, details
from data.queries.history.model import NO_STATE, HistoryFilter, HistoryState, ReportQuery
from data.queries.history.question import Question, ask
from data.queries.history.summing import Raw, Summed, summed
from data.queries.history.values import hours_of_sums
from data.report import Swing
from data.sources import Sources

METRICS = (*RATIO_METRICS, GAP, *RATE_METRICS, "gpu_memory_used_bytes", "power_watts")
_MEASURES = details((*METRICS, "low_share", "high_share"))
_COLUMNS = ("cpu_efficiency", "device_hours")


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean and the GPU-hours of which it is one."""

    value: float
    hours: float


@dataclass(frozen=True, slots=True)
class DetailedRow:
    """One group, or one job. `metrics` has what was measured, by name: a metric that is not in it is either not
    exported (see `Detailed.not_exported`) or was not measured here.

    `utilization` is UTIL, or GR on slices. `row` is what `data.findings.diagnose` judges, `diagnoses` what it found.
    `model` is set when all its hours are of one model.
    """

    key: str | None
    label: str
    jobs: int
    hours: GpuHours
    utilization: float | None
    metrics: Mapping[str, Measured]
    row: MetricRow
    diagnoses: tuple[str, ...]
    model: str | None = None
    level: int | None = None
    parent: str | None = None
    about: Raw = field(default_factory=dict)

    def value(self, name: str) -> float | None:
        found = self.metrics.get(name)
        return None if found is None else found.value


@dataclass(frozen=True, slots=True)
class Detailed:
    """`not_exported` are metrics of which the whole cluster has no measurement in the range."""

    query: ReportQuery
    rows: tuple[DetailedRow, ...]
    total: DetailedRow
    not_exported: tuple[str, ...]
    state: HistoryState = NO_STATE


def detailed(viewer: Viewer, sources: Sources, query: ReportQuery) -> Detailed:
    """Answer with the detailed metrics by group, those with most GPU-hours first. Raises as `report`."""
    query = replace(query, columns=_COLUMNS, compare=False)

    def answer(question: Question) -> Detailed:
        found = summed(question, *_MEASURES)
        models = _models(question)
        rows = tuple(_row(sources, question, found, place, models) for place in _shown(query, found))
        total = _row(sources, question, found, None, models)
        return Detailed(query, rows, total, _not_exported(question, total), question.state)

    return ask(viewer, sources, query, answer)


def _shown(query: ReportQuery, found: Summed) -> list[Place]:
    if query.by is Group.JOB:
        return list(found.rows)
    places = ordered(found.rows, query.by)
    places.sort(key=lambda place: -(found.rows[place].get("gpu_hours_allocated") or 0.0))
    return places[: query.limit]


def _models(question: Question) -> dict[Place, set[str | None]]:
    """The models of each group, where they are not the group itself or a job's own."""
    if question.query.by in (Group.JOB, Group.MODEL):
        return {}

    def build() -> object:
        parts = question.parts()
        used = parts.filter(parts.gpu_hours_allocated > 0)
        return used.group_by({**raw_group(question.query.by, used), "model": used.gpu_model}).agg(jobs=used.count())

    found: dict[Place, set[str | None]] = {}
    for row in question.run("models", build):
        for place in places_of(question, row):
            found.setdefault(place, set()).add(row["model"])
    return found


def _row(
    sources: Sources, question: Question, found: Summed, place: Place | None, models: Mapping[Place, set[str | None]]
) -> DetailedRow:
    sums = found.total if place is None else found.rows[place]
    about = {} if place is None else found.about.get(place, {})
    model = _model(question.query.by, place, about, models)
    hours = hours_of_sums(sums)
    metrics = {name: one for name in METRICS if (one := _measured(sums, name)) is not None}
    row = _judged(sums, hours, metrics, model, about)
    return DetailedRow(
        key=None if place is None else place.key,
        label="All" if place is None else place.label,
        jobs=round(sums.get("jobs") or 0),
        hours=hours,
        utilization=row.utilization,
        metrics=metrics,
        row=row,
        diagnoses=diagnose(row, sources.settings.findings),
        model=model,
        level=None if place is None else place.level,
        parent=None if place is None else place.parent,
        about=about,
    )


def _model(by: Group, place: Place | None, about: Raw, models: Mapping[Place, set[str | None]]) -> str | None:
    if by is Group.JOB or place is None:
        return about.get("gpu_model")
    if by is Group.MODEL:
        return place.key
    found = models.get(place, set())
    return next(iter(found)) if len(found) == 1 else None


def _judged(sums: Sums, hours: GpuHours, metrics: Mapping[str, Measured], model: str | None, about: Raw) -> MetricRow:
    idle = None if hours.idle is None or not hours.idle_measured else hours.idle / hours.idle_measured
    low, high = _measured(sums, "low_share"), _measured(sums, "high_share")
    cores = sums.get("core_seconds")
    cpu = sums.get("cpu_seconds")
    return MetricRow(
        values={name: one.value for name, one in metrics.items() if name != GAP},
        utilization=hours.utilization,
        idle_share=idle,
        model=gpu_model(model),
        gpu_count=about.get("gpu_count"),
        cpu_utilization=min(1.0, cpu / cores) if cpu is not None and cores else None,
        swing=None if low is None or high is None else Swing(low.value, high.value),
    )


def _measured(sums: Sums, name: str) -> Measured | None:
    total, hours = sums.get(f"{name}_hours"), sums.get(f"{name}_measured_hours")
    return None if total is None or not hours else Measured(total / hours, hours)


def _not_exported(question: Question, total: DetailedRow) -> tuple[str, ...]:
    """Metrics that nobody's job has in the range: of the site, so that it is looked up without filter and scope."""
    absent = [name for name in METRICS if name not in total.metrics]
    if not absent:
        return ()
    everybody = replace(question.viewer, role=Role.STAFF)
    site = question.asking(everybody, by=Group.NONE, filter=HistoryFilter())
    everything = summed(site, *_MEASURES).total
    return tuple(name for name in absent if _measured(everything, name) is None)
