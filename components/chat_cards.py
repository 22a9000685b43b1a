"""What a tool answered, as a card: drawn by the parts that the pages are made of, with a link to the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from dash import html
from dash.development.base_component import Component

from chat.model import ToolResult
from components.chat_values import name_of, shown
from components.data_table import Column, data_table
from components.elements import facts_list, icon
from components.findings import finding_box
from components.job_charts import device_name
from components.job_meters import meters
from components.sparkline import Trend, sparkline
from data.metrics.registry import METRICS
from data.queries.job_report import JobAnswer
from data.queries.job_series import DeviceSeries, JobSeries
from data.words import count, number
from settings import JudgementSettings

MOST_ROWS, MOST_COLUMNS, MOST_FACTS = 8, 5, 12
MOST_JSON, MOST_CARD = 12_000, 60_000
_FINDINGS = 3
_DEVICES = 4
# Columns that say most of a row in the width of the panel, best first; others fill up what is left.
_LEADING = ("job_id", "job", "node", "name", "user", "group", "key", "partition", "model", "metric", "title")

_TELLING = ("wasted", "idle", "utilization", "wait", "free")


def running_card(tool: str, arguments: Mapping[str, Any]) -> Component:
    """A call that is under way."""
    parts = [icon("wait", "none"), *_called(tool, arguments), html.Span("running", className="fw-note fw-tool-time")]
    return html.Div(html.Div(parts, className="fw-tool-head"), className="fw-tool fw-tool-runs")


def card(result: ToolResult, base: str, limits: JudgementSettings, *, is_open: bool = True) -> Component:
    """A call that has ended; the card is at most about MOST_CARD bytes."""
    took = f"{number(result.seconds * 1000)} ms" if result.seconds < 1 else f"{number(result.seconds, 1)} s"
    mark = icon("bad", "bad", label="failed") if result.is_failed else icon("check", label="done")
    head = [mark, *_called(result.tool, result.arguments), html.Span(took, className="fw-note fw-tool-time")]
    body = _failure(result) if result.is_failed else _drawn(result, base, limits)
    classes = "fw-tool fw-tool-failed" if result.is_failed else "fw-tool"
    inside = [*body, _below(result, base)]
    made = html.Details([html.Summary(head, className="fw-tool-head"), *inside], open=is_open, className=classes)
    if len(as_json(made)) <= MOST_CARD:
        return made
    short = [html.P("This result is too large for a card.", className="fw-quiet"), _below(result, base)]
    return html.Details([html.Summary(head, className="fw-tool-head"), *short], open=is_open, className=classes)


def as_json(component: Any) -> bytes:
    """Components as JSON, in the form that Dash itself sends."""
    return orjson.dumps(component, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    return value.to_plotly_json() if isinstance(value, Component) else str(value)


def _called(tool: str, arguments: Mapping[str, Any]) -> list[Component]:
    said = ", ".join(_argument(key, value) for key, value in arguments.items() if value not in (None, "", [], {}))
    return [
        html.Code(tool[:80], className="fw-tool-name"),
        html.Span(html.Bdi(said[:300]), className="fw-note fw-tool-arguments", title=said[:300]),
    ]


def _argument(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key.replace("_", " ") if value else f"not {key.replace('_', ' ')}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _failure(result: ToolResult) -> list[Component]:
    hint = [html.P(result.hint, className="fw-note")] if result.hint else []
    return [html.Div([html.P(result.error), *hint], className="fw-tool-error")]


def _below(result: ToolResult, base: str) -> Component:
    """The page that shows the same, and the call as it was."""
    called = [html.Div("Arguments", className="fw-note"), _json(result.arguments)]
    answered = [] if result.is_failed else [html.Div("Result", className="fw-note"), _json(result.value)]
    raw = html.Details([html.Summary("Arguments and result"), *called, *answered], className="fw-tool-raw")
    page = html.A("Open the page", href=base + result.link.removeprefix("/")) if result.link else None
    return html.Div([page, raw] if page else [raw], className="fw-tool-foot")


def _json(value: Any) -> Component:
    text = orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    cut = text if len(text) <= MOST_JSON else f"{text[:MOST_JSON]}\n… cut after {number(MOST_JSON)} characters"
    return html.Pre(cut, className="fw-chat-code", tabIndex="0")


def _drawn(result: ToolResult, base: str, limits: JudgementSettings) -> list[Component]:
    if isinstance(result.answer, JobAnswer):
        return _job(result.answer, limits)
    drawn = _series(result.answer) if isinstance(result.answer, JobSeries) else []
    return [*drawn, *_value(result.value or {}, base, result.tool)]


def _job(answer: JobAnswer, limits: JudgementSettings) -> list[Component]:
    """The meters of the job's page, and the findings that cost most."""
    strip = meters(answer.report, limits)
    found = [finding_box(one) for one in answer.findings[:_FINDINGS]]
    more = len(answer.findings) - len(found)
    rest = [html.P(f"{count(more, 'more finding')} on the page", className="fw-note fw-pad")] if more > 0 else []
    return [*([strip] if strip is not None else []), *found, *rest]


