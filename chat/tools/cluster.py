"""The cluster now or at a past moment: its totals, its nodes, one node, and how the sources are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from chat.model import Asker
from chat.tools.answer import Answer, listed, moment, number, text, texts
from chat.tools.forms import (
    attention_form,
    group_form,
    metric_values,
    queue_form,
    sources_form,
    use_form,
)
from chat.tools.links import of_node, page
from chat.tools.words import At, Limit, Model, NodeName, PartitionName, one_of
from data.known import require_known, require_slurm
from data.model import Gpu, GpuState, Job, Node, NodeFilter, SourceState
from data.node_rows import NodeDetail, NodeRow
from data.queries.asked import require_partitions
from data.queries.health import health
from data.queries.history_health import HistoryHealth
from data.queries.live import overview
from data.queries.node_detail import node_view, nodes_view
from data.slurm.states import NODE_BUCKETS

_MOST_GROUPS = 20
GpuStateWord = Literal["busy", "idle", "unmeasured", "unknown", "free", "drained", "down"]


def cluster_status(asker: Asker, partition: PartitionName = "", at: At = "") -> Answer:
    """Totals of the cluster (or of one partition): GPUs allocated, busy, held and idle, free, down; utilization; power;
    the queue; partitions and GPU models; and what needs attention now."""
    moment_asked = asker.moment(at)
    require_partitions(asker.viewer, asker.sources, one_of(partition), moment_asked)
    filter = NodeFilter(partitions=one_of(partition)) if partition else None
    found = overview(asker.viewer, asker.sources, at=moment_asked, filter=filter)
    require_slurm(found.snapshot.sources, is_empty=not found.snapshot.nodes and not found.snapshot.jobs)
    totals = found.totals
    value = {
        "cluster": found.snapshot.cluster,
        "partition": partition or None,
        "as_of_at": moment(found.snapshot.time),
        "is_past": found.snapshot.is_past,
        "nodes": totals.nodes,
        "nodes_by_state": dict(totals.nodes_by_state),
        **use_form(totals.use),
        **queue_form(totals.queue),
        "partitions": listed(totals.by_partition, group_form, _MOST_GROUPS),
        "models": listed(totals.by_model, group_form, _MOST_GROUPS),
        "attention": listed(found.attention, attention_form, 12),
        "not_known": texts(found.snapshot.unknown),
        "sources_failing": sources_form(found.snapshot.sources),
    }
    return Answer(value, found, page("/", {"partition": partition, "at": at}))


def find_nodes(
    asker: Asker,
    partition: PartitionName = "",
    state: Annotated[str, Field(description="Only nodes in this state, such as idle, mixed, drained, down.")] = "",
    gpu_state: Annotated[GpuStateWord | None, Field(description="Only nodes with GPUs in this state.")] = None,
    model: Model = "",
    name: Annotated[str, Field(description="Only nodes whose name holds this.", max_length=200)] = "",
    at: At = "",
    limit: Limit = 20,
) -> Answer:
    """Nodes with their state, GPUs by state, free cores and memory. Filters combine."""
    moment_asked = asker.moment(at)
    require_known("node state", one_of(state.lower()), NODE_BUCKETS)
    require_partitions(asker.viewer, asker.sources, one_of(partition), moment_asked)
    filter = NodeFilter(
        partitions=one_of(partition),
        states=one_of(state.lower()),
        gpu_states=one_of(gpu_state or ""),
        models=one_of(model),
        text=name,
    )
    view = nodes_view(asker.viewer, asker.sources, filter, moment_asked)
    require_known("GPU model", one_of(model), view.options.models)
    require_slurm(view.snapshot.sources, is_empty=not view.list.total)
    found = view.list
    value = {
        "as_of_at": moment(found.time),
        "nodes": listed(found.rows, _node_row, limit),
        "nodes_in_cluster": found.total,
        "only_gpus_counted": [word for word in (gpu_state, model) if word],
        "not_known": texts(found.unknown),
        "sources_failing": sources_form(found.sources),
    }
    words = {"partition": partition, "state": state.lower(), "model": model, "q": name, "at": at}
    link = page("/nodes", words) if gpu_state is None else page("/", {**words, "state": gpu_state})
    return Answer(value, found, link)


def node(asker: Asker, name: NodeName, at: At = "") -> Answer:
    """One node: its state and reason, every metric of each of its GPUs, the jobs on it, and what is wrong with it."""
    view = node_view(asker.viewer, asker.sources, name, asker.moment(at))
    return Answer(_node_form(view.detail, view.unknown), view.detail, of_node(view.detail.node.name, at))


def source_health(asker: Asker) -> Answer:
    """Whether Slurm, the metrics and the history answer, how old their data are, which metrics are missing, and what
    does not add up between them."""
    found = health(asker.viewer, asker.sources)
    kept = found.history
    value = {
        "as_of_at": moment(found.snapshot.time),
        "sources": listed(found.sources, _source_form, 10),
        "metrics_missing": list(found.missing),
        "scrape_interval_seconds": number(found.interval_seconds),
        "devices_by_join": {method.value: count for method, count in found.joins.items()},
        "notes": listed(found.notes, lambda note: {"about": note.subject, "says": text(note.text)}, 10),
        "checks": listed(
            [one for one in found.checks if one.verdict.value != "ok"],
            lambda one: {"about": one.subject, "verdict": one.verdict.value, "says": text(one.text)},
            15,
        ),
        "history": None if kept is None else _history_form(kept),
    }
    return Answer(value, found, "/health")


def _history_form(kept: HistoryHealth) -> dict[str, Any]:
    return {
        "last_pass_at": moment(kept.passed_at),
        "first_day": None if kept.first_day is None else kept.first_day.isoformat(),
        "days": kept.days,
        "files_damaged": kept.damaged,
        "files_set_aside": kept.set_aside,
        "error": text(kept.error) or None,
        "is_made_for_the_demo": kept.is_made,
    }


def _node_row(row: NodeRow) -> dict[str, Any]:
    return {**_node_facts(row.node), "models": list(row.models), **use_form(row.use), "jobs_running": row.running_jobs}


def _node_facts(node: Node) -> dict[str, Any]:
    return {
        "node": node.name,
        "state": node.state.display,
        "reason": text(node.reason),
        "partitions": list(node.partitions),
        "cpus": node.cpus,
        "cpus_allocated": node.allocated_cpus,
        "memory_bytes": node.memory_bytes,
        "memory_allocated_bytes": node.allocated_memory_bytes,
    }


def _node_form(found: NodeDetail, unknown: str) -> dict[str, Any]:
    return {
        "as_of_at": moment(found.time),
        **_node_facts(found.node),
        "reason_since_at": moment(found.node.reason_time),
        "cpu_load": number(found.node.cpu_load),
        **use_form(found.use),
        "devices": listed(found.gpus, lambda gpu: _gpu_form(gpu, found.jobs), 16),
        "jobs": listed([job for job in found.jobs if job.job_id], _job_of_node, 20),
        "jobs_of_others": sum(not job.job_id for job in found.jobs),
        "attention": listed(found.attention, attention_form, 10),
        "notes": listed(found.notes, lambda note: {"says": text(note.text)}, 10),
        "not_known": texts((*found.unknown, *((unknown,) if unknown else ()))),
        "sources_failing": sources_form(found.sources),
    }


def _gpu_form(gpu: Gpu, jobs: tuple[Job, ...]) -> dict[str, Any]:
    names = {job.job_id: job.display_id for job in jobs if job.job_id}
    return {
        "device": gpu.device.label,
        "model": gpu.model,
        "state": gpu.state.value,
        "is_held": gpu.state in (GpuState.BUSY, GpuState.IDLE, GpuState.UNMEASURED),
        "jobs": [names[one] for one in gpu.job_ids if one in names],
        **metric_values(gpu.values),
    }


def _job_of_node(job: Job) -> dict[str, Any]:
    return {
        "job": job.display_id,
        "job_name": text(job.name, 80),
        "user": text(job.user),
        "state": job.state,
        "gpus": job.allocated.gpus,
        "started_at": moment(job.start_time),
    }


def _source_form(state: SourceState) -> dict[str, Any]:
    return {
        "source": state.name,
        "kind": state.kind,
        "condition": state.condition.value,
        "version": state.version,
        "last_success_at": moment(state.last_success),
        "failing_since_at": moment(state.failing_since),
        "latency_seconds": number(state.latency_seconds),
        "error": text(state.error),
        "hint": text(state.hint),
        "records_not_readable": state.broken_rows,
    }
