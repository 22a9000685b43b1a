"""Which application a job runs, told by its name. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

NAMELESS = "(no name)"
NUMBER = "(a number)"

# A number or hash of a run at the end of a name: behind a separator, or so long that it is no part of a word.
_RUN = re.compile(
    r"(?:"
    r"[\s._:#+@=-]+(?:\d+(?:[._:-]\d+)*|(?=[a-f]*\d)[0-9a-f]{6,40}|v?\d+(?:\.\d+)+)"
    r"|[\s._:#+@=-]*\[?\d{4,}\]?"
    r"|\s*[\[(]\d+[\])]"
    r")$",
    re.IGNORECASE,
)
_MOST_PARTS = 8
_END = 120  # a name may be long; what tells runs apart stands at its end


@lru_cache(maxsize=4096)
def application_of(name: str, pattern: str = "") -> str:
    """The application of a job name: "sweep_17" and "sweep-3f9a2c1d" are both "sweep".

    `pattern` is the site's own regular expression: its first group counts, else its match; where it finds nothing,
    the rule above does.
    """
    text = name.strip()
    found = re.search(pattern, text) if pattern else None
    if found is not None:
        part = next((group for group in found.groups() if group), found.group(0)).strip()
        if part:
            return part
    return _without_runs(text)


def _without_runs(text: str) -> str:
    if not text:
        return NAMELESS
    if not any(char.isalpha() for char in text):
        return NUMBER
    head, left = text[:-_END], text[-_END:]
    for _ in range(_MOST_PARTS):
        shorter = _RUN.sub("", left).rstrip(" ._:#+@=-")
        if shorter == left or not any(char.isalpha() for char in shorter):
            break
        left = shorter
    return head + left
