"""`fullwarp efficiency` and `fullwarp rules` as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIELDS = {"status", "mean", "coverage", "wasted_gpu_hours_window", "next_action", "next_at", "sentence", "reason"}


def fullwarp(*words: str, folder: Path, file: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "fullwarp.toml").write_text(file, encoding="utf-8")
    options = ["--config", str(folder / "fullwarp.toml")] if file else ["--demo"]
    return subprocess.run(
        [sys.executable, "-m", "cli", *options, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_all_verdicts_then_one_and_both_say_the_same(tmp_path: Path) -> None:
    listed = fullwarp("efficiency", "--json", folder=tmp_path)
    assert listed.returncode == 0, listed.stderr
    every = json.loads(listed.stdout)
    assert every["running_gpu_jobs"] == len(every["verdicts"]) + every["uncovered"] > 0
    assert sum(every["counts"].values()) == len(every["verdicts"])
    first = every["verdicts"][-1]
    assert set(first["verdict"]) >= FIELDS
    one = fullwarp("efficiency", first["job"]["display_id"], folder=tmp_path)
    assert one.returncode == 0, one.stderr
    for word in ("Verdict", "Mean", "Coverage", "Wasted", "Next step", "low-mean", "idle"):
        assert word in one.stdout


@pytest.mark.parametrize("job", ["1", "0", "nonsense", "../../etc", "١٢٣"])
def test_a_job_without_a_verdict_is_no_answer(tmp_path: Path, job: str) -> None:
    done = fullwarp("efficiency", job, folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no verdict" in done.stderr


def test_rules_are_printed_and_a_wrong_rule_is_refused(tmp_path: Path) -> None:
    assert "fullwarp:job_use:coverage_4h" in fullwarp("rules", folder=tmp_path).stdout
    wrong = fullwarp("rules", folder=tmp_path, file="[policy.rules.low-mean]\nthreshold = 5\n")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "policy.rules.low-mean.threshold" in wrong.stderr
