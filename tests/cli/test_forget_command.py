"""`fullwarp history forget`: conversations with the assistant go too, with and without a history."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import cli
from data.state.chat_kept import KeptTurn, conversations, keep_turn, new_id
from data.state.chat_usage import DayLimits, take_question, usage_since
from data.state.store import open_store
from settings import StateSettings

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("has_history", [True, False])
def test_a_forgotten_user_leaves_no_conversation_and_no_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], has_history: bool
) -> None:
    state = StateSettings(directory=tmp_path / "state")
    store = open_store(state, writes=True)
    assert store is not None
    for user in ("alice", "bob"):
        keep_turn(store, user, new_id(), KeptTurn(new_id(), "secret?", "secret.", NOW))
        take_question(store, user, NOW.date(), DayLimits())
    file = tmp_path / "fullwarp.toml"
    history = f'[history]\ndirectory = "{tmp_path / "history"}"\n' if has_history else ""
    file.write_text(f'{history}[state]\ndirectory = "{state.directory}"\n', encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["fullwarp", "--config", str(file), "history", "forget", "alice"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    assert "1 conversations with the assistant were deleted" in " ".join(capfd.readouterr().out.split())
    assert conversations(store, "alice", LONG_AGO) == () and len(conversations(store, "bob", LONG_AGO)) == 1
    assert [row.user for row in usage_since(store, LONG_AGO.date())] == ["bob"]
    store.close()
