"""While the metrics fail: the last values for a quarter of an hour, then none; and when they are asked again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from data.errors import SourceUnreachable
from data.live.asking import Answer, Asked
from data.live.picture import Origin, Picture, next_picture
from data.model import GpuState, Rows, SourceCondition
from tests.live.builders import NOW, make_job, make_node, measure, read

JOB = make_job(100, indices=(0,))
SLURM = {"nodes": Answer(Rows((make_node(),))), "jobs": Answer(Rows((JOB,)))}
REFUSED = SourceUnreachable("refused")


def picture_after(minutes: float, utilization: float) -> Picture:
    """The picture so long after the only answer of the metrics."""
    good = Asked(**SLURM, reading=Answer(read(measure(util=utilization, labels=["100"]))))
    failing = Asked(**SLURM, reading=Answer(error=REFUSED))
    origin = Origin(refresh_seconds=20.0)
    first = next_picture(None, good, origin, NOW)
    return next_picture(first, failing, origin, NOW + timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("minutes", "utilization", "state"),
    [
        (2, 0.0, GpuState.IDLE),
        (14, 0.7, GpuState.BUSY),
        (15, 0.0, GpuState.UNMEASURED),
        (600, 0.7, GpuState.UNMEASURED),
    ],
)
def test_who_was_idle_a_quarter_of_an_hour_ago_is_not_called_idle_now(
    minutes: float, utilization: float, state: GpuState
) -> None:
    shown = picture_after(minutes, utilization).snapshot
    first = next(gpu for gpu in shown.gpus if gpu.slurm_index == 0)
    assert first.state is state and bool(first.values) is (state is not GpuState.UNMEASURED)
    assert any("older than 15 min" in text for text in shown.unknown) is (state is GpuState.UNMEASURED)


def test_the_source_stays_stale_with_the_age_of_its_values_and_says_when_it_is_asked_again() -> None:
    shown = picture_after(600, 0.7).snapshot
    metrics = next(state for state in shown.sources if state.name == "metrics")
    assert metrics.condition is SourceCondition.STALE and metrics.last_success == NOW
    assert shown.metrics_time == NOW - timedelta(seconds=10)
    assert metrics.next_try == shown.made_at + timedelta(seconds=20)
    assert next(state for state in shown.sources if state.name == "slurm").next_try is None


def test_the_values_come_back_with_the_next_answer() -> None:
    late = NOW + timedelta(minutes=600)
    good = Asked(**SLURM, reading=Answer(read(measure(util=0.7, labels=["100"]), at=late)))
    shown = next_picture(picture_after(600, 0.7), good, Origin(), late + timedelta(minutes=1)).snapshot
    assert any(gpu.state is GpuState.BUSY for gpu in shown.gpus) and shown.unknown == ()
