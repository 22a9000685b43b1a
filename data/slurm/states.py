"""Read the states of nodes: one base word and flags, with Slurm's own long word for them.

Slurm writes them as a list (JSON), as BASE+FLAG+FLAG (scontrol) and as one word with a mark (sinfo: drained*, mix-).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from data.errors import SourceGarbled
from data.model import NodeState

_BASES: Final = frozenset({"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"})
_MARKS: Final = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_COMPOSED: Final = {
    "ALLOC": ("ALLOCATED",),
    "DRAINING": ("MIXED", "DRAIN"),
    "DRNG": ("MIXED", "DRAIN"),
    "FAILG": ("MIXED", "FAIL"),
    "FAILING": ("MIXED", "FAIL"),
    "FUTR": ("FUTURE",),
    "INVAL": ("UNKNOWN", "INVALID_REG"),
    "MIX": ("MIXED",),
    "UNK": ("UNKNOWN",),
}
# POWER is how 20.11 calls a node that is powered down.
_SYNONYMS: Final = {
    "BLOCK": "BLOCKED",
    "BOOT": "REBOOT_REQUESTED",
    "COMP": "COMPLETING",
    "DRAINED": "DRAIN",
    "MAINT": "MAINTENANCE",
    "NO_RESPOND": "NOT_RESPONDING",
    "PLND": "PLANNED",
    "POWER": "POWERED_DOWN",
    "REBOOT": "REBOOT_REQUESTED",
    "RESV": "RESERVED",
}
# sinfo's word alone (maint, drained*) leaves the base out.
_IMPLIED_IDLE: Final = frozenset(
    {
        "BLOCKED",
        "COMPLETING",
        "DRAIN",
        "FAIL",
        "MAINTENANCE",
        "PLANNED",
        "POWERED_DOWN",
        "REBOOT_REQUESTED",
        "RESERVED",
    }
)
# Slurm's order: the first flag that is set gives the mark behind the word.
_MARK_ORDER: Final = (
    ("MAINTENANCE", "$"),
    ("REBOOT_ISSUED", "^"),
    ("REBOOT_REQUESTED", "@"),
    ("POWERING_UP", "#"),
    ("POWERING_DOWN", "%"),
    ("POWERED_DOWN", "~"),
    ("POWER_DOWN", "!"),
    ("NOT_RESPONDING", "*"),
)
_UNAVAILABLE: Final = frozenset(
    {
        "BLOCKED",
        "DRAIN",
        "FAIL",
        "INVALID_REG",
        "MAINTENANCE",
        "POWERING_DOWN",
        "POWER_DOWN",
        "POWER_DRAIN",
        "REBOOT_ISSUED",
        "REBOOT_REQUESTED",
    }
)


def node_state(value: object, flags: object = None) -> NodeState:
    """A node's state from a list, BASE+FLAG text or a sinfo word; `flags` is `state_flags` of old REST answers.

    Flags keep their order and their words; an unknown word is kept as a flag and an absent state is UNKNOWN.
    """
    return _node_state(tuple(_words(value)) + tuple(_words(flags)))


def _words(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SourceGarbled(f"{value!r} is no node state")
    return list(value)


@lru_cache(maxsize=1024)
def _node_state(words: tuple[str, ...]) -> NodeState:
    base, flags = "", []
    for part in (part for word in words for part in _split(word)):
        if part in _BASES and not base:
            base = part
        elif part not in flags:
            flags.append(part)
    base = base or ("IDLE" if _IMPLIED_IDLE.intersection(flags) else "UNKNOWN")
    seen = frozenset(flags)
    display, bucket = _display(base, seen), _bucket(base, seen)
    return NodeState(base, tuple(flags), display, bucket, _is_schedulable(base, seen))


def _split(word: str) -> list[str]:
    parts: list[str] = []
    for piece in re.split(r"\+(?=.)", word.strip().upper()):
        bare = piece.rstrip("".join(_MARKS) + "+")
        parts += _COMPOSED.get(bare, (_SYNONYMS.get(bare, bare),) if bare else ())
        parts += [_MARKS.get(mark, "COMPLETING") for mark in piece[len(bare) :]]
    return parts


def _display(base: str, flags: frozenset[str]) -> str:
    if "INVALID_REG" in flags:
        return "INVAL"
    is_held = base in ("ALLOCATED", "MIXED")
    silent = "*" if "NOT_RESPONDING" in flags else ""
    if "MAINTENANCE" in flags and not is_held and base != "DOWN" and "DRAIN" not in flags:
        return "MAINT" + silent
    if not is_held and "REBOOT_ISSUED" in flags:
        return "REBOOT^"
    if not is_held and "REBOOT_REQUESTED" in flags:
        return "REBOOT" + silent
    if "DRAIN" in flags:
        return ("DRAINING" if is_held or "COMPLETING" in flags else "DRAINED") + _mark(flags)
    if "FAIL" in flags:
        return ("FAILING" if is_held or "COMPLETING" in flags else "FAIL") + silent
    return _display_of_base(base, flags)


def _display_of_base(base: str, flags: frozenset[str]) -> str:
    mark = _mark(flags)
    if base == "ALLOCATED":
        return base + (mark or ("+" if "COMPLETING" in flags else ""))
    if "COMPLETING" in flags and base != "DOWN":
        return "COMPLETING" + mark
    if base == "UNKNOWN":
        return base + ("*" if "NOT_RESPONDING" in flags else "")
    if base == "IDLE" and not mark:
        return next((word for word in ("PERFCTRS", "RESERVED", "BLOCKED", "PLANNED") if word in flags), base)
    if base == "MIXED":
        return base + (mark or ("-" if "PLANNED" in flags else ""))
    return base + mark


# Every class that `_bucket` can give.
NODE_BUCKETS: Final = frozenset(
    {"allocated", "blocked", "completing", "down", "drained", "draining", "future", "idle", "maint", "mixed", "planned"}
    | {"powered_down", "powering_down", "powering_up", "reboot", "reserved", "unknown"}
)


def _mark(flags: frozenset[str]) -> str:
    return next((mark for flag, mark in _MARK_ORDER if flag in flags), "")


def _bucket(base: str, flags: frozenset[str]) -> str:
    """The one class that a node counts in: faults first, then administration and power, then use."""
    is_held = base in ("ALLOCATED", "MIXED")
    if base in ("DOWN", "ERROR") or "INVALID_REG" in flags:
        return "down"
    if flags & {"DRAIN", "FAIL", "POWER_DRAIN"}:
        return "draining" if is_held or "COMPLETING" in flags else "drained"
    if base not in ("IDLE", "ALLOCATED", "MIXED"):
        return "future" if base == "FUTURE" else "unknown"
    if not is_held and "MAINTENANCE" in flags:
        return "maint"
    if not is_held and flags & {"REBOOT_REQUESTED", "REBOOT_ISSUED"}:
        return "reboot"
    return _power_bucket(flags) or _use_bucket(base, flags)


def _power_bucket(flags: frozenset[str]) -> str:
    if flags & {"POWERING_DOWN", "POWER_DOWN"}:
        return "powering_down"
    if flags & {"POWERING_UP", "POWER_UP"}:
        return "powering_up"
    return "powered_down" if "POWERED_DOWN" in flags else ""


def _use_bucket(base: str, flags: frozenset[str]) -> str:
    if base != "IDLE":
        return base.lower()
    if "NOT_RESPONDING" in flags:
        return "unknown"
    return next((word.lower() for word in ("BLOCKED", "COMPLETING", "RESERVED", "PLANNED") if word in flags), "idle")


def _is_schedulable(base: str, flags: frozenset[str]) -> bool:
    # A node that is being started does not answer yet, and Slurm still places jobs on it.
    is_silent = "NOT_RESPONDING" in flags and not flags & {"POWERING_UP", "POWERED_DOWN"}
    return base in ("IDLE", "ALLOCATED", "MIXED") and not is_silent and not flags & _UNAVAILABLE
