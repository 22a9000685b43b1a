"""What is kept for a short while: asked once, and gone when nobody gets it any more."""

from __future__ import annotations

import gc
import weakref

import pytest

from data.errors import CannotKnow
from data.model import Role, Viewer
from data.queries.live import overview
from data.queries.node_detail import nodes_view
from data.recent import Recent
from tests.queries.cluster import open_fakes


class Large:
    """Something whose end can be seen."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("data.recent.time.monotonic", lambda: now[0])
    return now


def test_what_is_over_leaves_the_memory_with_the_next_question(clock: list[float]) -> None:
    kept = Recent(seconds=30.0, most=100)
    ends = [weakref.ref(kept.get(number, Large)) for number in range(50)]
    clock[0] += 31
    kept.get("another", Large)
    gc.collect()
    assert [one() for one in ends] == [None] * 50
    assert kept.known("another") is not None and kept.known(49) is None


def test_the_first_asked_go_first_when_there_are_too_many(clock: list[float]) -> None:
    kept = Recent(seconds=30.0, most=2)
    for number in range(4):
        kept.get(number, Large)
    assert [kept.known(number) is not None for number in range(4)] == [False, False, True, True]


def test_what_is_kept_for_no_time_is_answered_all_the_same(clock: list[float]) -> None:
    assert Recent(seconds=0.0).get("now", lambda: 1) == 1


def test_a_picture_is_kept_for_few_viewers_however_many_look() -> None:
    sources = open_fakes()
    for number in range(100):
        viewer = Viewer(f"u{number}", Role.USER)
        assert overview(viewer, sources).snapshot.gpus
        nodes_view(viewer, sources)
    assert len(sources.views._kept) == 32
    assert not [key for key in sources.recent._kept if isinstance(key, tuple) and key[0] in ("scoped", "node list")]


def test_an_error_goes_with_all_that_its_question_had_read(clock: list[float]) -> None:
    """No cycle of error, frame and promise: the collector runs seldom, and a picture of the cluster hangs on each."""
    kept, held = Recent(), Large()

    def asked(what: Large) -> None:
        def make() -> object:
            raise CannotKnow(f"nothing of {id(what)}")

        with pytest.raises(CannotKnow):
            kept.get("key", make)

    end = weakref.ref(held)
    gc.disable()
    try:
        asked(held)
        del held
        assert end() is None
    finally:
        gc.enable()
