"""`fullwarp status` and `fullwarp nodes` on screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo

from rich.console import RenderableType
from rich.text import Text

from data.attention import Attention, Severity
from data.model import GpuState, SourceCondition, SourceState
from data.node_rows import NodeList, NodeRow
from data.queries.live import Overview
from data.totals import Group
from data.uses import Counts, Use
from data.words import clock, count, duration, number, of, percent
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
# The columns of devices: those of ALWAYS, and each other one where some row has any, so that every row adds up.
DEVICE_COLUMNS = {
    "total": "GPUS",
    "busy": "BUSY",
    "idle": "IDLE",
    "unmeasured": "UNMEAS",
    "unknown": "HELD?",
    "free": "FREE",
    "elsewhere": "OTHER",
    "drained": "DRAIN",
    "down": "DOWN",
}
ALWAYS = frozenset({"total", "busy", "idle", "free"})
PARTITION_COLUMNS = (Column("JOBS", True), Column("PENDING", True))
NODE_COLUMNS = (
    Column("JOBS", True),
    Column("CPUS", True, is_wide=True),
    Column("POWER", True, is_wide=True),
    Column("MODEL", is_wide=True),
    Column("REASON", is_wide=True),
)


def status_lines(found: Overview, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """Totals, partitions, what needs attention, and how the sources are."""
    shown, totals = found.snapshot, found.totals
    yield line((shown.cluster or "cluster", "bold"), "  ", moment(shown.time, zone, is_past=shown.is_past))
    yield line(f"{_node_words(found)}, {_queue_words(found)}")
    yield line(f"GPUs    {_states(totals.use.gpus)}")
    if totals.use.slices.total:
        yield line(f"Slices  {_states(totals.use.slices)}")
    yield line(f"UTIL    {_utilization(totals.use)}")
    yield line(f"Power   {_power(totals.use)}")
    if len(totals.by_partition) > 1:
        yield Text()
        yield _partition_table(totals.by_partition, width)
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


def _partition_table(groups: Sequence[Group], width: int) -> RenderableType:
    names = _device_columns(group.use for group in groups)
    columns = (Column("PARTITION"), Column("NODES", True, is_wide=True), *_heads(names), *PARTITION_COLUMNS)
    return table(columns, (_partition_row(group, names) for group in groups), width)


def _partition_row(group: Group, names: Sequence[str]) -> tuple[str, ...]:
    return (
        group.name,
        number(group.nodes),
        *_use_cells(group.use, names),
        number(group.queue.running),
        number(group.queue.pending),
    )


def _states(counts: Counts) -> str:
    """The states that some device has, in words."""
    found = [(getattr(counts, state.value), words) for state, words in STATES.items()]
    return ", ".join(f"{number(devices)} {words}" for devices, words in found if devices) or "none"


def _device_columns(uses: Iterable[Use]) -> list[str]:
    """The columns of devices that these rows need."""
    shown = list(uses)
    needed = {name for name in DEVICE_COLUMNS for use in shown if getattr(use.gpus, name) or getattr(use.slices, name)}
    return [name for name in DEVICE_COLUMNS if name in needed | ALWAYS]


def _heads(names: Iterable[str]) -> Iterator[Column]:
    yield from (Column(DEVICE_COLUMNS[name], True) for name in names)
    yield Column("UTIL", True)


def _use_cells(use: Use, names: Sequence[str]) -> tuple[str, ...]:
    """Devices by state and their mean utilization; MIG slices stand apart from GPUs: "32+34s", or "34s" alone."""
    if not use.gpus.total and not use.slices.total:
        return ("",) * (len(names) + 1)
    return (*(_devices_cell(use, name) for name in names), percent(use.utilization))


def _devices_cell(use: Use, name: str) -> str:
    slices = f"{number(getattr(use.slices, name))}s" if use.slices.total else ""
    gpus = number(getattr(use.gpus, name)) if use.gpus.total else ""
    return f"{gpus}+{slices}" if gpus and slices else gpus or slices


def _attention_lines(found: Iterable[Attention], most: int = 12) -> Iterator[RenderableType]:
    rows = list(found)
    if rows:
        yield Text()
    for row in rows[:most]:
        yield line(SIGNS[row.severity], (row.subject, "bold"), f"  {row.text}")
    if len(rows) > most:
        yield line(f"   and {count(len(rows) - most, 'further line')} (--json shows all)")


def source_lines(sources: Iterable[SourceState], unknown: Iterable[str], now: datetime) -> Iterator[RenderableType]:
    """Sources that do not answer, since when, rows that could not be read, and what the picture cannot know."""
    for source in sources:
        if source.condition in {SourceCondition.STALE, SourceCondition.DOWN}:
            since = f" since {clock(source.failing_since, UTC, now)} UTC" if source.failing_since else ""
            yield line(
                (f"{source.name} fails{since}: ", "bold red"), f"{source.error or 'no answer'}; {_left(source, now)}"
            )
        if source.broken_rows:
            rows = count(source.broken_rows, "row")
            yield line((f"{source.name}: ", "yellow"), f"{rows} could not be read: left out")
    for text in unknown:
        yield line(("Not known: ", "yellow"), text)


def _left(source: SourceState, now: datetime) -> str:
    if source.condition is SourceCondition.DOWN:
        return "nothing is left"
    age = f", {duration((now - source.last_success).total_seconds())} old," if source.last_success else ""
    return f"its last good answer{age} is shown"


def moment(time: datetime, zone: tzinfo, *, is_past: bool) -> str:
    """The time of a picture, with its zone."""
    return f"{'as it was' if is_past else 'as of'} {time.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def node_lines(found: NodeList, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """One line per node."""
    names = _device_columns(row.use for row in found.rows)
    columns = (Column("NODE"), Column("STATE"), *_heads(names), *NODE_COLUMNS)
    yield table(columns, (_node_row(row, names) for row in found.rows), width)
    yield line(f"{of(len(found.rows), found.total, 'node')}, {moment(found.time, zone, is_past=found.is_past)}")
    yield from source_lines(found.sources, found.unknown, found.time)


def _node_row(row: NodeRow, names: Sequence[str]) -> tuple[str, ...]:
    node, watts = row.node, row.use.power_watts
    cpus = "" if node.cpus is None else f"{'?' if node.allocated_cpus is None else node.allocated_cpus}/{node.cpus}"
    return (
        node.name,
        node.state.display,
        *_use_cells(row.use, names),
        number(row.running_jobs),
        cpus,
        "" if watts is None else f"{number(watts)} W",
        ", ".join(row.models),
        node.reason or "",
    )
