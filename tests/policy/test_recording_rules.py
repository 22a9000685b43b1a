"""The recording rules: `promtool` accepts them, and what they record is what the samples say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from data.errors import SettingsError
from data.metrics.prometheus_recording import recorded_names, recording_rules, window_name
from settings import Settings
from tests.conftest import service_missing

EXAMPLE = Path(__file__).resolve().parents[2] / "deploy" / "prometheus" / "fullwarp.rules.yml"
SHIPPED = [("low-mean", 4 * 3600.0), ("idle", 45 * 60.0)]
UTIL, GR = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"

CASE = """
rule_files: [fullwarp.rules.yml]
group_eval_order: [fullwarp-devices, fullwarp-jobs]
evaluation_interval: 5m
tests:
  - interval: 30s
    input_series:
      - series: '{util}{{Hostname="n1",gpu="0",hpc_job="7",UUID="GPU-0"}}'
        values: '50x60 0x600'
      - series: '{util}{{Hostname="n1",gpu="1",hpc_job="7",UUID="GPU-1"}}'
        values: '100x660'
      - series: '{util}{{Hostname="n1",gpu="2",UUID="GPU-2"}}'
        values: '100x660'
      - series: '{util}{{Hostname="n2",gpu="0",hpc_job="8",UUID="GPU-3"}}'
        values: '0x300 _x100 0x260'
      - series: '{gr}{{Hostname="m1",gpu="0",GPU_I_ID="1",hpc_job="9",UUID="GPU-4"}}'
        values: '0.0005x660'
    promql_expr_test:
{tests}
"""


def promtool(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    binary = shutil.which("promtool")
    if binary is None:
        service_missing("promtool is not installed (apt-get install prometheus)")
    return subprocess.run([binary, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def expected(name: str, at: str, values: dict[str, float]) -> str:
    samples = "\n".join(
        f"          - labels: '{name}{{hpc_job=\"{job}\"}}'\n            value: {value!r}"
        for job, value in values.items()
    )
    return f"      - expr: {name}\n        eval_time: {at}\n        exp_samples:\n{samples}"


def test_the_example_in_deploy_is_the_generated_one() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == recording_rules(Settings(), SHIPPED), "run `fullwarp rules`"


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"scrape_interval_seconds": 60, "cluster_label": "cluster", "cluster_value": 'a"b'},
        {
            "job_label": "slurm_job",
            "host_label": "node",
            "selector": 'env="prod"',
            "names": {"gpu_utilization": "util"},
        },
    ],
)
def test_promtool_accepts_the_rules_of_any_site(tmp_path: Path, metrics: dict[str, object]) -> None:
    settings = Settings.model_validate({"metrics": metrics})
    (tmp_path / "fullwarp.rules.yml").write_text(recording_rules(settings, SHIPPED), encoding="utf-8")
    done = promtool("check", "rules", "fullwarp.rules.yml", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_recorded_is_what_the_samples_say(tmp_path: Path) -> None:
    """At 5 h: job 7 has devices at 0 % (busy only in the first half hour) and 100 %; job 8 lacks 50 minutes."""
    (tmp_path / "fullwarp.rules.yml").write_text(recording_rules(Settings(), SHIPPED), encoding="utf-8")
    gap = (480 - 100) / 480
    tests = "\n".join(
        [
            expected("fullwarp:job_use:mean_4h", "5h", {"7": 0.5, "8": 0.0, "9": 0.0005}),
            expected("fullwarp:job_use:coverage_4h", "5h", {"7": 1.0, "8": gap, "9": 1.0}),
            expected("fullwarp:job_use:idle_devices_4h", "5h", {"7": 1, "8": 1, "9": 1}),
            expected("fullwarp:job_use:devices_4h", "5h", {"7": 2, "8": 1, "9": 1}),
            expected("fullwarp:job_use:wasted_gpu_hours_4h", "5h", {"7": 4.0, "8": 4 * gap}),
            expected("fullwarp:job_use:mean_45m", "5h", {"7": 0.5, "8": 0.0, "9": 0.0005}),
        ]
    )
    (tmp_path / "case.yml").write_text(CASE.format(util=UTIL, gr=GR, tests=tests), encoding="utf-8")
    done = promtool("test", "rules", "case.yml", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_exporter_without_job_ids_is_refused_with_what_to_do() -> None:
    with pytest.raises(SettingsError, match="no job id") as refused:
        recording_rules(Settings.model_validate({"metrics": {"dialects": ["utkuozdemir"]}}), SHIPPED)
    assert "metrics.job_label" in refused.value.hint


@pytest.mark.parametrize(("seconds", "name"), [(14400, "4h"), (2700, "45m"), (90, "90s"), (86400, "24h")])
def test_windows_have_short_names(seconds: float, name: str) -> None:
    assert window_name(seconds) == name


def test_the_names_that_check_looks_for_are_those_of_the_file() -> None:
    written = re.findall(r"record: (\S+)", recording_rules(Settings(), SHIPPED))
    assert recorded_names(length for _, length in SHIPPED) == frozenset(written)
