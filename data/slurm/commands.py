"""Read Slurm through its commands: squeue, scontrol, sacct, sacctmgr, sprio.

`--local`: in a federation they would show its other clusters' jobs too, which are not ours to judge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from data.errors import CannotKnow, FullwarpError, SourceError, SourceGarbled
from data.model import Association, Job, JobId, Node, Partition, PendingDetail, Reservation, Rows, SourceHealth
from data.slurm import attempts, job_scripts, records_json, records_text
from data.slurm.broken_rows import joined
from data.slurm.command_client import CommandClient
from data.slurm.command_errors import failure, names_no_job
from data.slurm.health import config_notes, config_values
from data.slurm.job_ids import job_id as parse_job_id
from data.slurm.job_ids import written
from settings import SlurmSettings

Row = TypeVar("Row")
_TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"


class CommandsSource:
    """The SchedulerSource over Slurm's commands on this host.

    A refresh of the live picture costs two commands, nodes and jobs; the first one up to two more, to learn the
    cluster's name and which commands write JSON.
    """

    kind = "commands"

    def __init__(self, settings: SlurmSettings, cluster: str = "", caller: Mapping[str, str] | None = None) -> None:
        self._client = CommandClient(settings, caller)
        self._label = cluster
        self._slurm_name = ""
        self._sacct_fields: tuple[str, ...] = ()

    @property
    def requests(self) -> int:
        return self._client.requests

    def nodes(self, at: datetime | None = None) -> Rows[Node]:
        _only_now(at)
        rows = self._shown("node", records_json.nodes, records_text.nodes, "-d")
        if not rows.rows and not rows.broken:
            raise SourceGarbled("scontrol shows no node at all", hint="run by hand: scontrol show node")
        return rows

    def jobs(self, at: datetime | None = None) -> Rows[Job]:
        _only_now(at)
        payload = self._client.json("squeue", "-a", "--local")
        if payload is not None:
            return attempts.live(records_json.jobs(payload, self._name()))
        printed = self._client.text("scontrol", "-a", "--local", "show", "job", "-d")
        rows = records_text.jobs(printed, self._name())
        self._client.use_text("squeue")
        return attempts.live(rows)

    def finished_jobs(self, since: datetime, until: datetime) -> Rows[Job]:
        rows = joined(
            self._accounted("-a", "-S", _moment(start), "-E", _moment(end))
            for start, end in attempts.day_slices(since, until)
        )
        return replace(rows, rows=attempts.ended_within(rows.rows, since, until))

    def job(self, job_id: str) -> tuple[Job, ...]:
        """See SchedulerSource. When only one of the two daemons answers, what it knows is given."""
        wanted = parse_job_id(job_id)
        return attempts.from_both(wanted, lambda: self._current(wanted), lambda: self._recorded(wanted))

    def job_script(self, job: Job) -> str | None:
        """From slurmctld while it has the job, then from slurmdbd, where the site keeps scripts."""
        return job_scripts.script_in(self._client.text(*job_scripts.question(job)), job)

    def partitions(self) -> Rows[Partition]:
        return self._shown("partition", records_json.partitions, records_text.partitions)

    def reservations(self) -> Rows[Reservation]:
        return self._shown("reservation", records_json.reservations, records_text.reservations)

    def associations(self) -> Rows[Association]:
        tree = self._table("assoc", records_text.ASSOCIATION_FIELDS)
        rows = records_text.associations(tree, self._own_name())
        people = records_text.users(self._table("user", records_text.USER_FIELDS, "withcoord"), self._own_name())
        joined_rows = records_text.with_users(rows.rows, people.rows)
        return replace(rows, rows=tuple(replace(row, cluster=self._name()) for row in joined_rows))

    def pending_details(self) -> Rows[PendingDetail]:
        """Expected starts and priorities of all that wait, with the parts of those that sprio ranks."""
        parts = self._client.text("sprio", "-h", "--local", "-o", records_text.SPRIO_FORMAT)
        return _with_parts(attempts.waiting(self.jobs()), records_text.priorities(parts))

    def accounted_running(self) -> Rows[Job]:
        """Without a span (now to now) slurmdbd gives the rows in these states that have no end."""
        rows = self._accounted("-a", "-X", "-s", "RUNNING,SUSPENDED", "-S", "now", "-E", "now")
        return attempts.without_end(rows)

    def health(self) -> SourceHealth:
        """Ask slurmctld and slurmdbd once each. Never raises a SourceError: it is in `error` and `hint`."""
        try:
            started = time.monotonic()
            config = self._config()
            latency = time.monotonic() - started
            notes = (*config_notes(config), *self._accounting_notes(config))
            return SourceHealth(True, config.get("SLURM_VERSION"), latency, notes=notes)
        except FullwarpError as err:
            return SourceHealth(False, error=str(err), hint=err.hint or None)

    def _shown(
        self,
        what: str,
        from_json: Callable[[object, str], Rows[Row]],
        from_text: Callable[[str, str], Rows[Row]],
        *details: str,
    ) -> Rows[Row]:
        """What `scontrol show` lists, as JSON where it writes that."""
        payload = self._client.json("scontrol", "-a", "show", what)
        if payload is not None:
            return from_json(payload, self._name())
        rows = from_text(self._client.text("scontrol", "-a", "show", what, *details), self._name())
        self._client.use_text("scontrol")
        return rows

    def _accounted(self, *arguments: str) -> Rows[Job]:
        """Attempts with their steps, requeued ones too."""
        fields, delimiter = self._known_fields(), records_text.SACCT_DELIMITER
        form = ("-n", "-P", f"--delimiter={delimiter}", "-o", ",".join(fields))
        printed = self._client.text("sacct", "-D", *arguments, *form)
        return records_text.sacct_jobs(printed, fields, delimiter, self._name()) if printed.strip() else Rows(())

    def _known_fields(self) -> tuple[str, ...]:
        """The fields that this version of sacct knows: a single unknown one fails the whole call."""
        if not self._sacct_fields:
            known = set(self._client.text("sacct", "--helpformat").lower().split())
            self._sacct_fields = tuple(name for name in records_text.SACCT_FIELDS if name.lower() in known)
        if "JobID" not in self._sacct_fields:
            self._sacct_fields = ()
            raise SourceGarbled("sacct --helpformat lists no JobID", hint="run it by hand")
        return self._sacct_fields

    def _current(self, wanted: JobId) -> tuple[Job, ...]:
        finished = self._client.finished("scontrol", "-a", "--local", "show", "job", "-d", written(wanted))
        if names_no_job(finished):
            return ()
        if error := failure(finished):
            raise error
        return records_text.jobs(finished.stdout, self._name()).rows

    def _recorded(self, wanted: JobId) -> tuple[Job, ...]:
        """Without -S and -E sacct searches all times, and finds a job that was cancelled while pending."""
        return self._accounted("-j", written(wanted)).rows

    def _table(self, what: str, fields: tuple[str, ...], *options: str) -> str:
        return self._client.text("sacctmgr", "-P", "show", what, *options, f"format={','.join(fields)}")

    def _config(self) -> Mapping[str, str]:
        config = config_values(self._client.text("scontrol", "show", "config"))
        name = config.get("ClusterName", "")
        if not name:
            raise SourceGarbled("scontrol show config names no ClusterName", hint="run it by hand")
        self._slurm_name = name
        return config

    def _own_name(self) -> str:
        """What Slurm calls the cluster."""
        return self._slurm_name or self._config()["ClusterName"]

    def _name(self) -> str:
        return self._label or self._own_name()

    def _accounting_notes(self, config: Mapping[str, str]) -> tuple[str, ...]:
        if "slurmdbd" not in config.get("AccountingStorageType", "slurmdbd"):
            return ()
        try:
            self._client.text("sacctmgr", "-nP", "show", "cluster", "format=Cluster")
        except SourceError as err:
            return (f"slurmdbd does not answer, so finished jobs are unknown: {err}; {err.hint}",)
        return ()


def _only_now(at: datetime | None) -> None:
    if at is not None:
        raise CannotKnow("Slurm's commands tell only of this moment", hint="ask the history for a past one")


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime(_TIME_FORMAT)


def _with_parts(waiting: Rows[PendingDetail], ranked: Rows[PendingDetail]) -> Rows[PendingDetail]:
    parts = {row.job_id: row.priority_parts for row in ranked.rows}
    rows = tuple(replace(row, priority_parts=parts.get(row.job_id, ())) for row in waiting.rows)
    return replace(joined([waiting, ranked]), rows=rows)
