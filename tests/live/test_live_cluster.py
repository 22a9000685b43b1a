"""The live picture: refreshed once for all, the last good one kept, nobody blocked, nothing frozen."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from data.cache import MemoryCache
from data.errors import (
    SourceDenied,
    SourceError,
    SourceGarbled,
    SourceTimeout,
    SourceUnreachable,
)
from data.live import LiveCluster
from data.live.asking import Answer, Asked
from data.live.coding import read_picture, write_picture
from data.live.picture import Origin, next_picture
from data.model import GpuState, Rows, SourceCondition
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node, measure


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def step(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class World:
    """One cluster of one node with one busy job, its sources, and as many processes as the test makes."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.cache = MemoryCache()
        self.scheduler = FakeScheduler(
            [make_node(gpus_allocated=1)], [make_job(indices=(0,), start_time=NOW - timedelta(hours=9))]
        )
        self.metrics = FakeMetrics([measure(index=i) for i in range(8)], clock=self.clock)

    def process(self, **options: object) -> LiveCluster:
        options = {"refresh_seconds": 30.0, "limits": (2.0, 2.0), **options}
        return LiveCluster(self.scheduler, self.metrics, self.cache, self.clock, **options)  # type: ignore[arg-type]

    def refreshed(self, live: LiveCluster, seconds: float = 31.0):
        """Let time pass and wait until the picture of then is there."""
        self.clock.step(seconds)
        return settled(live, self.clock.now)


def settled(live: LiveCluster, moment: datetime):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        snapshot = live.snapshot()
        if snapshot.made_at == moment:
            return snapshot
        time.sleep(0.01)
    raise AssertionError("no refresh came")


@pytest.fixture
def world() -> World:
    return World()


def source(snapshot, name):
    return next(state for state in snapshot.sources if state.name == name)


def test_the_first_picture_is_waited_for_and_complete(world):
    snapshot = world.process().snapshot()
    assert [gpu.state for gpu in snapshot.gpus] == [GpuState.BUSY] + [GpuState.FREE] * 7
    assert snapshot.cluster == "demo"
    assert snapshot.partitions
    assert source(snapshot, "slurm").version == "22.05.8"
    assert {state.condition for state in snapshot.sources} == {SourceCondition.OK}
    assert snapshot.unknown == ()


def test_a_fresh_picture_is_not_read_again(world):
    live = world.process()
    first = live.snapshot()
    world.clock.step(29)
    assert live.snapshot() is first
    assert (world.scheduler.requests, world.metrics.requests) == (2, 1)


def test_sixty_four_threads_ask_and_the_sources_are_asked_once(world):
    world.scheduler.delay = 0.05
    live = world.process()
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(live.snapshot().version)) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 64
    assert len(set(found)) == 1
    assert world.metrics.requests == 1


def test_the_last_good_picture_is_served_while_a_slow_one_loads(world):
    live = world.process()
    first = live.snapshot()
    world.metrics.gate = threading.Event()
    world.clock.step(31)
    begun = time.monotonic()
    for _ in range(20):
        assert live.snapshot() is first
    assert time.monotonic() - begun < 1.0
    world.metrics.gate.set()
    assert settled(live, world.clock.now).version != first.version


def test_after_a_long_silence_the_new_picture_is_waited_for(world):
    live = world.process()
    live.snapshot()
    world.clock.step(3600)
    assert live.snapshot().made_at == world.clock.now


def test_after_a_long_silence_a_source_that_hangs_blocks_only_for_a_moment(world):
    live = world.process(patience_seconds=0.2)
    first = live.snapshot()
    world.metrics.gate = threading.Event()
    world.clock.step(3600)
    begun = time.monotonic()
    assert live.snapshot() is first
    assert time.monotonic() - begun < 1.5
    world.metrics.gate.set()


def test_another_process_takes_the_shared_picture_without_asking(world):
    first = world.process().snapshot()
    second = world.process().snapshot()
    assert second == first
    assert world.metrics.requests == 1


def test_every_process_shows_the_newest_picture_at_once(world):
    one, two = world.process(), world.process()
    two.snapshot()
    newest = world.refreshed(one)
    assert two.snapshot() == newest
    assert world.metrics.requests == 2


def test_a_picture_survives_the_way_through_the_cache(world):
    picture = world.process().picture()
    assert read_picture(write_picture(picture)) == picture


@pytest.mark.parametrize("data", [None, b"", b"garbage", b"x" * 4096])
def test_damaged_bytes_in_the_cache_are_no_picture(data):
    assert read_picture(data) is None


