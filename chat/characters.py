"""Text of a model server made whole: half characters, which no JSON and no database takes, and NUL. Pure."""

from __future__ import annotations

from typing import Any

_UNKNOWN = "\ufffd"


def whole(text: str) -> str:
    """The text with halves of a character put together; those that stand alone, and NUL, become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", _UNKNOWN)


def begun(text: str) -> str:
    """The half character at the end of a piece of text, whose other half the next piece may bring; else empty."""
    return text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""


def whole_within(value: Any, levels: int) -> Any:
    """A value of JSON with all its texts whole. Raises ValueError where it is nested deeper than that."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict | list) and levels <= 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {whole(str(key)): whole_within(inner, levels - 1) for key, inner in value.items()}
    return [whole_within(inner, levels - 1) for inner in value] if isinstance(value, list) else value
