"""A record of the log as one line: for people, as JSON, or as logfmt. Control characters cannot begin a line of their
own, and secrets are blotted out."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import orjson

from data.tracing import trace

Hide = Callable[[str], str]
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BARE = re.compile(r"[^\s\"=\\]+")


class TextForm(logging.Formatter):
    """`2026-11-24T10:47:13Z WARNING data.live: message (request=... viewer=...)`, a traceback below it."""

    def __init__(self, hide: Hide) -> None:
        super().__init__()
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        found = fields_of(record, self._hide)
        head = " ".join(_escaped(str(found.pop(name))) for name in ("time", "level"))
        logger, message, failure = found.pop("logger"), found.pop("message"), found.pop("exception", "")
        about = f" ({_pairs(found)})" if found else ""
        below = f"\n{failure}" if failure else ""
        return f"{head} {logger}: {_escaped(str(message))}{about}{below}"


class JsonForm(logging.Formatter):
    """One JSON object a line."""

    def __init__(self, hide: Hide) -> None:
        super().__init__()
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        return orjson.dumps(fields_of(record, self._hide), default=str).decode()


class LogfmtForm(logging.Formatter):
    """key=value, quoted where a value holds more than one plain word."""

    def __init__(self, hide: Hide) -> None:
        super().__init__()
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        return _pairs(fields_of(record, self._hide))


FORMS: Mapping[str, Callable[[Hide], logging.Formatter]] = {"text": TextForm, "json": JsonForm, "logfmt": LogfmtForm}


def fields_of(record: logging.LogRecord, hide: Hide) -> dict[str, object]:
    """What a line says, in order; `fields` of the record are its own."""
    found: dict[str, object] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": hide(record.getMessage()),
    }
    if (now := trace()) is not None:
        found |= {"request": now.request_id} | ({"viewer": now.viewer} if now.viewer else {})
    own = getattr(record, "fields", {})
    found |= {name: hide(value) if isinstance(value, str) else value for name, value in own.items()}
    if record.exc_info:
        found["exception"] = hide(logging.Formatter().formatException(record.exc_info))
    return found


def _pairs(found: Mapping[str, object]) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in found.items())


def _value(value: object) -> str:
    text = "" if value is None else str(value)
    if _BARE.fullmatch(text) and not _CONTROL.search(text):
        return text
    return '"' + _escaped(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _escaped(text: str) -> str:
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
