"""What detailed metrics show in the place of a table, or beside it: banners, empty states, columns not exported."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from components.elements import icon, panel_state, try_again
from components.findings import code_block
from components.metrics_answer import FILTERS, MetricsAnswer
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.errors import CannotKnow, FullwarpError
from data.queries.metrics import COLUMNS, MetricsTable
from data.queries.metrics.model import Origin


def banners(answer: MetricsAnswer) -> list[Component]:
    shown = answer.snapshot
    main = None
    if shown is not None:
        main = past_banner(shown, f"{answer.base}metrics") or sources_banner(shown, is_staff=answer.is_staff)
    return [part for part in (ignored_banner(answer.ignored), main) if part is not None]


def instead(answer: MetricsAnswer) -> Component | None:
    """What stands in the place of the table while there is none."""
    table, error = answer.table, answer.error
    day = html.Button("Show 24 h", type="button", className="fw-button", **{"data-metrics-period": "24h"})
    if isinstance(error, CannotKnow):
        lines = ["Up to 24 h of the last week come from the metrics server; more needs history.", _plain(error)]
        return panel_state("empty", "none", "No history for this range", lines, [day])
    if error is not None:
        said = [str(error), error.hint] if answer.is_staff else ["The source of these numbers does not answer."]
        return panel_state(
            "bad", "bad", "The metrics cannot be shown now", [line for line in said if line], [try_again()]
        )
    if table is not None and not table.rows:
        return _empty(answer)
    return None


def _plain_text(said: Sequence[str]) -> str:
    return " ".join(said).replace("`", "")


def _plain(error: FullwarpError) -> str:
    """What is wrong and what to do, without the marks of a terminal's text."""
    return f"{str(error)[:1].upper()}{str(error)[1:]}. {error.hint}".replace("`", "")


def _empty(answer: MetricsAnswer) -> Component:
    names = (*FILTERS, "application", "q", "finding")
    chosen = {key: answer.chosen[key] for key in names if answer.chosen.get(key)}
    if chosen:
        clear = html.Button("Clear all filters", type="button", className="fw-button", **{"data-metrics-clear": "1"})
        said = ", ".join(f"{key} “{value[:40]}”" for key, value in chosen.items())
        return panel_state("empty", "none", "Nothing matches", [f"No GPU job in this range has {said}."], [clear])
    if answer.table is not None and answer.table.origin is Origin.HISTORY and answer.table.unknown:
        return panel_state("empty", "none", "No history of this range", [_plain_text(answer.table.unknown)])
    whom = "on this cluster" if answer.is_staff else "among those that you may see"
    longer = html.Button("Show 24 h", type="button", className="fw-button", **{"data-metrics-period": "24h"})
    return panel_state("empty", "none", "No job used a GPU", [f"There was none {whom} in {answer.period}."], [longer])


def missing_columns(table: MetricsTable, is_staff: bool) -> Component | None:
    """Columns that nobody exports here, with the lines that mend it."""
    if not table.not_exported or not table.rows:
        return None
    names = ", ".join(COLUMNS[one.column].label for one in table.not_exported)
    said = [icon("none", "none"), html.Span([html.B(names), " not exported at this site: no exporter gives them."])]
    lines = list(dict.fromkeys(line for one in table.not_exported for line in one.lines))
    if not lines or not is_staff:
        return html.P([*said, html.Span(" Ask the staff to switch them on.")], className="fw-metrics-missing")
    comment = [line for line in lines if not line.startswith("  ")]
    wanted = [line.strip() for line in lines if line.startswith("  ")]
    body = [html.P(comment), *([code_block("counters file", wanted)] if wanted else [])]
    return html.Details(
        [html.Summary([*said, html.Span(" How to export them")]), *body], className="fw-metrics-missing"
    )


def remark(table: MetricsTable) -> list[Component]:
    if not table.unknown:
        return []
    return [html.P([icon("partial", "none"), " ".join(table.unknown)], className="fw-remark", role="status")]
