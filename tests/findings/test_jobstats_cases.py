"""The cases of jobstats and Job Defense Shield: facts about jobs, put through our reports and findings.

Kinds that METRICS.md answers in another way, or that another part of the product answers, are skipped by name.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.efficiency import cpu_efficiency, device_hours, job_mean, share, total_hours, total_share, weighted_mean
from data.findings import GpuOffer, PartitionFacts
from data.findings.sbatch import suggested_memory_gib
from data.js1 import GpuSummary, NodeSummary, Outcome, Summary, decode, encode
from data.report import JobReport
from settings import FindingLimits, JudgementSettings
from tests.findings.facts_builders import facts_of, found_in
from tests.report.job_builders import GIB, HOUR, a_job

CASES = Path(__file__).resolve().parents[3] / "shared/cases/jobstats.json"

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
    "cancel_fixed": "a policy",
    "cancel_sliding": "a policy",
    "throttle": "a policy",
}
SKIPPED_IDS = {
    "alert-low-gpu-mem-exempt": "METRICS.md exempts no job from low use for the GPU memory that it holds",
    "tres-typed-only": SKIPPED["gpus_from_tres"],
    "throttle-wildcard": SKIPPED["throttle"],
    "serial-top-users": "a ranking of users: a report over history",
    "running-job-no-data": "the verdict of a policy; that no finding fires without series is in test_gpu_findings.py",
}


def cases() -> list[Any]:
    if not CASES.is_file():
        return [pytest.param({}, marks=pytest.mark.skip(reason=f"no reference data at {CASES}"), id="none")]
    return [pytest.param(case, id=case["id"]) for case in json.loads(CASES.read_text())["cases"]]


@pytest.mark.parametrize("case", cases())
def test_case(case: dict[str, Any]) -> None:
    reason = SKIPPED.get(case["kind"]) or SKIPPED_IDS.get(case["id"])
    if reason:
        pytest.skip(reason)
    check = CHECKS.get(case["id"]) or CHECKS[case["kind"]]
    check(case["input"], case["expect"])


Given = dict[str, Any]


def report_of(nodes: Any, elapsed: float, gpus: int = 0) -> JobReport:
    packed = base64.b64encode(gzip.compress(json.dumps({"nodes": nodes, "total_time": elapsed}).encode())).decode()
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


def low_cpu(given: Given, expect: Given) -> None:
    shares = [
        cpu_efficiency(job["cpu_time"], job["cores"], job["elapsed"]) for job in given["jobs"] if job["user"] == "u1"
    ]
    total, every = total_share(shares), sum(job["cores"] * job["elapsed"] for job in given["jobs"])
    expected = expect["flagged"][0]
    assert round((total.value or 0) * 100) == expected["eff_pct"]
    assert round((total.given or 0) / HOUR) == expected["cpu_hours"]
    assert round((total.given or 0) / every * 100) == expected["proportion_pct"]


def excess_memory(given: Given, expect: Given) -> None:
    by_user = defaultdict(list)
    for job in given["jobs"]:
        by_user[job["user"]].append(share(job["used_gib"] * job["hours"], job["alloc_gib"] * job["hours"]))
    for expected in expect["flagged"]:
        total = total_share(by_user[expected["user"]])
        assert total.value == pytest.approx(expected["ratio"], abs=0.0051)
        assert ((total.given or 0) - (total.used or 0)) / 1000 == pytest.approx(expected["unused_tb_h"], abs=0.51)


def over_ask_of_time(given: Given, expect: Given) -> None:
    for expected in expect["flagged"]:
        jobs = [job for job in given["jobs"] if job["user"] == expected["user"]]
        width = "gpus" if "gpus" in jobs[0] else "cores"
        unused = sum((job["limit_h"] - job["elapsed_h"]) * job[width] for job in jobs)
        assert unused == expected["unused_hours"]
        for job in jobs:
            facts = facts_of(
                a_job(gpus=0, hours=job["elapsed_h"], time_limit_seconds=job["limit_h"] * HOUR), hours=job["elapsed_h"]
            )
            assert ("time_over_ask" in found_in(facts)) == (job["elapsed_h"] / job["limit_h"] < 0.6)


def summary_job(job: Given, hours: float, **more: Any) -> Any:
    use = job.get("gpu_util") or []
    used = job.get("gpu_used_bytes") or [None] * len(use)
    gpus = tuple(
        GpuSummary(index, value / 100, memory, 80 * GIB)
        for index, (value, memory) in enumerate(zip(use, used, strict=True))
    )
    node = NodeSummary("h014", job.get("cores"), None, job.get("cpu_used_bytes"), 64 * GIB, gpus)
    fields = {"gpus": job["gpus"], "cpus": job.get("cores", 1), "hours": hours} | more
    return replace(a_job(**fields), admin_comment=encode(Summary((node,), hours * HOUR, job["gpus"])))


def too_powerful(given: Given, expect: Given) -> None:
    config = given["config"]
    limits = FindingLimits(
        powerful_utilization=config["gpu_util_threshold"] / 100,
        powerful_gpu_memory_gib=config["gpu_mem_usage_max"],
        powerful_memory_per_gpu_gib=config["cpu_mem_usage_per_gpu"],
        slice_cores=config["num_cores_per_gpu"],
    )
    offers = PartitionFacts(offers=(GpuOffer("1g.10gb", "mig", 10 * GIB, 1 / 7, True),))
    flagged = [
        job["user"]
        for job in given["jobs"]
        if "too_powerful"
        in found_in(facts_of(summary_job(job, job["hours"]), partition=offers, limits=limits, hours=job["hours"]))
    ]
    assert flagged == [one["user"] for one in expect["flagged_jobs"]]


def zero_gpu_hours(given: Given, expect: Given) -> None:
    for expected in expect["users"]:
        jobs = [job for job in given["jobs"] if job["user"] == expected["user"]]
        parts = [
            device_hours(job["seconds"], measured_share=1, mean=use / 100, idle=1.0 if use == 0 else None)
            for job in jobs
            for use in job["gpu_util"]
        ]
        assert total_hours(parts).idle == pytest.approx(expected["gpu_hours_at_zero"])
        assert sum(0 in job["gpu_util"] for job in jobs) == expected["jobs"]


def cores_per_gpu(given: Given, expect: Given) -> None:
    judgement = JudgementSettings(max_cores_per_gpu=given["config"]["cores_per_gpu_limit"])
    found = [
        {"user": job["user"], "cores_per_gpu": one.title.split()[0]}
        for job in given["jobs"]
        if job["cluster"] == given["config"]["cluster"]
        and (
            one := found_in(facts_of(a_job(gpus=job["gpus"], cpus=job["cores"]), judgement=judgement)).get(
                "cores_per_gpu"
            )
        )
    ]
    assert found == expect["flagged_jobs"]


def memory_per_gpu(given: Given, expect: Given) -> None:
    config = given["config"]
    judgement = JudgementSettings(max_memory_per_gpu_gib=config["cpu_mem_per_gpu_limit"])
    limits = FindingLimits(memory_per_gpu_used=config["mem_eff_thres"])
    flagged = []
    for job in given["jobs"]:
        node = NodeSummary(job["node"], 8, None, round(job["used"]), job["alloc"])
        made = replace(a_job(gpus=job["gpus"], nodes=(job["node"],)), admin_comment=encode(Summary((node,), 5 * HOUR)))
        facts = facts_of(made, judgement=judgement, limits=limits)
        if job["node"] in config["nodelist"] and "memory_per_gpu" in found_in(facts):
            flagged.append((job["user"], round(job["alloc"] / job["gpus"] / GIB)))
    assert flagged == [(one["user"], int(one["mem_per_gpu"].split()[0])) for one in expect["flagged_jobs"]]


def cpu_nodes_job(cpu_times: list[float], cores: int, used: float | None = None, hours: float = 100.0) -> Any:
    names = tuple(f"n{number}" for number in range(len(cpu_times)))
    share_of = None if used is None else round(used / len(names))
    nodes = tuple(
        NodeSummary(name, max(1, cores // len(names)), seconds, share_of, 190 * GIB * 8)
        for name, seconds in zip(names, cpu_times, strict=True)
    )
    job = a_job(gpus=0, gpu_type=None, nodes=names, cpus=cores, hours=hours, time_limit_seconds=math.inf)
    return replace(job, admin_comment=encode(Summary(nodes, hours * HOUR, 0)))


def cpu_fragmentation(given: Given, expect: Given) -> None:
    config = given["config"]
    partition = PartitionFacts(None, config["cores_per_node"], config["mem_per_node"] * GIB)
    flagged = []
    for job in given["jobs"]:
        busy = [0.0 if node < job["idle_nodes"] else 1e5 for node in range(job["nodes"])]
        facts = facts_of(cpu_nodes_job(busy, job["cores"], job["used_total_bytes"]), partition=partition, hours=100)
        if one := found_in(facts).get("cpu_fragmented"):
            flagged.append({"user": job["user"], "nodes": job["nodes"], "min_nodes": int(one.title.split()[-1])})
    assert flagged == expect["flagged_jobs"]


def serial(given: Given, expect: Given) -> None:
    flagged = []
    for job in given["jobs"]:
        hours = job["elapsed"] / HOUR
        facts = facts_of(cpu_nodes_job([job["cores_busy"] * job["elapsed"]], job["cores"], hours=hours), hours=hours)
        if "serial" in found_in(facts):
            use = (facts.cpu_utilization or 0) * 100
            flagged.append({"user": job["user"], "cores": job["cores"], "util": f"{use:.1f}%"})
    assert flagged == expect["flagged_jobs"]


def zero_cpu(given: Given, expect: Given) -> None:
    flagged = []
    for job in given["jobs"]:
        times = job["node_cpu_time"]
        facts = facts_of(cpu_nodes_job(times, 32 * len(times)), hours=100)
        if one := found_in(facts).get("unused_nodes"):
            flagged.append({"user": job["user"], "nodes": len(times), "unused": int(one.title.split()[0])})
    assert flagged == expect["flagged_jobs"]


def gpu_fragmentation(given: Given, expect: Given) -> None:
    partition = PartitionFacts(gpus_per_node=given["config"]["gpus_per_node"])
    flagged = []
    for job in given["jobs"]:
        names = tuple(f"n{number}" for number in range(job["nodes"]))
        facts = facts_of(a_job(gpus=job["gpus"], nodes=names), partition=partition)
        if "fragmented" in found_in(facts):
            mean = job_mean([use / 100 for node in job["gpu_util"] for use in node]).value or 0
            per_node = str(job["gpus"] // job["nodes"])
            flagged.append({"user": job["user"], "gpus_per_node": per_node, "eff": f"{mean * 100:.0f}%"})
    assert flagged == expect["flagged_jobs"]


def low_gpu(given: Given, expect: Given) -> None:
    for expected in expect["all_users"]:
        jobs = [job for job in given["jobs"] if job["user"] == expected["user"]]
        hours = [job["gpus"] * job["hours"] for job in jobs]
        means = [job_mean([use / 100 for use in job["gpu_util"]]) if job["gpu_util"] else None for job in jobs]
        measured = [part if mean else None for part, mean in zip(hours, means, strict=True)]
        use = weighted_mean((mean.value if mean else None, part) for mean, part in zip(means, measured, strict=True))
        assert (use or 0) * 100 == pytest.approx(expected["eff_pct"], abs=0.51)
        assert sum(part or 0 for part in measured) == expected["gpu_hours"]
        assert sum(part or 0 for part in measured) / sum(hours) == expected["coverage"]


CHECKS: dict[str, Callable[[Given, Given], None]] = {
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
    "alert_low_cpu": low_cpu,
    "alert_excess_cpu_memory": excess_memory,
    "alert_time_cpu": over_ask_of_time,
    "alert_time_gpu": over_ask_of_time,
    "alert_gpu_model": too_powerful,
    "alert_zero_gpu_hours": zero_gpu_hours,
    "alert_cores_per_gpu": cores_per_gpu,
    "alert_mem_per_gpu": memory_per_gpu,
    "alert_cpu_frag": cpu_fragmentation,
    "alert_serial": serial,
    "alert_zero_cpu": zero_cpu,
    "alert_gpu_frag": gpu_fragmentation,
    "alert_low_gpu": low_gpu,
}
