"""DuckDB of this process: one database, opened at its first use, and one connection of its own for each question.

It must not be open when a process forks (a forked child hangs in it for ever): a child finds that its parent's is not
its own and opens another. One connection serves one thread.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import SourceTimeout

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """`memory` as DuckDB writes it ("1GB"). At most `at_once` questions run together; others wait their turn, at most
    `patience_seconds`."""

    threads: int = 2
    memory: str = "1GB"
    at_once: int = 2
    patience_seconds: float = 60.0


@dataclass(frozen=True)
class _Opened:
    pid: int
    base: duckdb.DuckDBPyConnection
    turns: threading.BoundedSemaphore


@dataclass
class HistoryEngine:
    """Questions to Parquet files, from any number of threads."""

    limits: EngineLimits = EngineLimits()
    _opened: _Opened | None = None
    _guards: dict[int, threading.Lock] = field(default_factory=dict)

    @contextmanager
    def connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for one question, in its own thread. Raises SourceTimeout when too many others are answered."""
        opened = self._open()
        if not opened.turns.acquire(timeout=self.limits.patience_seconds):
            raise SourceTimeout("too many reports are being made", hint="Try again in a while.")
        try:
            cursor = opened.base.cursor()
            try:
                cursor.execute("SET enable_progress_bar = false").complete()  # it would be printed into the answer
                yield cursor
            finally:
                cursor.abort()  # what an error may have left open
                cursor.close()
        finally:
            opened.turns.release()

    def _open(self) -> _Opened:
        pid = os.getpid()
        if self._opened is not None and self._opened.pid == pid:
            return self._opened
        # A lock that another thread held at the fork stays locked in the child: each process has its own.
        with self._guards.setdefault(pid, threading.Lock()):
            if self._opened is None or self._opened.pid != pid:
                turns = threading.BoundedSemaphore(self.limits.at_once)
                self._opened = _Opened(pid, _database(self.limits, pid), turns)
            return self._opened


def _database(limits: EngineLimits, pid: int) -> duckdb.DuckDBPyConnection:
    """In memory; reads local files, fetches nothing, and writes only what does not fit into its memory."""
    import duckdb

    config: dict[str, Any] = {
        "threads": limits.threads,
        "memory_limit": limits.memory,
        "temp_directory": str(Path(tempfile.gettempdir()) / f"fullwarp-{os.getuid()}-{pid}"),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    base = duckdb.connect(":memory:", config=config)
    base.execute("SET GLOBAL parquet_metadata_cache = true").complete()
    # Whatever needs an order asks for it; keeping that of the files costs a tenth of a report.
    base.execute("SET GLOBAL preserve_insertion_order = false").complete()
    base.execute("SET GLOBAL TimeZone = 'UTC'").complete()
    return base
