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
from data.slurm import attempts, job_scripts, records_json
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
        self._label = cluster
        self._slurm_name = ""

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

    def job_script(self, job: Job) -> str | None:
        raise CannotKnow("slurmrestd does not give scripts", hint=f"ask slurmctld: {job_scripts.by_hand(job)}")

    def partitions(self) -> Rows[Partition]:
        payload = self._client.get("slurm", "partitions")
        return records_json.partitions(payload, self._name(payload))

    def reservations(self) -> Rows[Reservation]:
        payload = self._client.get("slurm", "reservations")
        return records_json.reservations(payload, self._name(payload))

    def associations(self) -> Rows[Association]:
        payload = self._client.get("slurmdb", "associations")
        own = self._own_name(payload)
        rows = records_json.associations(payload, own)
        people = records_json.users(self._client.get("slurmdb", "users"), own)
        named = records_json.with_users(rows.rows, people.rows)
        return replace(rows, rows=tuple(replace(row, cluster=self._name(payload)) for row in named))

    def pending_details(self) -> Rows[PendingDetail]:
        """Expected starts and priorities; slurmrestd does not tell the parts of a priority."""
        return attempts.waiting(self.jobs())

    def accounted_running(self) -> Rows[Job]:
        """With one moment as its span slurmdbd gives the rows in these states that have no end."""
        moment = str(int(time.time()))
        span = {"start_time": moment, "end_time": moment} if self._client.version >= EPOCH_VERSION else {}
        return attempts.without_end(self._recorded("jobs", state="RUNNING,SUSPENDED", **span))

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
        """Attempts of this cluster: slurmdbd may hold several clusters, whose job ids overlap."""
        payload = self._client.get("slurmdb", path, **query)
        own = self._own_name(payload)
        if isinstance(jobs := payload.get("jobs"), list):
            payload["jobs"] = [job for job in jobs if (member(job, "cluster") or own) == own]
        rows = records_json.accounting_jobs(payload, self._name(payload))
        return rows if self._client.version >= EPOCH_VERSION else attempts.without_doubtful_codes(rows)

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
        return self._label or self._own_name(payload)

    def _own_name(self, payload: Mapping[str, Any]) -> str:
        """What Slurm calls the cluster: this or another answer says so."""
        if not self._slurm_name:
            self._slurm_name = _meta_name(payload) or self._asked_name()
        return self._slurm_name

    def _asked_name(self) -> str:
        """22.05 names the cluster only in jobs and in slurmdbd, which may hold several."""
        for job in listed(self._client.get("slurm", "jobs"), "jobs"):
            if isinstance(name := member(job, "cluster"), str) and name:
                return name
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


def _meta_name(payload: Mapping[str, Any]) -> str:
    name = member(payload, "meta", "slurm", "cluster")
    return name if isinstance(name, str) else ""
