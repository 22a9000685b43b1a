"""Read Slurm through slurmrestd, over TCP, TLS or a Unix socket."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from data.errors import CannotKnow, FullwarpError, NotFound, SourceError, SourceGarbled
from data.model import Association, Job, JobId, Node, Partition, PendingDetail, Reservation, Rows, SourceHealth
from data.slurm import attempts, records_json
from data.slurm.answers import check_errors, listed, slurm_version
from data.slurm.broken_rows import joined
from data.slurm.health import GPU_TRES_NOTE, has_gpu_tres, silent_controllers
from data.slurm.job_ids import job_id as parse_job_id
from data.slurm.records_json_fields import member
from data.slurm.rest_client import RestClient
from settings import SlurmSettings

EPOCH_VERSION: Final = 39  # v0.0.38 takes dates only, and reads them in slurmrestd's own time zone
_WIDEST_OFFSET: Final = timedelta(hours=14)


class RestSource:
    """The SchedulerSource over slurmrestd. A refresh of the live picture costs two requests: nodes and jobs."""

    kind = "rest"

    def __init__(self, settings: SlurmSettings, cluster: str = "") -> None:
        self._client = RestClient(settings)
        self._cluster = cluster

    @property
    def requests(self) -> int:
        return self._client.requests

    def nodes(self, at: datetime | None = None) -> Rows[Node]:
        payload = self._live("nodes", at)
        return records_json.nodes(payload, self._name(payload))

    def jobs(self, at: datetime | None = None) -> Rows[Job]:
        payload = self._live("jobs", at)
        return attempts.live(records_json.jobs(payload, self._name(payload)))

    def finished_jobs(self, since: datetime, until: datetime) -> Rows[Job]:
        rows = joined(self._recorded("jobs", **query) for query in self._slices(since, until))
        return replace(rows, rows=attempts.ended_within(rows.rows, since, until))

    def job(self, job_id: str) -> tuple[Job, ...]:
        """See SchedulerSource. When only one of the two daemons answers, what it knows is given."""
        wanted = parse_job_id(job_id)
        return attempts.from_both(wanted, lambda: self._current(wanted), lambda: self._recorded_job(wanted))

    def partitions(self) -> Rows[Partition]:
        payload = self._client.get("slurm", "partitions")
        return records_json.partitions(payload, self._name(payload))

    def reservations(self) -> Rows[Reservation]:
        payload = self._client.get("slurm", "reservations")
        return records_json.reservations(payload, self._name(payload))

    def associations(self) -> Rows[Association]:
        payload = self._client.get("slurmdb", "associations")
        rows = records_json.associations(payload, self._name(payload))
        users = records_json.users(self._client.get("slurmdb", "users"), self._name(payload))
        return replace(rows, rows=records_json.with_users(rows.rows, users.rows))

    def pending_details(self) -> Rows[PendingDetail]:
        """Expected starts and priorities; slurmrestd does not tell the parts of a priority."""
        rows = self.jobs()
        waiting = tuple(
            PendingDetail(job.job_id, job.display_id, job.expected_start_time, job.priority)
            for job in rows.rows
            if job.state == "PENDING"
        )
        return Rows(waiting, rows.broken, rows.broken_examples, rows.warnings)

    def health(self) -> SourceHealth:
        """Ask slurmctld and slurmdbd once each. Never raises a SourceError: it is in `error` and `hint`."""
        try:
            started = time.monotonic()
            ping = self._client.get("slurm", "ping")
            latency = time.monotonic() - started
            check_errors(ping)
            notes = (*silent_controllers(ping), *self._accounting_notes(), *self._token_notes())
            return SourceHealth(True, slurm_version(ping), latency, notes=notes)
        except FullwarpError as err:
            return SourceHealth(False, notes=self._token_notes(), error=str(err), hint=err.hint or None)

    def _live(self, path: str, at: datetime | None) -> Mapping[str, Any]:
        if at is not None:
            raise CannotKnow("slurmrestd tells only of this moment", hint="ask the history for a past one")
        return self._client.get("slurm", path)

    def _current(self, wanted: JobId) -> tuple[Job, ...]:
        """What slurmctld knows. A task that is not yet split off its array is found only with the whole array."""
        if isinstance(wanted.task, int):
            with contextlib.suppress(NotFound, SourceGarbled):
                if rows := self._current_rows(f"{wanted.job}_{wanted.task}"):
                    return rows
        return self._current_rows(str(wanted.job))

    def _current_rows(self, job: str) -> tuple[Job, ...]:
        payload = self._client.get("slurm", f"job/{job}")
        return records_json.jobs(payload, self._name(payload)).rows

    def _recorded_job(self, wanted: JobId) -> tuple[Job, ...]:
        task = f"_{wanted.task}" if isinstance(wanted.task, int) else ""
        return self._recorded(f"job/{wanted.job}{task}").rows

    def _recorded(self, path: str, **query: str) -> Rows[Job]:
        payload = self._client.get("slurmdb", path, **query)
        return records_json.accounting_jobs(payload, self._name(payload))

    def _slices(self, since: datetime, until: datetime) -> Iterator[dict[str, str]]:
        """One query a day. Dates without a zone are widened by the most that any zone differs from UTC."""
        if self._client.version >= EPOCH_VERSION:
            for start, end in attempts.day_slices(since, until):
                yield {"start_time": str(int(start.timestamp())), "end_time": str(int(end.timestamp()) + 1)}
            return
        first, last = since - _WIDEST_OFFSET, until + _WIDEST_OFFSET
        for start, _ in attempts.day_slices(first.astimezone(UTC), last.astimezone(UTC)):
            day = start.date()
            yield {"start_time": day.isoformat(), "end_time": (day + timedelta(days=1)).isoformat()}

    def _name(self, payload: Mapping[str, Any]) -> str:
        """The cluster's name: the setting, or what this or another answer says of it."""
        if not self._cluster:
            self._cluster = _said_name(payload) or self._asked_name()
        return self._cluster

    def _asked_name(self) -> str:
        """22.05 names the cluster only in jobs and in slurmdbd, which may hold several."""
        said = _said_name(self._client.get("slurm", "jobs"))
        if said:
            return said
        names = [member(row, "name") for row in listed(self._client.get("slurmdb", "clusters"), "clusters")]
        if len(names) != 1 or not isinstance(names[0], str):
            raise CannotKnow(f"slurmdbd holds {len(names)} clusters and no job says which is ours", hint="set cluster")
        return names[0]

    def _accounting_notes(self) -> tuple[str, ...]:
        try:
            payload = self._client.get("slurmdb", "tres")
            check_errors(payload)
        except FullwarpError as err:
            return (f"slurmdbd does not answer, so finished jobs are unknown: {err}",)
        return (GPU_TRES_NOTE,) if has_gpu_tres(payload) is False else ()

    def _token_notes(self) -> tuple[str, ...]:
        try:
            token = self._client.token()
        except SourceError:
            return ()
        note = None if token is None else token.expiry_note(datetime.now(UTC))
        return () if note is None else (note,)


def _said_name(payload: Mapping[str, Any]) -> str:
    meta = payload.get("meta")
    name = member(meta, "slurm", "cluster") or member(meta, "Slurm", "cluster")
    jobs = payload.get("jobs")
    if not name and isinstance(jobs, list) and jobs:
        name = member(jobs[0], "cluster")
    return name if isinstance(name, str) else ""
