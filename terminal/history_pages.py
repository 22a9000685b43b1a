"""Reports and digests as pages of their own: HTML that can be mailed (no script, nothing fetched), and plain text.

Every name is text: the templates escape all that they are given.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from data import words
from data.efficiency.hours import GpuHours
from data.queries.history import COLUMNS, GROUP_LABELS, Group, Report
from data.queries.history.digest import Digest
from data.queries.history.model import Trend
from terminal.history import cells, range_words, shown_columns, value_text

PARTS = (("used", "Used"), ("partly_used", "Partly used"), ("idle", "Idle"), ("not_measured", "Not measured"))
_WIDTH, _HEIGHT = 720, 140
MOST_ROWS = 500


@lru_cache(maxsize=1)
def _templates() -> Environment:
    folder = Path(__file__).with_name("templates")
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=select_autoescape(("html.j2",), default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": words.percent, "hours": words.gpu_hours, "number": words.number, "clean": words.clean}
    return made


def report_html(found: Report, trend: Trend, zone: tzinfo, made_at: datetime) -> str:
    """A report as one HTML file."""
    names = shown_columns(found.query.columns)
    rows = () if found.query.by is Group.NONE else found.rows[:MOST_ROWS]
    return (
        _templates()
        .get_template("report.html.j2")
        .render(
            title=f"GPU-hours by {GROUP_LABELS[found.query.by].lower()}",
            group=GROUP_LABELS[found.query.by],
            range=range_words(found, zone),
            columns=[COLUMNS[name] for name in names],
            rows=[((row.level or 1) - 1, row.label, cells(row, names, found.currency)) for row in rows],
            left_out=max(0, found.groups - len(rows)) if rows else 0,
            total=cells(found.total, names, found.currency),
            parts=parts_of(found.total.hours),
            bars=bars_of(trend),
            waits=[one for one in found.waits if one.jobs and one.size],
            duration=words.duration,
            notes=found.state.notes,
            made_at=made_at.astimezone(zone),
        )
    )


def digest_html(found: Digest, zone: tzinfo, made_at: datetime) -> str:
    return _templates().get_template("digest.html.j2").render(**_digest(found, zone, made_at))


def digest_text(found: Digest, zone: tzinfo, made_at: datetime) -> str:
    return _templates().get_template("digest.txt.j2").render(**_digest(found, zone, made_at))


def parts_of(hours: GpuHours) -> list[tuple[str, str, float, float]]:
    """The four parts of the allocated hours: class, name, hours, share (ratio)."""
    found = [(key, label, getattr(hours, key) or 0.0) for key, label in PARTS]
    whole = hours.allocated or 1.0
    return [(key, label, amount, amount / whole) for key, label, amount in found]


def bars_of(trend: Trend) -> dict[str, Any]:
    """The stacked bars of a curve, in the coordinates of an SVG."""
    most = max((hours.allocated for _, hours in trend.points), default=0.0) or 1.0
    step = _WIDTH / max(1, len(trend.points))
    bars = []
    for number, (moment, hours) in enumerate(trend.points):
        top = float(_HEIGHT)
        for key, label, amount, _ in parts_of(hours):
            height = amount / most * _HEIGHT
            top -= height
            if height > 0:
                title = f"{moment:%Y-%m-%d}: {label.lower()} {words.gpu_hours(amount)}"
                bars.append({"x": number * step, "y": top, "h": height, "kind": key, "title": title})
    return {"width": _WIDTH, "height": _HEIGHT, "step": step * 0.85, "bars": bars, "most": most}


def _digest(found: Digest, zone: tzinfo, made_at: datetime) -> dict[str, Any]:
    since, until = (moment.astimezone(zone) for moment in (found.query.since, found.query.until))
    return {
        "name": words.clean(found.name),
        "by": found.by.value,
        "range": f"{since:%Y-%m-%d} to {until:%Y-%m-%d %Z}",
        "values": found.total.values,
        "hours": found.total.hours,
        "parts": parts_of(found.total.hours),
        "bars": bars_of(found.trend),
        "standing": found.standing,
        "changes": found.changes,
        "members": [(one.name, one.hours, one.hours.utilization) for one in found.members[:20]],
        "text": value_text,
        "currency": found.currency,
        "made_at": made_at.astimezone(zone),
    }
