"""The store of the history: merged by key, replaced whole, damaged files set aside."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.errors import FullwarpError
from data.history.datasets import DATASETS
from data.history.files import files
from data.history.lease import HeldByAnother, Lease
from data.history.store import HistoryStore, set_aside, writing
from data.history.tables import keys_of, table_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = date(2026, 3, 1)


def job(number: int, end: datetime = NOON + timedelta(hours=1), **more: Any) -> dict[str, Any]:
    return {"cluster": "c", "job_id": number, "submit_time": NOON, "start_time": NOON, "end_time": end, **more}


def jobs(*rows: dict[str, Any], at: datetime = NOON) -> pa.Table:
    return table_of(DATASETS["jobs"], rows, at)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    with writing(tmp_path / "history") as opened:
        yield opened


def ids(store: HistoryStore, name: str = "jobs", day: date = DAY) -> list[int]:
    return sorted(store.read(name, day).column("job_id").to_pylist())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_rows_are_merged_by_their_key_and_the_newest_stays(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1, state="FAILED"), job(2, state="FAILED")))
    store.put("jobs", jobs(job(2, state="COMPLETED"), job(3), at=NOON + timedelta(hours=2)))
    assert ids(store) == [1, 2, 3]
    assert store.read("jobs", DAY).to_pylist()[1]["state"] == "COMPLETED"


def test_the_same_rows_once_more_change_no_file(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1, nodes=["a", "b"]), job(2)))
    before = contents(store.directory)
    assert store.put("jobs", jobs(job(2), job(1, nodes=["a", "b"]), at=NOON + timedelta(days=1))) == 0
    assert contents(store.directory) == before


def test_rows_with_one_number_and_other_starts_are_different_attempts(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1), job(1) | {"start_time": NOON + timedelta(minutes=1)}))
    assert ids(store) == [1, 1]


def test_a_row_leaves_the_file_of_the_day_it_moved_from(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1), job(2)))
    moved = jobs(job(1, NOON + timedelta(days=1)))
    store.put("jobs", moved)
    assert store.drop("jobs", DAY, keys_of(DATASETS["jobs"], moved)) == 1
    assert ids(store) == [2]
    assert ids(store, day=DAY + timedelta(days=1)) == [1]


def test_a_file_without_rows_goes_away_with_its_folder(store: HistoryStore) -> None:
    rows = jobs(job(1))
    store.put("jobs", rows)
    store.drop("jobs", DAY, keys_of(DATASETS["jobs"], rows))
    assert store.days("jobs") == []


@pytest.mark.parametrize("harm", [lambda whole: whole[:-7], lambda whole: b"", lambda whole: b"PAR1" + b"\0" * 50])
def test_a_half_written_file_is_named_and_the_others_are_read(store: HistoryStore, harm: Any) -> None:
    store.put("jobs", jobs(job(1), job(2, NOON + timedelta(days=1))))
    path = files(store.directory, "jobs").paths[0]
    path.write_bytes(harm(path.read_bytes()))
    found = files(store.directory, "jobs")
    assert [damaged.path for damaged in found.damaged] == [path]
    assert "half written" in found.damaged[0].reason
    assert len(found.paths) == 1


def test_a_damaged_file_is_set_aside_when_its_day_is_written_to(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1)))
    path = files(store.directory, "jobs").paths[0]
    path.write_bytes(path.read_bytes()[:-7])
    store.put("jobs", jobs(job(2)))
    assert ids(store) == [2]
    assert [damaged.path.name.split(".")[:2] for damaged in set_aside(store.directory)] == [["jobs", "day=2026-03-01"]]
    assert files(store.directory, "jobs").damaged == ()


def test_damage_inside_a_file_with_a_whole_footer_is_found_when_it_is_merged(store: HistoryStore) -> None:
    store.put("jobs", jobs(*(job(number, name=f"job {number}") for number in range(100))))
    path = files(store.directory, "jobs").paths[0]
    whole = bytearray(path.read_bytes())
    whole[40:80] = b"\x55" * 40
    path.write_bytes(bytes(whole))
    store.put("jobs", jobs(job(200)))
    assert ids(store) == [200]
    assert len(set_aside(store.directory)) == 1


def test_a_file_of_a_newer_version_is_named_and_never_written_to(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1)))
    path = files(store.directory, "jobs").paths[0]
    newer = pq.read_table(path).replace_schema_metadata({"fullwarp_schema_version": "99"})
    pq.write_table(newer, path)
    assert "newer version" in files(store.directory, "jobs").damaged[0].reason
    with pytest.raises(FullwarpError, match="newer version"):
        store.put("jobs", jobs(job(2)))


def test_a_file_of_an_earlier_version_without_a_column_is_read_with_nulls(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1, qos="normal")))
    path = files(store.directory, "jobs").paths[0]
    pq.write_table(pq.read_table(path).drop_columns(["qos", "profile"]), path)
    store.put("jobs", jobs(job(2, qos="long")))
    assert [row["qos"] for row in store.read("jobs", DAY).to_pylist()] == [None, "long"]


def test_parts_of_a_day_become_one_file_and_later_rows_join_it(store: HistoryStore) -> None:
    moments = [NOON + timedelta(minutes=minute) for minute in (0, 5, 10)]
    table = table_of(DATASETS["snapshots"], [{"cluster": "c", "time": moment} for moment in moments], NOON)
    store.put("snapshots", table)
    assert len(files(store.directory, "snapshots").paths) == 3
    assert store.compact("snapshots", DAY)
    assert not store.compact("snapshots", DAY)
    late = table_of(DATASETS["snapshots"], [{"cluster": "c", "time": NOON + timedelta(minutes=15)}], NOON)
    store.put("snapshots", late)
    assert len(files(store.directory, "snapshots").paths) == 1
    assert store.read("snapshots", DAY).num_rows == 4


def test_files_gives_only_the_days_asked_for(store: HistoryStore) -> None:
    store.put("jobs", jobs(*(job(day, NOON + timedelta(days=day)) for day in range(4))))
    found = files(store.directory, "jobs", date(2026, 3, 2), date(2026, 3, 3))
    assert [path.parent.name for path in found.paths] == ["day=2026-03-02", "day=2026-03-03"]


def test_what_does_not_belong_there_is_no_history(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1)))
    (store.directory / "jobs" / "day=today").mkdir()
    (store.directory / "jobs" / "notes.txt").write_text("x")
    (store.directory / "jobs" / "day=2026-03-01" / ".rows.parquet.12.tmp").write_text("x")
    assert len(files(store.directory, "jobs").paths) == 1
    assert files(store.directory / "missing", "jobs").paths == ()


def test_a_second_writer_is_told_who_writes(store: HistoryStore) -> None:
    with pytest.raises(HeldByAnother, match="is writing to the history"), writing(store.directory):
        pass


def test_a_lease_of_another_host_is_taken_over_only_when_it_is_not_renewed(tmp_path: Path) -> None:
    other = Lease(tmp_path, host="other")
    other.take()
    mine = Lease(tmp_path, host="mine")
    with pytest.raises(HeldByAnother, match="on other"):
        mine.take(wait_seconds=0.5)
    mine.take(wait_seconds=3.0, lapse_seconds=0.5)
    mine.require()
    with pytest.raises(HeldByAnother, match="taken over"):
        other.require()
    other.release()
    mine.require()
    mine.release()
    other.take()
    other.release()


def test_numbers_are_written_as_they_are_and_texts_with_a_dictionary(store: HistoryStore) -> None:
    store.put("jobs", jobs(job(1, user="alice", account_path=["lab", "physics"], gpu_hours_used=1.5)))
    group = pq.ParquetFile(next((store.directory / "jobs").rglob("*.parquet"))).metadata.row_group(0)
    columns = {one.path_in_schema: one for one in map(group.column, range(group.num_columns))}
    assert {one.compression for one in columns.values()} == {"LZ4"}
    for name, has_dictionary in (("user", True), ("account_path.list.element", True), ("gpu_hours_used", False)):
        assert columns[name].has_dictionary_page is has_dictionary, name
