"""The numbers of attempts as rows, with what could not be measured counted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import pyarrow as pa

from data.errors import SourceError
from data.history.ended import Tables
from data.history.known import METRICS_FAILED
from data.history.measure.attempts import measure
from data.history.measure.rows import jobs_table
from data.history.measure.spans import Suspensions
from data.history.measure.usage_rows import usage_table
from data.history.measure.use import AttemptUse
from data.model import ClusterSnapshot, Device, Job
from data.report import UseSource
from data.sources import NoMetrics, Sources


@dataclass
class Measuring:
    """Measures attempts with what is known of the cluster now. Once the metrics have failed it goes on without them:
    `failed` says so, and the rows are marked."""

    sources: Sources
    snapshot: ClusterSnapshot
    inventory: Mapping[tuple[str, int], Device]
    accounts: Mapping[str, tuple[str, ...]]
    suspensions: Suspensions
    failed: bool = False
    error: str = ""
    unmeasured: int = 0
    apportioned: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def tables(self, jobs: Sequence[Job], now: datetime) -> Tables:
        """Rows of ended attempts for `jobs/` and `usage/`."""
        uses = self._uses(jobs, now, None)
        self.unmeasured += sum(use.source == UseSource.NONE and use.report.gpu_count != 0 for use in uses)
        self.apportioned += sum(use.is_apportioned for use in uses)
        self.flagged.update(flag for use in uses for flag in use.flags)
        return Tables(
            jobs_table(uses, collected_at=now, account_path=self.accounts),
            usage_table(uses, collected_at=now, account_path=self.accounts),
        )

    def usage(self, jobs: Sequence[Job], now: datetime, since: datetime) -> pa.Table:
        """Rows of running attempts for `usage/`, from the hour of `since` on."""
        return usage_table(self._uses(jobs, now, since), collected_at=now, account_path=self.accounts)

    def _uses(self, jobs: Sequence[Job], now: datetime, since: datetime | None) -> list[AttemptUse]:
        metrics = None if self.failed or isinstance(self.sources.metrics, NoMetrics) else self.sources.metrics
        try:
            measured = measure(
                jobs,
                metrics,
                now=now,
                settings=self.sources.settings,
                since=since,
                suspensions=self.suspensions,
                inventory=self.inventory,
                nodes=self.snapshot.nodes,
                partitions=self.snapshot.partitions,
            )
        except SourceError as err:
            if metrics is None:
                raise
            logging.getLogger(__name__).warning("metrics failed, rows are written without them: %s", err)
            self.failed, self.error = True, str(err)
            return self._uses(jobs, now, since)
        self.dropped.update(measured.dropped)
        self.missing = tuple(dict.fromkeys((*self.missing, *measured.missing)))
        self.warnings = tuple(dict.fromkeys((*self.warnings, *measured.warnings)))
        uses = [measured.uses[job.key] for job in jobs if job.key in measured.uses]
        return [replace(use, flags=(*use.flags, METRICS_FAILED)) for use in uses] if self.failed else uses
