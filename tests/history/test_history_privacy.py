"""Names of people in the history: pseudonyms that stay the same, and users who are forgotten for good."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from data.errors import BadRequest, SettingsError
from data.history.privacy import KEY_FILE, forget_user, read_pseudonyms
from data.history.pseudonyms import FORGOTTEN, Pseudonyms
from data.history.store import writing
from settings import HistorySettings
from tests.history.small_cluster import NOON, SmallCluster, ended, running, summary

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OLD = NOON - 20 * DAY


def cluster_with(tmp_path: Path, **settings: object) -> SmallCluster:
    cluster = SmallCluster(tmp_path / "history", settings=settings)
    cluster.done = [
        ended(1, OLD, OLD + HOUR, user="alice", name="thesis of alice", admin_comment=summary(0.5)),
        ended(2, OLD, OLD + HOUR, user="bob", account="bob"),
        ended(3, NOON - 3 * HOUR, NOON - HOUR, user="alice"),
    ]
    cluster.jobs = [running(4, NOON - HOUR, user="alice", name="now")]
    return cluster


def everything(cluster: SmallCluster) -> str:
    return repr([cluster.rows(name) for name in ("jobs", "usage", "allocations", "snapshots")])


def forget(cluster: SmallCluster, user: str) -> int:
    with writing(cluster.directory) as store:
        return forget_user(store, cluster.sources().settings.history, user, cluster.now).files


def test_old_rows_come_in_with_pseudonyms_and_new_ones_with_names(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, pseudonyms_after_days=10)
    cluster.collect(NOON - 30 * DAY)
    pseudonyms = read_pseudonyms(HistorySettings(directory=cluster.directory))
    first, second, third = cluster.rows("jobs")
    assert (first["user"], first["name"]) == (pseudonyms.of("alice"), None)
    assert (second["user"], second["account"]) == (pseudonyms.of("bob"), pseudonyms.of("bob"))
    assert (third["user"], third["name"]) == ("alice", "job-3")
    assert first["gpu_hours_used"] == 0.5
    assert cluster.rows("usage", job_id=1)[0]["user"] == first["user"]


def test_rows_that_grow_old_get_pseudonyms_at_night_and_keep_them_when_collected_again(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, pseudonyms_after_days=10)
    cluster.collect()
    assert cluster.rows("jobs")[0]["user"] == "alice"
    cluster.now += 12 * DAY
    cluster.jobs = []
    cluster.collect()
    old = everything(cluster)
    assert "alice" not in old and "'now'" not in old
    cluster.now += HOUR
    assert cluster.collect(NOON - DAY).written == 0
    assert "alice" not in everything(cluster)


def test_a_user_who_is_forgotten_is_in_no_file_and_does_not_come_back(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path)
    cluster.collect(NOON - 30 * DAY)
    hours = cluster.hours(1)
    assert forget(cluster, "alice") >= 4
    assert "alice" not in everything(cluster)
    assert [row["user"] for row in cluster.rows("jobs")] == [FORGOTTEN, "bob", FORGOTTEN]
    assert cluster.hours(1) == hours
    cluster.done = [replace(job, state="FAILED") for job in cluster.done]
    cluster.now += 2 * HOUR
    cluster.collect(NOON - 30 * DAY)
    first = cluster.rows("jobs")[0]
    assert (first["state"], first["user"]) == ("FAILED", FORGOTTEN)
    assert forget(cluster, "nobody") == 0


def test_a_forgotten_user_who_computes_again_has_a_name_again(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path)
    cluster.collect()
    forget(cluster, "alice")
    cluster.jobs = []
    cluster.done.append(ended(9, NOON + HOUR, NOON + 2 * HOUR, user="alice"))
    cluster.now += 3 * HOUR
    cluster.collect()
    assert [row["user"] for row in cluster.rows("jobs")] == [FORGOTTEN, "alice"]


def test_who_has_a_pseudonym_already_can_be_forgotten_too(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, pseudonyms_after_days=10)
    cluster.collect(NOON - 30 * DAY)
    forget(cluster, "bob")
    assert cluster.rows("jobs")[1]["user"] == FORGOTTEN


def test_the_key_is_for_its_owner_alone_and_another_key_gives_other_pseudonyms(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, pseudonyms_after_days=10)
    cluster.collect()
    assert stat.S_IMODE((cluster.directory / KEY_FILE).stat().st_mode) == 0o600
    assert Pseudonyms(b"one key").of("alice") != Pseudonyms(b"another").of("alice")
    once = Pseudonyms(b"one key").of("alice")
    assert Pseudonyms(b"one key").of(once) == once


@pytest.mark.parametrize("content", [None, "short"])
def test_a_key_file_that_cannot_be_used_says_how_to_make_one(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "key"
    if content:
        path.write_text(content)
    with pytest.raises(SettingsError) as raised:
        read_pseudonyms(HistorySettings(directory=tmp_path, pseudonym_key_file=path))
    assert "openssl rand" in raised.value.hint


def test_nobody_cannot_be_forgotten(tmp_path: Path) -> None:
    with pytest.raises(BadRequest):
        forget(cluster_with(tmp_path), "  ")


def test_days_that_are_kept_no_longer_go_and_do_not_come_back(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, jobs_days=10, usage_days=5, snapshots_days=1, allocations_days=1)
    cluster.collect(NOON - 30 * DAY)
    assert [row["job_id"] for row in cluster.rows("jobs")] == [3]
    cluster.jobs = []
    cluster.now += 7 * DAY
    cluster.collect()
    assert [row["job_id"] for row in cluster.rows("jobs")] == [3]
    assert [row["_day"].day for row in cluster.rows("snapshots")] == [17]
    assert cluster.rows("usage", job_id=3) == cluster.rows("allocations") == []