def test_a_damaged_cache_is_filled_again(world):
    live = world.process()
    live.snapshot()
    for key in list(world.cache._values):
        world.cache.set(key, b"\xff damaged")
    assert world.process().snapshot().gpus
    assert live.snapshot().gpus


FAULTS = [
    SourceUnreachable("refused", hint="Start it."),
    SourceTimeout("slow"),
    SourceDenied("wrong token"),
    SourceGarbled("half an answer"),
    RuntimeError("a bug"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_while_slurm_fails_its_last_good_part_stays_and_says_so(world, fault):
    live = world.process()
    first = live.snapshot()
    world.scheduler.fault = fault
    world.refreshed(live)
    began = world.clock.now
    snapshot = world.refreshed(live)
    assert (snapshot.nodes, snapshot.jobs) == (first.nodes, first.jobs)
    state = source(snapshot, "slurm")
    assert state.condition is SourceCondition.STALE
    assert (state.last_success, state.failing_since) == (first.made_at, began)
    assert str(fault) in state.error
    assert snapshot.slurm_time == first.made_at
    assert source(snapshot, "metrics").condition is SourceCondition.OK
    assert snapshot.partitions == first.partitions


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_while_metrics_fail_the_last_values_stay_and_say_so(world, fault):
    live = world.process()
    first = live.snapshot()
    world.metrics.fault = fault
    snapshot = world.refreshed(live)
    assert [gpu.values for gpu in snapshot.gpus] == [gpu.values for gpu in first.gpus]
    assert source(snapshot, "metrics").condition is SourceCondition.STALE
    assert snapshot.metrics_time == first.metrics_time
    world.metrics.fault = None
    healed = world.refreshed(live)
    assert source(healed, "metrics").condition is SourceCondition.OK
    assert source(healed, "metrics").failing_since is None


def test_metrics_that_never_came_are_unknown_and_never_zero(world):
    world.metrics.fault = SourceUnreachable("refused")
    snapshot = world.process().snapshot()
    assert source(snapshot, "metrics").condition is SourceCondition.DOWN
    assert [gpu.state for gpu in snapshot.gpus] == [GpuState.UNMEASURED] + [GpuState.FREE] * 7
    assert snapshot.metrics_time is None
    assert any("Nothing is measured" in line for line in snapshot.unknown)


def test_slurm_that_never_came_leaves_its_parts_empty_with_a_word(world):
    world.scheduler.fault = SourceUnreachable("refused", hint="Start slurmctld.")
    snapshot = world.process().snapshot()
    assert (snapshot.nodes, snapshot.gpus, snapshot.jobs) == ((), (), ())
    state = source(snapshot, "slurm")
    assert (state.condition, state.last_success, state.hint) == (SourceCondition.DOWN, None, "Start slurmctld.")
    assert len(snapshot.unknown) == 2


def test_a_job_list_that_fails_alone_leaves_gpus_unknown_and_not_free(world):
    asked = Asked(
        Answer(Rows((make_node(gpus_allocated=3),))),
        Answer(error=SourceTimeout("slow")),
        Answer(error=SourceTimeout("-")),
    )
    snapshot = next_picture(None, asked, Origin(), NOW).snapshot
    assert sum(gpu.state is GpuState.HELD_UNKNOWN for gpu in snapshot.gpus) == 3
    assert source(snapshot, "slurm").condition is SourceCondition.STALE
    assert snapshot.slurm_time is None
    assert any("Jobs are not known" in line for line in snapshot.unknown)


def test_broken_rows_dropped_values_and_dialects_are_shown(world):
    world.scheduler.broken = 2
    world.metrics.dropped = {"implausible": 3}
    snapshot = world.process().snapshot()
    assert source(snapshot, "slurm").broken_rows == 2
    assert source(snapshot, "slurm").broken_examples == ("half a row",)
    assert source(snapshot, "metrics").dropped_values == {"implausible": 3}
    assert source(snapshot, "metrics").dialects == ("dcgm_exporter",)
    assert source(snapshot, "metrics").latency_seconds is not None


def test_what_changes_rarely_is_asked_every_ten_minutes_only(world):
    live = world.process()
    live.snapshot()
    for _ in range(19):
        world.refreshed(live, 31)
    assert world.scheduler.calls.count("partitions") == 1
    world.refreshed(live, 31)
    assert world.scheduler.calls.count("partitions") == 2


def test_a_rare_answer_that_failed_is_asked_again_after_a_minute(world):
    world.scheduler.slow_fault = SourceTimeout("slurmdbd")
    live = world.process()
    snapshot = live.snapshot()
    assert any("slurmdbd" in line for line in source(snapshot, "slurm").warnings)
    assert live.associations() == ()
    world.scheduler.slow_fault = None
    world.refreshed(live, 31)
    assert not live.associations()
    world.refreshed(live, 31)
    assert live.associations()


def test_nobody_waits_for_accounts_while_slurm_does_not_answer(world, monkeypatch):
    world.scheduler.fault = SourceUnreachable("refused")
    live = world.process()
    live.snapshot()
    waited = []
    monkeypatch.setattr(live, "_await", lambda held, seconds: waited.append(seconds) or held)
    assert live.associations() == ()
    assert waited == []


def test_rare_answers_that_are_slow_do_not_hold_up_the_picture(world, monkeypatch):
    monkeypatch.setattr("data.live.cluster._SLOW_PATIENCE_SECONDS", 0.05)
    gate = threading.Event()
    original = world.scheduler.associations
    world.scheduler.associations = lambda: gate.wait(5) and original()
    live = world.process(limits=(8.0, 8.0))
    assert live.snapshot().gpus
    gate.set()
    assert live.associations() == original().rows
    assert world.metrics.requests == 1


def test_a_source_that_hangs_past_its_limit_has_timed_out(world):
    world.metrics.gate = threading.Event()
    snapshot = world.process(limits=(1.0, 0.2)).snapshot()
    assert snapshot.nodes
    assert "time limit" in source(snapshot, "metrics").error
    world.metrics.gate.set()


def test_a_clock_that_steps_back_freezes_nothing(world):
    live = world.process()
    live.snapshot()
    world.clock.step(-7200)
    assert settled(live, world.clock.now).made_at == world.clock.now
    assert world.process().snapshot().made_at == world.clock.now


def test_a_refresher_that_never_comes_back_is_replaced_when_its_lock_lapses(world):
    live = world.process(limits=(0.2, 0.2))
    live.snapshot()
    assert world.cache.try_lock("live-refresh", 0.4) is not None
    assert world.refreshed(live).made_at == world.clock.now


def test_a_mistake_in_the_first_refresh_is_an_error_with_words_and_not_a_hang(world, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("data.live.cluster.next_picture", broken)
    with pytest.raises(Exception, match="first picture could not be made"):
        world.process().snapshot()


def test_a_mistake_in_a_later_refresh_leaves_the_last_picture(world, monkeypatch):
    live = world.process()
    first = live.snapshot()
    monkeypatch.setattr("data.live.cluster.next_picture", lambda *_: 1 / 0)
    world.clock.step(31)
    for _ in range(5):
        assert live.snapshot() == first
        time.sleep(0.02)


class DeadCache(MemoryCache):
    """Takes nothing and gives nothing back."""

    fault = "the disk is full"

    def get(self, key: str) -> bytes | None:
        return None

    def set(self, key: str, value: bytes) -> None:
        return None


def test_with_a_dead_cache_a_process_goes_on_by_itself_and_says_so(world):
    world.cache = DeadCache()
    live = world.process()
    first = live.snapshot()
    assert live.snapshot() is first
    assert world.metrics.requests == 1
    assert "cache_fails" in {note.kind for note in first.notes}


def test_a_cache_that_keeps_an_old_picture_does_not_win_over_ours(world):
    live = world.process()
    live.snapshot()
    old = dict(world.cache._values)
    newest = world.refreshed(live)
    world.cache._values.update(old)
    assert live.snapshot() is newest
    assert live.snapshot() is newest


def test_errors_of_a_source_keep_their_hint(world):
    world.metrics.fault = SourceError("no", hint="Do this.")
    assert source(world.process().snapshot(), "metrics").hint == "Do this."


def test_times_are_aware_utc(world):
    snapshot = world.process().snapshot()
    assert snapshot.time.tzinfo is UTC
    assert replace(snapshot).slurm_time == snapshot.time


def test_rows_of_which_none_can_be_read_are_a_fault_and_not_an_empty_cluster(world):
    live = world.process()
    first = live.snapshot()
    world.scheduler.node_rows, world.scheduler.broken = [], 5
    snapshot = world.refreshed(live)
    assert snapshot.nodes == first.nodes
    assert source(snapshot, "slurm").condition is SourceCondition.STALE


def test_what_a_source_may_never_tell_is_not_asked_again_soon(world):
    world.scheduler.slow_fault = SourceDenied("not an operator")
    live = world.process()
    live.snapshot()
    for _ in range(3):
        world.refreshed(live, 61)
    assert world.scheduler.calls.count("partitions") == 1
