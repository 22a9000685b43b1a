"""Verdicts in words and marks, the same on the Policy page, a job's page and the Overview."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon, until
from data.metrics.registry import METRICS
from data.words import duration, percent
from policy.model import JobVerdict, Status, Verdict
from policy.rules import Rule
from settings import RuleKind, RuleMode, StepAction

MARKS: dict[Status, tuple[str, str]] = {
    Status.LOW: ("waste", "waste"),
    Status.UNKNOWN: ("unknown", "none"),
    Status.CALCULATING: ("wait", "info"),
    Status.EXEMPT: ("shield", "info"),
    Status.OK: ("ok", "ok"),
}
WORDS = {
    Status.LOW: "Low",
    Status.UNKNOWN: "Unknown",
    Status.CALCULATING: "Calculating",
    Status.EXEMPT: "Exempt",
    Status.OK: "OK",
}
TABS = tuple(WORDS)
HELP = {
    Status.LOW: "Uses its GPUs less than the rule asks for.",
    Status.UNKNOWN: "Not judged: what was measured does not suffice or disagrees. Never acted on.",
    Status.CALCULATING: "Has not run long enough for the rule.",
    Status.EXEMPT: "An exemption holds; what was measured stands beside it.",
    Status.OK: "Uses its GPUs enough.",
}


def status_cell(status: Status) -> Component:
    """Mark and word of a verdict."""
    return html.Span([icon(*MARKS[status]), WORDS[status]], className="fw-marked", title=HELP[status])


def rule_words(rule: Rule) -> str:
    """ "idle: UTIL 0 for 45 min, acts"."""
    label, windows = METRICS[rule.metric].label, rule.windows
    if rule.kind is RuleKind.MEAN:
        said = f"mean {label} of {duration(windows[0])} below {percent(rule.settings.threshold)}"
    else:
        said = f"no {label} for {duration(windows[0])}"
    return f"{rule.name}: {said}, {'acts' if rule.acts else 'reports only'}"


def step_word(action: StepAction, number: int) -> str:
    """ "Warning 2" or "Cancel"."""
    return "Cancel" if action is StepAction.CANCEL else f"Warning {number}"


def ladder(verdict: Verdict, rule: Rule | None) -> Component:
    """The steps as circles, the cancel as a square: taken, next, later. A dash where no ladder counts."""
    if rule is None or not has_ladder(verdict, rule):
        return html.Span("–", title="No ladder counts here.", className="fw-no-ladder")
    taken = verdict.steps_taken
    marks = [_mark(step.action, number, taken, verdict) for number, step in enumerate(rule.steps)]
    after = following_step(verdict).lower()
    said = f"{taken} of {len(rule.steps)} steps taken, {f'next: {after}' if after else 'nothing follows'}"
    return html.Span(marks, className="fw-ladder", role="img", title=said, **{"aria-label": said})


def has_ladder(verdict: Verdict, rule: Rule) -> bool:
    """Whether the steps of the rule count for this verdict."""
    is_open = verdict.since is not None or verdict.next_action is not None
    return bool(rule.steps) and is_open and verdict.is_acted_on


def _mark(action: StepAction, number: int, taken: int, verdict: Verdict) -> Component:
    state = "taken" if number < taken else "next" if number == taken and verdict.next_action is not None else "later"
    shape = "cancel" if action is StepAction.CANCEL else "warn"
    return html.Span(className=f"fw-step fw-step-{shape} fw-step-{state}")


def following_step(verdict: Verdict) -> str:
    """What follows if the job stays low, as "Warning 2"; "" for nothing."""
    return "" if verdict.next_action is None else step_word(verdict.next_action, verdict.steps_taken + 1)


def next_cell(verdict: Verdict, *, is_suspended: bool = False) -> Any:
    """The next step of a low job, or why there is none; `is_suspended` = it was, which makes its window another one."""
    if verdict.status is Status.LOW:
        if verdict.next_action is StepAction.CANCEL:
            return html.Span([icon("bad", "bad"), "Cancel"], className="fw-marked fw-text-bad")
        return following_step(verdict) or ("Reports only" if verdict.mode is RuleMode.REPORT else "None left")
    if verdict.status is Status.OK:
        return html.Span("–", title=verdict.sentence)
    if verdict.status is Status.CALCULATING and not is_suspended:
        return html.Span("Window not full", className="fw-why", title=verdict.sentence)
    return html.Span(why_words(verdict), className="fw-why", title=verdict.sentence)


def why_words(verdict: Verdict) -> str:
    """The verdict's sentence without what its status says already."""
    said = verdict.sentence.removeprefix("Not judged: ").rstrip(".")
    return said[:1].upper() + said[1:]


def when_cell(one: JobVerdict, rule: Rule | None) -> Any:
    """How long until the next step, or until the rule can judge the job; it counts down in the browser."""
    verdict, now = one.verdict, one.time
    if verdict.status is Status.CALCULATING and rule is not None and not one.job.suspended_seconds:
        left = rule.needs_seconds - (one.job.elapsed_at(now) or 0.0)
        return html.Span(until(now + timedelta(seconds=left), now), className="fw-unit") if left > 0 else "–"
    if verdict.next_at is None or verdict.next_action is None:
        return "–"
    return "next run" if verdict.next_at <= now else until(verdict.next_at, now)


def rules_line(rules: Sequence[Rule]) -> str:
    """All rules in one line."""
    return "; ".join(rule_words(rule) for rule in rules)
