"""Slurm 24.05 and 25.11 through recorded answers of their slurmrestd, served on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from data.errors import CannotKnow, SettingsError, SourceDenied, SourceGarbled
from data.slurm.rest import RestSource
from data.slurm.wire import endpoint
from settings import SlurmSettings
from tests.services.recorded_slurmrestd import RecordedSlurmrestd

FOLDERS = ("24.05/0.0.41", "25.11/0.0.41", "25.11/0.0.44")
ALL_TIME = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, 12, tzinfo=UTC))


@pytest.fixture(params=FOLDERS)
def recorded(request: pytest.FixtureRequest, reference: Path) -> Iterator[RecordedSlurmrestd]:
    with RecordedSlurmrestd(reference / "data" / "slurmrestd" / request.param) as server:
        yield server


def source(server: RecordedSlurmrestd, **changes: object) -> RestSource:
    return RestSource(SlurmSettings.model_validate({"kind": "rest", "url": server.url, **changes}))


def counted(server: RecordedSlurmrestd, file: str, pattern: str) -> int:
    return len(re.findall(pattern, (server.folder / f"{file}.json").read_text()))


def test_the_newest_offered_version_is_used(recorded: RecordedSlurmrestd) -> None:
    source(recorded).nodes()
    assert [path for path, _ in recorded.seen] == ["/openapi/v3", f"/slurm/{recorded.version}/nodes"]


def test_a_version_that_is_set_is_used_without_asking(recorded: RecordedSlurmrestd) -> None:
    source(recorded, api_version=recorded.version).nodes()
    assert [path for path, _ in recorded.seen] == [f"/slurm/{recorded.version}/nodes"]


def test_the_older_place_of_the_specification_is_found(reference: Path) -> None:
    folder = reference / "data" / "slurmrestd" / FOLDERS[0]
    with RecordedSlurmrestd(folder, specification="/openapi") as server:
        assert source(server).nodes().rows


def test_every_row_is_read_and_named_by_slurms_cluster(recorded: RecordedSlurmrestd) -> None:
    slurm = source(recorded)
    nodes, partitions = slurm.nodes(), slurm.partitions()
    assert len(nodes.rows) == counted(recorded, "slurm-nodes", r'"boot_time"')
    assert len(partitions.rows) == counted(recorded, "slurm-partitions", r'"maximums"')
    assert {row.cluster for row in nodes.rows} == {"hpc"}
    assert nodes.broken == partitions.broken == 0


def test_only_live_jobs_are_in_the_live_picture(recorded: RecordedSlurmrestd) -> None:
    ended = counted(recorded, "slurm-jobs", r'"job_state": \[\s*"(?:COMPLETED|FAILED|TIMEOUT|CANCELLED)"\s*\]')
    every = counted(recorded, "slurm-jobs", r'"job_state"')
    assert len(source(recorded).jobs().rows) == every - ended > 0


def test_a_setting_names_the_cluster_on_the_screen_only(recorded: RecordedSlurmrestd) -> None:
    settings = SlurmSettings.model_validate({"kind": "rest", "url": recorded.url})
    rows = RestSource(settings, "our big machine").associations().rows
    assert {row.cluster for row in rows} == {"our big machine"}
    assert len(rows) == counted(recorded, "slurmdb-associations", r'"shares_raw"')


@pytest.mark.parametrize("kind", ["completed", "failed", "timeout", "running", "pending"])
def test_one_job_is_found_with_what_both_daemons_know(recorded: RecordedSlurmrestd, kind: str) -> None:
    job = json.loads((recorded.folder / f"slurmdb-job-{kind}.json").read_text())["jobs"][0]
    found = source(recorded).job(str(job["job_id"]))
    assert [(row.job_id, row.state, row.user) for row in found] == [(job["job_id"], kind.upper(), job["user"])]


def test_a_job_that_only_accounting_remembers_is_found(recorded: RecordedSlurmrestd) -> None:
    job = json.loads((recorded.folder / "slurmdb-job-archived.json").read_text())["jobs"][0]
    assert [row.job_id for row in source(recorded).job(str(job["job_id"]))] == [job["job_id"]]


def test_a_job_that_nobody_knows_is_no_error(recorded: RecordedSlurmrestd) -> None:
    assert source(recorded).job("999999") == ()


def test_finished_jobs_are_asked_for_by_epoch_and_kept_when_they_ran_in_the_span(recorded: RecordedSlurmrestd) -> None:
    ended = json.loads((recorded.folder / "slurmdb-job-completed.json").read_text())["jobs"][0]
    start, end = ended["time"]["start"], ended["time"]["end"]
    since, until = (datetime.fromtimestamp(moment, UTC) for moment in (start, end + 1))
    rows = source(recorded).finished_jobs(since, until).rows
    assert ended["job_id"] in {row.job_id for row in rows}
    assert all(row.start_time and row.end_time and row.start_time < until and row.end_time > since for row in rows)
    assert any(f"start_time={start}" in path for path, _ in recorded.seen)
    assert source(recorded).finished_jobs(*ALL_TIME).rows == ()


def test_the_token_goes_with_its_users_name(recorded: RecordedSlurmrestd) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.c2ln"
    source(recorded, token=token).nodes()
    _, headers = recorded.seen[-1]
    assert headers["X-SLURM-USER-TOKEN"] == token and headers["X-SLURM-USER-NAME"] == "alice"


@pytest.mark.parametrize("recording", ["slurm-jwt-invalid-token", "slurm-jwt-missing-headers"])
def test_refused_credentials_are_denied_whatever_status_says_it(recorded: RecordedSlurmrestd, recording: str) -> None:
    kind = recorded._status[recording]
    file = next(recorded.folder.glob(f"{recording}.*"))
    recorded.answer = lambda path: (kind["status"], kind["content-type"], file.read_bytes())  # type: ignore[method-assign]
    with pytest.raises(SourceDenied) as caught:
        source(recorded, api_version=recorded.version, token="aaa.bbb.ccc").nodes()
    assert caught.value.hint


def test_an_unknown_page_is_not_an_empty_answer(recorded: RecordedSlurmrestd) -> None:
    with pytest.raises(CannotKnow):
        source(recorded, api_version="v0.0.99").nodes()


def test_a_server_that_offers_only_old_versions_is_refused_with_the_way_out(reference: Path) -> None:
    with RecordedSlurmrestd(reference / "data" / "slurmrestd" / FOLDERS[0]) as server:
        server.answer = lambda path: (200, "application/json", b'{"paths": {"\\/slurm\\/v0.0.36\\/jobs": {}}}')  # type: ignore[method-assign]
        with pytest.raises(CannotKnow) as caught:
            source(server).nodes()
    assert "commands" in caught.value.hint


def test_a_server_that_is_not_slurmrestd_is_garbled(reference: Path) -> None:
    with RecordedSlurmrestd(reference / "data" / "slurmrestd" / FOLDERS[0]) as server:
        server.answer = lambda path: (200, "text/html", b"<html>welcome</html>")  # type: ignore[method-assign]
        with pytest.raises(SourceGarbled):
            source(server).nodes()


@pytest.mark.parametrize("version", ["41", "v41", "v0.0.x", "0.0.41/../../"])
def test_a_wrong_version_setting_is_named(version: str) -> None:
    with pytest.raises(SettingsError, match="api_version"):
        RestSource(SlurmSettings(url="http://127.0.0.1:1", api_version=version))


@pytest.mark.parametrize("url", ["", "ftp://x", "unix://", "127.0.0.1:6820", "http://user:secret@host"])
def test_a_wrong_url_is_named_and_no_password_repeated(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        endpoint(url, None)
    assert "slurm.url" in str(caught.value) and "secret" not in str(caught.value)


def test_health_names_version_and_notes(recorded: RecordedSlurmrestd) -> None:
    health = source(recorded).health()
    assert health.reachable and (health.version or "").startswith(recorded.folder.parent.name)
    assert any("slurmdbd does not answer" in note for note in health.notes)  # its resources were not recorded
