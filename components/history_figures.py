"""Figures of history as data for the script that draws them: marks in order, and for each its row of the table.

Every figure has `kind`, `name` (a sentence), and `table` with `head` ([[label, unit], ...]) and `rows`
(texts). Row i of the table is mark i of the figure: the card under the pointer and the "table" twin read the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any

from components.history_address import HistoryAddress
from components.history_words import WEEKDAYS, day_words, hours_words
from data.efficiency.hours import NO_HOURS, GpuHours
from data.queries.history import Between, HoursByUtilization, Trend, WeekHours
from data.words import gpu_hours, number, percent

Figure = dict[str, Any]
PARTS = ("used", "wasted", "idle", "none")
PART_WORDS = ("Used", "Partly used", "Idle", "Not measured")
STEPS = 9
_HOUR_HEAD = [[word, "GPU-h"] for word in PART_WORDS]


def parts_of(hours: GpuHours) -> tuple[float | None, ...]:
    """The four parts of every stack; None = not known."""
    return hours.used, hours.partly_used, hours.idle, hours.not_measured


def trend_figure(trend: Trend, since: datetime, until: datetime, address: HistoryAddress, zone: tzinfo) -> Figure:
    """A stack for each day or week. One that the range cuts is named so; a click narrows the range to it."""
    length = timedelta(days=7 if trend.step == "week" else 1)
    marks, rows = [], []
    for moment, hours in trend.points:
        begin = moment.astimezone(zone)
        end = (begin + length).replace(hour=0, minute=0)
        is_cut = begin < since or end > until
        word = f"{'from ' if trend.step == 'week' else ''}{begin:%A} {day_words(begin)} {begin.year}"
        rows.append([f"{word} (part)" if is_cut else word, *_amounts(hours)])
        span = {"since": f"{begin:%Y-%m-%d}", "until": f"{end:%Y-%m-%d}"}
        marks.append(
            {
                "x": day_words(begin),
                "v": [round(part or 0.0, 2) for part in parts_of(hours)],
                "href": address.href(**span, util=None, memory=None),
            }
        )
    name = f"GPU-hours per {trend.step}, {len(rows)} {trend.step}s, {gpu_hours(trend.total.allocated)} in all"
    head = [[trend.step.capitalize(), ""], ["Allocated", "GPU-h"], *_HOUR_HEAD, ["UTIL", "%"]]
    return {"kind": "stack", "name": name, "marks": marks, "table": {"head": head, "rows": rows}}


def bins_figure(found: HoursByUtilization, address: HistoryAddress) -> Figure:
    """GPU-hours by mean utilization, and what was not measured beside them; a click keeps the jobs of one bar."""
    total = sum(one.gpu_hours for one in found.bins) + found.not_measured
    marks, rows = [], []
    for one in found.bins:
        low, high = f"{one.low * 100:g}", f"{one.high * 100:g}"
        marks.append(
            {
                "x": low,
                "v": round(one.gpu_hours, 2),
                "href": address.href(util=f"{low}-{_open(one.high, 1.0)}", memory=None, limit=None),
            }
        )
        rows.append([f"{low}–{high} %", hours_words(one.gpu_hours), _share(one.gpu_hours, total), number(one.jobs)])
    marks.append({"x": "?", "v": round(found.not_measured, 2), "none": True})
    rows.append(["Not measured", hours_words(found.not_measured), _share(found.not_measured, total), "–"])
    top = max(found.bins, key=lambda one: one.gpu_hours, default=None)
    most = f", most at {top.low * 100:g} to {top.high * 100:g} %" if top and top.gpu_hours else ""
    head = [["UTIL", ""], ["GPU-hours", "GPU-h"], ["Share", "%"], ["Jobs", ""]]
    name = f"GPU-hours by the mean UTIL of their job{most}"
    return {"kind": "bins", "name": name, "marks": marks, "table": {"head": head, "rows": rows}}


def week_figure(found: WeekHours) -> Figure:
    """Weekday x hour: GPUs allocated on average, and how they were used; the script shows one of the three."""
    spans = [(day, hour) for day in range(7) for hour in range(24)]
    hours = [found.hours.get(span, NO_HOURS) for span in spans]
    known = [found.spans.get(span, 0) for span in spans]
    gpus = [one.allocated / count if count else None for one, count in zip(hours, known, strict=True)]
    used = [_ratio(one.used, one.measured) for one in hours]
    idle = [_ratio(one.idle, one.idle_measured) for one in hours]
    most = max((one for one in gpus if one is not None), default=0.0)
    rows = [
        [f"{WEEKDAYS[day]} {hour:02}:00", _text(gpus[at], 1), _points(used[at]), _points(idle[at]), number(known[at])]
        for at, (day, hour) in enumerate(spans)
    ]
    views = {
        "allocated": {"ramp": "mag", "steps": [_step(value, most) for value in gpus], "top": f"{number(most)} GPUs"},
        "used": {"ramp": "seq", "steps": [_step(value, 1.0) for value in used], "top": "100 %"},
        "idle": {"ramp": "seq", "steps": [_step(value, 1.0) for value in idle], "top": "100 %"},
    }
    head = [["Hour", ""], ["Allocated", "GPUs"], ["UTIL", "%"], ["Idle", "% of measured"], ["Times", "in the range"]]
    name = "GPUs allocated on average by weekday and hour, and how they were used"
    days = [day[:3] for day in WEEKDAYS]
    return {"kind": "week", "name": name, "days": days, "views": views, "table": {"head": head, "rows": rows}}


def range_of(text: Between, unit: str) -> str:
    """ "0–20 %", "40 GiB and more"."""
    low = text.low or 0.0
    if text.high is None:
        return f"{low:g} {unit} and more"
    return f"{low:g}–{text.high:g} {unit}"


def doubling_step(value: float, most: float) -> int:
    """The step of the ramp, 1 to 9, of which each stands for twice as much as the one before; 0 = nothing.

    GPU-hours gather in few cells: on even steps, all others would look alike.
    """
    if value <= 0 or most <= 0:
        return 0
    return max(1, STEPS + math.ceil(math.log2(min(1.0, value / most)) - 1e-9))


def _step(value: float | None, most: float) -> int | None:
    """The even step of the ramp, 1 to 9; 0 = nothing, None = not known."""
    if value is None:
        return None
    if value <= 0 or most <= 0:
        return 0
    return min(STEPS, int(value / most * STEPS) + 1)


def _amounts(hours: GpuHours) -> list[str]:
    used, partly, idle, none = parts_of(hours)
    util = _ratio(hours.used, hours.measured)
    texts = [_hours_text(part, hours) for part in (used, partly, idle)]
    return [hours_words(hours.allocated), *texts, hours_words(none), _points(util)]


def _hours_text(part: float | None, hours: GpuHours) -> str:
    """Without any GPU-hour there is nothing that could have been measured."""
    return hours_words(0.0 if not hours.allocated else part) if part is not None or not hours.allocated else "–"


def _open(high: float, top: float) -> str:
    """The last bar has no upper end: a mean of exactly 100 % is in it."""
    return "" if high >= top else f"{high * 100:g}"


def _ratio(part: float | None, whole: float) -> float | None:
    return None if part is None or whole <= 0 else part / whole


def _share(part: float, whole: float) -> str:
    return percent(part / whole).removesuffix(" %") if whole > 0 else "–"


def _points(ratio: float | None) -> str:
    return "–" if ratio is None else number(ratio * 100, 1)


def _text(value: float | None, decimals: int) -> str:
    return "–" if value is None else number(value, decimals)


def chosen_cells(edges: Sequence[float], chosen: Between | None) -> tuple[int, int] | None:
    """First and last cell of an axis that lie in what is chosen; None where none does."""
    low = (chosen.low if chosen else None) or 0.0
    high = chosen.high if chosen else None
    inside = [at for at, edge in enumerate(edges) if edge >= low - 1e-9 and (high is None or edge < high - 1e-9)]
    return (inside[0], inside[-1]) if inside else None
