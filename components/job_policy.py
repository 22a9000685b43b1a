"""On a job's page: its verdict, where it stands on the ladder, what comes next and what ends it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import banner, moment, panel, unbroken, until
from components.policy_words import following_step, has_ladder, ladder, next_cell, status_cell, when_cell
from policy.model import JobVerdict, Status
from policy.notice_values import relief
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
    link = html.P(_evidence_link(one, base))
    return panel("Verdict", [html.Div([lead, html.Dl(rows, className="fw-list"), link], className="fw-body")])


def low_banner(one: JobVerdict | None, rule: Rule | None, base: str) -> Component | None:
    """What a low job faces: why, since when, the next step, and what ends it; None for any other verdict."""
    if one is None or rule is None or one.status is not Status.LOW:
        return None
    verdict = one.verdict
    since = [", since ", moment(verdict.since)] if verdict.since is not None else []
    lines = [html.Span([f"By the rule {verdict.rule}", *since, "."]), html.Span(_following(one, rule))]
    steps = [ladder(verdict, rule)] if has_ladder(verdict, rule) else []
    more = html.Div([*steps, _evidence_link(one, base, "fw-button")], className="fw-banner-more")
    return banner("waste", "waste", f"Low use. {unbroken(verdict.sentence)}", lines, more)


def _following(one: JobVerdict, rule: Rule) -> list[Any]:
    verdict, step = one.verdict, following_step(one.verdict)
    if not step or verdict.next_at is None or not verdict.is_acted_on:
        return ["Nothing follows from it."]
    when = ["with the next run"] if verdict.next_at <= one.time else ["in ", until(verdict.next_at, one.time)]
    return [f"{step} ", *when, f" if it stays so; it ends {unbroken(relief(rule))}."]


def _evidence_link(one: JobVerdict, base: str, looks: str = "") -> Component:
    href = f"{base}policy?{urlencode({'job': one.job.display_id})}"
    return dcc.Link("What it stands on", href=href, className=looks or None)
