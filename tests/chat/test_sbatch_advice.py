"""What to ask Slurm for: the partitions that can run a workload, what speaks against the others, and the lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chat.tools import call
from chat.tools.gpu_kinds import Workload
from chat.tools.offers import Offer, lines_of, offers
from data.model import ClusterSnapshot, Gpu, Partition
from data.sources import Sources
from settings import Settings
from tests.chat.small_cluster import as_asker, small_sources
from tests.live.builders import NOW, FakeScheduler, make_job, make_node
from tests.queries.cluster import ALICE

DAY = 86_400.0


def partition(name: str, days: float = 2, **more: Any) -> Partition:
    return Partition("demo", name, more.pop("state", "UP"), max_time_seconds=days * DAY, **more)


NODES = (
    make_node("h1", pools={"h100": 8}, partitions=("gpu", "long")),
    make_node("h2", pools={"h100": 8}, partitions=("gpu", "long"), gpus_allocated=8, allocated_cpus=64),
    make_node("m1", pools={"1g.10gb": 4, "3g.40gb": 2}, partitions=("mig",)),
    make_node("c1", pools={}, partitions=("cpu",), cpus=128),
)
PARTITIONS = (
    partition("gpu", is_default=True),
    partition("long", 7, allowed_qos=("long",)),
    partition("mig", 1),
    partition("cpu", 3),
    partition("closed", state="DOWN"),
    partition("theirs", allowed_accounts=("chemistry",)),
)


def seen(small: Settings) -> ClusterSnapshot:
    asked = FakeScheduler(NODES, [make_job(5, None, 2, None, "PENDING", partition="gpu")])
    whole = small_sources(small, asked).live.snapshot()
    gpus: tuple[Gpu, ...] = whole.gpus
    return replace(whole, partitions=PARTITIONS, gpus=gpus, time=NOW)


def offered(small: Settings, accounts: frozenset[str] = frozenset(), **wanted: Any) -> dict[str, Offer]:
    return {one.partition.name: one for one in offers(seen(small), Workload(**wanted), accounts)}


def best(small: Settings, **wanted: Any) -> list[str]:
    first = next(iter(offered(small, **wanted).values()))
    return [line.removeprefix("#SBATCH --") for line in lines_of(first, Workload(**wanted))]


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ({"gpus": 2, "hours": 10}, ["partition=gpu", "nodes=1", "gpus-per-node=h100:2", "cpus-per-gpu=8",
                                    "mem-per-gpu=128G", "time=10:00:00"]),
        ({"gpus": 12}, ["partition=gpu", "nodes=2", "gpus-per-node=h100:6", "cpus-per-gpu=8", "mem-per-gpu=128G"]),
        ({"gpus": 1, "hours": 100}, ["partition=long", "qos=long", "nodes=1", "gpus-per-node=h100:1", "cpus-per-gpu=8",
                                     "mem-per-gpu=128G", "time=4-04:00:00"]),
        ({"gpus": 1, "gpu_memory_gib": 8}, ["partition=mig", "nodes=1", "gpus-per-node=1g.10gb:1", "cpus-per-gpu=10",
                                            "mem-per-gpu=170G"]),
        ({"gpus": 1, "gpu_memory_gib": 30}, ["partition=mig", "nodes=1", "gpus-per-node=3g.40gb:1", "cpus-per-gpu=10",
                                             "mem-per-gpu=170G"]),
        ({"gpus": 1, "gpu_memory_gib": 60}, ["partition=gpu", "nodes=1", "gpus-per-node=h100:1", "cpus-per-gpu=8",
                                             "mem-per-gpu=128G"]),
        ({"gpus": 4, "cpus": 6, "memory_gib": 33}, ["partition=gpu", "nodes=1", "gpus-per-node=h100:4",
                                                    "cpus-per-gpu=2", "mem-per-gpu=9G"]),
        ({"gpus": 0, "cpus": 16, "memory_gib": 2.5}, ["partition=cpu", "cpus-per-task=16", "mem=3G"]),
    ],
)  # fmt: skip
def test_the_lines_ask_for_what_fits(small: Settings, wanted: dict[str, Any], lines: list[str]) -> None:
    assert best(small, **wanted) == lines


@pytest.mark.parametrize(
    ("name", "wanted", "why"),
    [
        ("gpu", {"gpus": 1, "hours": 49}, "its longest run time is 2 d"),
        ("gpu", {"gpus": 17}, "it has 16 such GPUs in all"),
        ("gpu", {"gpus": 1, "gpu_type": "a100"}, "it has no GPUs of type a100"),
        ("gpu", {"gpus": 1, "gpu_memory_gib": 200}, "it has no GPUs with 200 GiB"),
        ("cpu", {"gpus": 1}, "it has no GPUs"),
        ("mig", {"gpus": 2}, "it has no GPUs"),
        ("closed", {"gpus": 0}, "it is down"),
        ("theirs", {"gpus": 0}, "none of your accounts may use it"),
    ],
)
def test_what_speaks_against_a_partition_is_said(small: Settings, name: str, wanted: dict[str, Any], why: str) -> None:
    assert why in offered(small, frozenset({"physics"}), **wanted)[name].against


def test_room_now_is_counted_on_nodes_with_enough_of_everything(small: Settings) -> None:
    gpu = offered(small, gpus=8)["gpu"]
    assert ([one.node for one in gpu.fit], gpu.starts_now, gpu.pending_jobs) == (["h1"], True, 1)
    assert offered(small, gpus=16)["gpu"].starts_now is False
    assert offered(small, gpus=1, cpus=999)["gpu"].starts_now is False


def test_a_type_is_found_by_its_model_too(small: Settings) -> None:
    assert offered(small, gpus=1, gpu_type="H100")["gpu"].gpu_type == "h100"


def test_the_tool_says_what_was_not_said_and_what_own_jobs_did(sources: Sources) -> None:
    asker = as_asker(ALICE, sources)
    found = call(asker, "sbatch_advice", {"gpus": 1, "hours": 2}, "call_1").value
    assert found is not None and found["not_said"] == ["memory_gib", "cpus"]
    own = call(asker, "sbatch_advice", {"gpus": 2}, "call_2").value
    assert own is not None and own["own_jobs_of_this_size"]["days"] == 30
