"""What the enforcer writes down: it comes back as it was, and nobody else can write it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from pydantic import SecretStr
from sqlalchemy import text, update

from data.enforcement.store import ENFORCEMENT
from data.enforcement.tables import ACTING_SINCE, AUDIT, METADATA
from data.errors import SettingsError, SourceUnreachable
from data.state.store import APPLICATION, StateStore, newest, open_store, upgrade_store
from policy.store.audit import (
    Outcome,
    audit_rows,
    cancelled_since,
    forget_before,
    intend,
    mail_of,
    open_rows,
    set_mail,
    settle,
    untold_cancellations,
)
from policy.store.ladders import keep_acting_since, keep_episodes, keep_taken, ladders_of, read_ladders
from policy.store.mails import accepted, drop_message, drop_old_messages, keep_mail, kept_message, reference_of
from policy.store.told import tell, told_at
from settings import EnforcementSettings, StateSettings, StepAction
from tests.policy.enforcement_store import MINUTE, NOW, in_folder, make_act, make_episode, opened

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "enforce.md"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    if request.param == "sqlite":
        made = in_folder(tmp_path / "enforcement")
    else:
        port = request.getfixturevalue("postgres_port")
        url = SecretStr(f"postgresql+psycopg://fullwarp@127.0.0.1:{port}/fullwarp_enforced")
        made = opened(EnforcementSettings(url=url))
    yield made
    with made.connection() as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(table.delete())
    made.close()


def message(words: str = "Your job is idle") -> EmailMessage:
    made = EmailMessage()
    made["Subject"], made["Message-ID"] = words, "<abc@fullwarp>"
    made.set_content("Zeile mit Umlaut: ü\n")
    return made


def test_the_tables_are_those_that_the_migrations_leave(store: StateStore) -> None:
    options = {"version_table": ENFORCEMENT.version_table}
    with store.connection() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA) == []


def test_episodes_come_back_to_the_microsecond(store: StateStore) -> None:
    first = make_episode(
        100, taken=(NOW - 30 * MINUTE, NOW - 1.5 * MINUTE), frozen_since=NOW, fresh_at=NOW, low_seconds=2700.5
    )
    second = make_episode(101, is_open=False, is_held=True, ok_since=NOW, number=3)
    odd = replace(first, attempt=("demo", 102, None, None, 2))
    other = replace(first, attempt=("elsewhere", *first.attempt[1:]))
    with store.connection() as connection:
        keep_episodes(connection, "elsewhere", [other])
        keep_episodes(connection, "demo", [make_episode(99)])
        keep_episodes(connection, "demo", [first, second, odd])
        taken = replace(odd, taken=(*odd.taken, NOW))
        keep_taken(connection, taken)
    assert dict(read_ladders(store, "demo").episodes) == {one.key: one for one in (first, second, taken)}
    assert list(read_ladders(store, "elsewhere").episodes) == [other.key]


def test_a_step_of_an_episode_that_is_not_kept_is_an_error(store: StateStore) -> None:
    with pytest.raises(LookupError), store.connection() as connection:
        keep_taken(connection, make_episode(5, taken=(NOW,)))


def test_a_rule_acts_since_it_was_first_seen_to_act(store: StateStore) -> None:
    with store.connection() as connection:
        keep_acting_since(connection, "demo", {"idle": "a"}, NOW)
        keep_acting_since(connection, "demo", {"idle": "a", "low-mean": "b"}, NOW + MINUTE)
        assert ladders_of(connection, "demo").acting_since == {"idle": NOW, "low-mean": NOW + MINUTE}
        keep_acting_since(connection, "demo", {"low-mean": "b"}, NOW + MINUTE)
        keep_acting_since(connection, "demo", {"idle": "a", "low-mean": "b"}, NOW + 2 * MINUTE)
        again = ladders_of(connection, "demo").acting_since
        assert again == {"idle": NOW + 2 * MINUTE, "low-mean": NOW + MINUTE}
        assert ladders_of(connection, "other").acting_since == {}


@pytest.mark.parametrize("evidence", ["{}", "no JSON", '{"job": null}'])
def test_an_act_whose_evidence_cannot_be_read_is_still_one(store: StateStore, evidence: str) -> None:
    """Of another version, say: it can be settled and told, and the rows beside it are read."""
    act, other = make_act(7, 3, StepAction.CANCEL), make_act(8)
    with store.connection() as connection:
        row = intend(connection, act, NOW)
        intend(connection, other, NOW)
        connection.execute(update(AUDIT).where(AUDIT.c.id == row).values(evidence=evidence))
        broken, whole = open_rows(connection, "demo")
    assert whole.act == other
    assert broken.act.key == act.key and broken.act.cancel_id == "7"
    same = ("display_id", "user", "account", "partition", "submit_time", "start_time")
    assert [getattr(broken.act.job, name) for name in same] == [getattr(act.job, name) for name in same]
    assert (broken.act.verdict.sentence, broken.act.verdict.mean) == (act.verdict.sentence, None)


def test_a_rule_in_another_form_acts_since_then_and_one_without_a_form_takes_it_on(store: StateStore) -> None:
    with store.connection() as connection:
        keep_acting_since(connection, "demo", {"idle": "a", "low-mean": "b"}, NOW)
        connection.execute(update(ACTING_SINCE).where(ACTING_SINCE.c.rule == "low-mean").values(form=None))
        keep_acting_since(connection, "demo", {"idle": "other", "low-mean": "b"}, NOW + MINUTE)
        found = ladders_of(connection, "demo")
        assert found.acting_since == {"idle": NOW + MINUTE, "low-mean": NOW}
        assert found.forms == {"idle": "other", "low-mean": "b"}


def test_an_act_is_intended_then_settled_once(store: StateStore) -> None:
    act = make_act(time_limit_seconds=math.inf, array_job_id=100, array_task_id=7, display_id="100_7")
    with store.connection() as connection:
        row = intend(connection, act, NOW)
        (found,) = open_rows(connection, "demo")
        assert (found.id, found.act, found.outcome, found.intended_at) == (row, act, None, NOW)
        settle(connection, row, Outcome.REFUSED, NOW + MINUTE, "550 no such user")
        settle(connection, row, Outcome.DONE, NOW + 2 * MINUTE)
        assert open_rows(connection, "demo") == ()
    (found,) = audit_rows(store, "demo", NOW)
    assert (found.outcome, found.why, found.settled_at) == (Outcome.REFUSED, "550 no such user", NOW + MINUTE)
    assert audit_rows(store, "demo", NOW, users=["bob"]) == () == audit_rows(store, "other", NOW)
    assert audit_rows(store, "demo", NOW - MINUTE, NOW) == ()


def test_rows_of_a_version_that_knew_more_are_still_read(store: StateStore) -> None:
    with store.connection() as connection:
        intend(connection, make_act(), NOW)
        change = 'update audit set evidence = replace(evidence, \'"rule":\', \'"color": 1, "rule":\')'
        connection.execute(text(change))
    (found,) = audit_rows(store, "demo", NOW)
    assert found.act == make_act()


def test_the_audit_keeps_nothing_of_the_script(store: StateStore) -> None:
    secret = {"command": "/home/alice/s3cret.sh", "comment": "s3cret", "working_directory": "/s3cret"}
    with store.connection() as connection:
        intend(connection, make_act(**secret, admin_comment="JS1:s3cret"), NOW)
        assert "s3cret" not in str(connection.execute(text("select * from audit")).all())


def test_a_mail_is_kept_whole_until_it_is_taken(store: StateStore) -> None:
    act = make_act()
    reference = reference_of([act])
    with store.connection() as connection:
        row = intend(connection, act, NOW)
        assert kept_message(connection, reference) is None
        assert mail_of(connection, act.key) is None
        for words in ("Another", "Your job is idle"):
            keep_mail(connection, reference, act, message(words), NOW)
        assert mail_of(connection, act.key) is None
        set_mail(connection, [row], reference)
        kept = kept_message(connection, reference)
        assert kept is not None
        assert (kept["Message-ID"], kept["Subject"]) == ("<abc@fullwarp>", "Your job is idle")
        assert kept.get_content().split() == ["Zeile", "mit", "Umlaut:", "ü"]
        assert mail_of(connection, act.key) == reference
        assert mail_of(connection, make_act(step=2).key) is None
        drop_message(connection, reference)
        assert mail_of(connection, act.key) is None
        keep_mail(connection, reference, act, message(), NOW)
        drop_old_messages(connection, NOW)
        assert kept_message(connection, reference) is not None
        drop_old_messages(connection, NOW + MINUTE)
        assert mail_of(connection, act.key) is kept_message(connection, reference) is None
        keep_mail(connection, reference, act, message(), NOW)
        accepted(connection, reference, NOW)
        assert kept_message(connection, reference) is None
        assert mail_of(connection, act.key) is None


def test_a_reference_is_of_attempts_rule_and_step() -> None:
    one, two = make_act(100), make_act(101)
    assert reference_of([one, two]) == reference_of([two, one])
    others = [make_act(100, step=2), make_act(100, restart_count=1), replace(one, rule="x"), replace(one, number=2)]
    assert len({reference_of([act]) for act in (one, two, *others)}) == 6


def test_cancellations_count_for_the_hour_and_are_owed_a_mail(store: StateStore) -> None:
    acts = [make_act(job, 3, StepAction.CANCEL) for job in (100, 101, 102)]
    with store.connection() as connection:
        done, refused, unknown = (intend(connection, act, NOW) for act in acts)
        settle(connection, done, Outcome.DONE, NOW)
        settle(connection, refused, Outcome.REFUSED, NOW, "Invalid user")
        recent = cancelled_since(connection, "demo", NOW - MINUTE)
        assert {row.id for row in recent} == {done, unknown}
        assert cancelled_since(connection, "demo", NOW) == ()
        (owed,) = untold_cancellations(connection, "demo", NOW - MINUTE)
        assert owed.id == done and owed.is_cancelled
        keep_mail(connection, "r", acts[0], message(), NOW)
        set_mail(connection, [done], "r")
        assert [row.mail for row in untold_cancellations(connection, "demo", NOW - MINUTE)] == ["r"]
        accepted(connection, "r", NOW)
        assert untold_cancellations(connection, "demo", NOW - MINUTE) == ()


def test_the_audit_is_kept_as_long_as_the_site_says(store: StateStore) -> None:
    with store.connection() as connection:
        for minutes in (0, 1, 2):
            row = intend(connection, make_act(100 + minutes), NOW + minutes * MINUTE)
            if minutes:
                settle(connection, row, Outcome.WITHHELD, NOW)
        assert forget_before(connection, NOW + 1.5 * MINUTE) == 1
    assert [row.act.job.job_id for row in audit_rows(store, "demo", NOW)] == [102, 100]


def test_who_was_told_what_is_remembered(store: StateStore) -> None:
    with store.connection() as connection:
        assert told_at(connection, "alarm", "alice") is None
        tell(connection, "alarm", "alice", NOW)
        tell(connection, "alarm", "alice", NOW + MINUTE)
        assert told_at(connection, "alarm", "alice") == NOW + MINUTE
        assert told_at(connection, "digest", "alice") is None


def test_whoever_does_not_enforce_opens_the_file_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "a folder % with? marks#"
    assert open_store(EnforcementSettings(directory=folder), kind=ENFORCEMENT) is None
    assert not folder.exists()
    writer = in_folder(folder)
    with writer.connection() as connection:
        keep_episodes(connection, "demo", [make_episode()])
    reader = in_folder(folder, writes=False)
    assert len(read_ladders(reader, "demo").episodes) == 1
    for change in ("delete from episodes", "update audit set why = ''", "create table mine (a int)"):
        with pytest.raises(SourceUnreachable, match="readonly"), reader.connection() as connection:
            connection.execute(text(change))
    file = folder / ENFORCEMENT.file
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o640, 0o750)


def test_the_enforcer_reads_a_store_of_exemptions_that_it_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = open_store(StateSettings(directory=tmp_path), writes=True)
    assert made is not None
    may, file = os.access, tmp_path / APPLICATION.file  # as for an account of the file's group; root may write all
    monkeypatch.setattr("os.access", lambda path, mode: path != file and may(path, mode))
    reader = open_store(StateSettings(directory=tmp_path))
    assert reader is not None and reader.revision() is not None
    with pytest.raises(SourceUnreachable, match="readonly"), reader.connection() as connection:
        connection.execute(text("delete from exemptions"))


def test_the_web_processs_role_reads_a_ladder_and_cannot_write_it(postgres_port: int) -> None:
    """With the very lines of the guide, in a database of its own."""
    server = f"postgresql+psycopg://{{}}@127.0.0.1:{postgres_port}/{{}}"
    root = opened(EnforcementSettings(url=SecretStr(server.format("fullwarp", "fullwarp_enforced"))))
    with root._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        (block,) = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
        first, second = block.split("\\connect fullwarp_enforcement\n")
        for line in filter(str.strip, first.split(";")):
            connection.execute(text(line))
    admin = opened(EnforcementSettings(url=SecretStr(server.format("fullwarp", "fullwarp_enforcement"))), writes=False)
    with admin.connection() as connection:
        for line in filter(str.strip, second.split(";")):
            connection.execute(text(line))
    enforcer = opened(EnforcementSettings(url=SecretStr(server.format("fullwarp_enforcer", "fullwarp_enforcement"))))
    with enforcer.connection() as connection:
        keep_episodes(connection, "demo", [make_episode()])
        intend(connection, make_act(), NOW)
    web = opened(
        EnforcementSettings(url=SecretStr(server.format("fullwarp_web", "fullwarp_enforcement"))), writes=False
    )
    assert len(read_ladders(web, "demo").episodes) == len(audit_rows(web, "demo", NOW)) == 1
    for table in (*METADATA.tables, ENFORCEMENT.version_table):
        for change in (f"delete from {table}", f"insert into {table} default values", f"truncate {table}"):
            with pytest.raises(SourceUnreachable, match="permission denied"), web.connection() as connection:
                connection.execute(text(change))
    with pytest.raises(SourceUnreachable, match="permission denied"), web.connection() as connection:
        connection.execute(text("update episodes set taken = '[]'"))
    for one in (web, enforcer, admin, root):
        one.close()


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    settings = EnforcementSettings(directory=tmp_path)
    assert upgrade_store(settings, ENFORCEMENT) == (None, newest(ENFORCEMENT))
    with opened(settings).connection() as connection:
        connection.execute(text("update enforcement_version set version_num = 'e9999'"))
    with pytest.raises(SettingsError, match="e9999, which a newer version"):
        open_store(settings, kind=ENFORCEMENT)
