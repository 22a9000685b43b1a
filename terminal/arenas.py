"""The C library's memory in a process of many threads."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def few_arenas() -> None:
    """Let all threads share two pools of memory, in this process and in what is forked from it.

    By default glibc makes eight for each core, and each keeps what its threads once needed. Other libraries have none.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)
