"""What `fullwarp check` says of acting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commands.enforce import enforcer_checks
from data.check import Check, Verdict
from data.check.enforcement import EnforcerFacts, enforcement
from policy.enforcer.last_pass import note_pass
from settings import Settings
from tests.policy.enforcement_store import in_folder
from tests.services.mail import Inbox

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
MAIL = {"host": "mail", "sender": "hpc@example.org", "staff": ["ops@example.org"], "address_pattern": "{user}@x.org"}
KEPT = {"enforcement": {"directory": "/var/lib/x"}, "state": {"directory": "/var/lib/state"}}
GOOD = {"policy": {"enforce": True, "stop_file": "/etc/stop"}, "mail": MAIL, **KEPT}
FINE = EnforcerFacts(("idle",), last_pass=NOW - timedelta(minutes=2))


def problems(checks: list[Check]) -> list[str]:
    return [one.text for one in checks if one.verdict is not Verdict.OK]


def test_a_site_that_enforces_as_it_should_has_nothing_to_mend() -> None:
    found = list(enforcement(Settings.model_validate(GOOD), FINE, NOW))
    assert problems(found) == [] and found[0].text == "may act, by idle"
    assert "the last pass that acted ended 2 min ago" in [one.text for one in found]


def test_nobody_hears_of_it_who_has_not_begun() -> None:
    assert list(enforcement(Settings(), EnforcerFacts(("idle",)), NOW)) == []
    assert list(enforcer_checks(Settings(), NOW)) == []


@pytest.mark.parametrize(
    ("change", "facts", "words"),
    [
        ({"policy": {"stop_file": "/etc/stop"}}, {}, "policy.enforce is false: dry runs only"),
        ({"enforcement": {}}, {}, "nothing is kept of acts"),
        ({"mail": {}}, {}, "mail.host is empty"),
        ({"mail": {**MAIL, "staff": []}}, {}, "nobody is told what goes wrong"),
        ({"mail": {**MAIL, "address_pattern": ""}}, {}, "no user has a mail address"),
        ({"policy": {"enforce": True}}, {}, "there is no kill switch"),
        ({}, {"stopped": "the kill switch /etc/stop is there"}, "nothing is acted on: the kill switch"),
        ({}, {"last_pass": None}, "no pass that acts has ended yet"),
        ({}, {"last_pass": NOW - timedelta(hours=2)}, "the last pass that acted ended 2 h ago"),
        ({}, {"store_error": "the enforcement store does not answer"}, "does not answer"),
        ({}, {"mail_error": "mail server mail:587: refused"}, "refused"),
        ({}, {"acting": ()}, "may act, by no rule"),
        ({"state": {}}, {}, "exemptions that people make are not read"),
        ({}, {"exemptions_error": "the store of exemptions is not there"}, "nothing is acted on: the store of exempt"),
    ],
)
def test_what_is_missing_is_named(change: dict, facts: dict, words: str) -> None:
    given = EnforcerFacts(**{"acting": ("idle",), "last_pass": FINE.last_pass, **facts})
    (found,) = problems(list(enforcement(Settings.model_validate({**GOOD, **change}), given, NOW)))
    assert words in found


def test_store_and_mail_server_are_looked_at(tmp_path: Path, mail_inbox: Inbox) -> None:
    mail = {**MAIL, "host": "127.0.0.1", "port": mail_inbox.port, "security": "none"}
    settings = Settings.model_validate({**GOOD, "enforcement": {"directory": tmp_path}, "mail": mail})
    assert "no pass that acts has ended yet" in problems(list(enforcer_checks(settings, NOW)))
    store = in_folder(tmp_path)
    with store.connection() as connection:
        note_pass(connection, NOW - timedelta(minutes=3))
    store.close()
    said = [one.text for one in enforcer_checks(settings, NOW)]
    assert (
        "the last pass that acted ended 3 min ago" in said
        and f"mail goes through 127.0.0.1:{mail_inbox.port} (none)" in said
    )
    assert any("nothing is acted on: the store of exemptions is not there" in text for text in said)
    (tmp_path / "enforcement.sqlite").write_bytes(b"no database" * 500)
    dead = settings.model_copy(update={"mail": settings.mail.model_copy(update={"port": 1})})
    found = problems(list(enforcer_checks(dead, NOW)))
    assert any("the enforcement store does not answer" in text for text in found)
    assert any("mail server 127.0.0.1:1" in text for text in found)
