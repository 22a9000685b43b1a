"""Several answers at a time: one that fails leaves nothing behind."""

from __future__ import annotations

import gc
import time
import weakref
from typing import Any

import pytest

from data.errors import CannotKnow
from pages._by_and_by import some_of


class Large:
    """Something whose end can be seen."""


def test_an_error_goes_with_all_that_its_question_had_read() -> None:
    """No cycle of error, frame and thread: the collector runs seldom, and a picture of the cluster hangs on each."""
    ends: list[weakref.ref[Large]] = []

    def large() -> Large:
        made = Large()
        ends.append(weakref.ref(made))
        return made

    def failing() -> Any:
        held = large()
        raise CannotKnow(f"nothing of {id(held)}")

    def asked() -> None:
        held = large()
        with pytest.raises(CannotKnow):
            some_of({"one": failing, "two": failing}, 30.0)
        assert held

    gc.disable()
    try:
        asked()
        until = time.monotonic() + 30
        while any(end() is not None for end in ends):  # a thread may still be about to end
            assert time.monotonic() < until
            time.sleep(0.01)
    finally:
        gc.enable()
    assert len(ends) in (2, 3)
