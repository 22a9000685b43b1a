"""Reads a scenario in plain text: samples by minute and device, and what must come of them.

docs/how-to/policy-rules.md shows the form. Minutes count from the scenario's begin.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from data.model import Job, NodeDevices, Tres

T0 = datetime(2026, 3, 10, 6, 0, tzinfo=UTC)  # a Tuesday
METRICS = {
    "util": ("gpu_utilization", 0.01),
    "gr": ("graphics_engine_activity", 0.01),
    "sm": ("sm_activity", 0.01),
    "tensor": ("tensor_activity", 0.01),
    "copy": ("memory_copy_utilization", 0.01),
    "watts": ("power_watts", 1.0),
    "xid": ("xid", 1.0),
    "pcie": ("pcie_rx_bytes_per_second", 1.0),
    "nvlink": ("nvlink_tx_bytes_per_second", 1.0),
    "memory": ("gpu_memory_used_bytes", float(1 << 30)),
    "memory-total": ("gpu_memory_total_bytes", float(1 << 30)),
}
_RUN = re.compile(r"(-|[0-9.]+)(?:x([0-9]+))?")
_STEP = re.compile(r"(warn|cancel)@([0-9.]+)(?:\+([0-9.]+))?")


@dataclass
class Expected:
    minute: int
    job: str
    status: str
    reason: str
    step: str
    line: int


@dataclass
class Change:
    minute: int
    words: list[str]


@dataclass
class Track:
    """Values of one metric of one device by minute (None = no sample), from `begin` on."""

    values: list[float | None] = field(default_factory=list)

    def at(self, minute: int) -> float | None:
        return self.values[minute] if 0 <= minute < len(self.values) else None


@dataclass
class Scenario:
    """One file. `tracks` by device ("gpu01/0") and metric, `labels` the job label of each device by minute."""

    name: str
    title: str = ""
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    zone: str = "UTC"
    jobs: dict[str, Job] = field(default_factory=dict)
    tracks: dict[str, dict[str, Track]] = field(default_factory=dict)
    labels: dict[str, list[str]] = field(default_factory=dict)
    passes: list[int] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    model: str = "NVIDIA H100 80GB HBM3"


def read_scenario(path: Path) -> Scenario:
    return parse(path.read_text(encoding="utf-8"), path.stem)


def parse(text: str, name: str = "scenario") -> Scenario:
    made = Scenario(name)
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if line:
            try:
                _line(made, line, number)
            except (KeyError, ValueError, IndexError) as err:
                raise ValueError(f"{name}, line {number}: {raw.strip()!r} cannot be read ({err})") from err
    made.changes.sort(key=lambda change: change.minute)
    return made


def _line(made: Scenario, line: str, number: int) -> None:
    word, rest = line.split(maxsplit=1)
    if word == "title":
        made.title = rest
    elif word == "rule":
        name, *pairs = shlex.split(rest)
        made.rules[name] = {"mode": "act", **_settings(pairs)}
    elif word == "policy":
        made.policy |= _settings(shlex.split(rest))
    elif word == "zone":
        made.zone = rest
    elif word == "model":
        made.model = rest
    elif word == "job":
        _job(made, shlex.split(rest))
    elif word == "passes":
        made.passes = sorted({*made.passes, *_passes(rest)})
    elif word == "missed":
        made.passes = [minute for minute in made.passes if minute not in {int(one) for one in rest.split()}]
    elif word == "at":
        minute, first, *more = shlex.split(rest)
        made.changes.append(Change(int(minute), [first, *more]))
    elif word == "expect":
        _expect(made, rest, number)
    elif "/" in word:
        _track(made, word, rest)
    else:
        raise ValueError(f"{word} is no word of scenarios")


def _settings(pairs: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        found[key] = _value(key, value)
    return found


def _value(key: str, value: str) -> Any:
    if key == "steps":
        steps = [_STEP.fullmatch(step) for step in value.split(",")]
        return [
            {"action": step[1], "at_minutes": float(step[2]), **({"notice_minutes": float(step[3])} if step[3] else {})}
            for step in steps
            if step
        ]
    if value in ("true", "false"):
        return value == "true"
    listed = ("exempt_", "mail_days", "partitions", "accounts", "qos", "clusters", "gpu_models", "job_names")
    if key.startswith(listed) and not key.startswith(("exempt_memory", "exempt_interactive")):
        return value.split(",")
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        return value


def _passes(text: str) -> list[int]:
    """ "every 5 from 0 to 90", or single minutes."""
    words = text.split()
    if words[0] == "every":
        return list(range(int(words[3]), int(words[5]) + 1, int(words[1])))
    return [int(word) for word in words]


def _job(made: Scenario, words: Sequence[str]) -> None:
    given = dict(word.split("=", 1) for word in words[1:])
    display = words[0]
    gpus = given.get("gpus", "gpu01/0")
    held: dict[str, list[int]] = {}
    for place in gpus.split(","):
        node, _, index = place.partition("/")
        held.setdefault(node, []).append(int(index))
    count = int(given["allocated"]) if "allocated" in given else sum(map(len, held.values()))
    start = T0 + timedelta(minutes=float(given.get("start", 0)))
    array, _, task = display.partition("_")
    leader, _, offset = display.partition("+")
    made.jobs[display] = Job(
        cluster=given.get("cluster", "demo"),
        job_id=int(given.get("raw", re.sub(r"\D.*", "", display))),
        display_id=display,
        state="RUNNING",
        name=given.get("name", "train"),
        user=given.get("user", "alice"),
        account=given.get("account", "physics"),
        partition=given.get("partition", "gpu"),
        qos=given.get("qos", "normal"),
        array_job_id=int(array) if task else None,
        array_task_id=int(task) if task else None,
        het_job_id=int(leader) if offset else None,
        het_offset=int(offset) if offset else None,
        submit_time=start - timedelta(minutes=1),
        start_time=start,
        time_limit_seconds=float(given.get("limit", 1440)) * 60,
        nodes=tuple(held),
        requested=Tres(gpus=count),
        allocated=Tres(gpus=None if given.get("allocated") == "-1" else count),
        devices=()
        if given.get("indices") == "unknown"
        else tuple(NodeDevices(node, len(indices), tuple(indices)) for node, indices in held.items()),
        is_batch={"batch": True, "interactive": False, "unknown": None}[given.get("kind", "batch")],
    )


def _track(made: Scenario, device: str, rest: str) -> None:
    metric, *runs = rest.split()
    if metric == "label":
        made.labels[device] = [name for name, count in map(_named, runs) for _ in range(count)]
        return
    scale = METRICS[metric][1]
    values: list[float | None] = []
    for run in runs:
        found = _RUN.fullmatch(run)
        if found is None:
            raise ValueError(f"{run} is no value x minutes")
        value = None if found[1] == "-" else float(found[1]) * scale
        values += [value] * int(found[2] or 1)
    made.tracks.setdefault(device, {})[METRICS[metric][0]] = Track(values)


def _named(run: str) -> tuple[str, int]:
    name, _, count = run.rpartition("x")
    return ("" if name == "-" else name), int(count)


def _expect(made: Scenario, rest: str, number: int) -> None:
    """ "45 low warn", "45 job 100: unknown(coverage)"."""
    minute, words = rest.split(maxsplit=1)
    job = ""
    if words.startswith("job "):
        job, _, words = words.removeprefix("job ").partition(":")
    status, _, step = words.strip().partition(" ")
    status, _, reason = status.partition("(")
    made.expected.append(Expected(int(minute), job, status, reason.rstrip(")"), step.strip(), number))
