"""Open Slurm's answers: decode, tell an error from a result, and find the list that was asked for."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from data.collection import without_collection
from data.errors import (
    CannotKnow,
    FullwarpError,
    NotFound,
    SourceDenied,
    SourceError,
    SourceGarbled,
    SourceTimeout,
    SourceUnreachable,
)
from data.slurm.scalars import number

NOTHING_FOUND: Final = 9003  # 22.05 answers an empty query to slurmdbd with this error
_BY_NUMBER: Final[dict[int, type[FullwarpError]]] = {
    1001: SourceUnreachable,
    1007: SourceDenied,
    2002: SourceDenied,
    2009: NotFound,
    2017: NotFound,
    7000: SourceUnreachable,
    NOTHING_FOUND: NotFound,
}
_BY_TEXT: Final[tuple[tuple[re.Pattern[str], type[FullwarpError]], ...]] = (
    (re.compile(r"requested URL", re.I), CannotKnow),
    (re.compile(r"permission|denied|authenticat|unauthori|privilege|token", re.I), SourceDenied),
    (re.compile(r"time[d]? ?out", re.I), SourceTimeout),
    (re.compile(r"connect|contact|communicat|unreachable|refused|standby", re.I), SourceUnreachable),
    # So slurmrestd 22.05 says that slurmctld refused to kill a job: Slurm's own word, and no answer that did not come.
    (re.compile(r"zero bytes.*unable to kill", re.I | re.S), SourceError),
    (re.compile(r"zero bytes", re.I), SourceUnreachable),
    (re.compile(r"invalid job id|not found|nothing found|does not exist|no such", re.I), NotFound),
    # An unknown node has the number 0 and "No error".
    (re.compile(r"failure to query node|unable to (?:query|find) JobId", re.I), NotFound),
)
_HINTS: Final[dict[type[FullwarpError], str]] = {
    SourceDenied: "check the token or user that the product talks to Slurm with, and Slurm's PrivateData",
    SourceUnreachable: "check that slurmctld and slurmdbd run and can be reached",
    CannotKnow: "this slurmrestd does not offer that address: check its version and its plugins",
}


def decoded(payload: object) -> dict[str, Any]:
    """The JSON object of an answer: bytes, text (lines before the document are skipped) or already an object.

    Raises the error that plain text stands for (SourceDenied, CannotKnow ...), or SourceGarbled.
    """
    if isinstance(payload, bytes | bytearray | str):
        payload = _parsed(bytes(payload) if not isinstance(payload, str) else payload.encode(errors="replace"))
    if not isinstance(payload, dict):
        raise SourceGarbled(f"Slurm's answer is {type(payload).__name__}, not an object", hint=_GARBLED_HINT)
    return payload


def check_errors(payload: object) -> None:
    """Raise what an answer's errors[] says: SourceDenied, NotFound, SourceUnreachable, SourceTimeout or SourceError.

    Errors come with HTTP 200 (older versions) as well as with 4xx and 5xx. An empty list is a good answer.
    """
    errors = decoded(payload).get("errors") or []
    if not isinstance(errors, list):
        raise SourceGarbled(f"Slurm's errors are {type(errors).__name__}, not a list", hint=_GARBLED_HINT)
    if errors:
        raise error_of(errors[0])


def listed(payload: object, key: str) -> list[Any]:
    """The list under `key`. Raises for errors[] (nothing found in accounting is an empty list) and without the list."""
    answer = decoded(payload)
    errors = answer.get("errors") or []
    if isinstance(errors, list) and errors and all(_error_number(error) == NOTHING_FOUND for error in errors):
        return []
    check_errors(answer)
    rows = answer.get(key)
    if not isinstance(rows, list):
        keys = ", ".join(list(answer)[:8]) or "nothing"
        raise SourceGarbled(f"Slurm's answer has no list of {key} (it has {keys})", hint=_GARBLED_HINT)
    return rows


def slurm_version(payload: object) -> str | None:
    """The release (24.11.5) that an answer's meta names; None where it does not."""
    meta = decoded(payload).get("meta")
    if not isinstance(meta, dict):
        return None
    slurm = meta.get("slurm", meta.get("Slurm"))
    release = slurm.get("release") if isinstance(slurm, dict) else None
    return release if isinstance(release, str) and release else None


def error_of(error: object) -> FullwarpError:
    """The error of our tree that one entry of errors[] (or a line of plain text) stands for; not raised."""
    fields = error if isinstance(error, dict) else {"error": error}
    message = ": ".join(str(fields[key]) for key in ("error", "description") if fields.get(key))
    kind = _BY_NUMBER.get(_error_number(fields) or 0) or _kind_of_text(message) or SourceError
    return kind(f"Slurm answered: {message[:300] or 'an error without words'}", hint=_HINTS.get(kind, ""))


def _error_number(error: object) -> int | None:
    if not isinstance(error, dict):
        return None
    try:
        found = number(error.get("error_number", error.get("errno")))
    except SourceGarbled:
        return None
    return int(found) if found is not None and abs(found) < 2**32 else None


def _kind_of_text(message: str) -> type[FullwarpError] | None:
    return next((kind for pattern, kind in _BY_TEXT if pattern.search(message)), None)


def _parsed(raw: bytes) -> object:
    try:
        with without_collection():
            return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    start = re.search(rb"^\{", raw, re.MULTILINE)
    if start is not None:
        try:
            return orjson.loads(raw[start.start() :].decode(errors="replace"))
        except orjson.JSONDecodeError as err:
            raise SourceGarbled(f"Slurm's answer is no whole JSON document: {err}", hint=_GARBLED_HINT) from err
    words = raw[:300].decode(errors="replace").strip()
    kind = _kind_of_text(words)
    # A page of a proxy ("404 Not Found") says nothing of a job; only slurmrestd's own sentences are believed.
    if kind in (CannotKnow, SourceDenied) and not words.startswith("<"):
        raise error_of(words)
    raise SourceGarbled(f"Slurm's answer is not JSON: {words[:80]!r}", hint=_GARBLED_HINT)


_GARBLED_HINT: Final = "check that the address leads to slurmrestd, or that the command is Slurm's own"
