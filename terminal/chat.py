"""A turn of the assistant on screen: each result by the lines of its own command, the text as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from rich.console import RenderableType

from chat.model import CallEnded, Ended, Event, Failed, ToolResult
from data.queries.job_list import JobList
from data.queries.jobs import JobPage, JobRow
from data.words import clean
from terminal import efficiency, history, jobs, metrics, report, status
from terminal.chat_values import value_lines
from terminal.tables import line

Lines = Iterator[RenderableType]
MOST_ROWS = 20


def card_lines(result: ToolResult, zone: tzinfo, width: int) -> Lines:
    """What a tool was asked and what it answered; of a failed one why not."""
    said = ", ".join(f"{name}={value}" for name, value in result.arguments.items() if value not in (None, ""))
    yield line((f"{result.tool}({said})", "bold"))
    if result.value is None:
        yield line(("Failed: ", "red"), result.error)
        return
    own = _OWN.get(result.tool)
    yield from value_lines(result.value, width) if own is None else own(result.answer, zone, width)


def plain(text: str) -> str:
    """Text of a model or a tool without what a terminal could take for a command."""
    return "\n".join(clean(part) for part in text.replace("\r\n", "\n").split("\n"))


def closing_lines(ended: Ended) -> Lines:
    """What a reader must know of the answer, and what to ask next."""
    if ended.is_cut:
        yield line(("The answer was cut off before its end.", "yellow"))
    if ended.untraced:
        yield line(("Not traced to any result: ", "yellow"), " / ".join(_spans(ended)))
    if ended.suggestions:
        yield line("Next: ", ("  ".join(ended.suggestions), "dim"))


def _spans(ended: Ended) -> Sequence[str]:
    return [" ".join(ended.text[start:end].split()) for start, end in ended.untraced]


def answer_of(question: str, events: Sequence[Event]) -> dict[str, Any]:
    """A whole turn as JSON: text, results with their values, and what was not traced."""
    last = events[-1]
    ended = last if isinstance(last, Ended) else Ended("")
    return {
        "question": question,
        "text": ended.text,
        "results": [_result(event.result) for event in events if isinstance(event, CallEnded)],
        "not_traced": list(_spans(ended)),
        "is_cut": ended.is_cut,
        "suggestions": list(ended.suggestions),
        "error": {"code": last.code, "message": last.message, "hint": last.hint} if isinstance(last, Failed) else None,
    }


def _result(result: ToolResult) -> dict[str, Any]:
    return {
        "tool": result.tool,
        "arguments": dict(result.arguments),
        "seconds": result.seconds,
        "value": result.value,
        "page": result.link,
        "error": result.error,
        "hint": result.hint,
    }


def _jobs(answer: Any, zone: tzinfo, width: int) -> Lines:
    if isinstance(answer, JobList):
        shown = answer.snapshot
        rows = tuple(row for row in answer.rows if isinstance(row, JobRow))
        if len(rows) < len(answer.rows):
            yield from _finished(answer, width)
            return
        page = JobPage(shown.time, rows, answer.total, 0, shown.sources, answer.unknown, shown.is_past)
        yield from jobs.job_lines(page, zone, width)
        return
    yield from jobs.row_lines(answer[:MOST_ROWS], width)


def _finished(answer: JobList, width: int) -> Lines:
    from chat.tools.answer import listed
    from chat.tools.forms import job_row

    yield from value_lines({"jobs": listed(answer.rows, job_row, MOST_ROWS, answer.total)}, width)


def _reports(answer: Any, zone: tzinfo, width: int) -> Lines:
    yield from history.report_lines(answer, zone, width, MOST_ROWS)


def _compared(answer: Any, zone: tzinfo, width: int) -> Lines:
    for one in answer:
        yield from report.report_lines(one, zone, width)


_OWN: Mapping[str, Callable[[Any, tzinfo, int], Lines]] = {
    "cluster_status": status.status_lines,
    "find_nodes": status.node_lines,
    "find_jobs": _jobs,
    "job_report": report.report_lines,
    "why_pending": lambda answer, zone, _: jobs.waiting_lines(answer, zone),
    "compare_jobs": _compared,
    "policy_verdict": efficiency.job_lines,
    "policy_verdicts": efficiency.list_lines,
    "efficiency_report": _reports,
    "waste_ranking": _reports,
    "wait_by_gpu_count": _reports,
    "detailed_metrics": lambda answer, zone, width: metrics.metric_lines(answer, zone, width, MOST_ROWS),
}
