"""Reports over history: hours added up by hand, edges, groups, filters, coverage."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from data.errors import BadRequest, CannotKnow
from data.model import Role, Viewer, Visibility
from data.queries.history import (
    Between,
    Group,
    HistoryFilter,
    cluster_report,
    common_findings,
    detailed,
    findings,
    heat_map,
    hours_by_utilization,
    ranking,
    report,
    report_named,
    standing,
    trend,
    user_history,
    week_hours,
)
from data.queries.history.state import BY_NODE, NO_NODE
from tests.queries.history.attempts import COLLECTED, Attempt, asked, at, put, sources_of, write

STAFF = Viewer("root", Role.STAFF)
ALICE = Viewer("alice", Role.USER)
# Few columns, where a test is of other things: a question is compiled once for each set of them.
HOURS = ("gpu_hours_allocated",)
HOSTILE = "x'; DROP TABLE jobs; --<b>\ue000users\ue001"

# GPU-hours in [0, 24): 1 has 20, 2 has 20 of its 40 (began before), 3 has 4 of 10 (runs on), 4 none (CPU only),
# 5 has 2 (not measured), 6 has 8 (ended after), 7 is of the day before.
ATTEMPTS = (
    Attempt(
        1,
        0,
        10,
        gpus=2,
        used=0.9,
        memory_gib=20,
        findings=("small_kernels", "over_ask"),
        nodes=("gpu01", "gpu02"),
        metrics={"gpu_utilization": 0.9, "sm_activity": 0.2, "tensor_activity": 0.1},
    ),
    Attempt(
        2,
        -5,
        5,
        gpus=4,
        used=0.25,
        user="bob",
        account="bio",
        path=("science", "bio"),
        memory_gib=3,
        findings=("idle",),
        model="A100 80GB",
        name="sweep_17",
    ),
    Attempt(3, 20, None, gpus=1, until=30, used=0.0, idle=1.0, wait=None),
    Attempt(4, 3.5, 4.25, gpus=0, used=None, user="carol", account="bio", path=("science", "bio"), model=None),
    Attempt(5, 6, 7, gpus=2, used=None, user=HOSTILE, account="law", path=("law",), state="FAILED", model=None),
    Attempt(
        6,
        16,
        40,
        gpus=1,
        used=0.5,
        idle=0.25,
        user="dave",
        account="physics",
        partition="long",
        wait=3600.0,
        name="sweep_18",
    ),
    Attempt(7, -10, -6, gpus=8, used=1.0, user="bob"),
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return sources_of(write(tmp_path_factory.mktemp("history"), ATTEMPTS))


def allocated(found):
    return {row.label: round(row.hours.allocated, 6) for row in found.rows}


def test_the_part_inside_the_range_counts_by_user(sources):
    found = report(STAFF, sources, asked(0, 24))
    assert allocated(found) == {"alice": 24, "bob": 20, "dave": 8, HOSTILE: 2, "carol": 0}
    assert {row.label: row.values["jobs"] for row in found.rows} == {
        "alice": 2,
        "bob": 1,
        "dave": 1,
        HOSTILE: 1,
        "carol": 1,
    }
    alice = found.rows[0]
    assert alice.hours.used == pytest.approx(18)
    assert alice.hours.idle == pytest.approx(4)
    assert alice.hours.partly_used == pytest.approx(2)
    assert alice.values["utilization"] == pytest.approx(18 / 24)
    assert alice.values["sm_activity"] == pytest.approx(0.2)
    assert alice.values["sm_activity_coverage"] == pytest.approx(20 / 24)


def test_the_total_is_the_sum_of_the_groups_and_of_its_four_parts(sources):
    for group in (Group.USER, Group.PARTITION, Group.MODEL, Group.STATE, Group.SIZE, Group.QOS, Group.JOB, Group.DAY):
        found = report(STAFF, sources, asked(0, 24, by=group, columns=HOURS))
        assert found.total.hours.allocated == pytest.approx(54), group
        assert sum(row.hours.allocated for row in found.rows) == pytest.approx(54), group
        assert found.total.values["jobs"] == 6, group
        hours = found.total.hours
        parts = (hours.used, hours.partly_used, hours.idle, hours.not_measured)
        assert sum(parts) == pytest.approx(54), group


def test_what_was_not_measured_is_none_and_not_zero(sources):
    row = next(row for row in report(STAFF, sources, asked(0, 24)).rows if row.label == HOSTILE)
    values = row.values
    assert [values[name] for name in ("gpu_hours_used", "gpu_hours_idle", "gpu_hours_wasted", "utilization")] == [
        None
    ] * 4
    assert values["gpu_hours_not_measured"] == pytest.approx(2)
    assert values["coverage"] == 0
    assert values["cost"] is None
    assert values["energy_kwh"] is None


@pytest.mark.parametrize(("since", "until"), [(0, 24), (2.5, 21.25), (16.01, 16.02)])
def test_two_halves_add_up_to_the_whole_wherever_the_cut_lies(sources, since, until):
    for cut in (since + (until - since) / 3, since + (until - since) * 0.77):
        spans = ((since, until), (since, cut), (cut, until))
        asks = [asked(*span, by=Group.NONE, columns=HOURS) for span in spans]
        whole, *halves = [report(STAFF, sources, query).total.hours for query in asks]
        for name in ("allocated", "measured", "used", "idle"):
            parts = [getattr(half, name) or 0.0 for half in halves]
            assert sum(parts) == pytest.approx(getattr(whole, name) or 0.0, abs=1e-9), name


def test_an_edge_inside_an_hour_follows_the_profile(tmp_path):
    steps = (100, 100, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0)  # busy for 15 of 60 minutes
    directory = write(tmp_path, [Attempt(1, 0, 1, gpus=2, used=0.25, idle=0.75, steps=steps)])
    found = report(STAFF, sources_of(directory), asked(0.125, 0.5, columns=HOURS)).total.hours
    assert found.allocated == pytest.approx(0.75)
    assert found.used == pytest.approx(2 * 0.125)
    assert found.idle == pytest.approx(2 * 0.25)


def test_a_crossing_attempt_without_hours_counts_for_its_share_and_is_marked(tmp_path):
    put(tmp_path, "jobs", [Attempt(1, -6, 6, gpus=2, used=0.5).job_row()])
    found = report(STAFF, sources_of(tmp_path), asked(0, 24)).total
    assert found.hours.allocated == pytest.approx(12)
    assert found.hours.used == pytest.approx(6)
    assert found.values["jobs_apportioned"] == 1


def test_the_account_tree_has_a_row_for_each_level(sources):
    found = report(STAFF, sources, asked(0, 24, by=Group.ACCOUNT, columns=HOURS))
    assert {(row.key, row.level, row.parent): round(row.hours.allocated) for row in found.rows} == {
        ("science", 1, None): 52,
        ("physics", 2, "science"): 32,
        ("bio", 2, "science"): 20,
        ("law", 1, None): 2,
    }
    top = report(STAFF, sources, asked(0, 24, by=Group.ACCOUNT, account_level=1, columns=HOURS))
    assert allocated(top) == {"science": 52, "law": 2}
    assert sum(row.hours.allocated for row in top.rows) == pytest.approx(top.total.hours.allocated)


def test_departments_come_from_the_nearest_account_in_the_file(tmp_path, sources):
    file = tmp_path / "departments.csv"
    file.write_text("account,department\nscience,Natural sciences\nbio,Life\n", encoding="utf-8")
    mine = sources_of(sources.settings.history.directory, history={"departments_file": file})
    found = report(STAFF, mine, asked(0, 24, by=Group.DEPARTMENT, columns=HOURS))
    assert allocated(found) == {"Natural sciences": 32, "Life": 20, "(no department)": 2}
    chosen = HistoryFilter(departments=frozenset({"Life"}))
    assert allocated(report(STAFF, mine, asked(0, 24, filter=chosen, columns=HOURS))) == {"bob": 20, "carol": 0}


@pytest.mark.parametrize(
    ("chosen", "labels"),
    [
        ({"users": {"bob"}}, {"bob": 20}),
        ({"users": {HOSTILE}}, {HOSTILE: 2}),
        ({"accounts": {"science"}}, {"alice": 24, "bob": 20, "dave": 8, "carol": 0}),
        ({"partitions": {"long"}, "users": {"dave", "alice"}}, {"dave": 8}),
        ({"models": {"A100 80GB"}}, {"bob": 20}),
        ({"states": {"RUNNING"}}, {"alice": 4}),
        ({"states": {"FAILED"}}, {HOSTILE: 2}),
        ({"findings": {"idle", "over_ask"}}, {"alice": 20, "bob": 20}),
        ({"applications": {"SWEEP*"}}, {"bob": 20, "dave": 8}),
        ({"applications": {"sweep_1?"}}, {"bob": 20, "dave": 8}),
        ({"applications": {"sweep[_]17", ".*"}}, {}),
        ({"sizes": {"1", "CPU only"}}, {"alice": 4, "dave": 8, "carol": 0}),
        ({"nodes": {"gpu02"}}, {"alice": 10}),
        ({"users": {"nobody"}}, {}),
        ({"utilization": Between(0.2, 0.6)}, {"bob": 20, "dave": 8}),
        ({"gpu_memory_gib": Between(2, 5)}, {"bob": 20}),
    ],
)
def test_filters_combine(sources, chosen, labels):
    wanted = HistoryFilter(
        **{name: frozenset(value) if isinstance(value, set) else value for name, value in chosen.items()}
    )
    found = report(STAFF, sources, asked(0, 24, filter=wanted, columns=HOURS))
    assert allocated(found) == labels
    if {"findings", "nodes", "utilization", "states"} & set(chosen):
        by_day = report(STAFF, sources, asked(0, 24, by=Group.DAY, filter=wanted, columns=HOURS))
        assert by_day.total.hours.allocated == pytest.approx(sum(labels.values()))


def test_hours_are_split_by_node_and_what_is_not_is_none(sources):
    found = report(STAFF, sources, asked(0, 24, by=Group.NODE))
    assert allocated(found) == {"gpu01": 44, "gpu02": 10}
    assert found.total.values["jobs"] == 6
    assert found.rows[0].values["sm_activity"] is None
    assert BY_NODE in found.state.notes and NO_NODE not in found.state.notes


def test_jobs_of_which_nobody_saw_the_nodes_are_said(tmp_path):
    sources = sources_of(write(tmp_path, [Attempt(1, 0, 10, gpus=16, nodes=("",))]))
    found = report(STAFF, sources, asked(0, 24, by=Group.NODE))
    assert [(row.label, row.hours.allocated) for row in found.rows] == [("(none)", 160)]
    assert NO_NODE in found.state.notes


def test_applications_are_put_together_without_their_numbers(sources):
    assert allocated(report(STAFF, sources, asked(0, 24, by=Group.APPLICATION, columns=HOURS))) == {
        "train": 26,
        "sweep": 28,
    }


def test_waits_are_of_the_jobs_that_began_in_the_range(sources):
    found = report(STAFF, sources, asked(0, 24))
    assert {wait.size: (wait.jobs, wait.p50_seconds) for wait in found.waits if wait.jobs} == {
        "": (4, pytest.approx(600)),
        "1": (1, 3600),
        "2-4": (2, 600),
        "CPU only": (1, 600),
    }
    assert next(row for row in found.rows if row.label == "dave").values["wait_p90_seconds"] == 3600
    assert next(row for row in found.rows if row.label == "bob").values["wait_p50_seconds"] is None


def test_cost_follows_the_rate_of_the_model_and_says_of_how_much(sources):
    mine = sources_of(sources.settings.history.directory, history={"gpu_hour_rates": {"h100": 2.0, "A100": 1.0}})
    values = report(STAFF, mine, asked(0, 24, by=Group.NONE)).total.values
    assert values["cost"] == pytest.approx(2.0 * 32 + 1.0 * 20)
    assert values["cost_coverage"] == pytest.approx(52 / 54)


def test_the_change_is_against_the_time_of_equal_length_before(sources):
    found = report(STAFF, sources, asked(0, 24, compare=True))
    assert found.total.previous["gpu_hours_allocated"] == pytest.approx(20 + 32)
    assert found.total.change("gpu_hours_allocated") == pytest.approx(54 / 52 - 1)
    bob = next(row for row in found.rows if row.label == "bob")
    assert bob.previous["jobs"] == 2
    assert next(row for row in found.rows if row.label == "carol").change("gpu_hours_allocated") is None


def test_jobs_are_sorted_and_limited_in_the_engine_and_the_total_is_of_all(sources):
    found = report(STAFF, sources, asked(0, 24, by=Group.JOB, sort="-gpu_hours_wasted", limit=2, columns=HOURS))
    assert [row.label for row in found.rows] == ["2", "3"]
    assert (found.groups, round(found.total.hours.allocated)) == (6, 54)
    assert found.rows[0].about["user"] == "bob"
    with pytest.raises(BadRequest, match="sorted by cost"):
        report(STAFF, sources, asked(0, 24, by=Group.JOB, sort="cost"))


@pytest.mark.parametrize("sort", ["name", "-name"])
def test_jobs_are_sorted_by_their_id(sources, sort):
    found = report(STAFF, sources, asked(0, 24, by=Group.JOB, sort=sort, columns=HOURS))
    ids = [int(row.label) for row in found.rows]
    assert len(ids) > 1 and ids == sorted(ids, reverse=sort == "-name")


def test_days_and_hours_of_the_week_are_the_sites_own(tmp_path):
    # 2026-03-29 has 23 hours in Berlin: 01:00 UTC is 03:00 there.
    begin = 27 * 24 - 1.0  # Saturday 2026-03-28, 23:00 UTC
    directory = write(tmp_path, [Attempt(1, begin, begin + 24, gpus=1)])
    mine = sources_of(directory, site_timezone="Europe/Berlin")
    query = asked(begin - 48, begin + 48)
    points = {moment.date().isoformat(): hours.allocated for moment, hours in trend(STAFF, mine, query).points}
    assert {day: hours for day, hours in points.items() if hours} == {"2026-03-29": 23.0, "2026-03-30": 1.0}
    found = week_hours(STAFF, mine, query)
    assert (found.hours[6, 1].allocated, found.hours[6, 3].allocated) == (1, 1)
    assert (6, 2) not in found.hours
    weeks = trend(STAFF, mine, query, "week").points
    assert [moment.tzinfo for moment, _ in weeks] == [ZoneInfo("Europe/Berlin")] * len(weeks)
    assert [hours.allocated for _, hours in weeks] == [23, 1]


def test_maps_place_attempts_by_their_own_means(sources):
    found = heat_map(STAFF, sources, asked(0, 24))
    assert {(cell.utilization.low, cell.gpu_memory_gib.low): cell.gpu_hours for cell in found.cells} == {
        (0.9, 20.0): pytest.approx(20),
        (0.25, 2.0): pytest.approx(20),
    }
    assert found.gpu_hours == pytest.approx(54)
    assert found.not_measured == pytest.approx(14)
    cell = found.cells[0]
    chosen = HistoryFilter(utilization=cell.utilization, gpu_memory_gib=cell.gpu_memory_gib)
    behind = report(STAFF, sources, asked(0, 24, by=Group.JOB, filter=chosen, columns=HOURS))
    assert [row.label for row in behind.rows] == ["2"]
    bins = hours_by_utilization(STAFF, sources, asked(0, 24))
    assert {one.low: one.gpu_hours for one in bins.bins if one.jobs} == {
        0.0: 4,
        0.25: 20,
        0.5: 8,
        0.9: pytest.approx(20),
    }
    assert bins.not_measured == pytest.approx(2)


def test_details_are_weighted_by_their_own_hours_and_can_be_judged(sources):
    found = detailed(STAFF, sources, asked(0, 24))
    alice = found.rows[0]
    assert alice.metrics["sm_activity"].value == pytest.approx(0.2)
    assert alice.metrics["sm_activity"].hours == pytest.approx(20)
    assert alice.metrics["utilization_gap"].value == pytest.approx(0.7)
    assert "small_kernels" in alice.diagnoses
    assert "fp64_activity" in found.not_exported
    assert "sm_activity" not in found.not_exported
    bob = next(row for row in found.rows if row.label == "bob")
    assert (bob.model, bob.value("sm_activity")) == ("A100 80GB", None)


def test_findings_name_the_attempts_that_show_them(sources):
    found = findings(STAFF, sources, asked(0, 24, columns=HOURS))
    assert [(row.id, row.jobs, round(row.gpu_hours), [one.label for one in row.examples]) for row in found] == [
        ("idle", 1, 20, ["2"]),
        ("over_ask", 1, 20, ["1"]),
        ("small_kernels", 1, 20, ["1"]),
    ]


def test_each_group_has_its_most_frequent_finding_and_the_rest_none(sources):
    among = {"small_kernels", "idle"}  # `over_ask` is as frequent
    by_user = common_findings(STAFF, sources, asked(0, 24), among)
    assert {key[0]: (one.id, one.jobs, round(one.gpu_hours)) for key, one in by_user.items()} == {
        "alice": ("small_kernels", 1, 20),
        "bob": ("idle", 1, 20),
    }
    by_account = common_findings(STAFF, sources, asked(0, 24, by=Group.ACCOUNT), among)
    assert by_account["science", None, 1].id == "idle" and ("bio", "science", 2) in by_account
    assert set(common_findings(ALICE, sources, asked(0, 24), among)) == {("alice", None, None)}
    with pytest.raises(BadRequest, match="by job"):
        common_findings(STAFF, sources, asked(0, 24, by=Group.JOB), among)


def test_rows_are_found_by_a_part_of_their_name_and_the_total_is_of_all(sources):
    found = report_named(STAFF, sources, asked(0, 24, limit=1), "A")
    whole = report(STAFF, sources, asked(0, 24))
    assert [row.label for row in found.rows] == ["alice"] and found.groups == 4
    assert found.total == whole.total
    assert report_named(ALICE, sources, asked(0, 24), "bob").rows == ()
    with pytest.raises(BadRequest, match="not found by a text"):
        report_named(STAFF, sources, asked(0, 24, by=Group.JOB), "1")


def test_the_ranking_leaves_out_what_has_no_value(sources):
    assert [row.label for row in ranking(STAFF, sources, asked(0, 24))] == ["bob", "alice", "dave"]


@pytest.mark.parametrize(
    ("viewer", "seen"),
    [
        (ALICE, {"alice"}),
        (Viewer("head", Role.USER, coordinated_accounts=frozenset({"bio"})), {"bob", "carol"}),
        (Viewer("bob", Role.USER, frozenset({"physics"}), visibility=Visibility.ACCOUNT), {"alice", "bob", "dave"}),
        (Viewer("x", Role.USER, visibility=Visibility.ALL), {"alice", "bob", "carol", "dave", HOSTILE}),
        (Viewer("stranger", Role.USER, frozenset({"physics"})), set()),
        (Viewer("' OR '1'='1", Role.USER), set()),
    ],
)
def test_a_viewer_finds_only_what_they_may_see(sources, viewer, seen):
    assert {row.label for row in report(viewer, sources, asked(0, 24, columns=HOURS)).rows} == seen


def test_no_question_of_a_user_is_answered_with_anybody_elses(sources):
    everybody = HistoryFilter(users=frozenset({"bob", "dave", "alice", "carol", HOSTILE}))
    assert [row.label for row in report(ALICE, sources, asked(0, 24, columns=HOURS, filter=everybody)).rows] == [
        "alice"
    ]
    asks = (report, detailed, trend, heat_map, week_hours, hours_by_utilization, findings, ranking)
    answers = repr([ask(ALICE, sources, asked(0, 24, columns=HOURS)) for ask in asks])
    assert [name for name in ("bob", "dave", "carol", "sweep_18") if name in answers] == []


def test_totals_of_the_whole_cluster_name_nobody(sources):
    found = cluster_report(ALICE, sources, asked(0, 24, by=Group.PARTITION, columns=HOURS))
    assert allocated(found) == {"gpu": 46, "long": 8}
    for query in (
        asked(0, 24),
        asked(0, 24, by=Group.JOB),
        asked(0, 24, by=Group.NONE, filter=HistoryFilter(users=frozenset({"bob"}))),
        asked(0, 24, by=Group.NONE, filter=HistoryFilter(applications=frozenset({"*"}))),
    ):
        with pytest.raises(BadRequest):
            cluster_report(ALICE, sources, query)


def test_a_place_among_peers_needs_peers(tmp_path):
    many = [Attempt(number, 0, 20, gpus=1, used=number / 10, idle=0.0, user=f"u{number}") for number in range(1, 7)]
    mine = sources_of(write(tmp_path, many))
    found = standing(Viewer("u5", Role.USER), mine, "u5", asked(0, 24))
    assert (found.rank, found.of, found.median) == (2, 6, pytest.approx(0.35))
    assert "u4" not in repr(found)
    few = sources_of(write(tmp_path / "few", many[:3]))
    assert standing(STAFF, few, "u1", asked(0, 24)).median is None


def test_one_users_history_has_all_of_it_and_another_gets_not_found(sources):
    found = user_history(ALICE, sources, "alice", asked(0, 24, columns=HOURS))
    assert found.total.hours.allocated == pytest.approx(24)
    assert [row.label for row in found.jobs] == ["3", "1"]
    assert {row.id for row in found.findings} == {"over_ask", "small_kernels"}
    assert sum(hours.allocated for _, hours in found.trend.points) == pytest.approx(24)
    messages = []
    for name in ("bob", "nobody"):
        with pytest.raises(Exception, match="There is no history") as caught:
            user_history(ALICE, sources, name, asked(0, 24, columns=HOURS))
        messages.append(str(caught.value).replace(name, ""))
    assert messages[0] == messages[1]


def test_a_key_in_two_files_counts_once_and_the_newest_counts(tmp_path):
    write(tmp_path, [Attempt(1, 0, 2, gpus=4)])
    newer = Attempt(1, 0, 2, gpus=4, used=1.0, collected_at=COLLECTED + timedelta(hours=1))
    moved = replace(newer, ends=25.0)
    put(tmp_path, "jobs", [moved.job_row() | {"start_time": at(0)}], "other")
    put(tmp_path, "usage", newer.usage_rows(), "rows-00")
    found = report(STAFF, sources_of(tmp_path), asked(0, 24, by=Group.NONE)).total
    assert (found.values["jobs"], found.hours.used) == (1, pytest.approx(8))


def test_a_damaged_file_is_left_out_and_named_to_staff(tmp_path):
    write(tmp_path, [Attempt(1, 0, 2, gpus=1), Attempt(2, 24, 26, gpus=1, user="bob")])
    broken = tmp_path / "jobs" / "day=2026-03-03" / "rows.parquet"
    broken.write_bytes(broken.read_bytes()[:-40])
    mine = sources_of(tmp_path)
    found = report(STAFF, mine, asked(0, 48, columns=HOURS))
    assert allocated(found)["alice"] == 2
    assert "day=2026-03-03" in found.state.damaged[0]
    assert report(ALICE, mine, asked(0, 48, columns=HOURS)).state.damaged == ()
    assert report(ALICE, mine, asked(0, 48, columns=HOURS)).state.damaged_files == 1


def test_rows_that_cannot_be_read_behind_a_whole_footer_are_left_out_too(tmp_path):
    write(tmp_path, [Attempt(1, 0, 2, gpus=1), Attempt(2, 24, 26, gpus=1, user="bob")])
    broken = tmp_path / "usage" / "day=2026-03-03" / "rows.parquet"
    content = bytearray(broken.read_bytes())
    content[4:2000] = b"\xff" * 1996
    broken.write_bytes(bytes(content))
    found = report(STAFF, sources_of(tmp_path), asked(0, 48, by=Group.DAY, columns=HOURS))
    assert found.total.hours.allocated == pytest.approx(2)
    assert found.state.damaged_files == 1


def test_an_empty_history_is_an_answer_and_none_is_an_error(tmp_path):
    for group in (Group.USER, Group.DAY, Group.JOB):
        query = asked(0, 24, by=group, columns=HOURS)
        found = report(STAFF, sources_of(tmp_path), query)
        assert (found.rows, found.state.is_empty) == ((), True)
        assert "fullwarp collect" in found.state.notes[0]
    assert heat_map(STAFF, sources_of(tmp_path), asked(0, 24)).cells == ()
    with pytest.raises(CannotKnow, match="no history"):
        report(STAFF, sources_of(None), asked(0, 24))


def test_a_file_of_an_earlier_form_is_read_with_the_rest(tmp_path):
    import pyarrow.parquet as pq

    write(tmp_path, [Attempt(1, 0, 2, gpus=1), Attempt(2, 24, 26, gpus=1)])
    old = Path(tmp_path / "jobs" / "day=2026-03-02" / "rows.parquet")
    pq.write_table(pq.read_table(old).drop_columns(["findings", "tensor_activity", "nodes"]), old)
    found = report(STAFF, sources_of(tmp_path), asked(0, 48))
    assert allocated(found) == {"alice": 4}
