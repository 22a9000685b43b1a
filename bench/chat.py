"""What the model loop itself adds to an answer, without a browser or a route: the wait between the model server's first
word and the event that carries it, alone and twenty at once, and the check of a long answer's figures."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from chat.assistant import answer
from chat.assistant_turn import Toolbox
from chat.checker import check
from chat.model import Asker, OnScreen, TextDelta, ToolResult
from chat.model_server import ModelServer
from data.model import Role, Viewer
from data.sources import open_sources
from settings import ChatSettings, Settings
from tests.services.scripted_llm import Received, Reply, delta, scripted_model

AT_ONCE, WORDS, PAUSE = 20, 60, 0.02
ROWS = 200
Row = dict[str, float | int | str]


def chat_loop() -> Row:
    """Milliseconds to the first word, alone and with many at once, the longest stall between two words beyond the
    model's own pace, and milliseconds of the check of an answer with ROWS figures."""
    sent: dict[str, float] = {}

    def script(received: Received) -> Reply:
        """Words at an even pace; when the first of them leaves is known beforehand."""
        sent[received.question] = time.perf_counter() + PAUSE
        return Reply([*(delta(f"word{number} ") for number in range(WORDS)), delta(finish="stop")], pause_seconds=PAUSE)

    simulated = {"slurm": {"kind": "simulated"}, "metrics": {"kind": "simulated"}, "cache": {"kind": "memory"}}
    sources = open_sources(Settings.model_validate(simulated))
    asker = Asker(Viewer("bench", Role.STAFF), sources, datetime.now(UTC))
    with scripted_model(script) as model:
        server = ModelServer(ChatSettings(kind="openai-compatible", base_url=model.base_url, model="scripted"))
        _times(asker, server, "warm")
        alone = [_first(_times(asker, server, f"alone {number}"), sent[f"alone {number}"]) for number in range(5)]
        many = _many(asker, server)
    firsts = sorted(_first(times, sent[name]) for name, times in many.items())
    return {
        "alone_first_word_ms": round(statistics.median(alone) * 1000, 1),
        "at_once": AT_ONCE,
        "at_once_first_word_ms": round(statistics.median(firsts) * 1000, 1),
        "at_once_first_word_worst_ms": round(firsts[-1] * 1000, 1),
        "at_once_longest_stall_ms": round(max(map(_stall, many.values())) * 1000, 1),
        "check_figures": ROWS,
        "check_ms": round(_check_seconds() * 1000, 1),
    }


def _times(asker: Asker, server: ModelServer, question: str) -> list[float]:
    """When each word of an answer came."""
    return list(_words(answer(asker, question, OnScreen(), (), server, lambda: False, Toolbox((), _no_tool))))


def _words(events: Iterable[Any]) -> Iterator[float]:
    for event in events:
        if isinstance(event, TextDelta):
            yield time.perf_counter()


def _no_tool(asker: Asker, name: str, arguments: Any, call_id: str) -> ToolResult:
    return ToolResult(call_id, name, arguments, 0.0, error="There are no tools here.")


def _many(asker: Asker, server: ModelServer) -> dict[str, list[float]]:
    came: dict[str, list[float]] = {}

    def one(question: str) -> None:
        came[question] = _times(asker, server, question)

    threads = [threading.Thread(target=one, args=(f"many {number}",)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return came


def _first(times: list[float], sent: float) -> float:
    return times[0] - sent


def _stall(times: list[float]) -> float:
    return max(after - before for before, after in pairwise(times)) - PAUSE


def _check_seconds() -> float:
    rows = [{"job": str(10_000_000 + n), "user": f"user{n}", "wasted_gpu_hours": 1 + n / 7} for n in range(ROWS)]
    result = ToolResult("c", "waste_ranking", {}, 0.0, {"groups": {"rows": rows}})
    text = "\n".join(f"- Job {row['job']}: {row['wasted_gpu_hours']:.2f} GPU-hours" for row in rows)
    began = time.perf_counter()
    check(text, [result])
    return time.perf_counter() - began


if __name__ == "__main__":
    print(chat_loop())
