"""Looks at the sources, the files and the host, and hands what it finds to the pure checks."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, SecretStr

from data.check import join, metrics, safety, slurm
from data.check.result import Check, Verdict
from data.errors import SourceError
from data.metrics.registry import METRICS
from data.model import Job, Node, Rows
from data.protocols import MetricsSource, SchedulerSource
from settings import MetricsKind, Settings, secret_text

T = TypeVar("T")
NO_LOGIN = ("nologin", "false", "sync", "halt", "shutdown")


def look(
    settings: Settings,
    path: Path | None,
    scheduler: SchedulerSource,
    source: MetricsSource,
    *,
    is_demo: bool = False,
    recorded: Collection[str] = (),
) -> Iterator[Check]:
    """Every check, in the order in which a person would mend things. Raises nothing of the sources. `recorded` are the
    series that the recording rules of these settings make."""
    if not is_demo:
        yield from _safety(settings, path)
    found: list[Check] = []
    nodes = _try(slurm.SUBJECT, scheduler.nodes, found)
    jobs = _try(slurm.SUBJECT, scheduler.jobs, found)
    yield from _slurm(settings, scheduler, nodes, jobs, found)
    if settings.metrics.kind is MetricsKind.NONE:
        yield Check(metrics.SUBJECT, Verdict.NOTE, "metrics.kind = none: nothing is measured on GPUs")
    else:
        yield from _metrics(settings, source, nodes, jobs, recorded)


def _slurm(
    settings: Settings,
    scheduler: SchedulerSource,
    nodes: Rows[Node] | None,
    jobs: Rows[Job] | None,
    found: list[Check],
) -> Iterator[Check]:
    health = _try(slurm.SUBJECT, scheduler.health, found)
    if health is not None:
        yield slurm.answers(scheduler.kind, health)
    yield from found if health is None or health.reachable else ()
    if nodes is None or jobs is None:
        return
    yield from slurm.broken_rows("nodes", nodes)
    yield from slurm.broken_rows("jobs", jobs)
    yield slurm.counts_gpus(nodes.rows, jobs.rows)
    yield from slurm.cluster_name(settings.cluster, nodes.rows)
    accounted = _try(slurm.SUBJECT, scheduler.accounted_running, [])  # where there is none, health says so
    if accounted is not None:
        yield from slurm.hidden_jobs(accounted.rows, nodes.rows, jobs.rows)


def _metrics(
    settings: Settings,
    source: MetricsSource,
    nodes: Rows[Node] | None,
    jobs: Rows[Job] | None,
    recorded: Collection[str],
) -> Iterator[Check]:
    found: list[Check] = []
    health = _try(metrics.SUBJECT, source.health, found)
    reading = _try(metrics.SUBJECT, lambda: source.latest(_device_metrics()), found) if health else None
    if health is None or not health.reachable:
        yield from found if health is None else [metrics.answers(source.kind, health)]
        return
    yield metrics.answers(source.kind, health)
    yield from found
    yield from metrics.exporters(health, settings.cluster or _cluster_of(nodes), settings.metrics)
    if reading is None:
        return
    if not reading.devices:
        if nodes is not None and health.dialects:  # known by name, and silent now; without a dialect it is said above
            yield from join.hosts(nodes.rows, reading, settings.metrics.host_label)
        return
    holders = sum(1 for job in (jobs.rows if jobs else ()) if job.is_running and job.allocated.gpus)
    yield from metrics.job_labels(reading, holders, settings.metrics.job_label)
    yield from metrics.fields(health.missing_metrics or reading.missing, health.dialects)
    yield from metrics.dropped(reading)
    yield from metrics.recording(_try(metrics.SUBJECT, source.recorded, []), recorded)
    if nodes is not None:
        yield from join.hosts(nodes.rows, reading, settings.metrics.host_label)
        yield from join.gpu_counts(nodes.rows, reading)


def _device_metrics() -> list[str]:
    return [row.name for row in METRICS.values() if not (row.is_host or row.is_derived or row.is_counter)]


def _cluster_of(nodes: Rows[Node] | None) -> str:
    return nodes.rows[0].cluster if nodes and nodes.rows else ""


def _safety(settings: Settings, path: Path | None) -> Iterator[Check]:
    if not _is_enforcers(settings):
        yield from identity_checks(settings)
        yield from safety.staff(settings.identity)
    yield from safety.files(named_files(settings, path))


def _is_enforcers(settings: Settings) -> bool:
    """Whether these are the settings of an enforcer alone, which nobody asks: they act, and do not say who asks."""
    return settings.policy.enforce and not settings.model_fields_set & {"identity", "serve"}


def identity_checks(settings: Settings) -> Iterator[Check]:
    """Whether requests are named by somebody whom the server may trust, on this host as it is."""
    shown = settings.exposure
    length = len(_readable(settings.identity.secret, settings.identity.secret_file))
    token = _readable(shown.scrape_token, shown.scrape_token_file)
    yield from safety.identity(settings.identity, settings.serve, length, login_users())
    yield from safety.watching(shown.scrape_addresses, settings.identity, settings.serve, length, token)


def _readable(value: SecretStr, file: Path | None) -> str:
    """The secret; "" for a file that cannot be read, which is said of files."""
    try:
        return secret_text(value, file)
    except (OSError, UnicodeDecodeError):
        return ""


def named_files(settings: Settings, path: Path | None) -> Iterator[safety.FileFacts]:
    """The settings file and every file of a secret or key that it names."""
    if path is not None:
        yield safety.FileFacts("settings", path, _mode(path), holds_secret=holds_secret(settings))
    for section_name, section in settings:
        for name, value in section if isinstance(section, BaseModel) else ():
            if isinstance(value, Path) and (
                name.endswith(("key_file", "headers_file")) or name.removesuffix("_file") in _secrets(section)
            ):
                yield safety.FileFacts(f"{section_name}.{name}", value, _mode(value), reader=_not_reader(value))


def holds_secret(settings: Settings) -> bool:
    """Whether a secret stands in the settings themselves rather than in a file of its own."""
    sections = [section for _, section in settings if isinstance(section, BaseModel)]
    given = (secret for section in sections for secret in _secrets(section).values())
    return any(secret.get_secret_value() for secret in given) or bool(settings.metrics.headers)


def _secrets(section: BaseModel) -> dict[str, SecretStr]:
    return {name: value for name, value in section if isinstance(value, SecretStr)}


def login_users() -> list[str]:
    """Other people with a login on this host, as far as its user database lists them."""
    people = (entry for entry in pwd.getpwall() if 1000 <= entry.pw_uid < 60_000 and entry.pw_uid != os.getuid())
    return [entry.pw_name for entry in people if not entry.pw_shell.endswith(NO_LOGIN)]


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def _not_reader(path: Path) -> str:
    """The name of this account where it cannot read the file."""
    if os.access(path, os.R_OK, effective_ids=True):
        return ""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _try(subject: str, ask: Callable[[], T], found: list[Check]) -> T | None:
    try:
        return ask()
    except SourceError as err:
        found.append(Check(subject, Verdict.PROBLEM, str(err), (err.hint,) if err.hint else ()))
        return None
