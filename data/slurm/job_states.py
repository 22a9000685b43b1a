"""Read the states, exit codes and partition states that Slurm writes in several shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from data.errors import SourceGarbled
from data.model import ExitCode
from data.slurm.scalars import is_blank, number

TERMINAL_STATES: Final = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "REVOKED",
        "TIMEOUT",
    }
)
LIVE_STATES: Final = frozenset({"PENDING", "RUNNING", "SUSPENDED"})
_BASE_STATES: Final = TERMINAL_STATES - {"REQUEUED", "LAUNCH_FAILED", "RECONFIG_FAIL"} | LIVE_STATES
# The words that a job can be asked for by.
JOB_STATES: Final = _BASE_STATES | {"COMPLETING", "REQUEUED", "STOPPED"}
_SHORT: Final = {
    # sacct cuts words to its column's width; squeue has a short word for each (%t).
    "OUT_OF_ME": "OUT_OF_MEMORY",
    "NODE_FAI": "NODE_FAIL",
    "CANCELED": "CANCELLED",
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "RV": "REVOKED",
    "S": "SUSPENDED",
    "SE": "SPECIAL_EXIT",
    "SI": "SIGNALING",
    "SO": "STAGE_OUT",
    "ST": "STOPPED",
    "TO": "TIMEOUT",
}
_BY: Final = re.compile(r"(CANCELLED)\s+by\s+(\S+)", re.IGNORECASE)
_CODE_PAIR: Final = re.compile(r"(\d+):(\d+)")


class JobState(NamedTuple):
    """`by` is the user id that cancelled the job, where the state says so."""

    state: str
    flags: tuple[str, ...] = ()
    by: str | None = None

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL_STATES


def job_state(value: object) -> JobState:
    """A job's state from a word, a list (first word that is a state, the rest flags) or sacct's CANCELLED by 123.

    Words that no version knows are kept as they are; an absent state is UNKNOWN.
    """
    if isinstance(value, dict):
        value = value.get("current")
    words = [value] if isinstance(value, str) else value if value is not None else []
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise SourceGarbled(f"{value!r} is no job state")
    return _job_state(tuple(words))


@lru_cache(maxsize=1024)
def _job_state(words: tuple[str, ...]) -> JobState:
    if len(words) == 1 and (match := _BY.fullmatch(words[0].strip())):
        return JobState("CANCELLED", (), match[2])
    known = [word.strip().upper().rstrip("+") for word in words if word.strip()]
    known = [_SHORT.get(word, word) for word in known]
    if not known:
        return JobState("UNKNOWN")
    state = next((word for word in known if word in _BASE_STATES), known[0])
    return JobState(state, tuple(word for word in known if word != state))


def exit_code(value: object) -> ExitCode | None:
    """How a job ended, from an object (new or old shape), "code:signal" or a raw wait status; None = not said.

    v0.0.39 wraps the wait status as every number: {"set", "infinite", "number"}.

    Two traps cannot be told apart here: 22.05's JSON says SUCCESS and 0 for a job that failed with 1, and
    sacct shows exit 137 as 9:0, which is also what exit 9 looks like.
    """
    if isinstance(value, dict) and "number" not in value:
        return _exit_object(value)
    if isinstance(value, str) and (match := _CODE_PAIR.fullmatch(value.strip())):
        return _exit_of(int(match[1]), int(match[2]))
    if is_blank(value):
        return None
    status = number(value)
    if status is None or status < 0 or status == float("inf"):
        return None
    return _exit_of(int(status) >> 8 & 0xFF, int(status) & 0x7F)


def partition_state(value: object) -> str:
    """UP, DOWN, DRAIN or INACTIVE from any version's partition object, list or word; UNKNOWN where absent."""
    while isinstance(value, dict):
        value = value.get("partition") or value.get("state") or value.get("current")
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    return str(value).upper() if isinstance(value, str) and value.strip() else "UNKNOWN"


def _exit_object(value: Mapping[str, Any]) -> ExitCode:
    status = value.get("status")
    if isinstance(status, list | tuple):
        status = status[0] if status else None
    signal = value.get("signal")
    if isinstance(signal, dict):
        signal = signal.get("id", signal.get("signal_id"))
    code, signal_number = number(value.get("return_code")), number(signal)
    return ExitCode(
        str(status or "UNKNOWN").upper(),
        None if code is None else int(code),
        int(signal_number) if signal_number else None,
    )


def _exit_of(code: int, signal: int) -> ExitCode:
    if signal:
        return ExitCode("SIGNALED", code or None, signal)
    return ExitCode("ERROR" if code else "SUCCESS", code)
