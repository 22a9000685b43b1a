"""The simulated cluster as OpenMetrics text and by remote write: the same samples as its own sums."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cramjam
import pytest

from data.errors import BadRequest, SourceUnreachable
from data.metrics.simulated import SimulatedMetrics
from data.model import Window
from data.simulation import World
from data.simulation.exposition import FAMILIES, samples
from data.simulation.openmetrics import escaped, openmetrics
from data.simulation.remote_write import remote_write, snappy
from tests.conftest import service_missing
from tests.services.prometheus import PrometheusServer

END = datetime(2026, 11, 25, 13, 0, tzinfo=UTC)
WINDOW = Window(END - timedelta(minutes=4), END)
LINE = re.compile(r"(\w+)\{(.*)\} (-?[0-9.]+) ([0-9]+\.[0-9]{3})")


@pytest.fixture(scope="module")
def text(world: World) -> str:
    out = io.StringIO()
    assert openmetrics(world, WINDOW, out) == out.getvalue().count("} ")
    return out.getvalue()


def test_the_truth_is_what_the_simulated_source_sums_up(world: World, metrics: SimulatedMetrics) -> None:
    for metric in (
        "gpu_utilization",
        "sm_activity",
        "power_watts",
        "gpu_memory_used_bytes",
        "xid",
        "memory_used_bytes",
    ):
        truth: dict[tuple[str, str | None], list[float]] = defaultdict(list)
        for one in samples(world, metric, WINDOW):
            name = one.labels.get("Hostname", one.labels["instance"].split(":")[0])
            place = f"{name}/{one.labels.get('gpu')}/{one.labels.get('GPU_I_ID')}"
            truth[(place, one.labels.get("hpc_job", one.labels.get("jobid")))].extend(one.values.tolist())
        stats = metrics.window([metric], WINDOW).stats
        assert len(stats) == len(truth)
        for stat in stats:
            device = stat.device
            place = f"{stat.node}/{device.index if device else None}/{device.slice_id if device else None}"
            values = truth[(place, stat.job_label)]
            assert (stat.count, stat.minimum, stat.maximum) == (len(values), min(values), max(values))
            assert stat.sum == pytest.approx(sum(values))


def test_every_family_is_there_in_the_exporters_units(text: str) -> None:
    assert text.endswith("# EOF\n")
    lines = [LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("#")]
    assert all(lines)
    found = defaultdict(list)
    for match in lines:
        assert match is not None
        found[match[1]].append(float(match[3]))
    assert found.keys() == {family.name for family in FAMILIES}
    assert max(found["DCGM_FI_DEV_GPU_UTIL"]) == 100
    assert 70_000 < max(found["DCGM_FI_DEV_FB_USED"]) < 81_559
    assert max(found["DCGM_FI_PROF_SM_ACTIVE"]) <= 1
    assert 1_000 < max(found["DCGM_FI_DEV_SM_CLOCK"]) < 2_000


def test_labels_are_those_of_the_exporters(text: str) -> None:
    rows = [dict(re.findall(r'(\w+)="([^"]*)"', m[2])) for m in map(LINE.fullmatch, text.splitlines()) if m]
    devices = [row for row in rows if "UUID" in row]
    assert all(row["UUID"].startswith("GPU-") and row["Hostname"] in row["instance"] for row in devices)
    assert any("hpc_job" not in row for row in devices) and any("hpc_job" in row for row in devices)
    assert {row["GPU_I_PROFILE"] for row in devices if "GPU_I_ID" in row} == {"1g.10gb", "2g.20gb", "3g.40gb"}
    hosts = [row for row in rows if "jobid" in row]
    assert any(row["instance"].startswith("c") for row in hosts)


def test_scrapes_are_never_quite_on_time_and_series_are_in_order(world: World) -> None:
    fractions = set()
    for one in samples(world, "power_watts", WINDOW):
        steps = one.times[1:] - one.times[:-1]
        assert (steps > 29).all()
        fractions.update((one.times % 30).round(2).tolist())
    assert len(fractions) > 300


def test_some_jobs_begin_and_end_within_the_window(world: World) -> None:
    window = Window(END - timedelta(hours=2), END)
    every = list(samples(world, "gpu_utilization", window))
    ends = [one for one in every if one.ended_at is not None and "hpc_job" in one.labels]
    assert len(ends) > 5
    assert all(one.times[-1] < (one.ended_at or 0) for one in ends)


def test_only_the_metrics_asked_for_are_written(world: World) -> None:
    out = io.StringIO()
    openmetrics(world, WINDOW, out, ["gpu_utilization", "gpu_memory_used_bytes"])
    names = re.findall(r"# TYPE (\S+)", out.getvalue())
    assert names == ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"]


def test_an_unknown_metric_is_refused(world: World) -> None:
    with pytest.raises(BadRequest, match="phlogiston"):
        next(samples(world, "phlogiston", WINDOW))


def test_label_values_are_escaped() -> None:
    assert escaped('a"b\\c\nd') == 'a\\"b\\\\c\\nd'


@pytest.mark.parametrize("size", [0, 1, 127, 128, 65536, 65537, 200_001])
def test_any_snappy_reader_understands_the_frame(size: int) -> None:
    body = bytes(i % 251 for i in range(size))
    assert bytes(cramjam.snappy.decompress_raw(snappy(body))) == body


def test_promtool_takes_the_text(text: str, tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        service_missing("promtool is not installed (Debian package prometheus)")
    (tmp_path / "larch.om").write_text(text)
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", str(tmp_path / "larch.om"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_real_prometheus_holds_every_sample(world: World, prometheus_server: PrometheusServer) -> None:
    sent = remote_write(world, WINDOW, f"{prometheus_server.url}/api/v1/write", ["gpu_utilization", "xid"])
    names = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_XID_ERRORS")
    counts = (f'sum(count_over_time({name}{{DCGM_FI_DRIVER_VERSION="580.95.05"}}[4m]))' for name in names)
    query = " + ".join(counts)
    address = f"{prometheus_server.url}/api/v1/query?" + urllib.parse.urlencode(
        {"query": query, "time": END.timestamp()}
    )
    with urllib.request.urlopen(address, timeout=30) as answer:
        result = json.load(answer)["data"]["result"]
    assert sent == int(result[0]["value"][1]) > 5_000


def test_a_server_that_is_not_there_is_named(world: World) -> None:
    with pytest.raises(SourceUnreachable, match="remote write"):
        remote_write(world, WINDOW, "http://127.0.0.1:9/api/v1/write", ["xid"])
