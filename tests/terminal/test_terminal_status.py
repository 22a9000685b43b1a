"""The rows of `fullwarp status` and `fullwarp nodes`: they add up, and slices are no GPUs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from data.errors import BadRequest
from data.known import require_known
from data.model import SourceCondition, SourceState
from data.slurm.states import NODE_BUCKETS, node_state
from data.uses import Counts, Use
from terminal.status import _device_columns, _states, _use_cells, source_lines


def test_slices_stand_apart_from_gpus() -> None:
    use = Use(gpus=Counts(total=32, busy=30, free=2), slices=Counts(total=7, idle=7), utilization=0.5)
    names = ["total", "busy", "idle", "free"]
    assert _use_cells(use, names) == ("32+7s", "30+0s", "0+7s", "2+0s", "50 %")
    assert _use_cells(Use(slices=Counts(total=7, free=7)), names)[0] == "7s"


def test_a_state_that_some_row_has_gets_a_column_so_that_rows_add_up() -> None:
    silent = Use(gpus=Counts(total=4, unmeasured=3, down=1))
    names = _device_columns([silent, Use()])
    assert names == ["total", "busy", "idle", "unmeasured", "free", "down"]
    total, *states = _use_cells(silent, names)[:-1]
    assert sum(map(int, states)) == int(total) == 4


def test_each_state_of_a_device_is_said_in_words() -> None:
    counts = Counts(total=6, busy=1, idle=1, unmeasured=1, unknown=1, drained=2)
    words = "1 busy, 1 held, idle, 1 held, not measured, 1 not told whether held, 2 drained"
    assert _states(counts) == words
    assert _states(Counts()) == "none"


NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (SourceState("slurm", "rest", SourceCondition.OK, NOW), ""),
        (
            SourceState("slurm", "rest", SourceCondition.STALE, NOW - timedelta(hours=50), NOW - timedelta(hours=49)),
            "slurm fails since 2 Mar 11:00 UTC: no answer; its last good answer, 2 d 2 h old, is shown",
        ),
        (
            SourceState("metrics", "x", SourceCondition.DOWN, None, NOW - timedelta(minutes=5), error="refused"),
            "metrics fails since 11:55 UTC: refused; nothing is left",
        ),
        (
            SourceState("slurm", "rest", SourceCondition.OK, NOW, broken_rows=2),
            "slurm: 2 rows could not be read: left out",
        ),
    ],
)
def test_a_source_that_fails_is_named_with_its_day_and_the_age_of_what_is_shown(state: SourceState, words: str) -> None:
    assert "\n".join(str(shown) for shown in source_lines([state], (), NOW)) == words


def test_a_word_that_nothing_has_is_refused_with_its_neighbors() -> None:
    with pytest.raises(BadRequest, match="there is no partition gup") as caught:
        require_known("partition", ["gup"], ["gpu", "cpu"])
    assert "gpu" in caught.value.hint
    require_known("partition", ["gup"], [])
    require_known("partition", ["gpu"], ["gpu", "cpu"])


@pytest.mark.parametrize("base", ["IDLE", "MIXED", "ALLOCATED", "DOWN", "UNKNOWN", "FUTURE", "ERROR"])
@pytest.mark.parametrize(
    "flag", ["", "DRAIN", "MAINTENANCE", "REBOOT_REQUESTED", "POWERED_DOWN", "POWERING_UP", "BLOCKED", "PLANNED"]
)
def test_every_class_of_a_node_can_be_asked_for(base: str, flag: str) -> None:
    assert node_state([base, flag] if flag else [base]).bucket in NODE_BUCKETS
