"""`fullwarp job ID` on screen: what the job was given, what it used, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from data.efficiency import Judgement, Level, Share
from data.findings import Finding, Severity
from data.queries.job_report import JobAnswer
from data.report import GpuUse, JobReport, NodeUse, UseSource
from data.words import clean, clock, count, duration, gib_of, gpu_hours, number, of, percent
from terminal.tables import Column, bar, cell, line, table

STYLES = {Level.GOOD: "green", Level.LOW: "yellow", Level.BAD: "red", Level.NOT_JUDGED: ""}
SIGNS = {Severity.BROKEN: ("!!", "bold red"), Severity.WASTE: ("! ", "yellow"), Severity.NOTE: ("- ", "cyan")}
DETAILS = ("sm_activity", "sm_occupancy", "tensor_activity", "dram_activity")
NODE_COLUMNS = (
    Column("NODE"),
    Column("GPUS", True),
    Column("GPU UTIL", True),
    Column("GPU MEM", True),
    Column("CPU", True),
    Column("CPU MEM", True),
)
GPU_COLUMNS = (
    Column("GPU"),
    Column("UTIL", True),
    Column("IDLE", True),
    Column("SM", True),
    Column("OCC", True),
    Column("TENSOR", True),
    Column("DRAM", True),
    Column("GPU MEM", True),
    Column("W", True),
    Column("MODEL", is_wide=True),
    Column("NOTE", is_wide=True),
)


def report_lines(answer: JobAnswer, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """The whole report; a het job part by part, with the findings of all at the end."""
    report = answer.report
    for part in report.components or (report,):
        yield from _head(part, zone)
        yield from _meters(part)
        yield from _tables(part, width)
        yield from _remarks(part)
    for text in answer.unknown:
        yield line(("Not known: ", "yellow"), text)
    if answer.attempts:
        yield line(f"{count(len(answer.attempts), 'earlier attempt')} of this job, not shown.")
    if report.job.start_time is not None:
        yield Text()
        yield from finding_lines(answer.findings)


def _head(report: JobReport, zone: tzinfo) -> Iterator[Text]:
    job = report.job
    ended = f", ended {clock(job.end_time, zone, report.at)}" if job.end_time else ""
    code = f" (exit {job.exit_code.code})" if job.exit_code and job.exit_code.code else ""
    yield line((f"Job {job.display_id}", "bold"), f"  {job.name}  ", (job.state + code, "bold"))
    owner = [job.user or "user not told", f"account {job.account or '?'}", f"partition {job.partition}"]
    yield line(", ".join([*owner, *([f"QOS {job.qos}"] if job.qos else [])]))
    yield line(_given(report))
    if job.start_time is None:
        reason = f": {job.reason}" if job.reason else ""
        yield line(f"waiting since {clock(job.submit_time, zone, report.at)}{reason}")
        return
    yield line(f"started {clock(job.start_time, zone, report.at)}{ended}, ran {duration(report.elapsed_seconds)}")


def _given(report: JobReport) -> str:
    job = report.job
    held = job.requested.gpus if job.start_time is None else report.gpu_count
    gpus = "GPU count not known" if held is None else count(held, "GPU")
    cpus = job.allocated.cpus or job.requested.cpus
    nodes = len(job.nodes) or job.requested.nodes
    parts = [count(nodes, "node") if nodes else "", gpus, count(cpus, "core") if cpus else ""]
    return ", ".join([part for part in parts if part] + [f"time limit {duration(job.time_limit_seconds)}"])


def _meters(report: JobReport) -> Iterator[Text]:
    if report.job.start_time is None:
        return
    yield Text()
    judged = report.judgements
    if report.gpu_count != 0:
        gpus = of(report.utilization.measured, report.utilization.total, "GPU")
        yield _meter("GPU utilization", report.utilization.value, gpus, judged.get("gpu"))
        yield _meter("GPU memory", report.gpu_memory.value, _of_bytes(report.gpu_memory), judged.get("gpu_memory"))
    yield _meter("CPU utilization", report.cpu.value, _cpu_words(report), judged.get("cpu"))
    yield _meter("CPU memory", report.memory.value, _of_bytes(report.memory), judged.get("memory"))
    limit = f"{duration(report.time.used)} of {duration(report.job.time_limit_seconds)}"
    yield _meter("Time limit", report.time.value, limit, judged.get("time"))
    if report.hours is not None and report.gpu_count != 0:
        used, idle = gpu_hours(report.hours.used), gpu_hours(report.hours.idle)
        yield line(f"{'GPU-hours':<16}{gpu_hours(report.hours.allocated)} allocated: {used} used, {idle} idle")


def _meter(name: str, value: float | None, words: str, judgement: Judgement | None) -> Text:
    level = judgement.level if judgement else Level.NOT_JUDGED
    meter = bar(value, STYLES[level])
    shown = f" {cell(percent(value)):>8}  {clean(words)}"
    return Text.assemble(f"{name:<16}", meter, shown, _verdict(judgement, value))


def _verdict(judgement: Judgement | None, value: float | None) -> tuple[str, str]:
    if judgement is None or value is None or judgement.level is Level.GOOD:
        return ("", "")
    if judgement.level is Level.NOT_JUDGED:
        return (f"  ({judgement.reason})" if judgement.reason else "", "")
    return ("  very low" if judgement.level is Level.BAD else "  low", STYLES[judgement.level])


def _cpu_words(report: JobReport) -> str:
    cores, seconds = report.job.allocated.cpus, report.elapsed_seconds
    if not cores or not seconds or report.cpu.used is None:
        return "not measured" if report.cpu.used is None else ""
    return f"{number(report.cpu.used / seconds, 1)} of {count(cores, 'core')} busy"


def _of_bytes(part: Share) -> str:
    return gib_of(part.used, part.given)


def _tables(report: JobReport, width: int) -> Iterator[RenderableType]:
    if len(report.nodes) > 1:
        yield Text()
        yield table(NODE_COLUMNS, (_node_row(node) for node in report.nodes), width)
    if report.gpus:
        yield Text()
        yield table(GPU_COLUMNS, (_gpu_row(gpu) for gpu in report.gpus), width)


def _node_row(node: NodeUse) -> tuple[str, ...]:
    gpus = "" if node.gpu_count is None else str(node.gpu_count)
    values = (node.utilization.value, node.gpu_memory.value, node.cpu.value, node.memory.value)
    return (node.node, gpus, *(percent(value) for value in values))


def _gpu_row(gpu: GpuUse) -> tuple[str, ...]:
    power = gpu.mean("power_watts")
    return (
        gpu.label,
        percent(gpu.utilization),
        percent(gpu.idle_share),
        *(percent(gpu.mean(name)) for name in DETAILS),
        percent(gpu.memory.value),
        number(power),
        gpu.model_name or "",
        ", ".join(_gpu_notes(gpu)),
    )


def _gpu_notes(gpu: GpuUse) -> Iterator[str]:
    if gpu.is_shared:
        yield "shared"
    if not gpu.is_allocated:
        yield "not allocated to this job"
    if gpu.utilization_metric == "graphics_engine_activity":
        yield "UTIL is GR"


def _remarks(report: JobReport) -> Iterator[Text]:
    if report.faults or report.notes or report.job.end_time is not None:
        yield Text()
    sources = {report.gpu_source, report.host_source} - {UseSource.NONE}
    if sources and report.job.end_time is not None:
        yield line(f"Measured by: {', '.join(sorted(sources))}")
    for fault in report.faults:
        yield line(("Not to be trusted: ", "bold red"), fault)
    for note in report.notes:
        yield line(f"Note: {note}")


def finding_lines(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """What is wrong and which lines of the job script to change."""
    if not findings:
        yield line("Nothing found to change.")
    for finding in findings:
        sign, style = SIGNS[finding.severity]
        cost = "" if finding.gpu_hours is None else f"  ({gpu_hours(finding.gpu_hours)} so far)"
        yield line((sign, style), (finding.title, "bold"), cost)
        for words in (finding.evidence, finding.advice):
            yield Padding(line(words), (0, 0, 0, 2), expand=False)
        for changed in finding.sbatch:
            yield Padding(line((changed, "red" if changed.startswith("- ") else "green")), (0, 0, 0, 4), expand=False)
