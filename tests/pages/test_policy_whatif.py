"""The panel What if: closed until a rule is chosen, one rule's answer with its curve, and what is wrong in words."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from components.policy_address import PolicyAddress
from components.policy_curve import rounded_up
from data.model import Role, Viewer
from data.sources import Sources
from pages._policy_address import parse_policy_address
from pages._policy_whatif import policy_whatif
from settings import SubmissionSettings
from tests.components.test_history_parts import links
from tests.components.test_node_parts import text_of
from tests.policy.test_whatif_history import ran
from tests.queries.history.attempts import at, sources_of, write

STAFF = Viewer("root", Role.STAFF)
NOW = at(240) + timedelta(minutes=20)


@pytest.fixture
def past(tmp_path: Path) -> Sources:
    attempts = [
        ran(1, [0] * 60, user="ann"),
        ran(2, [0] * 24 + [80] * 12, gpus=4, user="bob"),
        ran(3, [7] * 96, user="carl"),
    ]
    limits = SubmissionSettings(limits={"*": {"max_cores_per_gpu": 4}})
    return sources_of(write(tmp_path, attempts), NOW, submission=limits)


def asked(**query: str) -> PolicyAddress:
    return parse_policy_address(query, NOW, "UTC", "/policy").address


def shown(sources: Sources, viewer: Viewer = STAFF, **query: str) -> Any:
    (panel,) = policy_whatif(viewer, sources, asked(**query), "/")
    return panel


def test_nothing_is_read_before_a_rule_is_chosen() -> None:
    panel = shown(sources_of(None))
    assert links(panel) == ["/policy?whatif=low-mean", "/policy?whatif=idle"]


def test_it_is_for_staff_and_of_now(past: Sources) -> None:
    assert policy_whatif(Viewer("ann", Role.USER), past, asked(whatif="idle"), "/") == []
    assert policy_whatif(STAFF, past, asked(whatif="idle", at="2026-03-05T10:00"), "/") == []


def test_a_rules_answer_has_its_numbers_users_and_false_alarms(past: Sources) -> None:
    panel = shown(past, whatif="idle")
    text = text_of(panel)
    assert "Idle for 45 min  would have warned 2 jobs of 2 users and cancelled 2 jobs of 2 users;" in text
    assert "1 job became busy later." in text
    assert "False alarms (15 % or more in a later step) 1 job of 1 user" in text
    assert "would have refused 3 jobs of 3 users" in text
    assert "/jobs/2" in " ".join(links(panel))
    assert "carl" not in text


def test_the_curve_leads_to_each_form_and_marks_the_one_that_is_shown(past: Sources) -> None:
    panel = shown(past, whatif="low-mean", curve="yes", form="0.09/240")
    forms = [part for part in panel._traverse() if getattr(part, "href", None) and "form=" in part.href]
    assert [part.children for part in forms if getattr(part, "aria-current", None)] == ["4 h", "Mean of 4 h below 9 %"]
    assert "/policy?whatif=low-mean&form=0.05%2F240&curve=yes" in [part.href for part in forms]
    assert "warned 2 jobs of 2 users and cancelled 1 job of 1 user;" in text_of(panel)
    assert "warned 1 job of 1 user and cancelled 0 jobs of 0 users;" in text_of(shown(past, whatif="low-mean"))


def test_the_curve_is_drawn_over_the_thresholds_of_the_window_that_is_shown(past: Sources) -> None:
    panel = shown(past, whatif="low-mean", curve="yes", form="0.09/240")
    plots = [part for part in panel._traverse() if getattr(part, "className", "") == "fw-curve-plot"]
    said = [plot.to_plotly_json()["props"]["aria-label"] for plot in plots]
    assert len(said) == 3
    assert said[1] == (
        "Users with a cancelled job by threshold of the mean, %. 1 %: 0; 3 %: 0; 5 %: 0; 7 %: 0; 9 %: 1; 15 %: 1"
    )
    dots = [part for plot in plots for part in plot.children if part.className == "fw-curve-dot"]
    assert [dot.style for dot in dots[1:2]] == [{"left": "60.00%", "bottom": "100.00%"}]
    steps = shown(past, whatif="idle", curve="yes")
    assert "Window" not in text_of(steps) and "first step, min" in text_of(steps)


@pytest.mark.parametrize(
    ("value", "end"), [(0, 1), (1, 1), (7, 8), (54, 60), (312, 400), (2558, 3000), (0.2, 0.2), (10, 10), (99.9, 100)]
)
def test_an_axis_ends_with_a_round_number(value: float, end: float) -> None:
    assert rounded_up(value) == pytest.approx(end)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"whatif": "nothing"}, "no rule nothing"),
        ({"whatif": "idle", "form": "0.1/60"}, "of kind idle"),
        ({"whatif": "low-mean", "form": "x/60"}, "form = 'x/60' is none"),
    ],
)
def test_what_is_wrong_is_said(past: Sources, query: dict[str, str], says: str) -> None:
    text = text_of(shown(past, **query))
    assert "Not available" in text
    assert says in text


def test_without_a_history_the_panel_says_so(tmp_path: Path) -> None:
    assert "no history is kept here" in text_of(shown(sources_of(None), whatif="idle"))
    assert "The history of this time is empty" in text_of(shown(sources_of(tmp_path, NOW), whatif="idle"))
