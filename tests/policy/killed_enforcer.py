"""Run as a process of its own: the real command, killed by SIGKILL when it reaches a named place ("" = never).

python -m tests.policy.killed_enforcer PLACE enforce --act ...
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial

import cli
from policy.enforcer import passing


def reached(wanted: str, name: str) -> None:
    if name == wanted:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    place, arguments = sys.argv[1], sys.argv[2:]
    passing.Passing = partial(passing.Passing, reached=partial(reached, place))  # type: ignore[assignment,misc]
    sys.argv = ["fullwarp", *arguments]
    cli.main()


if __name__ == "__main__":
    main()
