"""Run one command without a shell, with limits on time and size, in an environment of our own."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from data.errors import SourceGarbled, SourceUnreachable

STDOUT_LIMIT_BYTES = 512 * 1024 * 1024
STDERR_LIMIT_BYTES = 64 * 1024
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command left behind. `timed_out` says that it was killed at the time limit, `code` is then None."""

    argv: tuple[str, ...]
    code: int | None
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False

    @property
    def name(self) -> str:
        return Path(self.argv[0]).name


def clean_environment(conf: Path | None, bin_dir: Path | None, caller: Mapping[str, str]) -> dict[str, str]:
    """Give the only variables that Slurm's commands may see.

    A user's SQUEUE_USERS or SLURM_CLUSTERS changes what the commands print, so nothing else passes.
    SLURM_CONF is `conf`, else the caller's: that is how Slurm itself finds its configuration.
    """
    path = caller.get("PATH") or os.defpath
    environment = {"PATH": path if bin_dir is None else f"{bin_dir}{os.pathsep}{path}"}
    slurm_conf = str(conf) if conf is not None else caller.get("SLURM_CONF", "")
    if slurm_conf:
        environment["SLURM_CONF"] = slurm_conf
    return environment | {"TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}


def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout_seconds: float,
    limit_bytes: int = STDOUT_LIMIT_BYTES,
) -> Finished:
    """Run `argv` and read what it prints; undecodable bytes are replaced.

    At the time limit the whole process group is killed and what came so far is given back. Raises SourceUnreachable
    when the command does not exist, SourceGarbled when it prints more than `limit_bytes`.
    """
    started = time.monotonic()
    process = _start(argv, environment)
    reader = _Reader(process, limit_bytes)
    try:
        timed_out = not reader.read_until(started + timeout_seconds)
    finally:
        _end(process)
    if reader.too_large:
        raise SourceGarbled(
            f"{Path(argv[0]).name} printed more than {limit_bytes // 2**20} MiB",
            hint="ask for a shorter span, or read Slurm through slurmrestd (slurm.kind = rest)",
        )
    code = None if timed_out else process.returncode
    out, err = (bytes(part).decode("utf-8", "replace") for part in (reader.out, reader.err))
    return Finished(tuple(argv), code, out, err, time.monotonic() - started, timed_out)


def _start(argv: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    found = shutil.which(argv[0], path=environment.get("PATH"))
    if found is None:
        raise SourceUnreachable(
            f"no command {argv[0]} in {environment.get('PATH')}",
            hint="install Slurm's client commands, or set slurm.bin_dir to their folder",
        )
    try:
        return subprocess.Popen(
            [found, *argv[1:]],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )
    except OSError as err:
        raise SourceUnreachable(f"cannot run {found}: {err.strerror}", hint="see the file's mode and owner") from err


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the process group, then collect the leader: until then its id cannot be given away."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


def _exited(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class _Reader:
    """Reads both pipes until they end, the deadline passes or stdout grows too large."""

    def __init__(self, process: subprocess.Popen[bytes], limit_bytes: int) -> None:
        self.out, self.err = bytearray(), bytearray()
        self.too_large = False
        self._process = process
        self._limit = limit_bytes

    def read_until(self, deadline: float) -> bool:
        """Whether the command ended by itself (or printed too much) before `deadline`."""
        assert self._process.stdout is not None and self._process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ, self.out)
            selector.register(self._process.stderr, selectors.EVENT_READ, self.err)
            while selector.get_map() and not self.too_large:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                for key, _ in selector.select(remaining):
                    self._take(selector, key.fileobj, key.data)  # type: ignore[arg-type]
        return self.too_large or self._ends_before(deadline)

    def _take(self, selector: selectors.BaseSelector, pipe: IO[bytes], into: bytearray) -> None:
        chunk = os.read(pipe.fileno(), CHUNK_BYTES)
        if not chunk:
            selector.unregister(pipe)
        elif into is self.err:
            into += chunk[: max(0, STDERR_LIMIT_BYTES - len(into))]
        else:
            into += chunk
            self.too_large = len(into) > self._limit

    def _ends_before(self, deadline: float) -> bool:
        """A command may close its output and go on: it still has to end in time."""
        while not _exited(self._process.pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True
