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
from data.words import count, number, percent
from settings import JudgementSettings

MOST_ROWS, MOST_COLUMNS, MOST_FACTS, MOST_TABLES = 8, 5, 12, 4
MOST_JSON, MOST_CARD = 12_000, 60_000
_FINDINGS = 3
_DEVICES, _POINTS = 4, 120
# Columns that say most of a row in the width of the panel, best first; others fill up what is left.
_LEADING = ("job_id", "job", "device", "node", "name", "user", "group", "key", "partition", "model", "metric", "title")

_COMPARED = ("job", "user", "state", "gpus", "elapsed_seconds", "wait_seconds")
_TELLING = (("wasted", "idle", "utilization", "wait", "free"), ("gpu", "device"))


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
    note = html.P("Too large for a card: more is in the result below.", className="fw-note fw-pad")
    short = [*_facts(_plain_of(result.value or {}), base), note, _below(result, base)]
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
    """Means over even steps, about _POINTS of them at most; None where there is no point."""
    if not device.times or step_seconds <= 0:
        return tuple(device.values)
    step = max(step_seconds, (device.times[-1] - device.times[0]) / _POINTS)
    bins: dict[int, list[float]] = {}
    for time, value in zip(device.times, device.values, strict=True):
        bins.setdefault(int(time / step), []).append(value)
    means = {at: sum(values) / len(values) for at, values in bins.items()}
    return tuple(means.get(at) for at in range(min(means), max(means) + 1))


def _value(value: Mapping[str, Any], base: str, tool: str) -> list[Component]:
    """Facts first, then the lists as tables; what is not shown here is in the result below."""
    drawn = _facts(_plain_of(value), base)
    if {"first", "second"} <= value.keys():
        return [*drawn, *_side_by_side(value, base)]
    tables = 0
    for key, one in value.items():
        rows = one.get("rows") if isinstance(one, Mapping) else one
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
            total = int(one.get("rows_total", len(rows))) if isinstance(one, Mapping) else len(rows)
            if key == "trend":
                drawn += _trend(rows)
            elif tables < MOST_TABLES:
                drawn += _table(key, [_flat(row) for row in rows], total, base)
                tables += 1
        elif isinstance(one, Mapping) and "rows" not in one:
            within = {name: part for name, part in _flat(one).items() if _is_plain(part)}
            drawn += [html.Div(_fact_name(key), className="fw-tool-title"), *_facts(within, base)] if within else []
    return drawn


def _plain_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """What is no list: texts that are there, and every number, also one that was not measured."""
    return {key: one for key, one in value.items() if _is_plain(one) or (one is None and name_of(key).is_number)}


def _side_by_side(value: Mapping[str, Any], base: str) -> list[Component]:
    """Two of a kind, and what differs between them where numbers do."""
    first, second = value["first"], value["second"]
    less = value.get("second_minus_first", {})
    keys = [key for key in first if key in _COMPARED or key in less]
    columns = [Column("", place="main"), Column("First", "", "", True), Column("Second", "", "", True),
               Column("Difference", "", "", True)]  # fmt: skip
    cells = [
        [_with_unit(key), shown(key, first.get(key), base), shown(key, second.get(key), base),
         shown(key, less[key], base) if key in less else ""]
        for key in keys
    ]  # fmt: skip
    return [data_table(columns, cells, caption="Side by side")]


def _with_unit(key: str) -> str:
    name = name_of(key)
    return f"{name.words}, {name.unit}" if name.unit else name.words


def _trend(rows: Sequence[Mapping[str, Any]]) -> list[Component]:
    """A line of what was wasted, one point for each step."""
    wasted = tuple(row.get("wasted_gpu_hours") for row in rows)
    if not any(_is_amount(one) for one in wasted):
        return []
    name = html.Span(f"Wasted, {count(len(rows), 'step')}", className="fw-note")
    line = html.Div([name, sparkline(Trend(wasted, "GPU-hours wasted"))], className="fw-tool-line")
    return [html.Div(line, className="fw-tool-lines")]


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the parts of what it holds beside its own."""
    flat: dict[str, Any] = {}
    for key, one in row.items():
        flat |= {f"{key}_{name}": part for name, part in one.items()} if isinstance(one, Mapping) else {key: one}
    return flat


def _facts(plain: Mapping[str, Any], base: str) -> list[Component]:
    facts = [(_fact_name(key), _fact(key, one, base)) for key, one in list(plain.items())[:MOST_FACTS]]
    return [facts_list(facts)] if facts else []


def _fact_name(key: str) -> str:
    return name_of(key).words


def _fact(key: str, value: Any, base: str) -> Any:
    if key.endswith("_ratio") and _is_amount(value):
        return percent(value)
    unit = name_of(key).unit
    drawn = shown(key, value, base)
    return [drawn, html.Span(f" {unit}", className="fw-unit")] if unit and value is not None else drawn


def _table(key: str, rows: Sequence[Mapping[str, Any]], total: int, base: str) -> list[Component]:
    keys = _columns(rows)
    name = name_of(key).words
    columns = [_column(one, rows, is_leading=one in keys[:1] or (one in _LEADING and one in keys[:2])) for one in keys]
    cells = [[shown(one, row.get(one), base) for one in keys] for row in rows[:MOST_ROWS]]
    part = f"{number(len(cells))} of {count(total, 'row')}" if total > len(cells) else count(total, "row")
    return [
        html.Div(name, className="fw-tool-title"),
        data_table(columns, cells, caption=name),
        html.Div(part, className="fw-tool-count"),
    ]


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that say most: names that tell the rows apart, then numbers; keys without any value are left out."""
    keys = [key for key in rows[0] if any(_is_plain(row.get(key)) for row in rows)]
    names = [key for key in _LEADING if key in keys]
    leading = (
        [names[0], *(key for key in names[1:] if len({str(row.get(key)) for row in rows}) > 1)][:2] if names else []
    )
    amounts = [key for key in keys if key not in leading and any(_is_amount(row.get(key)) for row in rows)]
    amounts.sort(key=_rank)
    rest = [key for key in keys if key not in leading and key not in amounts]
    chosen = {*leading, *amounts[: MOST_COLUMNS - len(leading)]}
    chosen.update(rest[: MOST_COLUMNS - len(chosen)])
    return [*leading, *(key for key in keys if key in chosen and key not in leading)]


def _rank(key: str) -> int:
    """What tells most of waste comes first, how much of it was measured last."""
    if "coverage" in key or "copy" in key:
        return len(_TELLING) + 1
    return next((place for place, words in enumerate(_TELLING) if any(word in key for word in words)), len(_TELLING))


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, Mapping | list) and value != ""


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _column(key: str, rows: Sequence[Mapping[str, Any]], *, is_leading: bool) -> Column:
    name = name_of(key)
    is_number = name.is_number or any(_is_amount(row.get(key)) for row in rows)
    place = "main" if is_leading else "value" if is_number else "minor"
    return Column(name.words, name.unit, "", is_number, place=place)
