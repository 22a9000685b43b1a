"""People who load pages and refresh them, over real HTTP, while something happens to the server."""

from __future__ import annotations

import http.client
import json
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any


def first_data(path: str) -> dict[str, Any]:
    """What the browser asks for to fill the page at a path."""
    return {
        "output": ".._pages_content.children..._pages_store.data..",
        "outputs": [{"id": "_pages_content", "property": "children"}, {"id": "_pages_store", "property": "data"}],
        "inputs": [
            {"id": "_pages_location", "property": "pathname", "value": path},
            {"id": "_pages_location", "property": "search", "value": ""},
        ],
        "changedPropIds": [],
        "state": [],
    }


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(port: int, path: str, body: object = None, method: str = "", **headers: str) -> Answer:
    """One request on a connection of its own; header names with underscores for dashes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    content = None if body is None else json.dumps(body)
    if content is not None:
        sent["Content-Type"] = "application/json"
    try:
        connection.request(method or ("GET" if body is None else "POST"), path, content, sent)
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def basic(user: str) -> str:
    """Authorization of a user whose password is the name."""
    return "Basic " + b64encode(f"{user}:{user}".encode()).decode()


@dataclass
class Viewers:
    """Threads that go round `paths` and the pages' callback until the block ends, with a `pause` in seconds after each.
    `check` sees every answer and gives what is wrong with it."""

    port: int
    prefix: str
    check: Callable[[str, Answer], str | None] = lambda path, answer: None
    paths: tuple[str, ...] = ("", "jobs", "_dash-update-component", "api/v1/status", "health")
    count: int = 4
    pause: float = 0.05
    headers: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int | str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    def __enter__(self) -> Viewers:
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._go, args=(number,), daemon=True) for number in range(self.count)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(40)

    @property
    def answered(self) -> int:
        return sum(self.statuses.values())

    def until(self, is_so: Callable[[], object], seconds: float = 20.0) -> None:
        """Wait for something to become true while the viewers go on."""
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, f"not within {seconds} s; seen {dict(self.statuses)} {self.complaints[:3]}"
            time.sleep(0.05)

    def rounds(self, number: int) -> None:
        """Wait for so many more answers."""
        wanted = self.answered + number
        self.until(lambda: self.answered >= wanted)

    def _go(self, number: int) -> None:
        turn = number
        while not self._over.is_set():
            path = self.paths[turn % len(self.paths)]
            turn += 1
            body = first_data(self.prefix) if path == "_dash-update-component" else None
            try:
                answer = ask(self.port, self.prefix + path, body, **self.headers)
            except OSError as err:
                self.statuses[type(err).__name__] += 1
                continue
            self.statuses[answer.status] += 1
            if complaint := self.check(path, answer):
                self.complaints.append(f"{path}: {complaint}")
            time.sleep(self.pause)
