"""A real Slurm and a real Prometheus behind the installed command: known numbers, the same by both ways of reading."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from data.model import Role, Viewer
from data.queries.job_report import job_answer
from data.sources import open_sources
from settings import Settings
from tests.end_to_end.real_cluster import INTERVAL, Installed, held, installed, measure, utilization_of
from tests.services.fault_proxy import FaultProxy
from tests.services.prometheus import PrometheusServer
from tests.services.slurm import SlurmCluster, wait_until

pytestmark = pytest.mark.timeout(300)
Holders = dict[tuple[str, int], int]
SETTLED = 3 * INTERVAL
_MOMENTS = ("time", "elapsed_seconds", "wait_seconds", "free_memory_bytes", "cpu_load", "last_busy_time", "priority")
_ONE_WAY = (
    "expected_start_time",
    "command",
    "working_directory",
    "is_batch",
    "address",
    "slurm_version",
    "reason_user",
)
DIFFERING = frozenset((*_MOMENTS, *_ONE_WAY, "sources", "attention"))


@pytest.fixture(scope="module")
def cluster(slurm_cluster: SlurmCluster) -> SlurmCluster:
    """With only the GPU jobs that stay, and that of gpu03 old enough to be judged by several scrapes."""
    stays = {slurm_cluster.jobs[name] for name in ("FILL", "FILL2", "INRESV")}
    wait_until(lambda: set(held(slurm_cluster).values()) == stays, 200, "the jobs that end to end")
    record = slurm_cluster.run("scontrol", "show", "job", str(slurm_cluster.jobs["FILL"]))
    hours, minutes, seconds = record.split("RunTime=")[1].split()[0].split(":")
    ran = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    time.sleep(max(0, SETTLED + 2 - ran))
    return slurm_cluster


def queue_of(cluster: SlurmCluster) -> str:
    """The jobs and what the nodes say of them, which may come later."""
    return cluster.run("squeue", "-h", "-o", "%i %T") + cluster.run("sinfo", "-h", "-N", "-o", "%N %T %C")


def slurm_table(cluster: SlurmCluster, kind: str) -> dict[str, object]:
    if kind == "rest":
        return {"kind": "rest", "url": cluster.socket_url, "timeout_seconds": 30}
    return {"kind": "commands", "conf": cluster.conf, "timeout_seconds": 30}


def metrics_table(url: str, run: str) -> dict[str, object]:
    return {"kind": "prometheus", "url": url, "selector": f'run="{run}"', "timeout_seconds": 20}


@pytest.fixture(params=[True, False], ids=["with job labels", "without job labels"])
def asked(
    request: pytest.FixtureRequest, cluster: SlurmCluster, prometheus_server: PrometheusServer, tmp_path: Path
) -> tuple[Holders, dict[str, dict[str, Any]]]:
    """Who holds what, and what status, nodes, jobs and one job say by both ways; of a moment that stood still."""
    for attempt in range(8):
        answers: dict[str, dict[str, Any]] = {}
        before, queue = held(cluster), queue_of(cluster)
        for kind in ("rest", "commands"):
            run = f"cli-{kind}-{time.time_ns()}"
            measure(prometheus_server, cluster, run, with_jobs=request.param)
            folder = tmp_path / f"{kind}{attempt}"
            folder.mkdir()
            fullwarp = installed(folder, slurm_table(cluster, kind), metrics_table(prometheus_server.url, run))
            answers[kind] = {
                "status": fullwarp("status", "--json").json,
                "nodes": fullwarp("nodes", "--json").json,
                "jobs": fullwarp("jobs", "--json").json,
                "job": fullwarp("job", str(cluster.jobs["FILL"]), "--json").json,
            }
        if (held(cluster), queue_of(cluster)) == (before, queue):
            return before, answers
    raise AssertionError("the cluster never stood still")


def test_the_commands_tell_the_known_numbers_both_ways(
    asked: tuple[Holders, dict[str, dict[str, Any]]], cluster: SlurmCluster
) -> None:
    holders, answers = asked
    for said in answers.values():
        check_status(said["status"], holders)
        check_nodes(said["nodes"], holders)
        check_jobs(said["jobs"], holders)
        check_job(said["job"], cluster)
    for command in ("status", "nodes", "jobs"):
        rest, commands = (without_times(answers[kind][command]) for kind in ("rest", "commands"))
        assert rest == commands, command


def without_times(answer: Any) -> Any:
    """What both ways must say alike: not the moment, the sources, and what only one of them knows."""
    if isinstance(answer, list):
        return [without_times(one) for one in answer]
    if not isinstance(answer, dict):
        return answer
    return {key: without_times(value) for key, value in answer.items() if key not in DIFFERING}


def check_status(said: Any, holders: Holders) -> None:
    use = said["totals"]["use"]
    busy = [place for place in holders if place[0] != "mig01" and utilization_of(*place) > 0]
    idle = [place for place in holders if place[0] != "mig01" and utilization_of(*place) == 0]
    assert (use["gpus"]["total"], use["slices"]["total"]) == (24, 7)
    assert (use["gpus"]["busy"], use["gpus"]["idle"], use["gpus"]["unmeasured"]) == (len(busy), len(idle), 0)
    values = [utilization_of(*place) / 100 for place in busy + idle]
    assert use["utilization"] == pytest.approx(sum(values) / len(values))
    assert (use["power_cards"], use["cards"]) == (24, 25)
    assert {source["condition"] for source in said["sources"]} == {"ok"}


def check_nodes(said: Any, holders: Holders) -> None:
    rows = {row["node"]["name"]: row for row in said["rows"]}
    assert set(rows) == {"gpu01", "gpu02", "gpu03", "gpu04", "mig01", "cpu01"}
    mine = [utilization_of("gpu03", index) / 100 for node, index in holders if node == "gpu03"]
    assert rows["gpu03"]["use"]["utilization"] == pytest.approx(sum(mine) / len(mine))
    assert rows["gpu03"]["use"]["gpus"]["idle"] == 4
    assert rows["cpu01"]["use"]["gpus"]["total"] == 0


def check_jobs(said: Any, holders: Holders) -> None:
    rows = {row["job"]["job_id"]: row for row in said["rows"]}
    for job_id in set(holders.values()):
        places = [place for place, holder in holders.items() if holder == job_id and place[0] != "mig01"]
        if places:
            values = [utilization_of(*place) / 100 for place in places]
            row = rows[job_id]
            assert (row["gpus"], row["gpus_measured"]) == (len(places), len(places))
            assert row["utilization"] == pytest.approx(sum(values) / len(values))
            assert row["gpus_idle"] == sum(value == 0 for value in values)


def check_job(said: Any, cluster: SlurmCluster) -> None:
    report = said["report"]
    assert report["job"]["job_id"] == cluster.jobs["FILL"]
    assert report["gpu_count"] == 8
    assert report["utilization"]["value"] == pytest.approx(0.2)  # (10 + 30 + 50 + 70) / 8
    assert report["utilization"]["measured"] == 8
    assert sorted(gpu["metrics"]["gpu_utilization"]["mean"] for gpu in report["gpus"]) == pytest.approx(
        [0, 0, 0, 0, 0.1, 0.3, 0.5, 0.7]
    )
    assert 0.4 < report["coverage"] <= 1  # the samples stop where the command starts
    assert report["faults"] == []


def test_a_job_that_does_not_exist_is_not_found(cluster: SlurmCluster, tmp_path: Path) -> None:
    for kind in ("rest", "commands"):
        (tmp_path / kind).mkdir()
        fullwarp = installed(tmp_path / kind, slurm_table(cluster, kind), {"kind": "none"})
        answer = fullwarp("job", "99999999")
        assert (answer.code, answer.out) == (1, "")
        assert "no job 99999999" in answer.err


@pytest.fixture
def wire(cluster: SlurmCluster, prometheus_server: PrometheusServer) -> Iterator[tuple[FaultProxy, FaultProxy]]:
    with (
        FaultProxy("127.0.0.1", cluster.rest_port) as slurm,
        FaultProxy("127.0.0.1", prometheus_server.port) as metrics,
    ):
        slurm.delay_seconds = metrics.delay_seconds = 6.0
        yield slurm, metrics


def broken(
    wire: tuple[FaultProxy, FaultProxy], cluster: SlurmCluster, server: PrometheusServer, folder: Path
) -> Installed:
    """The command over both proxies, with short time limits."""
    slurm, metrics = wire
    run = f"fault-{time.time_ns()}"
    measure(server, cluster, run, with_jobs=True)
    token = folder / "token"
    token.write_text(cluster.token("root"))
    token.chmod(0o600)
    table = {"kind": "rest", "url": slurm.url, "user": "root", "token_file": token, "timeout_seconds": 2}
    return installed(folder, table, metrics_table(metrics.url, run) | {"timeout_seconds": 2})


@pytest.mark.parametrize("mode", ["refuse", "cut", "garbage", "noise", "half", "500", "delay", "drip"])
def test_without_metrics_status_shows_the_jobs_and_says_what_is_not_measured(
    wire: tuple[FaultProxy, FaultProxy],
    cluster: SlurmCluster,
    prometheus_server: PrometheusServer,
    tmp_path: Path,
    mode: str,
) -> None:
    """Exit code 0: the question is answered, as far as it can be."""
    fullwarp = broken(wire, cluster, prometheus_server, tmp_path)
    wire[1].mode = mode
    shown = fullwarp("status")
    assert (shown.code, "Traceback" in shown.out + shown.err) == (0, False)
    assert "metrics fails" in shown.out
    assert "UTIL    not measured" in shown.out and "Power   not measured" in shown.out
    assert "busy" not in shown.out.split("UTIL    ")[0]
    said = fullwarp("status", "--json").json
    use = said["totals"]["use"]
    assert (use["utilization"], use["power_watts"]) == (None, None)
    assert use["gpus"]["unmeasured"] == use["held_devices"] > 0
    assert {one["name"]: one["condition"] for one in said["sources"]} == {"slurm": "ok", "metrics": "down"}


@pytest.mark.parametrize("mode", ["refuse", "cut", "garbage", "noise", "half", "500", "delay", "drip"])
def test_without_slurm_status_names_it_and_counts_nothing(
    wire: tuple[FaultProxy, FaultProxy],
    cluster: SlurmCluster,
    prometheus_server: PrometheusServer,
    tmp_path: Path,
    mode: str,
) -> None:
    """Exit code 2: there is no cluster to show. No number is printed, least of all 0."""
    fullwarp = broken(wire, cluster, prometheus_server, tmp_path)
    wire[0].mode = mode
    shown = fullwarp("status")
    assert "Traceback" not in shown.out + shown.err
    assert shown.code == 2
    assert "Slurm does not answer" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("job", ["FILL", "COMPLETED", "HET", "ARRAY"])
def test_one_jobs_answer_costs_at_most_four_requests_to_each(
    wire: tuple[FaultProxy, FaultProxy], cluster: SlurmCluster, prometheus_server: PrometheusServer, job: str
) -> None:
    """With the cluster's name, the exporters and the live picture known, which are asked for apart, and rarely."""
    slurm, metrics = wire
    run = f"budget-{time.time_ns()}"
    measure(prometheus_server, cluster, run, with_jobs=True)
    settings = Settings.model_validate(
        {
            "slurm": cluster.rest_as("root", url=slurm.url).model_dump() | {"token": cluster.token("root")},
            "metrics": metrics_table(metrics.url, run),
            "cache": {"kind": "memory"},
        }
    )
    sources = open_sources(settings, clock=lambda: datetime.now(UTC))
    staff = Viewer("root", Role.STAFF)
    assert sources.live.associations()
    time.sleep(1)
    slurm.reset_counts()
    metrics.reset_counts()
    name = str(cluster.jobs[job]) + ("_0" if job == "ARRAY" else "")
    first = job_answer(staff, sources, name)
    assert 0 < slurm.requests <= 4, slurm.paths
    assert metrics.requests <= 4, metrics.paths
    asked = (slurm.requests, metrics.requests)
    again = job_answer(staff, sources, name)
    assert again.report is first.report
    assert (slurm.requests, metrics.requests) == asked
