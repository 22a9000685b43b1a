"""Exemptions that people make: checked, kept, read for acting and for showing."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli
from data.errors import BadRequest, SettingsError, SourceUnreachable
from data.sources import Sources
from data.state.exemptions import active_exemptions, add_exemption, all_exemptions, end_exemption
from data.state.opened import OpenedState
from data.state.store import APPLICATION, StateStore, open_store
from policy.exempt_names import doubt_of
from policy.exempted import exemptions
from policy.exemptions import Wanted, exemptions_for_acts, make_exemption
from policy.queries import verdicts
from policy.rules import Exemption
from settings import Settings, StateSettings
from tests.live.builders import NOW, make_job
from tests.policy.test_verdict_scope import idle_everywhere
from tests.queries.cluster import ALICE, STAFF, STRANGER, open_fakes, secrets_in

LATER = NOW + timedelta(days=7)


def kept(folder: Path) -> tuple[Settings, StateStore]:
    settings = Settings(state=StateSettings(directory=folder))
    store = open_store(settings.state, writes=True)
    assert store is not None
    return settings, store


def add(store: StateStore, kind: str, name: str, rule: str = "", until: object = LATER) -> str:
    return add_exemption(store, kind, name, rule, "deadline", until=until, by="root", now=NOW).id  # type: ignore[arg-type]


def sources(settings: Settings) -> Sources:
    return replace(open_fakes(measured=idle_everywhere()), settings=settings)


def test_it_lives_from_its_making_to_its_end(tmp_path: Path) -> None:
    _, store = kept(tmp_path)
    first, second = add(store, "user", "alice"), add(store, "job", "7", "idle", NOW + timedelta(hours=1))
    assert [one.id for one in active_exemptions(store, NOW)] == sorted([first, second])
    assert [one.id for one in active_exemptions(store, NOW + timedelta(hours=1))] == [first]
    ended = end_exemption(store, first, "sam", NOW + timedelta(hours=2))
    assert (ended.ended_by, ended.is_active(NOW + timedelta(hours=3))) == ("sam", False)
    assert end_exemption(store, first, "eve", LATER) == ended
    assert active_exemptions(store, NOW + timedelta(hours=3)) == ()
    assert {one.id for one in all_exemptions(store)} == {first, second}


def test_the_rules_get_what_counts_now(tmp_path: Path) -> None:
    settings, store = kept(tmp_path)
    add(store, "qos", "long", "idle")
    add(store, "user", "bob", until=NOW - timedelta(seconds=1))
    found = exemptions_for_acts(settings, OpenedState(), NOW)
    assert found == (Exemption("qos", "long", LATER, "deadline", "idle"),)


def test_without_a_store_nobody_is_exempt() -> None:
    assert exemptions_for_acts(Settings(), OpenedState(), NOW) == ()


def test_a_store_that_cannot_be_read_stops_who_acts_and_is_said_to_who_looks(tmp_path: Path) -> None:
    settings = Settings(state=StateSettings(directory=tmp_path))
    with pytest.raises(SettingsError, match="not there"):
        exemptions_for_acts(settings, OpenedState(), NOW)
    (tmp_path / APPLICATION.file).write_bytes(b"this is no database " * 100)
    with pytest.raises(SourceUnreachable):
        exemptions_for_acts(settings, OpenedState(), NOW)
    asked = sources(settings)
    for viewer, error in ((STAFF, "does not answer"), (ALICE, None)):
        found = verdicts(viewer, asked)
        (failing,) = [one for one in found.sources if one.name == "exemptions"]
        assert (
            failing.condition == "down"
            and (error or "") in (failing.error or "")
            and bool(failing.error) == bool(error)
        )
        assert found.verdicts


def test_a_store_that_may_not_be_looked_at_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, _ = kept(tmp_path)
    look = Path.stat

    def refused(self: Path, **options: bool) -> os.stat_result:
        if self.name == APPLICATION.file:
            raise PermissionError(13, "Permission denied")
        return look(self, **options)

    monkeypatch.setattr(Path, "stat", refused)
    with pytest.raises(SettingsError, match="cannot be looked at"):
        exemptions_for_acts(settings, OpenedState(), NOW)
    assert [one.name for one in verdicts(STAFF, sources(settings)).sources if one.condition == "down"] == ["exemptions"]


def test_hours_are_counted_under_each_exemption(tmp_path: Path) -> None:
    settings, store = kept(tmp_path)
    settings = settings.model_copy(
        update={"policy": settings.policy.model_copy(update={"exempt_accounts": ["physics"]})}
    )
    add_exemption(store, "user", "mallory", "", "secret-run", until=LATER, by="root", now=NOW - timedelta(minutes=30))
    found = {row.kind: row for row in exemptions(STAFF, sources(settings)).rows}
    hers, group = found["user"], found["account"]
    assert (hers.jobs, hers.gpus, hers.gpu_hours_held) == (2, 10.0, pytest.approx(10 * 0.5))
    assert (hers.name, hers.created_by, hers.until) == ("mallory", "root", LATER)
    assert group.id == "" and group.name == "physics" and group.jobs == 2
    assert group.gpu_hours_held is not None and group.gpus is not None
    assert group.gpu_hours_held > 0
    text = str(exemptions(ALICE, sources(settings)))
    assert secrets_in(text) == [] and "physics" in text
    assert exemptions(STRANGER, sources(settings)).rows == ()


def test_what_is_measured_low_under_an_exemption_is_counted(tmp_path: Path) -> None:
    settings, store = kept(tmp_path)
    add(store, "job", "7", "idle")
    (row,) = exemptions(STAFF, sources(settings)).rows
    measured = next(one for one in verdicts(STAFF, sources(settings)).verdicts if one.job.job_id == 7)
    status = next(one.measured_status for one in measured.verdicts if one.rule == "idle")
    assert (row.jobs, row.low_jobs, status) == (1, 1, "low")


JOB = {"job_id": 100}
TASK = {"job_id": 105, "array_job_id": 100, "array_task_id": 4, "display_id": "100_4"}
HET = {"job_id": 100, "het_job_id": 100, "het_offset": 0, "display_id": "100+0"}


@pytest.mark.parametrize(
    ("fields", "name", "holds"),
    [
        (JOB, "100", True),
        (JOB, "101", False),
        (TASK, "100_4", True),
        (TASK, "105", True),
        (TASK, "100", True),
        (TASK, "100_5", False),
        (HET, "100", True),
        (HET, "100+1", True),
        (HET, "101+1", False),
        (JOB, "None", False),
    ],
)
def test_a_job_is_exempt_by_any_id_that_people_may_know_it_by(
    fields: dict[str, object], name: str, holds: bool
) -> None:
    """An array by its id with all its tasks, a het job by each of its components: less is cancelled, never more."""
    assert Exemption("job", name, LATER).holds(make_job(**fields), "idle", NOW) == holds  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "kept_as"), [("0100_4", "100_4"), ("100.batch", "100"), (" 100+1 ", "100+1")])
def test_a_jobs_id_is_kept_as_slurm_writes_it(tmp_path: Path, name: str, kept_as: str) -> None:
    settings, store = kept(tmp_path)
    wanted = Wanted("job", name, LATER, "because")
    assert make_exemption(store, wanted, settings.policy, "root", NOW).name == kept_as
    for wrong in ("abc", "100_[1-5]", "100_*"):
        with pytest.raises(BadRequest):
            make_exemption(store, replace(wanted, name=wrong), settings.policy, "root", NOW)


@pytest.mark.parametrize(
    ("kind", "known", "unknown"),
    [("user", "alice", "alcie"), ("account", "physics", "phsyics"), ("partition", "gpu", "gup"), ("job", "7", "999")],
)
def test_a_name_that_slurm_does_not_know_is_said(kind: str, known: str, unknown: str) -> None:
    scheduler = open_fakes().scheduler
    assert doubt_of(scheduler, kind, known) == ""
    assert f"Slurm knows no {kind} {unknown} now" in doubt_of(scheduler, kind, unknown)


def test_the_commands_add_list_and_remove(tmp_path: Path) -> None:
    file = tmp_path / "fullwarp.toml"
    file.write_text(f'[state]\ndirectory = "{tmp_path / "state"}"\n[slurm]\nkind = "simulated"\n')

    def run(*words: str, code: int = 0) -> str:
        found = CliRunner().invoke(cli.program, ["--config", str(file), "exempt", *words], env={"COLUMNS": "140"})
        assert (found.exit_code == 0) == (code == 0), (found.output, found.exception)
        return found.stdout

    run("list", code=1)
    made = run("add", "user", "alice", "--until", "14d", "--reason", "deadline")
    name = made.split(":")[0]
    listed = run("list")
    assert name in listed and "active" in listed and "deadline" in listed
    for wrong in (["--until", "14d"], ["--reason", "x"], ["--until", "-1d", "--reason", "x"]):
        run("add", "user", "alice", *wrong, code=2)
    run("remove", name)
    assert name not in run("list") and "removed" in run("list", "--ended")
    run("remove", "nope", code=1)
