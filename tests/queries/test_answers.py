"""The numbers and words of the queries."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from data.attention import attention
from data.errors import BadRequest, CannotKnow, NotFound, SourceUnreachable
from data.model import Device, Gpu, GpuState, JobFilter, JoinMethod, NodeFilter, Tres, WindowReading, WindowStat
from data.queries import job_report, jobs, live, nodes, pending
from data.uses import use_of
from tests.components.snapshots import gpu, node, snapshot, values
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node, measure
from tests.queries.cluster import ALICE, STAFF, open_fakes, readings, scheduler


def test_totals_partition_the_gpus_and_count_slices_apart():
    totals = live.overview(STAFF, open_fakes()).totals
    gpus = totals.use.gpus
    assert (gpus.total, gpus.busy, gpus.idle, gpus.unmeasured) == (32, 1, 3, 8)
    assert (gpus.free, gpus.drained, gpus.down) == (4, 8, 8)
    assert totals.by_state[GpuState.UNMEASURED] == 8
    assert (totals.use.slices.total, totals.use.slices.busy, totals.use.slices.free) == (7, 1, 6)
    assert totals.use.weighted.total == pytest.approx(33)


def test_a_gpu_with_an_xid_is_idle_where_its_signals_agree():
    states = [gpu.state for gpu in live.snapshot(STAFF, open_fakes()).gpus if gpu.device.node == "gpu01"]
    assert states == [GpuState.BUSY, *[GpuState.IDLE] * 3, *[GpuState.FREE] * 4]


def test_means_and_sums_carry_what_they_rest_on():
    use = live.overview(STAFF, open_fakes()).totals.use
    assert use.utilization == pytest.approx((0.8 + 0 + 0 + 0 + 0.37 / 7) / (4 + 1 / 7))  # the slice weighs 1/7
    assert (use.utilization_devices, use.held_devices) == (5, 13)
    assert use.power_watts == pytest.approx(8 * 100.0 + 210.0)
    assert (use.power_cards, use.cards) == (9, 33)


def test_pending_arrays_count_their_tasks():
    queue = live.overview(STAFF, open_fakes()).totals.queue
    assert (queue.running, queue.pending, queue.gpus_requested) == (4, 11, 4 + 160)


def test_a_node_of_two_partitions_counts_once_in_the_cluster_and_held_gpus_follow_the_job():
    totals = live.overview(STAFF, open_fakes()).totals
    groups = {group.name: group for group in totals.by_partition}
    assert groups["all"].use.gpus.total == 8
    assert (groups["all"].use.gpus.allocated, groups["all"].use.gpus.elsewhere) == (0, 4)
    assert groups["gpu"].use.gpus.allocated == 12
    assert totals.use.gpus.total == 32


def test_models_are_grouped_by_name_and_profile():
    totals = live.overview(STAFF, open_fakes()).totals
    assert {group.name: group.use.gpus.total + group.use.slices.total for group in totals.by_model} == {
        "NVIDIA H100 80GB HBM3": 32,  # of which 24 have no series: Slurm calls them h100
        "NVIDIA H100 1g.10gb": 7,
    }


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (NodeFilter(), ["gpu01", "gpu02", "gpu03", "gpu04", "mig01", "cpu01"]),
        (NodeFilter(partitions=frozenset({"mig"})), ["mig01"]),
        (NodeFilter(states=frozenset({"drained", "down"})), ["gpu02", "gpu03"]),
        (NodeFilter(gpu_states=frozenset({"idle"})), ["gpu01"]),
        (NodeFilter(models=frozenset({"NVIDIA H100 1g.10gb"})), ["mig01"]),
        (NodeFilter(features=frozenset({"ib"})), ["gpu01"]),
        (NodeFilter(text=" GPU0"), ["gpu01", "gpu02", "gpu03", "gpu04"]),
        (NodeFilter(text="nothing"), []),
    ],
)
def test_a_filter_narrows_nodes_gpus_and_totals_alike(wanted, names):
    found = live.overview(STAFF, open_fakes(), filter=wanted)
    assert [node.name for node in found.snapshot.nodes] == names
    assert {gpu.device.node for gpu in found.snapshot.gpus} <= set(names)
    assert found.totals.nodes == len(names)
    assert found.options.partitions == ("all", "cpu", "gpu", "mig")
    assert all(one.target in names for one in found.attention if one.target_kind == "node")


def test_what_needs_attention_is_named_with_numbers_and_a_target():
    found = {(one.kind, one.subject): one for one in live.overview(STAFF, open_fakes()).attention}
    assert found["node_down", "gpu03"].target_kind == "node"
    assert "gres/gpu count too low (7 < 8)" in found["node_drained", "gpu02"].text
    assert found["xid", "gpu01/3"].text == "last XID error 79"
    assert found["hot", "gpu01/3"].text.startswith("91 °C")
    assert found["idle_job", "90210"].text == "2 of 2 GPUs idle now, user mallory"
    assert found["silent_node", "gpu04"].gpus == 8
    assert [one.severity for one in found.values()] == sorted(
        (one.severity for one in found.values()), key=["bad", "warn", "info"].index
    )


def test_hot_gpus_of_a_node_are_one_line():
    hot = tuple(
        gpu("h001", place, values=values(0.9, temperature_celsius=heat)) for place, heat in enumerate((86, 50, 91))
    )
    (line,) = [one for one in attention(snapshot(gpus=hot, nodes=(node("h001"),))) if one.kind == "hot"]
    assert (line.subject, line.gpus) == ("h001", 2)
    assert line.text == "2 GPUs at 86 to 91 °C: they may slow themselves down"


def test_idle_slices_are_not_called_gpus():
    piece = Device("a01", 0, uuid="mig-1", slice_id="1", slice_profile="1g.10gb")
    held = gpu("a01", 0, GpuState.IDLE, device=piece, job_ids=(5,))
    shown = snapshot(gpus=(held,), nodes=(node("a01"),), jobs=(make_job(5, "a01", 1),))
    (line,) = [one for one in attention(shown) if one.kind == "idle_job"]
    assert (line.text, line.are_slices) == ("1 of 1 slice idle now, user alice", True)


def test_idle_jobs_of_others_are_not_listed():
    kinds = {one.subject for one in live.overview(ALICE, open_fakes()).attention if one.kind == "idle_job"}
    assert kinds == {"7"}


def test_a_failing_source_needs_attention():
    sources = open_fakes(measured=FakeMetrics(fault=SourceUnreachable("refused")))
    assert live.overview(STAFF, sources).attention[0].subject == "metrics"
    assert live.overview(STAFF, sources).totals.use.power_watts is None
    assert live.overview(STAFF, sources).totals.use.utilization is None


def test_one_node_shows_its_devices_and_jobs():
    found = nodes.node(STAFF, open_fakes(), " GPU01 ")
    assert len(found.gpus) == 8
    assert {job.job_id for job in found.jobs} == {7, 90210}
    assert found.use.gpus.allocated == 4


def test_an_unknown_node_is_not_found_with_the_nearest_names():
    with pytest.raises(NotFound) as caught:
        nodes.node(STAFF, open_fakes(), "gpu1")
    assert "gpu01" in caught.value.hint


def test_the_list_of_nodes_counts_gpus_and_jobs():
    rows = {row.node.name: row for row in nodes.nodes(STAFF, open_fakes()).rows}
    assert (rows["gpu01"].running_jobs, rows["gpu01"].use.gpus.free) == (2, 4)
    assert (rows["cpu01"].use.gpus.total, rows["mig01"].use.slices.total) == (0, 7)


def test_jobs_show_what_their_gpus_do():
    rows = {row.job.job_id: row for row in jobs.jobs(STAFF, open_fakes()).rows}
    assert (rows[7].gpus, rows[7].gpus_measured, rows[7].gpus_idle) == (2, 2, 1)
    assert rows[7].utilization == pytest.approx(0.4)
    assert rows[7].join is JoinMethod.INDEX
    assert rows[90210].join is JoinMethod.JOB_LABEL
    assert (rows[90211].gpus, rows[90211].gpus_measured, rows[90211].utilization) == (8, 0, None)
    assert (rows[9].gpus, rows[9].elapsed_seconds) == (4, None)
    assert rows[7].elapsed_seconds == 7200


@pytest.mark.parametrize(
    ("sort", "ids"),
    [
        ("id", [7, 8, 9, 90210, 90211, 90212]),
        ("-id", [90212, 90211, 90210, 9, 8, 7]),
        ("utilization", [90210, 8, 7]),
        ("-utilization", [7, 8, 90210]),
    ],
)
def test_jobs_sort_both_ways_with_unknown_values_last(sort, ids):
    rows = jobs.jobs(STAFF, open_fakes(), sort=sort).rows
    assert [row.job.job_id for row in rows][: len(ids)] == ids


def test_jobs_come_in_pages_with_the_number_of_all():
    page = jobs.jobs(STAFF, open_fakes(), limit=2, offset=4)
    assert [row.job.job_id for row in page.rows] == [90211, 90212]
    assert page.total == 6


@pytest.mark.parametrize("asked", [{"sort": "color"}, {"limit": 0}, {"limit": 10**6}, {"offset": -1}])
def test_impossible_pages_are_bad_requests(asked):
    with pytest.raises(BadRequest):
        jobs.jobs(STAFF, open_fakes(), **asked)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (JobFilter(states=frozenset({"PENDING"})), {9, 90212}),
        (JobFilter(users=frozenset({"alice"})), {7, 8, 9}),
        (JobFilter(accounts=frozenset({"chemistry"})), {90210, 90211, 90212}),
        (JobFilter(partitions=frozenset({"mig"})), {8}),
        (JobFilter(text="JOB-7"), {7}),
        (JobFilter(text="9021"), {90210, 90211, 90212}),
    ],
)
def test_jobs_are_filtered(wanted, ids):
    assert {row.job.job_id for row in jobs.jobs(STAFF, open_fakes(), wanted).rows} == ids


def test_the_search_finds_jobs_nodes_users_and_accounts_exact_first():
    sources = open_fakes()
    assert jobs.find(STAFF, sources, "gpu01")[0].kind == "node"
    assert [(hit.kind, hit.name) for hit in jobs.find(STAFF, sources, "mallory")] == [("user", "mallory")]
    assert jobs.find(STAFF, sources, "90210")[0].kind == "job"
    assert jobs.find(STAFF, sources, "  ") == ()


def test_waiting_jobs_say_why_and_what_would_fit():
    row = pending.waiting(ALICE, open_fakes(), "9")
    assert row.why == "It is next in line and waits for its resources to become free."
    assert [(fit.node, fit.free_gpus) for fit in row.fit] == [("gpu01", 4)]
    assert (row.priority, row.expected_start_time) == (120.0, NOW + timedelta(hours=1))


def test_the_queue_is_by_priority_and_survives_without_details():
    sources = open_fakes()
    rows = pending.pending(STAFF, sources).rows
    assert [row.job.job_id for row in rows] == [9, 90212]
    assert rows[1].fit == ()
    sources = open_fakes()
    sources.live.snapshot()
    sources.scheduler.fault = SourceUnreachable("refused")
    assert pending.pending(STAFF, sources).details_known is False


def test_a_typed_request_fits_only_its_type():
    node = make_node("mix01", "IDLE", pools={"a100": 2, "h100": 2})
    job = make_job(9, None, 1, None, "PENDING", requested=Tres(gpus=1, gpus_by_type={"h100": 1}))
    row = pending.waiting(STAFF, open_fakes(FakeScheduler([node], [job])), "9")
    assert [(fit.node, fit.free_gpus) for fit in row.fit] == [("mix01", 2)]


def with_window(stats) -> FakeMetrics:
    measured = FakeMetrics(readings())
    original = measured.window

    def window(metrics, span, scope=None):
        original(metrics, span, scope)
        return WindowReading(span, tuple(stats), 30.0)

    measured.window = window
    return measured


def test_a_running_jobs_report_reads_one_window_from_its_start():
    device = measure("gpu01", 0).device
    stats = [WindowStat("gpu_utilization", "gpu01", device, None, 120.0, 240, 0.5, 0.5, 0)]
    sources = open_fakes(measured=with_window(stats))
    before = sources.metrics.requests
    found = job_report.job_answer(ALICE, sources, "7")
    again = job_report.job_answer(ALICE, sources, "7.batch")
    assert found.report.gpu_count == 2
    assert found.report.utilization.value == pytest.approx(0.5)
    assert again.report is found.report
    ((names, window, scope),) = sources.metrics.windows
    assert (window.start, window.end) == (NOW - timedelta(hours=2), NOW)
    assert scope.job_labels == {"7"}
    assert scope.nodes == {"gpu01"}
    assert "gpu_utilization" in names and "cpu_seconds" in names
    assert sources.metrics.requests - before <= 4
    assert sources.scheduler.calls.count("job 7") == 1


def test_a_report_without_metrics_says_so_and_still_comes():
    sources = open_fakes()
    sources.live.snapshot()
    sources.metrics.fault = SourceUnreachable("refused")
    found = job_report.job_answer(ALICE, sources, "7")
    assert found.report.utilization.value is None
    assert any("did not answer" in line for line in found.unknown)


def test_an_old_attempt_is_listed_and_the_newest_reported():
    asked = scheduler()
    first = make_job(
        7,
        "gpu02",
        1,
        None,
        "NODE_FAIL",
        start_time=NOW - timedelta(hours=9),
        end_time=NOW - timedelta(hours=8),
        submit_time=NOW - timedelta(hours=10),
    )
    asked.finished = [first]
    found = job_report.job_answer(ALICE, open_fakes(asked), "7")
    assert found.report.job.nodes == ("gpu01",)
    assert found.attempts == (first,)


def test_a_whole_array_has_to_be_named_by_task():
    tasks = [make_job(28 + n, "gpu01", 1, (n,), display_id=f"28_{n}", array_job_id=28) for n in range(3)]
    asked = scheduler()
    asked.job = lambda job_id: tuple(tasks)  # type: ignore[method-assign]
    with pytest.raises(BadRequest) as caught:
        job_report.job_answer(ALICE, open_fakes(asked), "28")
    assert "28_0" in caught.value.hint


def waiting_array(**fields):
    named = {"display_id": "28_[3-9%1]", "array_job_id": 28, "array_tasks": "3-9%1", "array_task_count": 7}
    return make_job(28, None, 1, None, "PENDING", **named, reason="JobArrayTaskLimit", **fields)


def test_other_tasks_of_a_waiting_array_are_no_earlier_attempts_of_it():
    asked = scheduler()
    tasks = [make_job(29 + n, "gpu01", 1, (n,), display_id=f"28_{n}", array_job_id=28) for n in range(3)]
    asked.job = lambda job_id: (waiting_array(), *tasks)  # type: ignore[method-assign]
    found = job_report.job_answer(ALICE, open_fakes(asked), "28_[3-9%1]")
    assert (found.report.job.display_id, found.attempts) == ("28_[3-9%1]", ())


@pytest.mark.parametrize("job_id", ["28", "28_3", "28_9", " 28_[3-9%1] "])
def test_a_task_waits_with_the_array_that_still_holds_it(job_id):
    split_off = make_job(37, None, 1, None, "PENDING", display_id="28_2", array_job_id=28, array_task_id=2)
    asked = FakeScheduler([make_node()], [waiting_array(priority=5.0), replace(split_off, priority=1.0)])
    assert pending.waiting(ALICE, open_fakes(asked), job_id).job.array_tasks == "3-9%1"
    assert pending.waiting(ALICE, open_fakes(asked), "28_2").job.job_id == 37


def test_a_task_that_no_waiting_array_holds_does_not_wait():
    for job_id in ("28_10", "29_3"):
        with pytest.raises(NotFound):
            pending.waiting(ALICE, open_fakes(FakeScheduler([make_node()], [waiting_array()])), job_id)


def test_the_past_of_a_job_does_not_know_its_end():
    asked = scheduler()
    ended = make_job(5, "gpu02", 1, None, "FAILED", end_time=NOW - timedelta(minutes=30))
    asked.finished = [ended]
    found = job_report.job_answer(ALICE, open_fakes(asked), "5", NOW - timedelta(hours=1))
    assert (found.report.job.state, found.report.job.end_time) == ("RUNNING", None)
    with pytest.raises(BadRequest):
        job_report.job_answer(ALICE, open_fakes(asked), "5", NOW + timedelta(hours=1))


def test_a_past_picture_is_made_of_accounting_and_never_of_todays_states():
    asked = scheduler()
    asked.past_fault = CannotKnow("now only")
    moment = NOW - timedelta(hours=1)
    ended = make_job(5, "gpu02", 8, None, "COMPLETED", end_time=NOW - timedelta(minutes=30))
    asked.finished = [ended, make_job(6, "gpu03", 8, None, "RUNNING")]
    found = live.snapshot(STAFF, open_fakes(asked), at=moment)
    assert found.is_past
    assert found.time == moment
    assert {node.state.bucket for node in found.nodes} == {"unknown"}
    assert {node.reason for node in found.nodes} == {None}
    assert {job.job_id for job in found.jobs} == {5, 7, 8, 90210, 90211}
    held = [gpu for gpu in found.gpus if gpu.device.node == "gpu02"]
    assert {gpu.job_ids for gpu in held} == {(5,)}
    assert GpuState.FREE not in {gpu.state for gpu in found.gpus}
    about = ("Node states", "Jobs that waited", "Which GPUs 1 of the jobs held")
    assert [line.startswith(words) for line, words in zip(found.unknown, about, strict=True)] == [True] * 3


def test_a_past_picture_is_made_once_and_a_failed_one_is_not_kept():
    sources = open_fakes()
    moment = NOW - timedelta(hours=1)
    assert live.snapshot(STAFF, sources, at=moment) is live.snapshot(STAFF, sources, at=moment)
    sources.metrics.fault = SourceUnreachable("refused")
    later = live.snapshot(STAFF, sources, at=moment + timedelta(minutes=1))
    assert any("measured then" in line for line in later.unknown)
    sources.metrics.fault = None
    assert live.snapshot(STAFF, sources, at=moment + timedelta(minutes=1)).unknown == ()


def test_the_future_and_naive_times_are_bad_requests():
    for moment in (NOW + timedelta(seconds=5), replace_zone(NOW)):
        with pytest.raises(BadRequest):
            live.snapshot(STAFF, open_fakes(), at=moment)


def replace_zone(moment):
    return moment.replace(tzinfo=None)


def test_a_slurm_that_never_answered_leaves_no_numbers_of_its_own():
    sources = open_fakes(replace(scheduler(), fault=SourceUnreachable("refused")))
    found = live.overview(STAFF, sources)
    assert found.totals.use.cards == 0
    assert found.snapshot.unknown
    with pytest.raises(NotFound) as caught:
        nodes.node(STAFF, sources, "gpu01")
    assert "Slurm has not answered" in caught.value.hint


def test_a_slice_weighs_its_share_in_a_mean():
    whole = Gpu(Device("n1", 0), "A100", GpuState.BUSY, values={"gpu_utilization": 1.0})
    values = {"graphics_engine_activity": 0.3}
    part = Gpu(Device("n1", 1, slice_id="2"), "A100", GpuState.BUSY, values=values, weight=1 / 7)
    assert use_of([whole, part]).utilization == pytest.approx((1.0 + 0.3 / 7) / (1 + 1 / 7))
