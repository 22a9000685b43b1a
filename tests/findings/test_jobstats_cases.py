"""Facts about single jobs from jobstats' cases, put through our reports."""

from __future__ import annotations

import base64
import gzip
import json
import math
from dataclasses import replace
from typing import Any

import pytest

from data.findings.sbatch import suggested_memory_gib
from data.js1 import Outcome, decode
from data.report import JobReport
from settings import FindingLimits
from tests.findings.facts_builders import facts_of, found_in
from tests.findings.jobstats_cases import CASES, SKIPPED, SKIPPED_IDS, Check, Given, cases, listed
from tests.findings.test_jobstats_alerts import CHECKS as ALERTS
from tests.report.job_builders import GIB, HOUR, a_job


def report_of(nodes: Any, elapsed: float, gpus: int = 0) -> JobReport:
    packed = base64.b64encode(
        gzip.compress(json.dumps({"nodes": nodes, "total_time": elapsed}).encode(), mtime=0)
    ).decode()
    job = a_job(gpus=gpus, nodes=tuple(nodes or ("n1",)), hours=elapsed / HOUR)
    return facts_of(replace(job, admin_comment=f"JS1:{packed}")).report


def check_code(part: Any, code: int) -> None:
    """Their codes: 0 fine, 1 and 2 missing, 3 more than given."""
    if code == 0:
        assert part.value is not None
        assert not part.is_implausible
    elif code == 3:
        assert part.is_implausible
        assert part.countable is None
    else:
        assert part.value is None


def parse(given: Given, expect: Given) -> None:
    found = report_of(given["nodes"], given["diff"], expect["gpus"])
    codes = {0: 0, 1: 1, 2: 3, 3: 1}  # nothing given is not a ratio
    for part, name in ((found.cpu, "cpu_code"), (found.memory, "mem_code")):
        if name in expect:
            check_code(part, codes[expect[name]])
    if "cpu_alloc" in expect:
        assert (found.cpu.used, found.cpu.given) == (expect["cpu_used"], expect["cpu_alloc"])
        assert (found.memory.used, found.memory.given) == (expect["mem_used"], expect["mem_alloc"])
    if "gpu_util" in expect:
        assert found.utilization.value == pytest.approx(expect["gpu_util"] / 100)
    if expect.get("gpu_util_code") == 1:
        assert found.utilization.value is None
    if expect.get("gpu_mem_code") == 1:
        assert found.gpu_memory.value is None


def cpu_eff(given: Given, expect: Given) -> None:
    found = report_of(given["nodes"], given["elapsed"]).cpu
    check_code(found, expect["code"])
    if expect["used"] >= 0:
        assert (found.used, found.given) == (expect["used"], expect["alloc"])


def gpu_eff(given: Given, expect: Given) -> None:
    gpus = sum(len(values.get("gpu_utilization", {})) for values in (given["nodes"] or {}).values())
    found = report_of(given["nodes"], given["elapsed"], gpus)
    # Above 100 % is implausible: dropped, counted and not measured.
    assert found.utilization.value == (pytest.approx(expect["pct"] / 100) if expect["code"] == 0 else None)
    if expect["code"] == 3:
        assert any("impossible" in note for note in found.notes)


def cpu_mem(given: Given, expect: Given) -> None:
    found = report_of(given["nodes"], 100).memory
    check_code(found, expect["code"])
    if expect["used_gib"] >= 0:
        assert math.floor((found.used or 0) / GIB) in (expect["used_gib"], expect["used_gib"] - 1)
        assert found.given is not None


def gpu_mem(given: Given, expect: Given) -> None:
    gpus = sum(len(values["gpu_used_memory"]) for values in (given["nodes"] or {}).values())
    found = report_of(given["nodes"], 100, gpus)
    tuples = [
        [round((gpu.memory.used or 0) / GIB, 6), round((gpu.memory.given or 0) / GIB, 6), (gpu.utilization or 0) * 100]
        for gpu in found.gpus
        if gpu.memory.value is not None
    ]
    assert tuples == [pytest.approx(one) for one in expect["tuples"]]
    if expect["code"] == 3:
        assert found.gpu_memory.is_implausible


def max_node_mem(given: Given, expect: Given) -> None:
    peaks = [node.memory.used for node in report_of(given["nodes"], 100).nodes if node.memory.used is not None]
    assert (max(peaks, default=None) or -GIB) / GIB == expect["max_gib"]


def zero_gpus(given: Given, expect: Given) -> None:
    gpus = sum(len(values.get("gpu_utilization", {})) for values in (given["nodes"] or {}).values())
    found = report_of(given["nodes"], 1000, gpus)
    idle = sum(gpu.is_idle is True for gpu in found.gpus)
    assert idle == max(0, expect["idle"])
    assert bool(found.measured_gpus) == (expect["code"] == 0)


def zero_cpu_nodes(given: Given, expect: Given) -> None:
    found = report_of(given["nodes"], 1000)
    assert expect["idle"] == -1
    assert all(node.cpu.value is None for node in found.nodes)


def mem_suggest(given: Given, expect: Given) -> None:
    assert suggested_memory_gib(given["used_gb"], FindingLimits().memory_margin) == expect["suggest_gb"]


def damaged(given: Given, expect: Given) -> None:
    decoded = decode(given["admincomment"])
    assert decoded.summary is None
    assert decoded.outcome in (Outcome.DAMAGED, Outcome.NONE)


def unlimited(given: Given, expect: Given) -> None:
    job = a_job(gpus=0, hours=(given["end"] - given["start"]) / HOUR, time_limit_seconds=math.inf)
    facts = facts_of(job, hours=10)
    assert facts.report.time.value is None
    assert "time_over_ask" not in found_in(facts)


CHECKS: dict[str, Check] = {
    "jobstats_parse": parse,
    "cpu_eff": cpu_eff,
    "gpu_eff": gpu_eff,
    "cpu_mem": cpu_mem,
    "gpu_mem": gpu_mem,
    "max_node_mem": max_node_mem,
    "zero_gpus": zero_gpus,
    "zero_cpu_nodes": zero_cpu_nodes,
    "mem_suggest_gb": mem_suggest,
    "js1-bad-0": damaged,
    "js1-bad-1": damaged,
    "clean-unlimited-units": unlimited,
}


@pytest.mark.parametrize(("check", "case"), cases(CHECKS))
def test_a_summary_of_jobstats_is_read_alike(check: Check, case: Given) -> None:
    check(case["input"], case["expect"])


def test_every_case_is_checked_or_left_out_for_a_reason() -> None:
    if not listed():
        pytest.skip(f"no reference data at {CASES}")
    known = {*CHECKS, *ALERTS, *SKIPPED, *SKIPPED_IDS}
    assert [case["id"] for case in listed() if not {case["id"], case["kind"]} & known] == []
    assert all(len(reason) > 5 for reason in (*SKIPPED.values(), *SKIPPED_IDS.values()))
