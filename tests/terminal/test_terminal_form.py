"""JSON for scripts: stable keys, nothing that JSON cannot say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from data.model import Job, JobFilter, Tres
from settings import SlurmKind
from terminal.form import to_json


@dataclass(frozen=True, slots=True)
class Holder:
    value: object


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (0.25, 0.25),
        (float("nan"), None),
        (float("inf"), "unlimited"),
        (float("-inf"), "-unlimited"),
        (SlurmKind.REST, "rest"),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((1, (2, 3)), [1, [2, 3]]),
        ({SlurmKind.REST: {"x": float("inf")}}, {"rest": {"x": "unlimited"}}),
        ({7: 1}, {"7": 1}),
        (Path("/etc/x"), "/etc/x"),
        (datetime(2026, 3, 1, 14, tzinfo=UTC), "2026-03-01T14:00:00Z"),
        (datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T14:00:00+02:00"),
        (Holder(Holder(1)), {"value": {"value": 1}}),
        ("\x1b[2J", "\x1b[2J"),
    ],
)
def test_every_kind_of_value_has_one_form(value: object, shown: object) -> None:
    assert json.loads(to_json(Holder(value))) == {"value": shown}


def test_a_job_keeps_the_names_of_the_model() -> None:
    job = Job("c", 7, "7", "RUNNING", time_limit_seconds=float("inf"), allocated=Tres(gpus=None))
    shown = json.loads(to_json([job]))[0]
    assert (shown["display_id"], shown["time_limit_seconds"], shown["allocated"]["gpus"]) == ("7", "unlimited", None)
    assert json.loads(to_json(JobFilter(users=frozenset({"b", "a"}))))["users"] == ["a", "b"]
