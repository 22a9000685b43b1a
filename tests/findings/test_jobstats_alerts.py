"""Alerts of Job Defense Shield from its cases, put through our formulas and findings."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from data.efficiency import cpu_efficiency, device_hours, job_mean, share, total_hours, total_share, weighted_mean
from data.findings import GpuOffer, PartitionFacts
from data.js1 import GpuSummary, NodeSummary, Summary, encode
from settings import FindingLimits, JudgementSettings
from tests.findings.facts_builders import facts_of, found_in
from tests.findings.jobstats_cases import Check, Given, cases
from tests.report.job_builders import GIB, HOUR, a_job


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


CHECKS: dict[str, Check] = {
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


@pytest.mark.parametrize(("check", "case"), cases(CHECKS))
def test_an_alert_of_jobstats_is_found_here(check: Check, case: Given) -> None:
    check(case["input"], case["expect"])
