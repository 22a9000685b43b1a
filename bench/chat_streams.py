"""What an answer of the assistant waits for between the model server and the reader, and whether many at once stall.

A scripted model server on loopback says words at an even pace; `fullwarp demo` serves them with its own two workers.
"""

from __future__ import annotations

import http.client
import itertools
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson

from bench.commands import FULLWARP, wait_for_page
from bench.pages import chromium
from tests.services.ports import free_port
from tests.services.scripted_llm import Received, Reply, delta, scripted_model

AT_ONCE, WORDS, PAUSE = 20, 100, 0.05
VIEWS = 5
Row = dict[str, float | int | str]
_FIRST_TEXT = """
new MutationObserver(() => {
  const tail = document.querySelector('.fw-chat-tail');
  if (tail && tail.textContent.trim() && !window.benchTold)
    requestAnimationFrame(() => { window.benchTold = window.benchTold || Date.now(); });
}).observe(document, {childList: true, subtree: true, characterData: true});
"""


def chat_streams() -> Row:
    """Milliseconds from the server's first word to the reader's, alone on screen and with many at once, and the
    longest pause between two words of the same answer, of which PAUSE is the model's own."""
    sent: dict[str, float] = {}
    numbers = itertools.count()

    def script(received: Received) -> Reply:
        """Words at an even pace; when the first of them leaves is known beforehand."""
        name = next(word for word in received.question.split() if word.startswith("q-"))
        sent[name] = time.time() + PAUSE
        words = [delta(f"word{next(numbers)} ", role="assistant") for _ in range(WORDS)]
        return Reply([*words, delta(finish="stop")], pause_seconds=PAUSE)

    with scripted_model(script) as model, _served(model.base_url) as port:
        _ask(port, "q-warm")
        many = _many(port, sent)
        return many | (
            _on_screen(port, sent) if chromium() else {"browser": "chromium-headless-shell is not installed"}
        )


@contextmanager
def _served(base_url: str) -> Iterator[int]:
    port = free_port()
    chat = {"KIND": "openai-compatible", "BASE_URL": base_url, "MODEL": "scripted", "STREAMS": "64",
            "QUESTIONS_PER_DAY": "0"}  # fmt: skip
    variables = os.environ | {f"FULLWARP_CHAT__{name}": value for name, value in chat.items()}
    with tempfile.TemporaryDirectory(prefix="fullwarp-bench-") as folder:
        command = [FULLWARP, "demo", "--bind", f"127.0.0.1:{port}"]
        process = subprocess.Popen(command, cwd=folder, env=variables, stderr=subprocess.DEVNULL)
        try:
            wait_for_page(f"http://127.0.0.1:{port}", time.perf_counter() + 60)
            yield port
        finally:
            process.terminate()
            process.wait(30)


def _ask(port: int, name: str) -> list[float]:
    """The times at which words of one answer came. Raises RuntimeError for an answer that is not whole."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Content-Type": "application/json", "X-Requested-With": "fullwarp"}
    connection.request("POST", "/_chat/ask", orjson.dumps({"question": f"Tell me {name}"}), headers)
    answer = connection.getresponse()
    times: list[float] = []
    for event in _events(answer):
        if event["kind"] in ("delta", "blocks"):
            times.append(time.time())
        if event["kind"] == "ended" and not event["failure"]:
            connection.close()
            return times
    raise RuntimeError(f"{name} ended with status {answer.status} after {len(times)} words")


def _events(answer: http.client.HTTPResponse) -> Iterator[Mapping[str, Any]]:
    while line := answer.readline():
        if line.startswith(b"data: "):
            yield orjson.loads(line[6:])


def _many(port: int, sent: Mapping[str, float]) -> Row:
    found: dict[str, list[float]] = {}
    threads = [threading.Thread(target=lambda name=name: found.update({name: _ask(port, name)}))
               for name in (f"q-{number}" for number in range(AT_ONCE))]  # fmt: skip
    for one in threads:
        one.start()
    for one in threads:
        one.join(180)
    firsts = [(times[0] - sent[name]) * 1000 for name, times in found.items()]
    pauses = [(later - earlier) * 1000 for times in found.values() for earlier, later in itertools.pairwise(times)]
    return {
        "at_once": AT_ONCE,
        "whole_answers": len(found),
        "first_word_ms": round(statistics.median(firsts), 1),
        "first_word_worst_ms": round(max(firsts), 1),
        "pause_of_the_model_ms": PAUSE * 1000,
        "pause_p99_ms": round(statistics.quantiles(pauses, n=100)[98], 1),
        "pause_worst_ms": round(max(pauses), 1),
    }


def _on_screen(port: int, sent: Mapping[str, float]) -> Row:
    """In Chromium, from the first word's leaving the model server to the frame that shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        took = [_view(browser, port, f"q-screen{number}", sent) for number in range(VIEWS)]
        browser.close()
    return {"on_screen_ms": round(statistics.median(took), 1), "on_screen_worst_ms": round(max(took), 1)}


def _view(browser: Any, port: int, name: str, sent: Mapping[str, float]) -> float:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(_FIRST_TEXT)
    page.goto(f"http://127.0.0.1:{port}/health")
    page.wait_for_selector("#react-entry-point h1")
    page.locator("#first-view").wait_for(state="detached")
    page.click("#ask")
    page.fill(".fw-chat-field", f"Tell me {name}")
    page.keyboard.press("Enter")
    page.wait_for_selector(".fw-chat-acts", timeout=60_000)
    told = page.evaluate("window.benchTold")
    page.close()
    return float(told) - sent[name] * 1000
