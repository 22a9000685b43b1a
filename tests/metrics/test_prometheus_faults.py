"""Faults on the wire between the source and a real Prometheus, and what they cost in requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from data.errors import SettingsError, SourceDenied, SourceError, SourceGarbled, SourceTimeout, SourceUnreachable
from data.metrics.prometheus import PrometheusSource
from data.metrics.registry import SNAPSHOT_METRICS
from settings import MetricsSettings
from tests.metrics.answering_server import AnsweringServer
from tests.metrics.series_builders import T0, Case, dcgm, grid, moment, only
from tests.services.fault_proxy import FaultProxy
from tests.services.prometheus import PrometheusServer

NOW = moment(T0 + 280)
UTIL = "DCGM_FI_DEV_GPU_UTIL"


@pytest.fixture
def proxy(prometheus_server: PrometheusServer) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", prometheus_server.port) as proxy:
        yield proxy


@pytest.fixture
def case(prometheus_server: PrometheusServer) -> Case:
    case = Case(prometheus_server)
    case.write(dcgm(UTIL), grid(10), [50] * 10)
    return case


def source(case: Case, proxy: FaultProxy, **settings: object) -> PrometheusSource:
    return case.source(url=proxy.url, **{"timeout_seconds": 5, "scrape_interval_seconds": 30, **settings})


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("cut", SourceUnreachable),
        ("noise", SourceUnreachable),
        ("half", SourceUnreachable),
        ("refuse", SourceUnreachable),
        ("garbage", SourceGarbled),
        ("500", SourceError),
    ],
)
def test_a_broken_answer_is_a_clear_error_and_the_next_good_one_counts(
    case: Case, proxy: FaultProxy, mode: str, error: type[SourceError]
) -> None:
    mine = source(case, proxy)
    only(mine.latest(["gpu_utilization"], NOW))
    proxy.mode = mode
    begin = time.monotonic()
    with pytest.raises(error) as failed:
        mine.latest(["gpu_utilization"], NOW)
    assert time.monotonic() - begin < 15
    assert str(proxy.port) in str(failed.value)
    assert failed.value.hint
    proxy.mode = "pass"
    assert only(mine.latest(["gpu_utilization"], NOW)).values == {"gpu_utilization": 0.5}


@pytest.mark.parametrize("mode", ["delay", "drip"])
def test_the_time_limit_holds_for_the_whole_answer_and_all_tries(case: Case, proxy: FaultProxy, mode: str) -> None:
    mine = source(case, proxy, timeout_seconds=3)
    only(mine.latest(["gpu_utilization"], NOW))
    proxy.mode, proxy.delay_seconds = mode, 30.0
    begin = time.monotonic()
    with pytest.raises(SourceTimeout, match=r"within 3 s"):
        mine.latest(["gpu_utilization"], NOW)
    assert time.monotonic() - begin < 15


def test_a_failed_query_is_tried_again_as_often_as_set_and_counted(case: Case, proxy: FaultProxy) -> None:
    mine = source(case, proxy, retries=2)
    only(mine.latest(["gpu_utilization"], NOW))
    before = proxy.requests
    proxy.mode = "500"
    with pytest.raises(SourceError, match="500"):
        mine.latest(["gpu_utilization"], NOW)
    assert proxy.requests - before == 3
    assert mine.requests == proxy.requests


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_query_travels_in_the_body_unless_the_server_wants_it_in_the_address(
    case: Case, proxy: FaultProxy, method: str
) -> None:
    mine = source(case, proxy, method=method)
    only(mine.latest(["gpu_utilization"], NOW))
    queries = [path for path in proxy.paths if path.startswith("/api/v1/query")]
    assert {("query=" in path) for path in queries} == {method == "GET"}


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    case: Case, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert only(source(case, proxy).latest(["gpu_utilization"], NOW)).values


@pytest.mark.parametrize("nodes", [10, 1000])
def test_the_snapshot_costs_the_same_few_requests_whatever_the_number_of_nodes(
    prometheus_server: PrometheusServer, proxy: FaultProxy, nodes: int
) -> None:
    case = Case(prometheus_server)
    names = (UTIL, "DCGM_FI_DEV_FB_USED")
    rows = [
        (dcgm(name, gpu, f"n{node}", job="dcgm"), [T0 + 270], [50.0])
        for name in names
        for node in range(nodes)
        for gpu in range(8)
    ]
    prometheus_server.write(rows, test=case.label)
    mine = case.source(url=proxy.url)
    first = mine.latest(SNAPSHOT_METRICS, NOW)
    cold = proxy.requests
    second = mine.latest(SNAPSHOT_METRICS, NOW)
    assert len(first.devices) == len(second.devices) == nodes * 8
    assert cold <= 8
    assert proxy.requests - cold == 3


def test_two_exporters_at_once_are_found_within_the_same_budget() -> None:
    each = {"DCGM_FI_DEV_FB_USED": "dcgm", "nvidia_smi_memory_used_bytes": "smi"}
    rows = [
        {"metric": {"__name__": name, "job": job, "instance": f"{job}:9"}, "value": [1, "1"]}
        for name, job in each.items()
    ]
    targets = [{"labels": {"job": job, "instance": f"{job}:9"}, "scrapeInterval": "15s"} for job in each.values()]
    answers = {
        "/api/v1/label/__name__/values": list(each),
        "/api/v1/query": {"resultType": "vector", "result": rows},
        "/api/v1/targets": {"activeTargets": targets},
    }
    bodies = {path: orjson.dumps({"status": "success", "data": data}) for path, data in answers.items()}
    with AnsweringServer(bodies=bodies) as server:
        mine = PrometheusSource(MetricsSettings(url=server.url))
        assert mine.latest(SNAPSHOT_METRICS).interval_seconds == 15
        assert len(server.headers) <= 8
        assert mine.requests == len(server.headers)


def test_a_token_file_is_sent_and_read_again_when_it_changes(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("first\n")
    with AnsweringServer() as server:
        mine = PrometheusSource(MetricsSettings(url=server.url, token_file=secret, headers={"X-Scope-OrgID": "hpc"}))
        mine.health()
        assert server.headers[-1]["Authorization"] == "Bearer first"
        assert server.headers[-1]["X-Scope-OrgID"] == "hpc"
        secret.write_text("second\n")
        mine.health()
        assert server.headers[-1]["Authorization"] == "Bearer second"


def test_headers_of_a_file_are_sent_as_they_are_now(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("X-Api-Key: first:key\n\nX-Scope-OrgID:hpc\n")
    with AnsweringServer() as server:
        mine = PrometheusSource(MetricsSettings(url=server.url, headers_file=file, headers={"X-Scope-OrgID": "plain"}))
        mine.health()
        assert (server.headers[-1]["X-Api-Key"], server.headers[-1]["X-Scope-OrgID"]) == ("first:key", "hpc")
        file.write_text("X-Api-Key: another-key-2")
        mine.health()
        assert server.headers[-1]["X-Api-Key"] == "another-key-2"


@pytest.mark.parametrize("text", [None, "canary-word", "X Y: canary-word", "X: canary\x00word", "X: caf\u00e9-canary"])
def test_a_file_without_headers_is_named_and_its_text_is_not_shown(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "headers"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with AnsweringServer() as server:
        mine = PrometheusSource(MetricsSettings(url=server.url, headers_file=file, retries=0))
        with pytest.raises(SourceDenied, match=r"metrics\.headers_file") as told:
            mine.latest(["gpu_utilization"])
        assert "canary" not in str(told.value) and server.headers == []


def test_basic_credentials_are_sent_and_never_shown() -> None:
    with AnsweringServer(status=401) as server:
        settings = MetricsSettings(url=server.url, username="me", password="s3cret")
        with pytest.raises(SourceDenied) as refused:
            PrometheusSource(settings).latest(["gpu_utilization"])
        assert server.headers[-1]["Authorization"] == "Basic bWU6czNjcmV0"
        assert "s3cret" not in str(refused.value) + refused.value.hint


@pytest.mark.parametrize("content", [None, "", "two\nlines"])
def test_an_unusable_token_file_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SourceDenied, match="token_file"):
        PrometheusSource(MetricsSettings(url="http://127.0.0.1:9", token_file=path)).latest(["gpu_utilization"])


@pytest.mark.parametrize("token", ["one\ncanary-4711", "canary-4711\x00", "canary-4711-\u4e2d"])
@pytest.mark.parametrize("in_file", [True, False])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(tmp_path: Path, token: str, in_file: bool) -> None:
    path = tmp_path / "token"
    path.write_text(token)
    given = {"token_file": path} if in_file else {"token": token}
    mine = PrometheusSource(MetricsSettings.model_validate({"url": "http://127.0.0.1:9", **given}))
    with pytest.raises(SourceDenied, match=r"metrics\.token") as refused:
        mine.latest(["gpu_utilization"])
    assert "canary" not in str(refused.value) + refused.value.hint


def test_a_redirect_is_not_followed_with_the_credentials() -> None:
    with AnsweringServer(status=302, headers={"Location": "http://127.0.0.1:9/elsewhere"}) as server:
        with pytest.raises(SourceGarbled, match="elsewhere"):
            PrometheusSource(MetricsSettings(url=server.url)).latest(["gpu_utilization"])
        assert len(server.headers) == 1


def test_warnings_of_the_server_are_kept() -> None:
    body = b'{"status":"success","warnings":["partial response"],"data":{"resultType":"vector","result":[]}}'
    names = b'{"status":"success","data":["DCGM_FI_DEV_GPU_UTIL"]}'
    with AnsweringServer(bodies={"/api/v1/query": body, "/api/v1/label/__name__/values": names}) as server:
        mine = PrometheusSource(MetricsSettings(url=server.url, scrape_interval_seconds=30))
        assert mine.latest(["gpu_utilization"]).warnings == ("partial response",)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'"text"',
        b'{"status":"success"}',
        b'{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}',
        b'{"status":"success","data":{"resultType":"vector","result":{}}}',
    ],
)
def test_json_of_another_form_is_garbled_not_empty(body: bytes) -> None:
    names = b'{"status":"success","data":["DCGM_FI_DEV_GPU_UTIL"]}'
    with AnsweringServer(bodies={"/api/v1/query": body, "/api/v1/label/__name__/values": names}) as server:
        mine = PrometheusSource(MetricsSettings(url=server.url, scrape_interval_seconds=30))
        with pytest.raises(SourceGarbled):
            mine.latest(["gpu_utilization"])


def test_a_missing_address_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match=r"metrics\.url") as caught:
        PrometheusSource(MetricsSettings())
    assert 'kind = "none"' in caught.value.hint
