"""`fullwarp collect` against a real Slurm: every attempt that sacct knows, once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.services.slurm import SlurmCluster, wait_until

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))


@pytest.fixture(scope="module", params=["commands", "rest"])
def collected(
    request: pytest.FixtureRequest, slurm_cluster: SlurmCluster, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, SlurmCluster]:
    wait_until(lambda: "COMPLETED" in slurm_cluster.run("sacct", "-a", "-n", "-X", "-o", "State"), 60, "a job to end")
    folder = tmp_path_factory.mktemp(f"collect-{request.param}")
    settings = slurm_cluster.commands() if request.param == "commands" else slurm_cluster.rest()
    slurm = {"kind": str(settings.kind), "conf": str(settings.conf or ""), "url": settings.url}
    lines = [f'{name} = "{value}"' for name, value in slurm.items() if value]
    (folder / "fullwarp.toml").write_text(
        "\n".join(["[slurm]", *lines, "[metrics]", 'kind = "none"', f'[history]\ndirectory = "{folder}/history"', ""])
    )
    return folder, slurm_cluster


def collect(folder: Path, *more: str) -> Any:
    command = [FULLWARP, "--config", str(folder / "fullwarp.toml"), "collect", "--json", *more]
    environment = {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def attempts(cluster: SlurmCluster) -> set[tuple[int, str, str]]:
    """Raw id, submit and start of what ran and is over, by the columns of sacct."""
    form = "JobIDRaw,Submit,Start,End,NodeList"
    lines = cluster.run("sacct", "-a", "-D", "-X", "-n", "-P", "-S", "now-2days", "-E", "now", "-o", form).splitlines()
    rows = [line.split("|") for line in lines]
    return {
        (int(job), submit, start)
        for job, submit, start, end, nodes in rows
        if start not in ("Unknown", "None") and end != "Unknown" and nodes != "None assigned"
    }


def rows(folder: Path) -> list[tuple[int, str, str]]:
    text = "strftime(timezone('UTC', {}), '%Y-%m-%dT%H:%M:%S')"
    query = f"job_id, {text.format('submit_time')}, {text.format('start_time')}"
    return duckdb.sql(f"SELECT {query} FROM read_parquet('{folder}/history/jobs/*/*.parquet')").fetchall()


def test_every_attempt_that_is_over_is_there_once_and_stays_so(collected: tuple[Path, SlurmCluster]) -> None:
    folder, cluster = collected
    before = attempts(cluster)
    collect(folder)
    found = rows(folder)
    assert len(found) == len(set(found))
    assert before <= set(found) <= attempts(cluster)
    collect(folder)
    assert len(rows(folder)) == len(set(rows(folder)))
    assert set(found) <= set(rows(folder))


def test_gpu_hours_are_those_of_the_accounting(collected: tuple[Path, SlurmCluster]) -> None:
    folder, _ = collected
    collect(folder)
    files = f"read_parquet('{folder}/history/jobs/*/*.parquet')"
    uneven = duckdb.sql(
        f"SELECT job_id FROM {files} WHERE gpu_count IS NOT NULL "
        "AND abs(device_hours - gpu_count * elapsed_seconds / 3600) > 1e-9"
    )
    assert uneven.fetchall() == []
    by_hour = f"(SELECT sum(device_hours) FROM read_parquet('{folder}/history/usage/*/*.parquet') u WHERE u.job_id = j.job_id AND u.start_time = j.start_time)"  # noqa: E501
    query = f"SELECT sum(device_hours), sum({by_hour}) FROM {files} j WHERE elapsed_seconds > 0"
    ((whole, hourly),) = duckdb.sql(query).fetchall()
    assert whole > 0 and hourly == pytest.approx(whole)


def test_the_running_jobs_devices_and_the_nodes_are_recorded(collected: tuple[Path, SlurmCluster]) -> None:
    folder, _ = collected
    if collect(folder)["running"] == 0:
        pytest.skip("nothing runs any more")
    query = f"SELECT count(*), count(slurm_index) FROM read_parquet('{folder}/history/allocations/*/*.parquet')"
    ((devices, placed),) = duckdb.sql(query).fetchall()
    assert devices == placed > 0
    nodes = duckdb.sql(f"SELECT len(nodes) FROM read_parquet('{folder}/history/snapshots/*/*.parquet')").fetchall()
    assert set(nodes) == {(6,)}
