"""The assistant's panel, as somebody asks in it: on the dashboard and in Open OnDemand."""

from __future__ import annotations

from playwright.sync_api import Page, expect

ENDED = ".fw-chat-turn:last-child [data-part=end] > :not(:empty)"


def ask(page: Page, question: str) -> None:
    """Ask, and wait for the end of the answer."""
    before = page.locator(".fw-chat-turn").count()
    page.fill(".fw-chat-field", question)
    page.keyboard.press("Enter")
    expect(page.locator(".fw-chat-turn")).to_have_count(before + 1)
    page.wait_for_selector(ENDED)
