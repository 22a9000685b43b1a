"""The cancelling and mailing cases of Job Defense Shield; where it errs, what is right is asserted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.findings.jobstats_cases import Given, listed
from tests.policy.scenario_form import parse
from tests.policy.scenario_play import Player

STEPS = "steps=warn@{first_warning_minutes},warn@{second_warning_minutes},cancel@{cancel_minutes}"
DEFAULTS = {"first_warning_minutes": 60, "second_warning_minutes": 105, "cancel_minutes": 120}
Steps = list[tuple[int, str]]


def steps_of(text: str, job: str = "100") -> Steps:
    """(minute, action) of every step taken of a job."""
    found = []
    for played in Player(parse(text)).play():
        found += [(played.minute, act.action.value) for act in played.done if act.job.display_id == job]
    return found


def one_job(rule: str, passes: list[int], tracks: list[str], job: str = "") -> str:
    devices = ",".join(f"gpu01/{number}" for number in range(len(tracks)))
    lines = [f"gpu01/{number} util {track}" for number, track in enumerate(tracks)]
    head = [f"rule idle {rule}", f"job 100 gpus={devices} {job}"]
    return "\n".join([*head, *lines, "gpu01/7 util 50x1000", f"passes {' '.join(map(str, passes))}"])


def fixed(case: Given) -> None:
    """A step at its minute, and after a missed run the next time (upstream: never)."""
    given, ladder = case["input"], STEPS.format(**{**DEFAULTS, **case["input"]["config"]})
    minute = given["elapsed_minutes"]
    every = range(0, minute, given["config"]["sampling_period_minutes"])
    missed = {"cancel-fixed-74": {60}, "cancel-fixed-135": {120}}.get(case["id"], set())
    which = "which=any" if case["id"].startswith("cancel-frac") else ""
    tracks = [f"{value}x1000" for value in given["gpu_util"]]
    text = one_job(f"{ladder} {which}", [*(m for m in every if m not in missed), minute], tracks, job_words(given))
    if "max_interactive_hours" in given["config"]:
        hours, gpus = given["config"]["max_interactive_hours"], given["config"]["max_interactive_gpus"]
        text = text.replace("rule idle", f"rule idle exempt_interactive_hours={hours} exempt_interactive_gpus={gpus}")
    now = {(m, step) for m, step in steps_of(text) if m == minute}
    wanted = {"first": "warn", "second": "warn", "cancel": "cancel"}
    expected = {(minute, wanted[mail]) for mail in case["expect"]["mails"]}
    assert now == ({(minute, "cancel")} if case["id"] == "cancel-fixed-135" else expected)


def job_words(given: Given) -> str:
    kind = "kind=interactive" if given.get("jobname") == "interactive" else ""
    return f"limit={given.get('limit_minutes', 1440)} {kind}"


def sliding(case: Given) -> None:
    """The clock is the idle stretch up to now, not a grid: warned and cancelled after just that."""
    config, until = case["input"]["config"], case["input"]["gpu_active_until_minute"]
    warn, cancel = config["sliding_warning_minutes"], config["sliding_cancel_minutes"]
    passes = list(range(0, until + cancel + 60, config["sampling_period_minutes"]))
    track = f"50x{until} 0x1000" if until else "0x1000"
    found = steps_of(one_job(f"steps=warn@{warn},cancel@{cancel}", passes, [track]))
    assert found == [(until + warn, "warn"), (until + cancel, "cancel")]
    assert found[0][0] <= case["expect"]["warn_at"] and found[1][0] <= case["expect"]["cancel_at"]


def throttled(case: Given) -> None:
    """The same violation in three runs: one mail, also where the partition is a star (upstream mails each time)."""
    (partition,) = case["input"]["partitions"]
    runs = one_job(f"partitions={partition} steps=warn@45,warn@10000", [45, 46, 47], ["0x1000"])
    minutes = [minute for minute, _ in steps_of(runs)]
    assert [minutes.count(minute) for minute in (45, 46, 47)] == case["expect"]["mails_per_run"]


def without_data(case: Given) -> None:
    """A job without series is unknown and never acted on, and the run goes on to the others."""
    lines = ["rule idle", "job 1 gpus=gpu01/0", "job 2 gpus=gpu02/0", "gpu02/0 util 0x300", "gpu02/1 util 9x300"]
    text = "\n".join([*lines, "passes every 5 from 0 to 120"])
    played = list(Player(parse(text)).play())
    seen = {one.status.value for each in played for name, one in each.verdicts.items() if name == "1"}
    assert seen == {"calculating", "unknown"}
    assert case["expect"]["job1"].startswith("unknown")
    assert steps_of(text, "1") == []
    assert [step for _, step in steps_of(text, "2")] == ["warn", "warn", "cancel"]


def memory_exempt(case: Given) -> None:
    """Jobs that fill their GPU memory are left alone by a rule that says so."""
    config = case["input"]["config"]
    share = config["gpu_mem_eff_pct"] / 100
    rule = f"kind=mean window_minutes=60 threshold=0.25 exempt_memory_share={share} steps=warn@0"
    lines = [f"rule memory {rule}"]
    chosen = [job for job in case["input"]["jobs"] if job["gpu_util"] and len(job["gpu_util"]) == 1]
    for number, job in enumerate(chosen):
        place = f"gpu0{number + 1}/0"
        lines += [f"job {number + 1} gpus={place} user={job['user']}", f"{place} util {job['gpu_util'][0]}x90"]
        lines += [f"{place} memory {job['gpu_used_gib']}x90", f"{place} memory-total {job['gpu_total_gib']}x90"]
    (played,) = Player(parse("\n".join([*lines, "passes 80"]))).play()
    low = {one.job.user for one in played.verdicts.values() if one.status.value == "low"}
    assert low == set(case["expect"]["flagged"])


KINDS: dict[str, Callable[[Given], None]] = {
    "cancel_fixed": fixed,
    "cancel_sliding": sliding,
    "throttle": throttled,
    "throttle-wildcard": throttled,
    "running-job-no-data": without_data,
    "alert-low-gpu-mem-exempt": memory_exempt,
}


def cases() -> list[Any]:
    found = [
        pytest.param(check, case, id=case["id"])
        for case in listed()
        if (check := KINDS.get(case["id"]) or KINDS.get(case["kind"]))
    ]
    return found or [pytest.param(None, None, marks=pytest.mark.skip(reason="no reference data"))]


@pytest.mark.parametrize(("check", "case"), cases())
def test_a_policy_case_of_job_defense_shield_comes_out_right(check: Callable[[Given], None], case: Given) -> None:
    check(case)
