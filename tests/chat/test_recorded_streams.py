"""Streams that were recorded from real servers are replayed as they were: their calls run, their texts come out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chat.model import Ended
from data.sources import Sources
from tests.chat.asked import ask
from tests.services.scripted_llm import End, Reply

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "llm_streams"
RUN = {
    "test_tool_use_basic": [("multiply", {"a": 1231, "b": 2331})],
    "test_tool_use_chain_of_two_calls": [
        ("lookup_population", {"country": "Crumpet"}),
        ("can_have_dragons", {"population": 123124}),
    ],
}
VERSION = [("llm_version", {})]
WORDS = {"test_tool_use_basic": "2869461", "test_tool_use_chain_of_two_calls": "YES"}


def recorded() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def replies(name: str) -> list[Reply]:
    """The answers of a recording: a stream event by event, or the one body of a server that did not stream."""
    found = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))["interactions"]
    return [as_reply(one["response"]["body"]["string"]) for one in found]


def as_reply(body: str | bytes) -> Reply:
    raw = body.encode() if isinstance(body, str) else gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    if not raw.startswith(b"data:"):
        return Reply(body=raw)
    return Reply([event + b"\n\n" for event in raw.split(b"\n\n") if event.strip()], end=End.QUIET)


@pytest.mark.parametrize("name", recorded() or ["absent"])
def test_a_recorded_stream_is_replayed(name: str, sources: Sources) -> None:
    if name == "absent":
        pytest.skip(f"no recorded streams at {FOLDER}")
    told = ask(replies(name), sources)
    assert told.tools.run == RUN.get(name, VERSION)
    assert isinstance(told.end, Ended)
    assert told.end.text == told.text
    assert WORDS.get(name, "version") in told.text.replace(",", "").replace("{}", "")
    assert not told.end.is_cut
    assert told.end.usage.prompt_tokens == tokens_counted(name)


def tokens_counted(name: str) -> int:
    """The tokens that the recording itself says were sent, over its rounds."""
    text = "".join(str(reply.body or b"") + "".join(map(str, reply.pieces)) for reply in replies(name))
    return sum(int(part.split(",")[0].strip(" :\\n")) for part in text.split('"prompt_tokens"')[1:])


def test_what_is_sent_again_can_be_read_by_the_server(sources: Sources) -> None:
    if not recorded():
        pytest.skip(f"no recorded streams at {FOLDER}")
    told = ask(replies("test_tool_use_basic"), sources)
    asking: dict[str, Any] = told.model.received[1].messages[-2]
    answer: dict[str, Any] = told.model.received[1].messages[-1]
    assert asking["tool_calls"][0]["id"] == answer["tool_call_id"] == "call_1EYWDzueHEp8OsB8jJSEp7WB"
    assert json.loads(asking["tool_calls"][0]["function"]["arguments"]) == {"a": 1231, "b": 2331}
    assert '{"product":2869461}' in answer["content"]
