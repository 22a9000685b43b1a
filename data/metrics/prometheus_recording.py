"""Recording rules for the server: 5-minute sums of every device and job, and the numbers of each verdict's window.

A range is a millisecond short of its length, so that a sample on its edge counts once on every version of Prometheus.
Sums are equal to those of the raw samples within one scrape interval.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from data.errors import SettingsError
from data.metrics.dialects import Dialect, Term
from data.metrics.prometheus_site import Site, site_of
from data.metrics.promql import milliseconds, selector
from data.metrics.registry import METRICS
from settings import Settings

USUAL_INTERVAL_SECONDS = 30.0
STEP_SECONDS = 300.0
UTIL, GR = "gpu_utilization", "graphics_engine_activity"
PREFIX = "fullwarp:"
DEVICE = f"{PREFIX}device_use"
JOB = f"{PREFIX}job_use"
_STATS = ("sum", "count", "max")
_JOB_NUMBERS = ("mean", "coverage", "idle_devices", "devices", "wasted_gpu_hours")
_HEAD = """# Recording rules of Fullwarp for {title}, scraped every {interval:g} s.
# Made by `fullwarp rules`. Load them under rule_files in prometheus.yml. Ratios are 0..1; slices of MIG use GR.
"""


def recording_rules(settings: Settings, windows: Sequence[tuple[str, float]]) -> str:
    """The rules file (YAML). `windows` are names and lengths in seconds. SettingsError where no job label is known."""
    site = site_of(settings.metrics, settings.cluster)
    dialect = site.dialects[0]
    if dialect.scope != "device" or not site.job_labels(dialect):
        raise SettingsError(
            f"{dialect.title} puts no job id on its series, so there are no rules per job",
            hint="Set metrics.dialects to an exporter that does, or metrics.job_label.",
        )
    interval = settings.metrics.scrape_interval_seconds or USUAL_INTERVAL_SECONDS
    text = _HEAD.format(title=dialect.title, interval=interval)
    kept = [settings.metrics.cluster_label] if settings.metrics.cluster_label else []
    text += "groups:\n" + _group("fullwarp-devices", _device_rules(dialect, site, kept))
    jobs = ", ".join([*kept, site.job_labels(dialect)[0]])
    lengths = dict.fromkeys(length for _, length in windows)
    rules = [one for length in lengths for one in _job_rules(dialect, jobs, length, interval)]
    return text + _group("fullwarp-jobs", rules)


def recorded_names(windows: Iterable[float]) -> frozenset[str]:
    """The names of the series that the rules for windows of these lengths (seconds) make."""
    of_jobs = (f"{JOB}:{number}_{window_name(length)}" for length in windows for number in _JOB_NUMBERS)
    return frozenset((*(f"{DEVICE}:{stat}_5m" for stat in _STATS), *of_jobs))


def window_name(seconds: float) -> str:
    """A window in a rule's name: 4h, 45m, 90s."""
    whole = round(seconds)
    for size, unit in ((3600, "h"), (60, "m")):
        if whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def _group(name: str, rules: Sequence[tuple[str, str]]) -> str:
    lines = [f"  - name: {name}", f"    interval: {round(STEP_SECONDS)}s", "    rules:"]
    for record, expression in rules:
        lines += [f"      - record: {record}", f"        expr: {json.dumps(expression)}"]
    return "\n".join(lines) + "\n"


def _device_rules(dialect: Dialect, site: Site, kept: Sequence[str]) -> list[tuple[str, str]]:
    """Sum, count and maximum of five minutes per device and job."""
    by = ", ".join([*kept, *_labels(dialect, site)])
    rules = []
    for stat in _STATS:
        arms = []
        for term, matchers in _series(dialect, site):
            found = f"{stat}_over_time({term.name}{selector(matchers)}[{_range(STEP_SECONDS)}])"
            scaled = "" if stat == "count" or term.scale == 1 else f" * {term.scale!r}"
            arms.append(f"max by ({by}) ({found}){scaled}")
        rules.append((f"{DEVICE}:{stat}_5m", " or ".join(arms)))
    return rules


def _job_rules(dialect: Dialect, job: str, length: float, interval: float) -> Iterator[tuple[str, str]]:
    """Mean, coverage, idle devices and wasted GPU-hours of one window per job; coverage is that of the worst device."""
    name = window_name(length)
    total, count, most = (f"{DEVICE}:{stat}_5m" for stat in _STATS)
    sums = {one: f"sum_over_time({one}[{_range(length)}])" for one in (total, count)}
    yield f"{JOB}:mean_{name}", f"avg by ({job}) ({sums[total]} / {sums[count]})"
    yield f"{JOB}:coverage_{name}", f"min by ({job}) ({sums[count]}) / {length / interval!r}"
    epsilon = METRICS[GR].idle_epsilon or 0.0
    yield f"{JOB}:idle_devices_{name}", f"sum by ({job}) (max_over_time({most}[{_range(length)}]) <= bool {epsilon!r})"
    yield f"{JOB}:devices_{name}", f"count by ({job}) ({sums[count]})"
    whole = "".join(f'{{{label}=""}}' for label in _slice_labels(dialect)[:1])
    hours = " - ".join(f"sum_over_time({one}{whole}[{_range(length)}])" for one in (count, total))
    yield f"{JOB}:wasted_gpu_hours_{name}", f"sum by ({job}) ({hours}) * {interval / 3600!r}"


def _series(dialect: Dialect, site: Site) -> Iterator[tuple[Term, list[str]]]:
    """UTIL of whole GPUs and GR of slices, only where a job holds them."""
    held = f'{site.job_labels(dialect)[0]}!=""'
    own = [f'{label}="{value}"' for label, value in dialect.select]
    slices = _slice_labels(dialect)[:1]
    for metric in (UTIL, GR):
        formulas = [formula for formula in dialect.metrics.get(metric, ()) if len(formula) == 1]
        if not formulas or (metric == GR and not slices and UTIL in dialect.metrics):
            continue
        term = formulas[0][0]
        term = Term(site.names.get(metric, term.name), term.scale)
        kind = [f'{label}{"=" if metric == UTIL else "!="}""' for label in slices]
        yield term, [*site.matchers, *own, held, *kind]


def _labels(dialect: Dialect, site: Site) -> list[str]:
    roles = dialect.labels
    device = (*roles.get(dialect.key, ())[:1], *_slice_labels(dialect)[:1])
    return list(dict.fromkeys((site.host_labels(dialect)[0], *device, site.job_labels(dialect)[0])))


def _slice_labels(dialect: Dialect) -> Sequence[str]:
    return dialect.labels.get("slice", ())


def _range(seconds: float) -> str:
    return milliseconds(seconds - 0.001)
