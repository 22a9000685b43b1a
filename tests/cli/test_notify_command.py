"""`fullwarp notify` and digests by mail as a person types them, with a real history, store and mail server."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import cli
from tests.policy.test_notices import parts_of
from tests.queries.history.attempts import MONDAY, Attempt, write
from tests.services.mail import Inbox

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root is staff of its own settings file")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mail_inbox: Inbox) -> Any:
    now = (datetime.now(UTC) - MONDAY).total_seconds() / 3600
    zero = {"devices": [{"node": "gpu01", "index": 0, "weight": 1.0, "gpu_utilization": 0.0}]}
    attempts = [
        Attempt(1, now - 60, now - 10, user="alice", used=0.0, idle=1.0, more=zero),
        Attempt(2, now - 60, now - 50, user="bob", used=0.0, idle=1.0, more=zero),
        Attempt(3, now - 60, now - 50, user="carol", used=None, more={"flags": ["damaged summary"]}),
    ]
    write(tmp_path / "history", attempts)
    (tmp_path / "fullwarp.toml").write_text(
        f"""
[identity]
kind = "unix"
staff_users = ["root"]
[slurm]
kind = "simulated"
[metrics]
kind = "simulated"
[history]
directory = "{tmp_path}/history"
[cache]
directory = "{tmp_path}/cache"
[enforcement]
directory = "{tmp_path}/enforcement"
[mail]
host = "localhost"
port = {mail_inbox.port}
security = "none"
sender = "hpc@example.org"
staff = ["sam@example.org"]
address_pattern = "{{user}}@example.org"
[demo]
history_days = 0
"""
    )
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["fullwarp", "--config", str(tmp_path / "fullwarp.toml"), *words])
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return call


def test_a_dry_run_says_what_would_be_mailed_and_mails_and_keeps_nothing(
    run: Any, mail_inbox: Inbox, tmp_path: Path
) -> None:
    code, out, err = run("notify", "--kind", "zero_gpu_hours")
    assert (code, mail_inbox.mails, (tmp_path / "enforcement").exists()) == (0, [], False), err
    assert "1 user would be mailed" in out and "alice" in out and "bob" not in out
    assert "1 job with GPUs could not be judged" in out and "its summary is damaged" in out
    found = json.loads(run("notify", "--json")[1])
    assert [row["waste"]["user"] for row in found["rows"] if row["waste"]["kind"] == "zero_gpu_hours"] == ["alice"]


def test_with_act_users_and_staff_are_mailed_once(run: Any, mail_inbox: Inbox) -> None:
    first, second = run("notify", "--act", "-k", "zero_gpu_hours"), run("notify", "--act", "-k", "zero_gpu_hours")
    assert (first[0], second[0]) == (0, 0), first[2] + second[2]
    assert [to for (to,) in mail_inbox.recipients] == ["alice@example.org", "sam@example.org", "sam@example.org"]
    assert "1 user mailed" in first[1] and "told on" in second[1]
    assert all("50.0 GPU-h" in body for body in parts_of(mail_inbox.mails[0]))


def test_what_fails_is_said_and_ends_with_2(run: Any, mail_inbox: Inbox) -> None:
    mail_inbox.refused = {"alice@example.org"}
    code, out, err = run("notify", "--act", "-k", "zero_gpu_hours")
    assert code == 2 and "no such user" in out and "no such user" in err
    code, _, err = run("notify", "--kind", "nonsense")
    assert code == 2 and "zero_gpu_hours" in err
    for days in ("nan", "inf", "-1", "367"):
        code, out, err = run("notify", "--days", days)
        assert (code, out) == (2, "") and f"--days {days} is no length" in err


def test_digests_are_mailed_to_their_users(run: Any, mail_inbox: Inbox) -> None:
    mail_inbox.refused = {"bob@example.org"}
    code, _, err = run("report", "--digest", "user", "--since", "7d", "--mail")
    assert code == 2 and "mailed 2 digests" in err and "bob@example.org refused" in err
    assert [to for (to,) in mail_inbox.recipients] == ["alice@example.org", "carol@example.org"]
    assert mail_inbox.mails[0]["Subject"].startswith("GPU use of user alice")
    assert "What to change first" in parts_of(mail_inbox.mails[0])[0]
    code, _, err = run("report", "--mail")
    assert code == 2 and "--digest user" in err
