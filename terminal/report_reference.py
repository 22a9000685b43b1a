"""The page about the columns of a report, made from their table."""

from __future__ import annotations

from data.queries.history.groups import COLUMNS, DEFAULT_COLUMNS, GROUP_LABELS


def reports_page() -> str:
    """docs/reference/reports.md: every group and every column with its unit, meaning and coverage."""
    lines = [
        "# Columns of a report\n",
        "Of `fullwarp report`, its files and the pages of history. Ratios are 0..1 in files and JSON, percent on "
        "screen; null and empty are not measured, never 0. Allocated = used + partly used + idle + not measured.\n",
        "Groups: " + ", ".join(f"`{group.value}` ({label})" for group, label in GROUP_LABELS.items()) + ".\n",
        "| name | on screen | unit | usual | meaning | rests on |\n|---|---|---|---|---|---|",
    ]
    for row in COLUMNS.values():
        usual = "yes" if row.name in DEFAULT_COLUMNS else ""
        rests = f"`{row.coverage}`" if row.coverage else ""
        lines.append(f"| `{row.name}` | {row.label} | {row.unit or 'count'} | {usual} | {row.help} | {rests} |")
    return "\n".join(lines) + "\n"
