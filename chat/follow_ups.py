"""What could be asked next, by a second call of the model: only where the settings ask for it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from chat.assistant_faults import Fault
from chat.messages import Message
from chat.model import Usage
from chat.model_server import ModelServer
from chat.stream import Gathered
from chat.stream_pump import Pump

MOST, _MOST_TEXT = 3, 120
_SECONDS = 15.0
_ASK = (
    "Write three short questions that I could ask next and that your tools can answer, in the language of my question, "
    "one on each line and nothing else."
)
_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*[\"'“]?|[\"'”]?\s*$")


def follow_ups(server: ModelServer, said: Sequence[Message], stop: Callable[[], bool]) -> tuple[tuple[str, ...], Usage]:
    """At most MOST questions after what was said, and the tokens that they took; none where the model fails.

    Raises Stopped.
    """
    gathered = Gathered()
    body = server.body([*said, {"role": "user", "content": _ASK}], (), may_call=False)
    pump = Pump(server, body, time.monotonic() + _SECONDS)
    try:
        for chunk in pump.chunks(stop):
            gathered.add(chunk)
    except Fault:
        return (), gathered.usage
    finally:
        pump.close()
    return questions_in(gathered.answer), gathered.usage


def questions_in(text: str) -> tuple[str, ...]:
    """The lines of a text that are questions, without what marks them as a list."""
    lines = (_MARK.sub("", line).strip() for line in text.splitlines())
    return tuple(line for line in lines if line.endswith(("?", "\uff1f")) and len(line) <= _MOST_TEXT)[:MOST]
