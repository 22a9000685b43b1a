"""Fences text of jobs, nodes, users and documents, so that the model can tell data from instructions. Pure.

Data are JSON without any angle bracket: nothing inside can look like the fence's end, or like a server's own marks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MARKS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_OPEN, _CLOSE = "<data>", "</data>"


def fenced(value: Mapping[str, Any]) -> str:
    """A value between the marks of the fence, readable as JSON."""
    return f"{_OPEN}\n{marked(value)}\n{_CLOSE}"


def marked(value: Mapping[str, Any]) -> str:
    """A value as JSON in which no character can begin or end a mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    for character, escape in _MARKS.items():
        text = text.replace(character, escape)
    return text
