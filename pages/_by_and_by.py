"""Several answers at a time, for as long as a reader should wait; the work on the others goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

WORKERS = 2  # of each view: a database answers few questions at once, and others ask too
_GRACE_SECONDS = 0.15


@dataclass
class Answering:
    """Makes the answers in their order, by a few threads. What it finds is kept by whoever makes it, not here."""

    makers: Mapping[str, Callable[[], Any]]
    found: dict[str, Any] = field(default_factory=dict)
    failed: list[BaseException] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _waiting: list[str] = field(default_factory=list)

    def start(self) -> None:
        self._waiting = list(self.makers)
        for _ in range(min(WORKERS, len(self.makers))):
            threading.Thread(target=self._work, daemon=True).start()

    def wait(self, seconds: float, more_than: int) -> None:
        """Until all are found or one failed; until more than so many are found and the next takes long; or so long."""
        end = time.monotonic() + seconds
        with self._changed:
            while not self.failed and len(self.found) < len(self.makers):
                left = end - time.monotonic()
                has_more = len(self.found) > more_than
                is_over = not self._changed.wait(max(0.0, min(left, _GRACE_SECONDS) if has_more else left))
                if is_over and (has_more or time.monotonic() >= end):
                    return

    def _work(self) -> None:
        while name := self._next():
            try:
                answer = self.makers[name]()
            except BaseException as err:
                self._keep(None, err)
                del self  # the error holds this frame, which must not hold the error
                return
            self._keep((name, answer), None)

    def _next(self) -> str:
        with self._changed:
            return self._waiting.pop(0) if self._waiting and not self.failed else ""

    def _keep(self, answer: tuple[str, Any] | None, err: BaseException | None) -> None:
        with self._changed:
            if answer is not None:
                self.found[answer[0]] = answer[1]
            if err is not None:
                self.failed.append(err)
            self._changed.notify_all()


def some_of(makers: Mapping[str, Callable[[], Any]], seconds: float, more_than: int = 0) -> dict[str, Any]:
    """The answers that are there in time. Raises what the first one that failed raised."""
    work = Answering(makers)
    work.start()
    work.wait(seconds, more_than)
    try:
        if work.failed:
            raise work.failed[0]
        return dict(work.found)
    finally:
        del work  # as above
