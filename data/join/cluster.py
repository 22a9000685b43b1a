"""Join a whole cluster, node by node; linear in nodes, devices and jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from data.inventory import Inventory, Known, Place
from data.join.hardware import model_facts
from data.join.holding import Share, shares_by_node
from data.join.labels import Labels
from data.join.node import join_node
from data.join.state import SignalLimits
from data.model import DeviceReading, Gpu, Job, Node, Note, Reading

_LIMITS = SignalLimits()


@dataclass(frozen=True, slots=True)
class Joined:
    """Every configured GPU and slice once, what did not add up, and the inventory for the next join."""

    gpus: tuple[Gpu, ...]
    notes: tuple[Note, ...]
    inventory: Inventory


def join(
    nodes: Iterable[Node],
    jobs: Sequence[Job],
    reading: Reading | None,
    inventory: Inventory,
    now: datetime,
    limits: SignalLimits = _LIMITS,
) -> Joined:
    """Join nodes, jobs and the latest values (None = no metrics at all) into one row per configured device.

    A node named twice counts once. A value that is older than the start of the job that holds the device says
    nothing of that job and is left out, unless the exporter's own label names the job.
    """
    unique = {node.name: node for node in nodes}
    measured = _by_node(reading)
    shares, labels = shares_by_node(jobs), Labels(jobs)
    started = {job.job_id: job.start_time for job in jobs if job.start_time is not None}
    sampled = None if reading is None else reading.sample_time or min(reading.at, now)
    gpus: list[Gpu] = []
    notes: list[Note] = []
    pairs: list[tuple[Place, Known]] = []
    for name, node in unique.items():
        here, there = shares.get(name, []), measured.get(name, [])
        if not node.gpu_pools and not there:
            continue
        part = join_node(node, here, there, labels, inventory, started, sampled, limits)
        gpus += part.gpus
        notes += part.notes
        pairs += part.learned
    notes += _strangers(unique.keys(), shares, measured, gpus)
    return Joined(_one_name_each(gpus), tuple(notes), inventory.updated(pairs, unique))


def _one_name_each(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """Give GPUs of which only Slurm's type is known ("h100") the name that the exporter has for the same model, where
    it has one: a node that is down is no model of its own."""
    names: dict[str, set[str]] = {}
    for told in {gpu.device.model for gpu in gpus if gpu.device.model and not gpu.device.is_slice}:
        if facts := model_facts(told):
            names.setdefault(facts.name, set()).add(told)
    return tuple(gpu if gpu.device.model or not gpu.model else _named(gpu, names) for gpu in gpus)


def _named(gpu: Gpu, names: Mapping[str, set[str]]) -> Gpu:
    facts = model_facts(gpu.model)
    found = names.get(facts.name, set()) if facts else set()
    return replace(gpu, model=next(iter(found))) if len(found) == 1 else gpu


def _by_node(reading: Reading | None) -> dict[str, list[DeviceReading]]:
    found: dict[str, list[DeviceReading]] = {}
    for device in reading.devices if reading is not None else ():
        found.setdefault(device.device.node, []).append(device)
    return found


def _strangers(
    nodes: Iterable[str],
    shares: dict[str, list[Share]],
    measured: dict[str, list[DeviceReading]],
    gpus: list[Gpu],
) -> list[Note]:
    """Name hosts that metrics know and Slurm does not, jobs on nodes that Slurm does not list, and no match at all."""
    known = set(nodes)
    notes = []
    hosts = sorted(set(measured) - known)
    if hosts and gpus and not known.intersection(measured):
        text = f"None of the {len(hosts)} hosts in the metrics is a node of this cluster, such as {hosts[0]}."
        notes.append(Note("no_host_joins", "", text, len(hosts)))
    elif hosts:
        text = f"{len(hosts)} hosts in the metrics are no nodes of this cluster: {', '.join(hosts[:5])}."
        notes.append(Note("unknown_hosts", "", text, len(hosts)))
    lost = sorted(set(shares) - known)
    if lost and known:
        job_ids = tuple(share.job_id for node in lost for share in shares[node])
        text = f"Jobs run on {len(lost)} nodes that Slurm does not list: {', '.join(lost[:5])}."
        notes.append(Note("unlisted_nodes", "", text, len(lost), job_ids))
    return notes
