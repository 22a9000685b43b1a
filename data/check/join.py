"""Slurm and metrics together: the same hosts, the same GPUs?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from data.check.result import Check, Verdict, not_carried, some
from data.model import Node, Reading

SUBJECT = "Join"


def hosts(nodes: Sequence[Node], reading: Reading, host_label: str = "") -> Iterator[Check]:
    """GPU nodes without series and series without a node, with examples of both spellings. `host_label` as set."""
    slurm = {node.name for node in nodes if node.gpus_total}
    known = {node.name for node in nodes}
    measured = {item.device.node for item in reading.devices}
    both = slurm & measured
    unmeasured, strangers = slurm - measured, measured - known
    if both and not unmeasured and not strangers:
        yield Check(SUBJECT, Verdict.OK, f"all {len(both)} GPU nodes have series under Slurm's node names")
        return
    if unmeasured:
        text = f"{len(unmeasured)} of {len(slurm)} GPU nodes have no series: {some(unmeasured)}"
        fix = _host_fix(unmeasured, strangers) if measured or not host_label else not_carried("host_label", host_label)
        yield Check(SUBJECT, Verdict.PROBLEM, text, fix)
    if strangers:
        text = f"{len(strangers)} hosts in the series are no Slurm nodes: {some(strangers)}"
        verdict = Verdict.NOTE if both and not unmeasured else Verdict.PROBLEM
        yield Check(
            SUBJECT, verdict, text, () if unmeasured else ("Harmless when they belong to no cluster of yours.",)
        )


def _host_fix(unmeasured: set[str], strangers: set[str]) -> tuple[str, ...]:
    if not strangers:
        return ("Look at the exporter and at the scrape target of these nodes: are they up?",)
    return (
        f"Slurm says {some(unmeasured, 1)}, the series say {some(strangers, 1)}: one host, two spellings?",
        'in fullwarp.toml, under [metrics]: host_label = "..." (the label that holds the node name, such as Hostname)',
        "and strip_domain = true when only the domain differs",
    )


def gpu_counts(nodes: Sequence[Node], reading: Reading) -> Iterator[Check]:
    """Nodes on which Slurm and the exporter do not see the same number of devices."""
    seen = _devices_by_node(reading)
    pairs = [(node.name, node.gpus_total, seen[node.name]) for node in nodes if node.name in seen]
    wrong = [f"{name} (Slurm {told}, metrics {found})" for name, told, found in pairs if told != found]
    if wrong:
        fix = ("On such a node compare: nvidia-smi -L   and   scontrol show node NAME | grep Gres",)
        text = f"GPU counts differ on {len(wrong)} of {len(pairs)} nodes: {some(wrong)}"
        yield Check(SUBJECT, Verdict.PROBLEM, text, fix)
    elif pairs:
        yield Check(SUBJECT, Verdict.OK, f"Slurm and metrics see the same number of devices on {len(pairs)} nodes")


def _devices_by_node(reading: Reading) -> Mapping[str, int]:
    """Slices count in place of the GPU that they were cut from, as in Slurm."""
    slices: dict[str, int] = {}
    whole: dict[str, set[str]] = {}
    cut: dict[str, set[str]] = {}
    for item in reading.devices:
        node, gpu = item.device.node, _gpu_name(item.device.uuid, item.device.index)
        if item.device.slice_id is None:
            whole.setdefault(node, set()).add(gpu)
        else:
            slices[node] = slices.get(node, 0) + 1
            cut.setdefault(node, set()).add(gpu)
    names = whole.keys() | cut.keys()
    return {node: slices.get(node, 0) + len(whole.get(node, set()) - cut.get(node, set())) for node in names}


def _gpu_name(uuid: str | None, index: int | None) -> str:
    # The index first: a slice carries the UUID of its own and the index of its GPU.
    return str(index) if index is not None else uuid or ""
