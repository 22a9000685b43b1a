"""The panel of runaway jobs: who sees which, and what to do."""

from __future__ import annotations

from components.overview_attention import attention_rows
from components.runaway import MOST, runaway_panel
from data.attention import attention
from tests.components.snapshots import NOON, job, snapshot
from tests.components.test_overview_parts import of_class, words


def test_staff_read_which_since_when_and_the_command() -> None:
    text = words(runaway_panel((job(7, start_time=NOON, nodes=("h1", "h2", "h3", "h4")),), is_staff=True))
    assert "1 job" in text and "sacctmgr show runawayjobs" in text and "h1, h2, h3 and 1" in text
    assert "alice" in text and "2026-03-02 12:00 UTC" in text


def test_of_other_users_only_the_number_is_told() -> None:
    hidden = job(0, display_id="", user=None, account=None)
    text = words(runaway_panel((hidden, hidden), is_staff=False))
    assert "2 of other users." in text and "sacctmgr" not in text and "2 jobs" in text


def test_a_long_list_ends_with_how_many_more() -> None:
    jobs = tuple(job(number, start_time=NOON) for number in range(1, MOST + 4))
    made = runaway_panel(jobs, is_staff=True)
    assert "3 more." in words(made) and len(of_class(made, "fw-plain-table")) == 1


def test_the_overview_leads_from_the_line_to_health() -> None:
    (row,) = attention_rows(attention(snapshot(gpus=(), runaway=(job(7, start_time=NOON),))), "/warp/")
    assert (words(row.title), row.href, row.amount) == ("1 runaway job", "/warp/health", None)
