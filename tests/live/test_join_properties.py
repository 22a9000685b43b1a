"""What holds for the join of any cluster, however odd its parts."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from data.inventory import Inventory
from data.join import join
from data.model import DeviceReading, GpuState, Job, Node
from tests.live.builders import NOW, STATES, make_job, make_node, measure, measure_slice, read

HELD = {GpuState.BUSY, GpuState.IDLE, GpuState.UNMEASURED}
NODES = ["gpu01", "gpu02", "mig01"]
POOLS = st.dictionaries(
    st.sampled_from(["", "h100", "kepler", "1g.10gb", "a100_3g.20gb"]), st.integers(0, 5), max_size=2
)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    return make_node(
        draw(st.sampled_from(NODES)),
        draw(st.sampled_from(sorted(STATES))),
        draw(POOLS),
        gpus_allocated=draw(st.none() | st.integers(0, 12)),
    )


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    indices = draw(st.none() | st.lists(st.integers(0, 9), max_size=4, unique=True).map(tuple))
    return make_job(
        draw(st.integers(1, 9)),
        draw(st.sampled_from([*NODES, "ghost01", None])),
        draw(st.none() | st.integers(0, 9)),
        indices,
        draw(st.sampled_from(["RUNNING", "SUSPENDED", "COMPLETING", "PENDING", "COMPLETED"])),
        shards=draw(st.sampled_from([0, 0, 0, 2])),
        array_job_id=draw(st.sampled_from([None, 3])),
    )


@st.composite
def readings(draw: st.DrawFn) -> DeviceReading:
    labels = draw(st.lists(st.integers(0, 12).map(str), max_size=2))
    node, index = draw(st.sampled_from([*NODES, "stranger"])), draw(st.integers(0, 7))
    if draw(st.booleans()):
        return measure_slice(node, index, draw(st.sampled_from(["1", "2", "x"])), labels=labels)
    util = draw(st.none() | st.sampled_from([0.0, 0.4]))
    uuid = draw(st.sampled_from([None, f"gpu-{node}-{index}"]))
    return measure(node, index, util, labels, uuid=uuid, minor=draw(st.none() | st.integers(0, 7)))


@settings(max_examples=150, deadline=None)
@given(st.lists(nodes(), max_size=4), st.lists(jobs(), max_size=8), st.lists(readings(), max_size=14))
def test_every_configured_device_appears_once_with_one_state(nodes_, jobs_, readings_):
    unique = {node.name: node for node in nodes_}
    once = {job.job_id: job for job in jobs_}
    inventory = Inventory()
    for _ in range(2):
        result = join(nodes_, list(once.values()), read(*readings_), inventory, NOW)
        inventory = result.inventory
        assert Counter(gpu.device.node for gpu in result.gpus) == Counter(
            {name: node.gpus_total for name, node in unique.items() if node.gpus_total}
        )
        assert len({gpu.device.key for gpu in result.gpus}) == len(result.gpus)
        assert len({(gpu.device.node, gpu.slurm_index) for gpu in result.gpus}) == len(result.gpus)
        for gpu in result.gpus:
            assert not gpu.job_ids or gpu.state in HELD
            assert (gpu.join is None) == (not gpu.job_ids)
            assert gpu.state is not GpuState.IDLE or gpu.utilization is not None
            assert len(set(gpu.job_ids)) == len(gpu.job_ids)
            assert 0 < gpu.weight <= 1
            assert len(gpu.job_ids) <= 1 or gpu.is_shared


@settings(max_examples=100, deadline=None)
@given(st.lists(jobs(), max_size=8), st.lists(readings(), max_size=14))
def test_a_job_never_holds_more_than_slurm_gave_it(jobs_, readings_):
    once = {job.job_id: job for job in jobs_}
    result = join([make_node(name) for name in NODES], list(once.values()), read(*readings_), Inventory(), NOW)
    held = Counter(job_id for gpu in result.gpus for job_id in gpu.job_ids)
    for job_id, count in held.items():
        part = once[job_id].devices[0]
        if part.gpu_count is not None and not part.shards:
            assert count <= part.gpu_count


@settings(max_examples=100, deadline=None)
@given(st.lists(nodes(), max_size=4), st.lists(jobs(), max_size=8), st.lists(readings(), max_size=14), st.randoms())
def test_the_order_of_the_input_does_not_matter(nodes_, jobs_, readings_, random):
    once = {job.job_id: job for job in jobs_}
    unique = {node.name: node for node in nodes_}
    devices = {reading.device.key: reading for reading in readings_}
    first = join(list(unique.values()), list(once.values()), read(*devices.values()), Inventory(), NOW)
    mixed = [list(part.values()) for part in (unique, once, devices)]
    for part in mixed:
        random.shuffle(part)
    second = join(mixed[0], mixed[1], read(*mixed[2]), Inventory(), NOW)
    order = lambda gpu: (gpu.device.node, gpu.slurm_index)  # noqa: E731
    assert sorted(first.gpus, key=order) == sorted(second.gpus, key=order)
