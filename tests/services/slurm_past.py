"""Records of a past that nobody has to wait for, in the database of the real slurmdbd: copies of jobs that did run."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tests.services.slurm import SlurmCluster

RUNNING, COMPLETED = 1, 3
_COPY = """
CREATE TEMPORARY TABLE one AS SELECT * FROM {table} WHERE id_job = {source} LIMIT 1;
ALTER TABLE one MODIFY job_db_inx bigint unsigned NULL;
UPDATE one SET job_db_inx = NULL, id_job = {job}, state = {state}, time_submit = {start}, time_eligible = {start},
    time_start = {start}, time_end = {end};
INSERT INTO {table} SELECT * FROM one;
DROP TEMPORARY TABLE one;
"""


@dataclass(frozen=True)
class Copy:
    """The job of the scripts named `source`, as a job of its own from `start` to `end` (None = it never ended)."""

    job_id: int
    source: str
    start: datetime
    end: datetime | None


@contextlib.contextmanager
def copies(cluster: SlurmCluster, wanted: Sequence[Copy]) -> Iterator[None]:
    """With these jobs in the accounting for the time of the block. Their sources must have started."""
    table = f"{cluster.name}_job_table"
    _sql(cluster, "".join(_copy(cluster, table, one) for one in wanted))
    try:
        yield
    finally:
        ids = ", ".join(str(one.job_id) for one in wanted)
        _sql(cluster, f"DELETE FROM {table} WHERE id_job IN ({ids})")


def _copy(cluster: SlurmCluster, table: str, one: Copy) -> str:
    return _COPY.format(
        table=table,
        source=cluster.jobs[one.source],
        job=one.job_id,
        state=RUNNING if one.end is None else COMPLETED,
        start=int(one.start.timestamp()),
        end=0 if one.end is None else int(one.end.timestamp()),
    )


def _sql(cluster: SlurmCluster, text: str) -> None:
    socket = cluster.directory / "run" / "db" / "mysqld.sock"
    argv = ["mariadb", "--no-defaults", "-S", str(socket), "-u", "root", "slurm_acct", "-e", text]
    subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30)
