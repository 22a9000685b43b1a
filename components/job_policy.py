"""On a job's page: its verdict, where it stands on the ladder, and what comes next."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import moment, panel, unbroken
from components.policy_words import ladder, next_cell, status_cell, when_cell
from policy.model import JobVerdict
from policy.rules import Rule


def policy_panel(one: JobVerdict | None, rule: Rule | None, base: str) -> Component | None:
    """None for a job of which no verdict is known."""
    if one is None:
        return None
    verdict = one.verdict
    facts: list[tuple[str, Any]] = [("Rule", verdict.rule)]
    if verdict.since is not None:
        facts.append(("Low since", moment(verdict.since)))
    if verdict.next_action is not None:
        facts += [("Ladder", ladder(verdict, rule)), ("Next step", next_cell(verdict)), ("In", when_cell(one, rule))]
    rows = [html.Div([html.Dt(name), html.Dd(value)]) for name, value in facts]
    lead = html.P([status_cell(one.status), html.Span(unbroken(verdict.sentence))], className="fw-lead")
    link = dcc.Link("What it stands on", href=f"{base}policy?{urlencode({'job': one.job.display_id})}")
    return panel("Verdict", [html.Div([lead, html.Dl(rows, className="fw-list"), html.P(link)], className="fw-body")])
