"""Findings about GPUs: they name the GPUs, and never speak of what was not measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from data.findings import FINDINGS, JobFacts, PartitionFacts, find, partition_facts
from data.js1 import GpuSummary, NodeSummary, Summary, encode
from data.model import GpuPool, JobUsage, Node, NodeState, Partition
from data.report import combine
from tests.findings.facts_builders import NODE, facts_of, found_in, gpus, with_model
from tests.report.job_builders import GIB, a_gpu, a_job, a_reading, a_series, gpu_stats, host_stats

IDLE = {"gpu_utilization": 0.0, "gpu_memory_used_bytes": 0.5 * GIB, "gpu_memory_total_bytes": 80.0 * GIB}
BUSY = {"gpu_utilization": 0.9, "gpu_memory_used_bytes": 50.0 * GIB, "gpu_memory_total_bytes": 80.0 * GIB}
SMALL = BUSY | {"sm_activity": 0.2}


def test_unused_gpus_are_counted_named_and_taken_out_of_the_script() -> None:
    found = found_in(facts_of(a_job(), gpus(BUSY, BUSY, *[IDLE] * 6)))
    one = found["unbalanced"]
    assert "idle" not in found
    assert one.title == "6 of 8 GPUs were never used"
    assert one.evidence == "GPU 2–7: UTIL 0 %, GPU MEM at most 0.5 GiB in 5 h, 30.0 GPU-h."
    assert one.sbatch == ("- #SBATCH --gres=gpu:h100:8", "+ #SBATCH --gres=gpu:h100:2")
    assert one.gpu_hours == pytest.approx(30.0)


def test_a_job_whose_gpus_all_idle_is_idle_and_not_unbalanced() -> None:
    found = found_in(facts_of(a_job(), gpus(*[IDLE] * 8)))
    assert found["idle"].title == "None of the 8 GPUs was ever used"
    assert found["idle"].gpu_hours == pytest.approx(40.0)
    assert "unbalanced" not in found


def test_one_idle_gpu_is_the_gpu() -> None:
    assert found_in(facts_of(a_job(gpus=1), gpus(IDLE)))["idle"].title == "The GPU was never used"


def test_idle_gpus_beside_unmeasured_ones_are_not_all_gpus() -> None:
    one = found_in(facts_of(a_job(gpus=4), gpus(IDLE, IDLE, None, None)))["idle"]
    assert one.title == "2 of 4 GPUs were never used"
    assert "2 GPUs not measured" in one.evidence
    assert one.sbatch == ()


def test_unbalanced_with_an_unmeasured_gpu_gives_no_line_to_paste() -> None:
    one = found_in(facts_of(a_job(gpus=4), gpus(BUSY, IDLE, IDLE, None)))["unbalanced"]
    assert one.title == "2 of 4 GPUs were never used"
    assert one.sbatch == ()


def test_gpus_of_several_nodes_are_named_by_node_and_whole_nodes_taken_out() -> None:
    job = a_job(gpus=16, nodes=("n1", "n2"))
    one = found_in(facts_of(job, gpus(*[BUSY] * 8, node="n1"), gpus(*[IDLE] * 8, node="n2")))["unbalanced"]
    assert one.title == "8 of 16 GPUs were never used"
    assert one.sbatch == ("- #SBATCH --nodes=2", "+ #SBATCH --nodes=1")


def test_a_sensor_that_sticks_at_zero_while_the_card_draws_power_is_not_idle() -> None:
    found = found_in(facts_of(a_job(gpus=1), gpus(IDLE | {"power_watts": 600.0})))
    assert "idle" not in found


def test_a_summary_with_a_mean_of_zero_is_idle() -> None:
    node = NodeSummary("h014", gpus=(GpuSummary(0, 0.0), GpuSummary(1, 0.8)))
    job = replace(a_job(gpus=2), admin_comment=encode(Summary((node,), 5 * 3600, 2)))
    assert found_in(facts_of(job))["unbalanced"].title == "1 of 2 GPUs was never used"


def test_slurms_own_mean_names_no_gpu() -> None:
    job = replace(a_job(), usage=JobUsage(gpu_utilization=0.01))
    assert not {"idle", "unbalanced", "too_powerful"} & set(found_in(facts_of(job)))


@pytest.mark.parametrize(
    ("name", "means", "model"),
    [
        ("small_kernels", SMALL, "h100"),
        ("low_occupancy", BUSY | {"sm_activity": 0.7, "sm_occupancy": 0.1}, "h100"),
        ("no_tensor_cores", BUSY | {"tensor_activity": 0.0, "fp64_activity": 0.0}, "h100"),
        ("double_precision", BUSY | {"fp64_activity": 0.3}, "NVIDIA A40"),
        ("memory_bound", BUSY | {"dram_activity": 0.7, "tensor_activity": 0.1}, "h100"),
        ("communication_bound", BUSY | {"sm_activity": 0.2, "nvlink_rx_bytes_per_second": 3e11}, "h100"),
    ],
)
def test_kernel_findings_say_on_how_many_gpus(name: str, means: dict[str, float], model: str) -> None:
    every = found_in(facts_of(a_job(gpus=2), with_model(gpus(means, means), model)))[name]
    some = found_in(facts_of(a_job(gpus=3), with_model(gpus(means, BUSY, None), model)))[name]
    assert "of" not in every.title.split(" on ")[-1].split()
    assert some.title.endswith("on 1 of 3 GPUs")
    assert some.evidence.startswith("GPU 0:")
    missing = {key: value for key, value in means.items() if key in BUSY}
    assert name not in found_in(facts_of(a_job(gpus=2), with_model(gpus(missing, missing), model)))


def test_input_bound_by_a_swinging_utilization() -> None:
    means = BUSY | {"gpu_utilization": 0.36}
    series = [a_series(a_gpu(0), [0.0] * 60 + [0.9] * 40)]
    one = found_in(facts_of(a_job(gpus=1), gpus(means), series=series))["input_bound"]
    assert one.title == "Input-bound"
    assert "60 % of samples at most 5 % and 40 % at least 80 %" in one.evidence


def test_input_bound_by_busy_cores_needs_a_sound_cpu_number() -> None:
    means = BUSY | {"gpu_utilization": 0.36}
    busy = host_stats("h014", cores=96, busy=90, peak_gib=100, given_gib=1000)
    assert "input_bound" in found_in(facts_of(a_job(gpus=1), gpus(means), busy))
    assert "input_bound" not in found_in(facts_of(a_job(gpus=1), gpus(means)))
    too_busy = host_stats("h014", cores=96, busy=200, peak_gib=100, given_gib=1000)
    assert "input_bound" not in found_in(facts_of(a_job(gpus=1), gpus(means), too_busy))


GPU_FINDINGS = ("idle", "unbalanced", "input_bound", "small_kernels", "too_powerful")


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(facts_of(a_job()), id="nothing measured"),
        pytest.param(facts_of(a_job(), gpus(*[IDLE] * 8, coverage=0.7)), id="too few samples"),
        pytest.param(facts_of(a_job(), gpus(*[IDLE] * 8, coverage=1.5)), id="too many samples"),
        pytest.param(facts_of(a_job(gpus=4), gpus(*[IDLE] * 8)), id="more devices than allocated"),
        pytest.param(facts_of(a_job(hours=299 / 3600), gpus(*[IDLE] * 8, hours=299 / 3600)), id="young"),
        pytest.param(facts_of(a_job(gpus=2), gpus(*[IDLE] * 4, label=None)), id="node-level estimate"),
        pytest.param(facts_of(a_job(), gpus(*[IDLE] * 8), gpus(*[IDLE] * 8, label="777")), id="shared"),
        pytest.param(facts_of(replace(a_job(), elapsed_seconds=4 * 3600.0), gpus(*[IDLE] * 8)), id="was suspended"),
        pytest.param(
            facts_of(a_job(hours=10), gpus(*[IDLE] * 8), hours=10, reading=a_reading(gpus(*[IDLE] * 8))),
            id="a window of half the run",
        ),
        pytest.param(facts_of(replace(a_job(), start_time=None, end_time=None)), id="pending"),
        pytest.param(facts_of(a_job(gpus=0, gpu_type=None)), id="no GPUs"),
        pytest.param(
            facts_of(
                replace(
                    a_job(gpus=1),
                    admin_comment=encode(Summary((NodeSummary("h014", gpus=(GpuSummary(0, 0.0),)),), 60, 1)),
                )
            ),
            id="summary of another attempt",
        ),
    ],
)
def test_no_gpu_finding_on_data_that_cannot_be_trusted(facts: JobFacts) -> None:
    assert not set(GPU_FINDINGS) & set(found_in(facts))


OFFERS = partition_facts(
    a_job(),
    [
        Node("larch", "h014", NodeState("IDLE", (), "IDLE", "idle", True), ("gpu",), cpus=96, memory_bytes=2000 << 30,
             gpu_pools=(GpuPool("h100", 8, 0),)),
        Node("larch", "m1", NodeState("IDLE", (), "IDLE", "idle", True), ("mig",), cpus=64, memory_bytes=500 << 30,
             gpu_pools=(GpuPool("1g.10gb", 28, 0), GpuPool("3g.40gb", 2, 0))),
    ],
)  # fmt: skip
LIGHT = {"gpu_utilization": 0.1, "gpu_memory_used_bytes": 5.0 * GIB, "gpu_memory_total_bytes": 80.0 * GIB}


def light(**more: Any) -> JobFacts:
    fields: dict[str, Any] = {"gpus": 1, "cpus": 1, "memory_gib": 32, "partition": "gpu"} | more
    host = host_stats("h014", cores=1, busy=0.5, peak_gib=4, given_gib=32)
    return facts_of(a_job(**fields), gpus(LIGHT), host, partition=OFFERS)


def test_a_light_job_gets_the_smallest_slice_that_holds_it() -> None:
    one = found_in(light())["too_powerful"]
    assert one.sbatch == (
        "- #SBATCH --gres=gpu:h100:1",
        "+ #SBATCH --gres=gpu:1g.10gb:1",
        "- #SBATCH --partition=gpu",
        "+ #SBATCH --partition=mig",
    )
    assert one.gpu_hours == pytest.approx(4.5)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(light(state="OUT_OF_MEMORY"), id="out of memory"),
        pytest.param(
            facts_of(
                a_job(gpus=1, cpus=1), gpus(LIGHT | {"gpu_utilization": 0.0}),
                host_stats("h014", cores=1, busy=0.5, peak_gib=4, given_gib=32), partition=OFFERS,
            ),
            id="idle",
        ),
        pytest.param(light(cpus=16), id="more cores than a slice has"),
        pytest.param(replace(light(), partition=PartitionFacts()), id="offers not known"),
        pytest.param(replace(light(), partition=NODE), id="nothing smaller"),
        pytest.param(facts_of(a_job(gpus=1, cpus=1), gpus(LIGHT), partition=OFFERS), id="host memory not measured"),
        pytest.param(
            facts_of(
                a_job(gpus=1, cpus=1), gpus({"gpu_utilization": 0.1}),
                host_stats("h014", cores=1, busy=0.5, peak_gib=4, given_gib=32), partition=OFFERS,
            ),
            id="GPU memory not measured",
        ),
        pytest.param(light(gpus=2), id="one of two GPUs not measured"),
    ],
)  # fmt: skip
def test_too_powerful_needs_all_of_its_numbers(facts: JobFacts) -> None:
    assert "too_powerful" not in found_in(facts)


def test_fragmented_counts_nodes_by_the_gpus_of_a_node() -> None:
    job = a_job(gpus=8, nodes=("n1", "n2", "n3", "n4"), cpus=32, memory_gib=100)
    one = found_in(facts_of(job))["fragmented"]
    assert one.title == "8 GPUs on 4 nodes fit on 1"
    assert one.sbatch == (
        "- #SBATCH --nodes=4",
        "+ #SBATCH --nodes=1",
        "- #SBATCH --gpus-per-node=2",
        "+ #SBATCH --gpus-per-node=8",
    )


@pytest.mark.parametrize(
    ("job", "partition"),
    [
        (a_job(gpus=8, nodes=("n1", "n2"), cpus=32, memory_gib=100), PartitionFacts()),  # node size not known
        (a_job(gpus=8, nodes=("n1", "n2"), cpus=32, memory_gib=100), replace(NODE, gpus_per_node=4)),
        (a_job(gpus=8, nodes=("n1", "n2"), cpus=192, memory_gib=100), NODE),  # the cores need both
        (a_job(gpus=8, nodes=("n1", "n2"), cpus=32, memory_gib=2500), NODE),  # the memory needs both
        (a_job(gpus=None, nodes=("n1", "n2"), cpus=32, memory_gib=100), NODE),
        (a_job(gpus=8, nodes=("n1", "n2"), cpus=32, memory_gib=100, hours=0.05), NODE),
    ],
)
def test_not_fragmented(job: Any, partition: PartitionFacts) -> None:
    assert "fragmented" not in found_in(
        facts_of(job, partition=partition, hours=0.05 if job.elapsed_seconds < 300 else 5)
    )


def test_findings_come_by_gpu_hours_lost() -> None:
    means = [SMALL, SMALL, IDLE, IDLE, IDLE, IDLE, IDLE, IDLE]
    order = [one.id for one in find(facts_of(a_job(), gpus(*means)))]
    assert order.index("unbalanced") < order.index("small_kernels")


def test_a_het_job_is_looked_at_part_by_part() -> None:
    parts = []
    for offset, node, means in ((0, "n1", BUSY), (1, "n2", IDLE)):
        more = {"job_id": 15 + offset, "display_id": f"15+{offset}", "het_job_id": 15, "het_offset": offset}
        job = a_job(gpus=1, nodes=(node,), **more)
        parts.append(facts_of(job, gpu_stats(a_gpu(0, node), means, label=str(job.job_id))))
    whole = combine([part.report for part in parts], limits=parts[0].judgement)
    assert found_in(replace(parts[0], report=whole))["idle"].title == "15+1: The GPU was never used"
    shares = {"15+1": PartitionFacts(gpus_per_node=4, cores_per_node=8)}
    found = found_in(replace(parts[0], report=whole, parts=shares))
    assert found["cores_per_gpu"].title == "15+1: 96 cores for each GPU"  # and nothing of 15+0, whose nodes are unknown


def test_every_text_keeps_to_the_rules_of_words() -> None:
    facts = [
        facts_of(a_job(), gpus(BUSY, BUSY, *[IDLE] * 6)),
        facts_of(a_job(gpus=1), gpus(SMALL | {"tensor_activity": 0.0, "fp64_activity": 0.0})),
        light(),
        facts_of(a_job(state="OUT_OF_MEMORY")),
        facts_of(a_job(state="TIMEOUT")),
    ]
    found = [one for one_facts in facts for one in find(one_facts)]
    assert {"unbalanced", "small_kernels", "too_powerful", "out_of_memory", "timed_out"} <= {one.id for one in found}
    for one in found:
        text = " ".join((one.title, one.evidence, one.advice))
        assert "!" not in text
        assert "please" not in text.lower()
        assert one.id in FINDINGS
        assert not one.title.endswith(".")
        assert one.evidence.endswith(".")
        assert one.advice.endswith(".")
        assert all(line[:2] in ("- ", "+ ") for line in one.sbatch)


def test_facts_of_the_partition_are_those_of_the_jobs_own_nodes() -> None:
    state = NodeState("IDLE", (), "IDLE", "idle", True)
    nodes = [
        Node("c", "h014", state, ("gpu",), cpus=64, memory_bytes=512 << 30, gpu_pools=(GpuPool("a100", 4, 0),)),
        Node("c", "h015", state, ("gpu",), cpus=96, memory_bytes=None, gpu_pools=(GpuPool("h100", 8, 0),)),
        Node("c", "h016", state, ("gpu",), cpus=96, memory_bytes=None, gpu_pools=(GpuPool("h100", 8, 0),)),
    ]
    partitions = [Partition("c", "gpu", "UP", max_time_seconds=3600)]
    own = partition_facts(a_job(partition="gpu"), nodes, partitions)
    usual = partition_facts(a_job(partition="gpu", nodes=("gone",)), nodes, partitions)
    assert (own.gpus_per_node, own.cores_per_node, own.max_time_seconds) == (4, 64, 3600)
    assert (usual.gpus_per_node, usual.cores_per_node) == (8, 96)
    assert partition_facts(a_job(), []) == PartitionFacts()


def test_a_job_that_stands_still_after_a_busy_start_is_told_so() -> None:
    some = {"gpu_utilization": 0.14}
    found = found_in(facts_of(a_job(gpus=2), gpus(some, some, idle=0.86)))
    one = found["mostly_idle"]
    assert one.title == "Idle most of the time"
    assert one.evidence == "GPU 0–1: no kernel ran in 86 % of the samples of 5 h, 8.6 GPU-h idle."
    assert one.gpu_hours == pytest.approx(8.6)
    assert "idle" not in found and "unbalanced" not in found


@pytest.mark.parametrize(("idle", "is_told"), [(0.49, False), (0.5, True), (1.0, False)])
def test_mostly_idle_is_from_half_of_the_samples_on_and_not_all(idle: float, is_told: bool) -> None:
    found = found_in(facts_of(a_job(gpus=1), gpus({"gpu_utilization": 0.2}, idle=idle)))
    assert ("mostly_idle" in found) is is_told


def test_a_summary_that_knows_only_means_says_nothing_of_idle_time() -> None:
    node = NodeSummary("h014", gpus=(GpuSummary(0, 0.1),))
    job = replace(a_job(gpus=1), admin_comment=encode(Summary((node,), 5 * 3600, 1)))
    assert "mostly_idle" not in found_in(facts_of(job))
