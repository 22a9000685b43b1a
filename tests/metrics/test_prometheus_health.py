"""What the source says of its server."""

from __future__ import annotations

import time

import orjson
import pytest

from data.metrics.prometheus import PrometheusSource
from data.metrics.prometheus_found import duration_seconds
from settings import MetricsSettings
from tests.metrics.answering_server import AnsweringServer
from tests.metrics.series_builders import Case, dcgm, grid
from tests.services.prometheus import PrometheusServer


@pytest.fixture
def case(prometheus_server: PrometheusServer) -> Case:
    return Case(prometheus_server)


def test_health_names_version_hosts_clusters_and_the_lines_to_add(case: Case) -> None:
    start = time.time() // 30 * 30 - 270
    for node, host in (("gpu001", "Hostname"), ("gpu002", "hostname")):
        case.write(dcgm("DCGM_FI_DEV_FB_USED", node=node, host=host, cluster="ica100"), grid(10, start), [1] * 10)
    health = case.source().health()
    assert health.reachable
    assert health.version and health.version[0].isdigit()
    assert (health.dialects, health.interval_seconds) == (("dcgm_exporter",), 30.0)
    assert {"gpu001", "gpu002"} <= set(health.hosts)
    assert "ica100" in health.cluster_labels
    assert "sm_activity" in health.missing_metrics
    assert "gpu_memory_used_bytes" not in health.missing_metrics
    notes = "\n".join(health.notes)
    assert "DCGM_FI_PROF_SM_ACTIVE, gauge, " in notes
    assert "DCGM_FI_DEV_FB_USED," not in notes


def test_a_cluster_label_that_fits_nothing_is_told_with_those_that_exist(case: Case) -> None:
    start = time.time() // 30 * 30 - 270
    case.write(dcgm("DCGM_FI_DEV_FB_USED", cluster="ica100"), grid(10, start), [1] * 10)
    health = case.source(cluster_label="cluster", cluster_value="slurm").health()
    assert (health.reachable, health.dialects) == (True, ())
    assert any('cluster="slurm"' in note for note in health.notes)
    assert any("ica100" in note for note in health.notes)


def test_series_of_our_recording_rules_are_told_by_name(case: Case) -> None:
    start = time.time() // 30 * 30 - 270
    case.write(dcgm("DCGM_FI_DEV_FB_USED", cluster="oak"), grid(10, start), [1] * 10)
    oak = case.source(cluster_label="cluster", cluster_value="oak")
    assert oak.recorded() == ()
    recorded = {"__name__": "fullwarp:job_use:mean_4h", "hpc_job": "7"}
    case.server.write([({**recorded, "cluster": name}, grid(10, start), [0.5] * 10) for name in ("oak", "elm")])
    assert oak.recorded() == ("fullwarp:job_use:mean_4h",)


def test_a_server_that_is_away_is_an_answer_not_an_error() -> None:
    health = PrometheusSource(MetricsSettings(url="http://127.0.0.1:9", retries=0)).health()
    assert (health.reachable, health.version) == (False, None)
    assert health.error and "127.0.0.1:9" in health.error
    assert health.hint


def test_a_server_that_lacks_parts_of_the_api_is_healthy_all_the_same() -> None:
    names = b'{"status":"success","data":["nvidia_smi_gpu_info","nvidia_smi_memory_used_bytes"]}'
    vector = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
    bodies = {"/api/v1/label/__name__/values": names, "/api/v1/query": vector, "/api/v1/status/buildinfo": b"404 page"}
    with AnsweringServer(bodies=bodies) as server:
        health = PrometheusSource(MetricsSettings(url=server.url)).health()
    assert (health.reachable, health.version, health.dialects) == (True, None, ("utkuozdemir",))


def test_the_interval_is_that_of_the_target_which_holds_the_series() -> None:
    def target(job: str, instance: str, interval: str) -> dict[str, object]:
        return {"labels": {"job": job, "instance": instance}, "scrapeInterval": interval}

    example = {"__name__": "DCGM_FI_DEV_FB_USED", "job": "dcgm", "instance": "n1:9400", "gpu": "0"}
    answers = {
        "/api/v1/label/__name__/values": ["DCGM_FI_DEV_FB_USED"],
        "/api/v1/query": {"resultType": "vector", "result": [{"metric": example, "value": [1.0, "1"]}]},
        "/api/v1/targets": {"activeTargets": [target("node", "n1:9100", "15s"), target("dcgm", "n1:9400", "1m30s")]},
    }
    bodies = {path: orjson.dumps({"status": "success", "data": data}) for path, data in answers.items()}
    with AnsweringServer(bodies=bodies) as server:
        assert PrometheusSource(MetricsSettings(url=server.url)).health().interval_seconds == 90.0


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("1m", 60), ("1m30s", 90), ("500ms", 0.5), ("", None), ("x", None)]
)
def test_durations_are_read_whole_or_not_at_all(text: str, seconds: float | None) -> None:
    assert duration_seconds(text) == seconds
