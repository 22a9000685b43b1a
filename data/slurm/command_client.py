"""Ask Slurm's commands: one question is one command, in a clean environment, with its errors in our tree."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.errors import NotFound, SourceGarbled, SourceTimeout, SourceUnreachable
from data.slurm.answers import check_errors, decoded
from data.slurm.command_errors import failure
from data.slurm.process import Finished, clean_environment, run
from settings import SlurmSettings


class CommandClient:
    """Slurm's commands on this host. Runs nothing before the first question; safe to share among threads.

    `caller` is the environment whose PATH and SLURM_CONF count; None = that of this process.
    """

    def __init__(self, settings: SlurmSettings, caller: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._caller = os.environ if caller is None else caller
        self._without_json: set[str] = set()
        self._lock = threading.Lock()
        self.requests = 0

    def text(self, program: str, *arguments: str) -> str:
        """What the command prints. Raises its error as a SourceError."""
        finished = self.finished(program, *arguments)
        if error := failure(finished):
            raise error
        return finished.stdout

    def json(self, program: str, *arguments: str) -> dict[str, Any] | None:
        """The command's JSON object; None when text has to be asked for instead.

        A failure with a clear reason is raised. Without one (22.05's squeue says nothing when slurmctld is away)
        the text will tell: once it was read, `use_text` keeps JSON from costing a request each time.
        """
        if program in self._without_json:
            return None
        try:
            finished = self.finished(program, *arguments, "--json")
            if error := failure(finished):
                raise error
            payload = decoded(finished.stdout)
            check_errors(payload)
            return payload
        except (SourceGarbled, NotFound):
            return None
        except SourceTimeout:
            self.use_text(program)  # its text is several times smaller and faster
            raise

    def use_text(self, program: str) -> None:
        """Never ask this program for JSON again."""
        self._without_json.add(program)

    def finished(self, program: str, *arguments: str) -> Finished:
        """Run the command to its end, whatever that is."""
        conf, bin_dir = self._settings.conf, self._settings.bin_dir
        if conf is not None and not conf.is_file():
            raise SourceUnreachable(f"slurm.conf = {str(conf)!r} does not exist", hint="set slurm.conf to its path")
        with self._lock:
            self.requests += 1
        return run(
            (str(_program(bin_dir, program)), *arguments),
            environment=clean_environment(conf, bin_dir, self._caller),
            timeout_seconds=self._settings.timeout_seconds,
        )


def _program(bin_dir: Path | None, name: str) -> str:
    return name if bin_dir is None else str(bin_dir / name)
