"""The cases of jobstats and Job Defense Shield, read in place: each kind is checked, or left out for a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import REFERENCE

CASES = REFERENCE / "cases/jobstats.json"
Given = dict[str, Any]
Check = Callable[[Given, Given], None]

SKIPPED = {
    "js1_decode": "shown in tests/efficiency/test_js1.py",
    "human_seconds": "our format is that of LOOK.md section 6; the edges are in tests/efficiency/test_words.py",
    "human_bytes": "our format is that of LOOK.md section 6; the edges are in tests/efficiency/test_words.py",
    "reqmem_label": "a label of jobstats; LOOK.md section 6 says how memory is written",
    "gpus_from_tres": "AllocTRES is read by data.slurm, where a count that is not tracked is unknown and not 0",
    "clean_state": "states are read by data.slurm",
    "clean_partition": "partitions are read by data.slurm, which keeps jobs that ask for several",
    "clean_limit_final": "time limits are read by data.slurm",
    "clean_limit_e2e": "time limits are read by data.slurm, which keeps UNLIMITED as infinite",
    "prom_value": "METRICS.md: a device mean is the exact sum of samples by their number; nothing is rounded to 0",
    "mig_share": "METRICS.md's 'too powerful' goes by the mean UTIL and leaves idle jobs to 'idle'; the case goes by "
    "the highest GPU and counts idle jobs",
    "cancel_fixed": "shown in tests/policy/test_jobstats_policy.py",
    "cancel_sliding": "shown in tests/policy/test_jobstats_policy.py",
    "throttle": "shown in tests/policy/test_jobstats_policy.py",
}
SKIPPED_IDS = {
    "alert-low-gpu-mem-exempt": "METRICS.md exempts no job from low use for the GPU memory that it holds",
    "tres-typed-only": SKIPPED["gpus_from_tres"],
    "throttle-wildcard": SKIPPED["throttle"],
    "serial-top-users": "shown in tests/queries/history/test_history_cases.py",
    "running-job-no-data": "the verdict of a policy; that no finding fires without series is in test_gpu_findings.py",
}


def listed() -> list[dict[str, Any]]:
    """All cases; () where the reference folder is absent."""
    return json.loads(CASES.read_text())["cases"] if CASES.is_file() else []


def cases(checks: dict[str, Check]) -> list[Any]:
    """The cases that `checks` (by id or by kind) answers, as parameters (check, case)."""
    found = [
        pytest.param(check, case, id=case["id"])
        for case in listed()
        if case["id"] not in SKIPPED_IDS and (check := checks.get(case["id"]) or checks.get(case["kind"]))
    ]
    return found or [pytest.param(None, None, marks=pytest.mark.skip(reason=f"no reference data at {CASES}"))]
