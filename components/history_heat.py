"""The heat map of GPU-hours over mean utilization and mean GPU memory used, and what a selection on it says."""

from __future__ import annotations

from collections.abc import Sequence

from components.history_address import HistoryAddress
from components.history_figures import STEPS, Figure, chosen_cells, doubling_step, range_of
from components.history_words import hours_words
from data.queries.history import Between, HeatCell, HeatMap, HistoryFilter, ReportRow
from data.words import THIN_SPACE, count, gpu_hours, number, percent

_LEAST_ROWS = 4
NO_BREAK = "\u202f"  # a number of a sentence stays on one line


def heat_figure(found: HeatMap, chosen: HistoryFilter, address: HistoryAddress) -> Figure:
    """Cells from the lowest utilization on, each with all memory; `chosen` is framed. The script adds up a brush."""
    columns, rows = _starts(found, "utilization"), _used(found, _starts(found, "gpu_memory_gib"))
    cells = {(cell.utilization.low or 0.0, cell.gpu_memory_gib.low or 0.0): cell for cell in found.cells}
    grid = [cells.get((column, row)) for column in columns for row in rows]
    most = max((cell.gpu_hours for cell in found.cells), default=0.0)
    return {
        "kind": "heat",
        "name": _name(found),
        "xs": [f"{column * 100:g}" for column in columns],
        "ys": [f"{row:g}" for row in rows],
        "steps": [doubling_step(cell.gpu_hours if cell else 0.0, most) for cell in grid],
        "hours": [round(cell.gpu_hours, 2) if cell else 0 for cell in grid],
        "jobs": [cell.jobs if cell else 0 for cell in grid],
        "total": round(found.gpu_hours, 2),
        "top": f"{number(most)} GPU-h",
        "low": f"{hours_words(most / 2 ** (STEPS - 1))}",
        "chosen": _chosen(columns, rows, chosen),
        "href": address.href(util=None, memory=None, limit=None),
        "table": _table(found, columns, rows, grid),
    }


def selection_words(chosen: HistoryFilter, selected: ReportRow | None, total: float) -> tuple[str, str] | None:
    """What the selection holds and where it lies; None without one."""
    sides = [
        text
        for text in (
            _side("UTIL", chosen.utilization, 100, "%"),
            _side("GPU MEM", chosen.gpu_memory_gib, 1, "GiB"),
        )
        if text
    ]
    if not sides:
        return None
    where = " and ".join(sides)
    if selected is None:
        return f"Jobs with {where}", ""
    hours, jobs = selected.value("gpu_hours_allocated") or 0.0, int(selected.value("jobs") or 0)
    share = f"{percent(hours / total)} of all: " if total > 0 else ""
    said = f"{share}{gpu_hours(hours)} in {count(jobs, 'job')}"
    return said.replace(THIN_SPACE, NO_BREAK), f"with {where}"


def _side(name: str, between: Between | None, scale: float, unit: str) -> str:
    if between is None:
        return ""
    scaled = Between(*(None if end is None else end * scale for end in (between.low, between.high)))
    return f"{name} {range_of(scaled, unit)}"


def _starts(found: HeatMap, side: str) -> tuple[float, ...]:
    """Where the cells of an axis begin; the last edge begins one only where cells are without end."""
    edges: tuple[float, ...] = getattr(found, f"{side}_edges")
    last = edges[-1] if edges else None
    is_open = any(getattr(cell, side).low == last for cell in found.cells)
    return edges if is_open else edges[:-1]


def _used(found: HeatMap, rows: Sequence[float]) -> Sequence[float]:
    """The rows up to the highest one with jobs: the largest GPU of a site decides how much memory there can be."""
    highest = max((cell.gpu_memory_gib.low or 0.0 for cell in found.cells), default=0.0)
    return [row for at, row in enumerate(rows) if row <= highest or at < _LEAST_ROWS]


def _chosen(columns: Sequence[float], rows: Sequence[float], chosen: HistoryFilter) -> list[int] | None:
    if chosen.utilization is None and chosen.gpu_memory_gib is None:
        return None
    across, up = chosen_cells(columns, chosen.utilization), chosen_cells(rows, chosen.gpu_memory_gib)
    return [across[0], up[0], across[1], up[1]] if across and up else None


def _name(found: HeatMap) -> str:
    top = max(found.cells, key=lambda cell: cell.gpu_hours, default=None)
    most = f"; most, {gpu_hours(top.gpu_hours)}, at {_where(top)}" if top and top.gpu_hours else ""
    return f"GPU-hours by mean UTIL and mean GPU memory of their job{most}"


def _where(cell: HeatCell) -> str:
    return f"{_side('UTIL', cell.utilization, 100, '%')} and {_side('GPU MEM', cell.gpu_memory_gib, 1, 'GiB')}"


def _table(
    found: HeatMap, columns: Sequence[float], rows: Sequence[float], grid: Sequence[HeatCell | None]
) -> dict[str, object]:
    total = found.gpu_hours
    texts = []
    for at, cell in enumerate(grid):
        column, row = columns[at // len(rows)], rows[at % len(rows)]
        hours = cell.gpu_hours if cell else 0.0
        texts.append(
            [
                range_of(Between(column * 100, _next(columns, column, 100, 100)), "%"),
                range_of(Between(row, _next(rows, row, 1, None)), "GiB"),
                hours_words(hours),
                percent(hours / total).removesuffix(" %") if total else "–",
                number(cell.jobs if cell else 0),
            ]
        )
    head = [["UTIL", ""], ["GPU MEM", ""], ["GPU-hours", "GPU-h"], ["Share", "%"], ["Jobs", ""]]
    return {"head": head, "rows": texts, "skip": [at for at, cell in enumerate(grid) if not (cell and cell.gpu_hours)]}


def _next(starts: Sequence[float], start: float, scale: float, last: float | None) -> float | None:
    place = starts.index(start) + 1
    return starts[place] * scale if place < len(starts) else last
