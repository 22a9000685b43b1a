"""A rule with another threshold, window or first step, and the forms that a curve is drawn over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from data.errors import BadRequest
from policy.rules import MINUTE, Rule, rule_of
from settings import RuleKind, RuleSettings

THRESHOLDS = (0.01, 0.03, 0.05, 0.07, 0.09, 0.15)
WINDOWS = (60.0, 120.0, 240.0, 480.0)
FIRST_STEPS = (15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is tried: `threshold` a ratio, the others minutes; None = as the rule has it."""

    threshold: float | None = None
    window_minutes: float | None = None
    first_step_minutes: float | None = None


def variant(rule: Rule, changes: Changes) -> Rule:
    """The rule with these changes; all later steps move with the first. Raises BadRequest that names the wrong one."""
    is_mean = rule.kind is RuleKind.MEAN
    given = {"threshold": changes.threshold, "window_minutes": changes.window_minutes}
    if not is_mean and any(value is not None for value in given.values()):
        raise BadRequest(f"the rule {rule.name} is of kind idle", hint="It has a first step, no threshold or window.")
    if is_mean and changes.first_step_minutes is not None:
        raise BadRequest(f"the rule {rule.name} is of kind mean", hint="Change its threshold or window.")
    changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if changes.first_step_minutes is not None:
        changed["steps"] = _moved(rule, changes.first_step_minutes)
    return _made(rule, changed)


def _moved(rule: Rule, first: float) -> list[dict[str, Any]]:
    steps = [step.model_dump() for step in rule.settings.steps]
    by = first - steps[0]["at_minutes"]
    return [{**step, "at_minutes": step["at_minutes"] + by} for step in steps]


def _made(rule: Rule, changed: Mapping[str, Any]) -> Rule:
    try:
        return rule_of(rule.name, RuleSettings.model_validate({**rule.settings.model_dump(), **changed}))
    except ValidationError as err:
        one = err.errors()[0]
        field = ".".join(str(part) for part in one["loc"])
        raise BadRequest(f"the rule {rule.name} cannot be so: {field} {one['msg']}".replace("  ", " ")) from err


def curve_of(rule: Rule) -> tuple[Rule, ...]:
    """The forms that show where a rule begins to hit, its own among them: by window and threshold, or first step."""
    if rule.kind is RuleKind.IDLE:
        own = rule.steps[0].at_seconds / MINUTE
        return tuple(variant(rule, Changes(first_step_minutes=first)) for first in sorted({*FIRST_STEPS, own}))
    window, threshold = rule.windows[0] / MINUTE, rule.settings.threshold or 0.0
    return tuple(
        variant(rule, Changes(one, minutes))
        for minutes in sorted({*WINDOWS, window})
        for one in sorted({*THRESHOLDS, threshold})
    )
