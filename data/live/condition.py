"""How the sources are doing after a refresh."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from data.live.asking import Answer, Asked
from data.model import Reading, Rows, SourceCondition, SourceHealth, SourceState

if TYPE_CHECKING:
    from data.live.picture import Origin


def scheduler_state(
    last: SourceState | None,
    asked: Asked,
    origin: Origin,
    now: datetime,
    nodes_time: datetime | None,
    jobs_time: datetime | None,
) -> SourceState:
    """Slurm is OK when nodes and jobs came, STALE while old ones of either are left, DOWN with neither."""
    parts: dict[str, Answer[Any]] = {"nodes": asked.nodes, "jobs": asked.jobs}
    state = _state("slurm", origin.scheduler_kind, origin.scheduler_address, last, now)
    has_good = nodes_time is not None or jobs_time is not None
    state = _judged(state, last, parts, now, origin.refresh_seconds, has_good=has_good)
    rare: dict[str, Answer[Any]] = {
        "partitions": asked.partitions,
        "reservations": asked.reservations,
        "associations": asked.associations,
        "jobs in accounting": asked.accounted,
    }
    warnings = [f"{name}: {answer.error}" for name, answer in rare.items() if answer.error is not None]
    rows: list[Rows[Any]] = [answer.value for answer in (asked.nodes, asked.jobs) if answer.value is not None]
    return replace(
        _with_version(state, asked.scheduler_health),
        broken_rows=sum(part.broken for part in rows),
        broken_examples=tuple(example for part in rows for example in part.broken_examples)[:10],
        warnings=(*(line for part in rows for line in part.warnings), *warnings),
    )


def metrics_state(
    last: SourceState | None, asked: Asked, origin: Origin, now: datetime, reading: Reading | None
) -> SourceState:
    """The metrics are OK when the latest values came, STALE while old ones are left, DOWN without any."""
    state = _state("metrics", origin.metrics_kind, origin.metrics_address, last, now)
    latest = {"latest values": asked.reading}
    state = _judged(state, last, latest, now, origin.refresh_seconds, has_good=reading is not None)
    if reading is None:
        return state
    return replace(
        _with_version(state, asked.metrics_health),
        dropped_values=reading.dropped,
        dialects=reading.dialects,
        missing_metrics=reading.missing,
        warnings=reading.warnings,
    )


def _state(name: str, kind: str, address: str | None, last: SourceState | None, now: datetime) -> SourceState:
    version = None if last is None else last.version
    return SourceState(name, kind, SourceCondition.OK, last_success=now, version=version, address=address)


def _judged(
    state: SourceState,
    last: SourceState | None,
    parts: dict[str, Answer[Any]],
    now: datetime,
    refresh_seconds: float,
    *,
    has_good: bool,
) -> SourceState:
    failed = {name: answer.error for name, answer in parts.items() if answer.error is not None}
    state = replace(state, latency_seconds=sum(answer.seconds for answer in parts.values()))
    if not failed:
        return state
    return replace(
        state,
        condition=SourceCondition.STALE if has_good else SourceCondition.DOWN,
        next_try=now + timedelta(seconds=refresh_seconds),
        last_success=None if last is None else last.last_success,
        failing_since=now if last is None else last.failing_since or now,
        error="; ".join(f"{name}: {error}" for name, error in failed.items()),
        hint=next((error.hint for error in failed.values() if error.hint), None),
    )


def _with_version(state: SourceState, health: Answer[SourceHealth]) -> SourceState:
    return state if health.value is None else replace(state, version=health.value.version or state.version)
