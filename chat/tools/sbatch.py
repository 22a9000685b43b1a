"""What to ask Slurm for: a described workload against this site's partitions and what one's own jobs used."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from chat.model import Asker
from chat.tools.answer import Answer, listed, moment, number
from chat.tools.gpu_kinds import Workload
from chat.tools.history_forms import finding_form, values_form
from chat.tools.offers import Offer, lines_of, offers
from data.efficiency import GPU_CLASSES, gpu_class
from data.errors import BadRequest, FullwarpError
from data.known import require_slurm
from data.queries import history
from data.queries.asked import require_partitions
from data.queries.history import Group, HistoryFilter, report_query
from data.queries.live import snapshot
from data.telling import told

_OWN = (
    "jobs",
    "gpu_hours_allocated",
    "utilization",
    "coverage",
    "gpu_memory_used_bytes",
    "cpu_efficiency",
    "cpu_coverage",
    "memory_efficiency",
    "memory_coverage",
    "wait_p50_seconds",
)
_WAITS = ("waits", "wait_p50_seconds")
# The sizes of reports in the order of the classes of GPU counts.
_SIZES = dict(zip(GPU_CLASSES, ("CPU only", "1", "2-4", "5-8", ">8"), strict=True))
_MOST_GPUS = 4096


def sbatch_advice(
    asker: Asker,
    gpus: Annotated[int, Field(description="GPUs in all; 0 = a job without GPUs.", ge=0, le=_MOST_GPUS)] = 1,
    gpu_type: Annotated[str, Field(description="Slurm's type or the model, such as h100.", max_length=60)] = "",
    gpu_memory_gib: Annotated[float, Field(description="GiB that each GPU must have.", ge=0, le=10_000)] = 0.0,
    cpus: Annotated[int, Field(description="CPU cores in all.", ge=0, le=1_000_000)] = 0,
    memory_gib: Annotated[float, Field(description="Host memory in all, in GiB.", ge=0, le=10_000_000)] = 0.0,
    hours: Annotated[float, Field(description="How long it runs, in hours.", ge=0, le=100_000)] = 0.0,
    partition: Annotated[str, Field(description="Only this partition, if one is wanted.", max_length=200)] = "",
) -> Answer:
    """Which #SBATCH lines fit a described workload at this site: the partitions that can run it and have room now, how
    long such jobs waited, and how well the asker's own jobs of that size used what they held."""
    wanted = Workload(gpus, gpu_type, gpu_memory_gib, cpus, memory_gib, hours, partition)
    require_partitions(asker.viewer, asker.sources, (partition,) if partition else (), None)
    seen = snapshot(asker.viewer, asker.sources)
    require_slurm(seen.sources, is_empty=not seen.nodes)
    found = offers(seen, wanted, asker.viewer.accounts)
    if not found:
        raise BadRequest("Slurm tells of no partitions, so nothing can be advised", hint="Ask again later.")
    best = next((one for one in found if not one.against), None)
    value = {
        "as_of_at": moment(seen.time),
        "advice": None if best is None else {"partition": best.partition.name, "lines": list(lines_of(best, wanted))},
        "not_said": [name for name, said in (("hours", hours), ("memory_gib", memory_gib), ("cpus", cpus)) if not said],
        "partitions": listed(found, _offer_form, 12),
        "waits_of_this_size": _history(asker, wanted, own=False),
        "own_jobs_of_this_size": _history(asker, wanted, own=True),
        "note": "Cores and memory are each GPU's share of a node unless they were given. Room now promises no start.",
    }
    return Answer(value, found)


def _offer_form(one: Offer) -> dict[str, Any]:
    return {
        "partition": one.partition.name,
        "can_run_it": not one.against,
        "against": list(one.against),
        "qos_needed": list(one.partition.allowed_qos),
        "has_room_now": one.starts_now,
        "fitting_nodes_now": len(one.fit),
        "gpus_free_on_them": sum(fit.free_gpus for fit in one.fit),
        "gpu_type": one.gpu_type or None,
        "gpus_per_node": one.per_node or None,
        "cpus_per_gpu": one.cpus_per_gpu,
        "memory_per_gpu_bytes": number(one.memory_per_gpu_bytes),
        "nodes_needed": one.nodes_needed,
        "longest_run_seconds": number(one.partition.max_time_seconds),
        "jobs_pending": one.pending_jobs,
    }


def _history(asker: Asker, wanted: Workload, *, own: bool) -> dict[str, Any]:
    """The last 30 days of jobs of this size: everybody's waits by partition, or how one's own jobs did."""
    size = _SIZES[gpu_class(wanted.gpus) or GPU_CLASSES[0]]
    query = report_query({"since": "30d", "by": "partition"}, asker.minute, asker.zone)
    of_size = replace(query, filter=HistoryFilter(sizes=frozenset({size})), limit=12)
    try:
        return _own(asker, of_size, size) if own else _waits(asker, of_size, size)
    except FullwarpError as err:
        return {"size": size, "not_known": " ".join(told(err, asker.viewer))}


def _waits(asker: Asker, query: history.ReportQuery, size: str) -> dict[str, Any]:
    found = history.cluster_report(asker.viewer, asker.sources, replace(query, columns=_WAITS))
    rows = [{"partition": row.label, **values_form(row.values, _WAITS)} for row in found.rows]
    return {"size": size, "days": 30, "by_partition": rows}


def _own(asker: Asker, query: history.ReportQuery, size: str) -> dict[str, Any]:
    mine = replace(query.filter, users=frozenset({asker.viewer.user}))
    asked = replace(query, by=Group.NONE, filter=mine, columns=_OWN, limit=None)
    found = history.report(asker.viewer, asker.sources, asked)
    if not found.rows:
        return {"size": size, "days": 30, "jobs": 0}
    findings = history.findings(asker.viewer, asker.sources, asked, most=3, examples=1)
    return {
        "size": size,
        "days": 30,
        **values_form(found.total.values, _OWN),
        "findings": [finding_form(one) for one in findings],
    }
