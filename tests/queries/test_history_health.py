"""Health of the history: counted for everyone, named for staff, and never 0 where nobody could look."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from configuration.history import HistorySettings
from data.history import condition
from data.history.state import CollectorState, PassNumbers, state_path, state_text
from data.model import Role, Viewer
from data.queries.health import health
from data.queries.history_health import history_health
from settings import Settings
from tests.components.snapshots import NOON, snapshot
from tests.services.web import sources_of

SAM, EVE = Viewer("sam", Role.STAFF), Viewer("eve", Role.USER)


def own(directory: Path) -> Any:
    return replace(sources_of(snapshot(sources=())), settings=Settings(history=HistorySettings(directory=directory)))


def passed(directory: Path, cluster: str, hours_ago: int, **numbers: Any) -> None:
    state = CollectorState(passed_at=NOON - timedelta(hours=hours_ago), last=PassNumbers(**numbers))
    state_path(directory, cluster).write_text(state_text(state))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs" / "day=2026-03-01"
    folder.mkdir(parents=True)
    (folder / "secret.parquet").write_bytes(b"half")
    passed(tmp_path, "larch", 1, broken=1, broken_examples=("secret row",), flagged={"end before start": 2})
    passed(tmp_path, "elm", 5, broken=2, flagged={"end before start": 1}, warnings=("secret host",), error="secret url")
    return tmp_path


def test_the_last_pass_of_every_collector_is_added_up(kept: Path) -> None:
    found = history_health(SAM, own(kept))
    assert found is not None and found.passed_at == NOON - timedelta(hours=1)
    assert (found.days, found.first_day, found.damaged, found.set_aside) == (1, date(2026, 3, 1), 1, 0)
    assert (found.last.broken, found.last.flagged) == (3, {"end before start": 3})
    assert found.last.broken_examples == ("secret row",) and found.last.error == "secret url"
    assert [one.path.name for one in found.files] == ["secret.parquet"]


def test_a_user_sees_the_same_numbers_and_no_path_row_or_error(kept: Path) -> None:
    sources = own(kept)
    staff, user = history_health(SAM, sources), history_health(EVE, sources)
    assert staff is not None and user is not None and "secret" in repr(staff) and "secret" not in repr(user)
    assert (user.damaged, user.last.broken, user.last.flagged) == (1, 3, staff.last.flagged)


def test_a_folder_that_may_not_be_read_is_not_an_empty_one(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(condition, "history_condition", refuse)
    sources = own(kept)
    staff, user = history_health(SAM, sources), history_health(EVE, sources)
    assert staff is not None and user is not None
    assert staff.error == f"history.directory: {kept} cannot be read: Permission denied" and user.error == ""
    assert (staff.days, staff.damaged, staff.set_aside) == (None, None, None)


def test_nothing_is_said_where_none_is_kept_or_of_a_past_moment(kept: Path) -> None:
    assert health(SAM, sources_of(snapshot(sources=()))).history is None
    assert health(SAM, own(kept)).history is not None
    assert health(SAM, own(kept), NOON - timedelta(hours=1)).history is None
