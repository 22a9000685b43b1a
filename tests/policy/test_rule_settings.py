"""Rules as settings: shipped ones, changes to them, and wrong ones, which are refused by name and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import SettingsError
from data.settings_file import load_settings
from settings import PolicySettings, RuleKind, RuleMode, StepAction


def loaded(tmp_path: Path, text: str) -> PolicySettings:
    path = tmp_path / "fullwarp.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path).settings.policy


def test_the_shipped_rules_are_a_low_mean_that_only_reports_and_an_idle_ladder() -> None:
    rules = PolicySettings().rules
    mean, idle = rules["low-mean"], rules["idle"]
    assert list(rules) == ["low-mean", "idle"]
    assert (mean.kind, mean.mode, mean.window_minutes, mean.threshold) == (RuleKind.MEAN, RuleMode.REPORT, 240, 0.05)
    assert [(step.action, step.at_minutes) for step in mean.steps] == [
        (StepAction.WARN, 0),
        (StepAction.WARN, 60),
        (StepAction.CANCEL, 120),
    ]
    assert (idle.kind, idle.mode) == (RuleKind.IDLE, RuleMode.ACT)
    assert [(step.action, step.at_minutes) for step in idle.steps] == [
        (StepAction.WARN, 45),
        (StepAction.WARN, 75),
        (StepAction.CANCEL, 90),
    ]
    assert (idle.exempt_interactive_hours, idle.exempt_interactive_gpus) == (6, 1)
    assert {rule.min_coverage for rule in rules.values()} == {0.8}
    assert not PolicySettings().enforce


def test_one_word_about_a_shipped_rule_keeps_the_rest_of_it(tmp_path: Path) -> None:
    rules = loaded(tmp_path, '[policy.rules.low-mean]\nmode = "act"\n').rules
    assert rules["low-mean"].mode is RuleMode.ACT
    assert rules["low-mean"].window_minutes == 240
    assert rules["idle"] == PolicySettings().rules["idle"]


def test_a_site_adds_any_number_of_rules(tmp_path: Path) -> None:
    text = "".join(
        f'[policy.rules.rule{n}]\nkind = "mean"\nwindow_minutes = {60 + n}\nthreshold = 0.1\npartitions = ["p{n}"]\n'
        for n in range(30)
    )
    assert len(loaded(tmp_path, text).rules) == 32


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[policy.rules.low-mean]\nthreshold = 5\n", "policy.rules.low-mean.threshold = '5'"),
        ('[policy.rules.odd]\nkind = "mean"\nthreshold = 0.1\n', "policy.rules.odd is wrong: window_minutes"),
        ('[policy.rules.odd]\nkind = "mean"\nwindow_minutes = 60\n', "policy.rules.odd is wrong: threshold"),
        ('[policy.rules.odd]\nkind = "idle"\n', "policy.rules.odd is wrong: steps are missing"),
        ("[policy.rules.idle]\nthreshold = 0.1\n", "policy.rules.idle is wrong: threshold is of kind mean"),
        ("[policy.rules.idle]\nidle_epsilon = 1.0\n", "policy.rules.idle.idle_epsilon = '1.0'"),
        ("[policy.rules.idle]\nmin_coverage = 0\n", "policy.rules.idle.min_coverage = '0'"),
        ('[policy.rules.idle]\nmetric = "power_watts"\n', "policy.rules.idle.metric = 'power_watts'"),
        ("[policy.rules.idle]\nthresold = 0.1\n", "unknown setting policy.rules.idle.thresold"),
        (
            '[[policy.rules.idle.steps]]\naction = "cancel"\nat_minutes = 10\n',
            "policy.rules.idle is wrong: steps.0.action",
        ),
        (
            '[[policy.rules.idle.steps]]\naction = "shout"\nat_minutes = 10\n',
            "policy.rules.idle.steps.0.action = 'shout'",
        ),
        (
            '[policy.rules.idle]\nsteps = [{action = "warn", at_minutes = 9}, {action = "cancel", at_minutes = 9}]\n',
            "policy.rules.idle is wrong: steps.1.at_minutes",
        ),
        (
            '[policy.rules.idle]\nsteps = [{action = "warn", at_minutes = 9}, '
            '{action = "cancel", at_minutes = 19, notice_minutes = 0}]\n',
            "policy.rules.idle.steps.1.notice_minutes = '0'",
        ),
        ('[policy.rules."No Name"]\nkind = "idle"\nsteps = [{action = "warn", at_minutes = 9}]\n', "'No Name'"),
        ('[policy.rules]\nidle = "off"\n', "policy.rules.idle"),
        ('[policy]\nquiet_from = "22:00"\n', "policy is wrong: quiet_from"),
        ('[policy]\nquiet_from = "25:00"\nquiet_until = "07:00"\n', "policy.quiet_from = '25:00'"),
        ('[policy]\nquiet_from = "22:00+02:00"\nquiet_until = "07:00"\n', "policy.quiet_from = '22:00+02:00'"),
        ("[policy]\nmail_days = []\n", "policy.mail_days"),
        ('[policy]\nstop_file = "stop-enforcing"\n', "policy.stop_file = 'stop-enforcing'"),
        ("[policy]\nwarn_only_days = inf\n", "policy.warn_only_days = 'inf'"),
        ("[policy.rules.idle]\nmin_coverage = 0.2\n", "policy.rules.idle is wrong: min_coverage must be 0.5"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_name_and_field(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(SettingsError) as refused:
        loaded(tmp_path, text)
    assert named in str(refused.value)
    assert "fullwarp.toml" in str(refused.value)