def _series(answer: JobSeries) -> list[Component]:
    """A line for each of the first devices."""
    lines = []
    for one in answer.devices[:_DEVICES]:
        name = device_name(one.gpu, with_node=True)
        line = sparkline(Trend(_evenly(one, answer.step_seconds), f"{METRICS[one.metric].label} of {name}"))
        lines.append(html.Div([html.Span(name, className="fw-note"), line], className="fw-tool-line"))
    return [html.Div(lines, className="fw-tool-lines")] if lines else []


def _evenly(device: DeviceSeries, step_seconds: float) -> tuple[float | None, ...]:
    """The points at even steps; None where there is none."""
    if not device.times or step_seconds <= 0:
        return tuple(device.values)
    points = {round(time / step_seconds): value for time, value in zip(device.times, device.values, strict=True)}
    return tuple(points.get(at) for at in range(min(points), max(points) + 1))


def _value(value: Mapping[str, Any], base: str, tool: str) -> list[Component]:
    """Facts first, then the lists as tables; what is not shown here is in the result below."""
    plain = {key: one for key, one in value.items() if _is_plain(one) or (one is None and name_of(key).is_number)}
    facts = [(_fact_name(key), _fact(key, one, base)) for key, one in list(plain.items())[:MOST_FACTS]]
    drawn: list[Component] = [facts_list(facts)] if facts else []
    for key, one in value.items():
        rows = one.get("rows") if isinstance(one, Mapping) else one
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
            total = int(one.get("rows_total", len(rows))) if isinstance(one, Mapping) else len(rows)
            drawn += _table(key, rows, total, base)
        elif isinstance(rows, list) and rows and key in ("excerpts", "says", "lines", "advice", "steps"):
            drawn.append(html.Ul([html.Li(str(row)) for row in rows[:MOST_ROWS]], className="fw-tool-list"))
    return drawn


def _fact_name(key: str) -> str:
    return name_of(key).words


def _fact(key: str, value: Any, base: str) -> Any:
    name = name_of(key)
    return [shown(key, value, base), html.Span(f" {name.unit}", className="fw-unit")] if name.unit else shown(
        key, value, base
    )  # fmt: skip


def _table(key: str, rows: Sequence[Mapping[str, Any]], total: int, base: str) -> list[Component]:
    keys = _columns(rows)
    name = name_of(key).words
    columns = [_column(one, rows) for one in keys]
    cells = [[shown(one, row.get(one), base) for one in keys] for row in rows[:MOST_ROWS]]
    part = f"{number(len(cells))} of {count(total, 'row')}" if total > len(cells) else count(total, "row")
    return [
        html.Div(name, className="fw-tool-title"),
        data_table(columns, cells, caption=name),
        html.Div(part, className="fw-tool-count"),
    ]


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that say most: names first, then numbers in their order; keys without any value are left out."""
    keys = [key for key in rows[0] if any(_is_plain(row.get(key)) for row in rows)]
    leading = [key for key in _LEADING if key in keys][:2]
    amounts = [key for key in keys if key not in leading and any(_is_amount(row.get(key)) for row in rows)]
    amounts.sort(key=lambda key: not any(word in key for word in _TELLING))
    rest = [key for key in keys if key not in leading and key not in amounts]
    chosen = {*leading, *amounts[: MOST_COLUMNS - len(leading)]}
    chosen.update(rest[: MOST_COLUMNS - len(chosen)])
    return [*leading, *(key for key in keys if key in chosen and key not in leading)]


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, Mapping | list) and value != ""


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _column(key: str, rows: Sequence[Mapping[str, Any]]) -> Column:
    name = name_of(key)
    is_number = name.is_number or any(_is_amount(row.get(key)) for row in rows)
    place = "main" if key in _LEADING else "value" if is_number else "minor"
    return Column(name.words, name.unit, "", is_number, place=place)
