"""A node's state in words: its mark, its flags, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import age, icon, moment
from data.model import Node, NodeState

MARKS: Mapping[str, tuple[str, str]] = {
    "down": ("bad", "bad"),
    "drained": ("drained", "none"),
    "draining": ("drained", "none"),
    "maint": ("drained", "none"),
    "reboot": ("wait", "info"),
    "powering_up": ("wait", "info"),
    "powering_down": ("wait", "info"),
    "unknown": ("none", "none"),
    "future": ("none", "none"),
}
_BUCKETS = {
    "idle": "Idle",
    "mixed": "Mixed",
    "allocated": "Allocated",
    "maint": "Maintenance",
    "unknown": "Not known",
    "powered_down": "Powered down",
}
_MEANING = {
    "idle": "no job runs here",
    "mixed": "a part of it is held by jobs",
    "allocated": "all of it is held by jobs",
    "completing": "a job is ending",
    "planned": "kept free for a planned job",
    "reserved": "in a reservation",
    "draining": "its jobs go on, no new ones start",
    "drained": "takes no jobs",
    "down": "cannot run jobs",
    "maint": "in maintenance",
    "reboot": "waits for a reboot or boots",
    "powering_up": "is being started",
    "powering_down": "is being shut down",
    "powered_down": "switched off to save power",
    "blocked": "blocked by another node's job",
    "unknown": "Slurm does not know its state",
}
_FLAGS = {
    "DRAIN": "drained by an administrator or by Slurm",
    "NOT_RESPONDING": "does not answer slurmctld",
    "COMPLETING": "a job is ending",
    "MAINTENANCE": "in a maintenance reservation",
    "RESERVED": "in a reservation",
    "PLANNED": "kept free for a planned job",
    "REBOOT_REQUESTED": "a reboot is requested",
    "REBOOT_ISSUED": "a reboot is under way",
    "FAIL": "marked as failing",
    "POWERING_UP": "is being started",
    "POWERING_DOWN": "is being shut down",
    "POWERED_DOWN": "switched off",
    "POWER_DOWN": "will be switched off",
    "POWER_UP": "will be started",
    "POWER_DRAIN": "drained before it is switched off",
    "INVALID_REG": "registered with less hardware than configured",
    "CLOUD": "a cloud node",
    "DYNAMIC_NORM": "added at run time",
    "BLOCKED": "blocked by another node's job",
    "PERFCTRS": "performance counters are in use",
}


BUCKETS = frozenset(_MEANING)


def bucket_word(bucket: str) -> str:
    """The class of a node's state, for people."""
    return _BUCKETS.get(bucket) or bucket.replace("_", " ").capitalize()


def state_meaning(state: NodeState) -> str:
    """What the state means, in one clause; "" where it is not known."""
    return _MEANING.get(state.bucket, "")


def flag_words(state: NodeState) -> list[str]:
    """Each flag with its meaning; one that is not known as Slurm writes it."""
    return [f"{flag}: {_FLAGS[flag]}" if flag in _FLAGS else flag for flag in state.flags]


def state_chip(state: NodeState) -> Component:
    """Slurm's own word with its mark, tinted only where something is wrong."""
    name, tone = MARKS.get(state.bucket, ("", ""))
    tint = f" fw-chip-{tone}" if tone in ("bad", "info") else ""
    mark = [icon(name, tone)] if name else []
    return html.Span([*mark, state.display], className=f"fw-chip{tint}", title=state_meaning(state) or None)


def who_and_when(node: Node) -> Component | None:
    """ "Set by root 2 d ago, Mar 1 12:00."; what is not known is left out."""
    parts: list[Any] = []
    if node.reason_user:
        parts.append(f" by {node.reason_user}")
    if node.reason_time:
        parts += [" ", age(node.reason_time), " ago, ", moment(node.reason_time)]
    return html.Span(["Set", *parts, "."]) if parts else None
