"""What is added up, per attempt of a job: from its row of `jobs`, or from its hours of `usage`.

All measures are plain sums (null = not measured; a sum leaves nulls out), so that rows of any grouping add up.
`X_hours` is X x the GPU-hours in which it was measured, and `X_measured_hours` are those hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from data.history.columns import HOURS, RATE_METRICS, RATIO_METRICS
from data.queries.history.groups import FAILED_STATES

HOUR_NAMES = tuple(column.name for column in HOURS)
# A little above 1 is rounding; more is implausible and left out.
PLAUSIBLE = 1.01
# Means that only a whole attempt has, and not each of its hours.
OF_WHOLE = (*RATE_METRICS, "low_share", "high_share")
GAP = "utilization_gap"
# From eligible to start, of an attempt that began in the range; the only measure that is no sum.
WAIT = "wait_seconds"
DETAIL_METRICS = (*RATIO_METRICS, *OF_WHOLE, "gpu_memory_used_bytes", "power_watts")
_IN_USAGE = {
    **{name: (f"{name}_hours", f"{name}_measured_hours") for name in RATIO_METRICS},
    "gpu_memory_used_bytes": ("gpu_memory_used_byte_hours", "gpu_memory_used_measured_hours"),
}

Expression = Any
Table = Any
Measures = Mapping[str, Callable[[], Expression]]


def details(names: Iterable[str]) -> tuple[str, ...]:
    """The measures of detailed metrics."""
    return tuple(measure for name in names for measure in (f"{name}_hours", f"{name}_measured_hours"))


ALWAYS = ("jobs", *HOUR_NAMES)
# Measures by the column of a report that is made of them.
OF_COLUMN: dict[str, tuple[str, ...]] = {
    "device_hours": ("device_hours",),
    **{name: details([name]) for name in RATIO_METRICS},
    "gpu_memory_used": details(["gpu_memory_used_bytes"]),
    "cpu": ("cpu_seconds", "core_seconds", "core_seconds_held"),
    "memory": ("memory_used_byte_seconds", "memory_byte_seconds", "memory_jobs"),
    "failed_share": ("failed_hours",),
    "cost": ("cost", "cost_hours"),
    "energy": ("energy_joules", "energy_hours"),
    "jobs_without_gpu_count": ("jobs_without_gpu_count",),
    "jobs_apportioned": ("jobs_apportioned",),
}
_STEMS = ("_coverage", "_efficiency", "_bytes", "_kwh")


def measures_of(columns: Iterable[str]) -> tuple[str, ...]:
    """What has to be added up for these columns."""
    found = list(ALWAYS)
    for name in columns:
        stem = next((name.removesuffix(end) for end in _STEMS if name.endswith(end)), name)
        found += OF_COLUMN.get(name, OF_COLUMN.get(stem, ()))
    return tuple(dict.fromkeys(found))


def of_jobs(jobs: Table, wanted: Iterable[str], rates: Mapping[str, float], share: Expression = None) -> dict[str, Any]:
    """The wanted measures of rows of `jobs`; with `share` of the part of each that it says (ratio of its time)."""
    import ibis

    def part(value: Expression) -> Expression:
        return value if share is None else value * share

    cores = jobs.cores * jobs.elapsed_seconds
    cpu_is_known = (jobs.cpu_seconds >= 0) & (jobs.cpu_seconds <= cores * PLAUSIBLE) & (cores > 0)
    memory_is_known = _is_memory_known(jobs)
    known: dict[str, Callable[[], Expression]] = {
        "jobs": lambda: ibis.literal(1, "int64"),
        **{name: _lazily(part, jobs[name]) for name in (*HOUR_NAMES, "device_hours", "energy_joules")},
        "energy_hours": lambda: part(jobs.energy_joules.notnull().ifelse(jobs.gpu_hours_measured, None)),
        "cpu_seconds": lambda: part(cpu_is_known.ifelse(jobs.cpu_seconds, None)),
        "core_seconds": lambda: part(cpu_is_known.ifelse(cores, None)),
        "core_seconds_held": lambda: part(cores),
        "memory_used_byte_seconds": lambda: part(
            memory_is_known.ifelse(jobs.memory_used_bytes * jobs.elapsed_seconds, None)
        ),
        "memory_byte_seconds": lambda: part(
            memory_is_known.ifelse(jobs.memory_allocated_bytes * jobs.elapsed_seconds, None)
        ),
        "memory_jobs": lambda: memory_is_known.ifelse(1, 0),
        "jobs_apportioned": lambda: ibis.literal(0 if share is None else 1, "int64"),
        WAIT: lambda: wait_of(jobs.eligible_time, jobs.start_time),
        **_common(jobs, part(jobs.gpu_hours_allocated), jobs.state, rates),
        **_details_of_jobs(jobs, part),
    }
    return {name: known[name]() for name in wanted}


def of_usage(hours: Table, wanted: Iterable[str]) -> dict[str, Any]:
    """Sums over the hours of one attempt: what `usage` itself has of the wanted measures."""
    import ibis

    known: dict[str, Callable[[], Expression]] = {
        **{name: _sum_of(hours, name) for name in (*HOUR_NAMES, "device_hours", "energy_joules", "core_seconds")},
        "energy_hours": lambda: hours.energy_joules.notnull().ifelse(hours.gpu_hours_measured, None).sum(),
        "cpu_seconds": _sum_of(hours, "cpu_seconds"),
        "cpu_core_seconds": lambda: hours.cpu_seconds.notnull().ifelse(hours.core_seconds, None).sum(),
        "seconds": _sum_of(hours, "seconds"),
        "is_apportioned": lambda: hours.is_apportioned.ifelse(1, 0).max(),
    }
    util, sm = hours.gpu_utilization_hours, hours.sm_activity_hours
    known[f"{GAP}_hours"] = lambda: (util - sm).sum()
    known[f"{GAP}_measured_hours"] = lambda: (util - sm).notnull().ifelse(hours.sm_activity_measured_hours, None).sum()
    for name, (total, measured) in _IN_USAGE.items():
        known[f"{name}_hours"], known[f"{name}_measured_hours"] = _sum_of(hours, total), _sum_of(hours, measured)
    hours_of_watts = {"power_watts_hours": "energy_joules", "power_watts_measured_hours": "energy_hours"}
    known |= {name: known[source] for name, source in hours_of_watts.items()}
    null = ibis.literal(None, "float64")
    return {name: known[name]() if name in known else null for name in wanted}


USAGE_SUMS = (*HOUR_NAMES, "device_hours", "energy_joules", "energy_hours", "core_seconds", "cpu_seconds")
USAGE_MORE = ("cpu_core_seconds", "seconds", "is_apportioned")


def sums_needed(wanted: Iterable[str]) -> tuple[str, ...]:
    """The sums over hours from which the wanted measures of an attempt are made."""
    own = {*wanted}
    found = [name for name in (*USAGE_SUMS, *details((*_IN_USAGE, GAP, "power_watts"))) if name in own]
    more = {"core_seconds", "cpu_seconds", *USAGE_MORE}
    return tuple(dict.fromkeys((*HOUR_NAMES, *found, *(name for name in (*USAGE_SUMS, *USAGE_MORE) if name in more))))


def of_attempts(parts: Table, wanted: Iterable[str], rates: Mapping[str, float]) -> dict[str, Any]:
    """The wanted measures of attempts whose hours were added up, joined with what `jobs` knows of them (`job_...`)."""
    import ibis

    cpu_is_known = (parts.cpu_seconds >= 0) & (parts.cpu_seconds <= parts.cpu_core_seconds * PLAUSIBLE)
    cpu_is_known = cpu_is_known & (parts.cpu_core_seconds > 0)
    memory_is_known = (
        (parts.job_memory_used_bytes >= 0)
        & (parts.job_memory_allocated_bytes > 0)
        & (parts.job_memory_used_bytes <= parts.job_memory_allocated_bytes * PLAUSIBLE)
    )
    known: dict[str, Callable[[], Expression]] = {
        "jobs": lambda: ibis.literal(1, "int64"),
        "cpu_seconds": lambda: cpu_is_known.ifelse(parts.cpu_seconds, None),
        "core_seconds": lambda: cpu_is_known.ifelse(parts.cpu_core_seconds, None),
        "core_seconds_held": lambda: parts.core_seconds,
        "memory_used_byte_seconds": lambda: memory_is_known.ifelse(parts.job_memory_used_bytes * parts.seconds, None),
        "memory_byte_seconds": lambda: memory_is_known.ifelse(parts.job_memory_allocated_bytes * parts.seconds, None),
        "memory_jobs": lambda: memory_is_known.ifelse(1, 0),
        "jobs_apportioned": lambda: parts.is_apportioned.cast("int64"),
        "power_watts_hours": lambda: parts.power_watts_hours / 3600,
        WAIT: lambda: wait_of(parts.job_eligible_time, parts.start_time),
        **_common(parts, parts.gpu_hours_allocated, parts.state, rates),
    }
    for name in OF_WHOLE:
        known[f"{name}_hours"] = _lazily(lambda value: value * parts.gpu_hours_measured, parts[f"job_{name}"])
        known[f"{name}_measured_hours"] = _measured(parts[f"job_{name}"], parts.gpu_hours_measured)
    return {name: known[name]() if name in known else parts[name] for name in wanted}


def wait_of(eligible: Expression, start: Expression) -> Expression:
    """Seconds; null where it is not known, or less than none."""
    wait = (start.epoch_seconds() - eligible.epoch_seconds()).cast("float64")
    return (wait >= 0).ifelse(wait, None)


def common_of(rows: Table, rates: Mapping[str, float]) -> Measures:
    """The measures that follow from the allocated hours of a row alone."""
    return _common(rows, rows.gpu_hours_allocated, rows.state, rates)


def _common(rows: Table, allocated: Expression, state: Expression, rates: Mapping[str, float]) -> Measures:
    rate = _rate_of(rows.gpu_model, rates)
    return {
        "failed_hours": lambda: state.isin(FAILED_STATES).ifelse(allocated, 0.0),
        "cost": lambda: allocated * rate,
        "cost_hours": lambda: rate.notnull().ifelse(allocated, None),
        "jobs_without_gpu_count": lambda: rows.gpu_count.isnull().ifelse(1, 0),
    }


def _rate_of(model: Expression, rates: Mapping[str, float]) -> Expression:
    """The rate of a model by its own name, else by the longest that it begins with ("A100" for an "A100 80GB"), else
    that of "default"; null without one."""
    import ibis

    default = ibis.literal(rates.get("default"), "float64")
    names = sorted((name for name in rates if name != "default"), key=len, reverse=True)
    lowered = model.lower()
    known = [
        ((lowered == name.lower()) | lowered.startswith(f"{name.lower()} "), ibis.literal(rates[name], "float64"))
        for name in names
    ]
    return ibis.cases(*known, else_=default) if known else default


def _details_of_jobs(jobs: Table, part: Callable[[Expression], Expression]) -> Measures:
    found: dict[str, Callable[[], Expression]] = {}
    for name in DETAIL_METRICS:
        found[f"{name}_hours"] = _lazily(lambda value: part(value * jobs.gpu_hours_measured), jobs[name])
        found[f"{name}_measured_hours"] = _measured(jobs[name], part(jobs.gpu_hours_measured))
    gap = jobs.gpu_utilization - jobs.sm_activity
    found[f"{GAP}_hours"] = lambda: part(gap * jobs.gpu_hours_measured)
    found[f"{GAP}_measured_hours"] = _measured(gap, part(jobs.gpu_hours_measured))
    return found


def _is_memory_known(jobs: Table) -> Expression:
    used, given = jobs.memory_used_bytes, jobs.memory_allocated_bytes
    return (used >= 0) & (given > 0) & (used <= given * PLAUSIBLE) & (jobs.elapsed_seconds > 0)


def _measured(value: Expression, hours: Expression) -> Callable[[], Expression]:
    return lambda: value.notnull().ifelse(hours, None)


def _lazily(make: Callable[[Expression], Expression], value: Expression) -> Callable[[], Expression]:
    return lambda: make(value)


def _sum_of(rows: Table, name: str) -> Callable[[], Expression]:
    return lambda: rows[name].sum()
