"""One node with all of its metrics and series: bounded, scoped, gaps stay gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from data.device_lines import lines_of, step_of
from data.errors import BadRequest, NotFound, SourceUnreachable
from data.model import Device, Scope, Series, Window, WindowReading, WindowStat
from data.queries.node_detail import MORE_METRICS, node_series, node_view, nodes_view
from tests.components.snapshots import gpu
from tests.live.builders import NOW, FakeMetrics
from tests.queries.cluster import ALICE, STAFF, STRANGER, open_fakes, readings, secrets_in

HOUR = Window(NOW - timedelta(hours=1), NOW)


@dataclass
class SeriesMetrics(FakeMetrics):
    """Metrics with series from a list; remembers what was asked."""

    rows: Sequence[Series] = ()
    asked: list[tuple[tuple[str, ...], Window, Scope, float | None]] = field(default_factory=list)

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        self.requests += 1
        self.asked.append((tuple(metrics), window, scope, step_seconds))
        if self.fault is not None:
            raise self.fault
        return self.rows


def stat(metric: str, index: int, mean: float, label: str | None = None, slice_id: str | None = None) -> WindowStat:
    device = Device("gpu01", index, slice_id=slice_id)
    return WindowStat(metric, "gpu01", device, label, mean * 4, 4, mean, mean, 0)


def line(metric: str, index: int, times: Sequence[float], slice_id: str | None = None) -> Series:
    device = Device("mig01" if slice_id else "gpu01", index, slice_id=slice_id)
    return Series(metric, device.node, device, "90210", tuple(times), tuple(0.5 for _ in times))


def test_one_window_of_this_node_alone_brings_the_other_metrics() -> None:
    measured = FakeMetrics(readings())
    measured.window_answer = WindowReading(HOUR, (stat("sm_occupancy", 0, 0.25), stat("dram_activity", 1, 0.5)))
    found = node_view(STAFF, open_fakes(measured=measured), "gpu01")
    values = {gpu.device.index: gpu.values for gpu in found.detail.gpus}
    assert (values[0]["sm_occupancy"], values[1]["dram_activity"]) == (0.25, 0.5)
    assert "sm_occupancy" not in values[1] and values[0]["gpu_utilization"] == 0.8
    asked, window, scope = measured.windows[0]
    assert asked == MORE_METRICS and window.seconds == 120 and scope == Scope(nodes=frozenset({"gpu01"}))


def test_many_viewers_cost_one_window() -> None:
    measured = FakeMetrics(readings())
    sources = open_fakes(measured=measured)
    for viewer in (STAFF, ALICE, STRANGER, STAFF):
        node_view(viewer, sources, "gpu01")
    assert len(measured.windows) == 1


def test_a_device_that_jobs_share_counts_its_samples_once_in_the_mean() -> None:
    measured = FakeMetrics(readings())
    measured.window_answer = WindowReading(
        HOUR, (stat("dram_activity", 0, 0.4, "7"), stat("dram_activity", 0, 0.4, "8"))
    )
    found = node_view(STAFF, open_fakes(measured=measured), "gpu01")
    assert found.detail.gpus[0].values["dram_activity"] == pytest.approx(0.4)


def test_the_gap_is_derived_only_where_both_are_measured() -> None:
    measured = FakeMetrics(readings())
    found = node_view(STAFF, open_fakes(measured=measured), "gpu01")
    assert all("utilization_gap" not in gpu.values for gpu in found.detail.gpus)


def test_a_slice_has_what_is_measured_of_its_card() -> None:
    measured = FakeMetrics(readings())
    card = WindowStat("sm_clock_hertz", "mig01", Device("mig01", 0), None, 4e9, 4, 1e9, 1e9, 0)
    measured.window_answer = WindowReading(HOUR, (card,))
    found = node_view(STAFF, open_fakes(measured=measured), "mig01")
    assert {gpu.values["sm_clock_hertz"] for gpu in found.detail.gpus} == {1e9}


def test_a_window_that_fails_leaves_the_snapshot_and_says_so_without_its_words() -> None:
    measured = FakeMetrics(readings())
    sources = open_fakes(measured=measured)
    node_view(STAFF, sources, "cpu01")
    measured.fault = SourceUnreachable("http://prom.secret:9090 refused")
    found = node_view(ALICE, sources, "gpu01")
    assert found.detail.gpus[0].values["gpu_utilization"] == 0.8
    assert found.unknown and "secret" not in found.unknown


def test_a_source_that_is_down_is_not_asked_again_for_one_node() -> None:
    measured = SeriesMetrics(readings())
    measured.fault = SourceUnreachable("refused")
    sources = open_fakes(measured=measured)
    assert node_view(STAFF, sources, "gpu01").unknown
    assert node_series(STAFF, sources, "gpu01", "gpu_utilization", HOUR).unknown
    assert measured.windows == [] and measured.asked == []


@pytest.mark.parametrize("viewer", [ALICE, STRANGER])
@pytest.mark.parametrize("name", ["gpu01", "gpu04"])
def test_nothing_of_another_user_is_in_the_answer(viewer: object, name: str) -> None:
    sources = open_fakes(measured=SeriesMetrics(readings(), rows=[line("gpu_utilization", 0, (0.0, 30.0))]))
    view = node_view(viewer, sources, name)  # type: ignore[arg-type]
    series = node_series(viewer, sources, name, "gpu_utilization", HOUR)  # type: ignore[arg-type]
    said = repr((view.detail, view.snapshot, series, nodes_view(viewer, sources)))  # type: ignore[arg-type]
    assert secrets_in(said) == []


def test_an_unknown_node_names_the_nearest() -> None:
    with pytest.raises(NotFound) as err:
        node_view(STAFF, open_fakes(), "gpu1")
    assert "gpu01" in err.value.hint


@pytest.mark.parametrize(
    ("metric", "window"),
    [
        ("luck", HOUR),
        ("memory_used_bytes", HOUR),
        ("gpu_utilization", Window(NOW, NOW)),
        ("gpu_utilization", Window(NOW - timedelta(days=32), NOW)),
    ],
)
def test_a_question_without_an_answer_is_refused_before_anything_is_asked(metric: str, window: Window) -> None:
    measured = SeriesMetrics(readings())
    with pytest.raises(BadRequest):
        node_series(STAFF, open_fakes(measured=measured), "gpu01", metric, window)
    assert measured.requests == 0


def test_series_are_asked_once_for_the_whole_node() -> None:
    measured = SeriesMetrics(readings())
    sources = open_fakes(measured=measured)
    for viewer in (STAFF, ALICE):
        found = node_series(viewer, sources, "gpu01", "gpu_utilization", HOUR)
    assert measured.asked == [(("gpu_utilization",), HOUR, Scope(nodes=frozenset({"gpu01"})), None)]
    assert len(found.lines) == 8 and not any(line.times for line in found.lines)


def test_slices_ask_for_gr_in_place_of_util() -> None:
    measured = SeriesMetrics(readings(), rows=[line("graphics_engine_activity", 0, (0.0, 30.0), "3")])
    found = node_series(STAFF, open_fakes(measured=measured), "mig01", "gpu_utilization", HOUR)
    assert measured.asked[0][0] == ("gpu_utilization", "graphics_engine_activity")
    assert {one.place[1]: one.mean for one in found.lines}["3"] == 0.5


def test_a_gap_in_the_samples_is_a_gap_in_the_line() -> None:
    rows = [line("gpu_utilization", 0, (0.0, 30.0, 60.0, 600.0, 630.0))]
    (found,) = lines_of("gpu_utilization", [gpu("gpu01", 0)], rows, 30.0)
    assert found.values == (0.5, 0.5, 0.5, None, 0.5, 0.5)
    assert 0.2 < found.measured < 0.3 and found.mean == 0.5


def test_a_device_without_samples_is_an_empty_line_and_not_zero() -> None:
    found = lines_of("gpu_utilization", [gpu("gpu01", 0), gpu("gpu01", 1)], [line("gpu_utilization", 0, (0.0,))], None)
    assert [one.mean for one in found] == [0.5, None] and found[1].values == ()


def test_what_belongs_to_the_card_has_one_line_per_card() -> None:
    slices = [gpu("a01", 0, device=Device("a01", 0, slice_id=str(number))) for number in (1, 2)]
    found = lines_of("power_watts", slices, [line("power_watts", 0, (0.0, 30.0))], None)
    assert [one.place for one in found] == [(0, "")] and found[0].mean == 0.5


@pytest.mark.parametrize(
    ("span", "step"),
    [
        (timedelta(hours=1), None),
        (timedelta(hours=6), 60.0),
        (timedelta(hours=24), 300.0),
        (timedelta(days=7), 1800.0),
        (timedelta(days=31), 10_800.0),
    ],
)
def test_a_long_span_has_few_points(span: timedelta, step: float | None) -> None:
    assert step_of(Window(NOW - span, NOW)) == step
