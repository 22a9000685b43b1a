"""Answers kept for a short while, so that a page that is open in many tabs asks a source once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Recent:
    """At most `most` answers, each for `seconds` (of the monotonic clock); asked once however many wait for it.

    An error goes to all who wait and is not kept.
    """

    def __init__(self, seconds: float = 30.0, most: int = 256) -> None:
        self._seconds, self._most = seconds, most
        self._kept: OrderedDict[Hashable, tuple[float, Future[Any]]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The answer kept under `key`, or what `make` gives now."""
        with self._guard:
            now = time.monotonic()
            kept = self._kept.get(key)
            if kept is not None and now < kept[0]:
                promised = kept[1]
                make_now = False
            else:
                promised, make_now = Future(), True
                self._kept[key] = (now + self._seconds, promised)
                self._kept.move_to_end(key)
                self._drop_old(now)
        if make_now:
            self._fill(key, promised, make)
        try:
            return cast(T, promised.result())
        finally:
            # An error holds the frames that it went through: where they held the error, all that the request had read
            # would stay until the collector comes.
            del kept, promised

    def known(self, key: Hashable) -> object | None:
        """The answer kept under `key` where it is there already; None without asking."""
        with self._guard:
            until, promised = self._kept.get(key, (0.0, None))
            if promised is None or time.monotonic() >= until or not promised.done() or promised.exception() is not None:
                return None
            return cast(object, promised.result())

    def _drop_old(self, now: float) -> None:
        """The first was asked first: nothing that nobody will get stays in memory."""
        while self._kept and (len(self._kept) > self._most or next(iter(self._kept.values()))[0] <= now):
            self._kept.popitem(last=False)

    def _fill(self, key: Hashable, promised: Future[Any], make: Callable[[], Any]) -> None:
        try:
            answer = make()
        except BaseException as err:
            with self._guard:
                if self._kept.get(key, (0.0, None))[1] is promised:
                    del self._kept[key]
            promised.set_exception(err)
            del promised
        else:
            promised.set_result(answer)
