"""`fullwarp status` and `fullwarp nodes` on screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, tzinfo

from rich.console import RenderableType
from rich.text import Text

from data.attention import Attention, Severity
from data.model import GpuState, SourceCondition, SourceState
from data.queries.live import Overview
from data.queries.nodes import NodeList, NodeRow
from data.totals import Group, Use
from data.words import count, number, of, percent
from terminal.tables import Column, line, table

SIGNS = {Severity.BAD: ("!!", "bold red"), Severity.WARN: ("! ", "yellow"), Severity.INFO: ("- ", "cyan")}
STATES = {
    GpuState.BUSY: "busy",
    GpuState.IDLE: "held, idle",
    GpuState.UNMEASURED: "held, not measured",
    GpuState.HELD_UNKNOWN: "not told whether held",
    GpuState.FREE: "free",
    GpuState.DRAINED: "drained",
    GpuState.DOWN: "down",
}
PARTITION_COLUMNS = (
    Column("PARTITION"),
    Column("NODES", True),
    Column("GPUS", True),
    Column("BUSY", True),
    Column("IDLE HELD", True),
    Column("FREE", True),
    Column("UTIL", True),
    Column("RUNNING", True),
    Column("PENDING", True),
)
NODE_COLUMNS = (
    Column("NODE"),
    Column("STATE"),
    Column("GPUS", True),
    Column("BUSY", True),
    Column("IDLE HELD", True),
    Column("FREE", True),
    Column("UTIL", True),
    Column("JOBS", True),
    Column("CPUS", True, is_wide=True),
    Column("POWER", True, is_wide=True),
    Column("MODEL", is_wide=True),
    Column("REASON", is_wide=True),
)


def status_answer(found: Overview) -> Mapping[str, object]:
    """What `--json` prints: totals and what needs attention, without the rows of nodes, GPUs and jobs."""
    shown = found.snapshot
    return {
        "cluster": shown.cluster,
        "time": shown.time,
        "is_past": shown.is_past,
        "unknown": shown.unknown,
        "totals": found.totals,
        "attention": found.attention,
        "sources": shown.sources,
    }


def status_lines(found: Overview, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """Totals, partitions, what needs attention, and how the sources are."""
    shown, totals = found.snapshot, found.totals
    yield line((shown.cluster or "cluster", "bold"), "  ", moment(shown.time, zone, is_past=shown.is_past))
    yield line(f"{_node_words(found)}, {_queue_words(found)}")
    states = [f"{number(totals.by_state.get(state, 0))} {words}" for state, words in STATES.items()]
    yield line("GPUs    " + ", ".join(text for text in states if not text.startswith("0 ")))
    yield line(f"UTIL    {_utilization(totals.use)}")
    yield line(f"Power   {_power(totals.use)}")
    if len(totals.by_partition) > 1:
        yield Text()
        yield table(PARTITION_COLUMNS, (_partition_row(group) for group in totals.by_partition), width)
    yield from _attention_lines(found.attention)
    yield from source_lines(shown.sources, shown.unknown, shown.time)


def _node_words(found: Overview) -> str:
    if found.snapshot.slurm_time is None and not found.snapshot.nodes:
        return "nodes and GPUs not known"
    return f"{count(found.totals.nodes, 'node')}, {_devices(found.totals.use)}"


def _devices(use: Use) -> str:
    slices = int(use.slices.total)
    return count(int(use.gpus.total), "GPU") + (f", {count(slices, 'MIG slice')}" if slices else "")


def _queue_words(found: Overview) -> str:
    if found.snapshot.slurm_time is None and not found.snapshot.jobs:
        return "jobs not known"
    queue = found.totals.queue
    suspended = f", {number(queue.suspended)} suspended" if queue.suspended else ""
    asked = f" (asking for {count(queue.gpus_requested, 'GPU')})" if queue.gpus_requested else ""
    return f"{number(queue.running)} running{suspended} and {number(queue.pending)} pending jobs{asked}"


def _utilization(use: Use) -> str:
    if use.utilization is None:
        return "not measured"
    return f"{percent(use.utilization)} over {of(use.utilization_devices, use.held_devices, 'held device')}"


def _power(use: Use) -> str:
    if use.power_watts is None:
        return "not measured"
    return f"{number(use.power_watts / 1000, 1)} kW over {of(use.power_cards, use.cards, 'card')}"


def _partition_row(group: Group) -> tuple[str, ...]:
    return (
        group.name,
        number(group.nodes),
        *_use_cells(group.use),
        number(group.queue.running),
        number(group.queue.pending),
    )


def _use_cells(use: Use) -> tuple[str, ...]:
    """GPUs and slices together: total, busy, held and idle, free; and their mean utilization."""
    pairs = [(getattr(use.gpus, name), getattr(use.slices, name)) for name in ("total", "busy", "idle", "free")]
    if not sum(pairs[0]):
        return ("", "", "", "", "")
    return (*(number(sum(pair)) for pair in pairs), percent(use.utilization))


def _attention_lines(found: Iterable[Attention], most: int = 12) -> Iterator[RenderableType]:
    rows = list(found)
    if rows:
        yield Text()
    for row in rows[:most]:
        yield line(SIGNS[row.severity], (row.subject, "bold"), f"  {row.text}")
    if len(rows) > most:
        yield line(f"   and {count(len(rows) - most, 'further line')} (--json shows all)")


def source_lines(sources: Iterable[SourceState], unknown: Iterable[str], now: datetime) -> Iterator[RenderableType]:
    """Sources that do not answer, since when, and what the picture cannot know."""
    for source in sources:
        if source.condition in {SourceCondition.STALE, SourceCondition.DOWN}:
            since = f" since {source.failing_since:%H:%M} UTC" if source.failing_since else ""
            left = "its last good answer is shown" if source.condition is SourceCondition.STALE else "nothing is left"
            yield line((f"{source.name} fails{since}: ", "bold red"), f"{source.error or 'no answer'}; {left}")
    for text in unknown:
        yield line(("Not known: ", "yellow"), text)


def moment(time: datetime, zone: tzinfo, *, is_past: bool) -> str:
    """The time of a picture, with its zone."""
    return f"{'as it was' if is_past else 'as of'} {time.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def node_lines(found: NodeList, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """One line per node."""
    yield table(NODE_COLUMNS, (_node_row(row) for row in found.rows), width)
    yield line(f"{of(len(found.rows), found.total, 'node')}, {moment(found.time, zone, is_past=found.is_past)}")
    yield from source_lines(found.sources, found.unknown, found.time)


def _node_row(row: NodeRow) -> tuple[str, ...]:
    node, watts = row.node, row.use.power_watts
    cpus = "" if node.cpus is None else f"{'?' if node.allocated_cpus is None else node.allocated_cpus}/{node.cpus}"
    return (
        node.name,
        node.state.display,
        *_use_cells(row.use),
        number(row.running_jobs),
        cpus,
        "" if watts is None else f"{number(watts)} W",
        ", ".join(row.models),
        node.reason or "",
    )
