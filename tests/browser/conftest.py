"""A page in Chromium that remembers what went wrong on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.services.web import STAFF, WAIT_MS, Web


@dataclass
class Seen:
    """A page with its complaints and the addresses that it asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    callbacks: list[str] = field(default_factory=list)

    def open(self, url: str, wait_for: str = "#gpu-map .fw-cell") -> Page:
        self.page.goto(url)
        self.page.wait_for_selector(wait_for, timeout=WAIT_MS)
        self.page.wait_for_load_state("networkidle")
        return self.page


def watch(page: Page) -> Seen:
    seen = Seen(page)
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda message: _note(seen, message.type, message.text))
    page.on("pageerror", lambda error: seen.complaints.append(f"error: {error}"))
    page.on("request", lambda request: seen.asked.append(request.url))
    page.on(
        "request", lambda request: seen.callbacks.append(request.post_data or "") if _is_callback(request) else None
    )
    return seen


def _note(seen: Seen, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        seen.complaints.append(f"{kind}: {text}")


def _is_callback(request: Any) -> bool:
    return "_dash-update-component" in request.url and "overview-version" in (request.post_data or "")


@pytest.fixture
def look(chromium: Browser, web: Web) -> Iterator[Callable[..., Seen]]:
    """Open a page as somebody: look(user=..., theme=..., width=...). Closed with the test."""
    contexts: list[Any] = []

    def opened(user: str = STAFF, theme: str = "light", width: int = 1280, height: int = 900, **more: Any) -> Seen:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,  # type: ignore[arg-type]
            extra_http_headers={"X-Remote-User": user} if user else {},
            **more,
        )
        contexts.append(context)
        return watch(context.new_page())

    yield opened
    for context in contexts:
        context.close()
