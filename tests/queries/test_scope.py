"""Nobody sees more than they may, through any function of data.queries."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import TypeAdapter

import data.queries
from data.errors import BadRequest, NotFound
from data.model import ClusterSnapshot, JobFilter, NodeFilter, Viewer, Visibility, Window
from data.queries import (
    asked,
    day_before,
    finished,
    gpu_line,
    health,
    history_health,
    job_context,
    job_list,
    job_report,
    job_series,
    jobs,
    live,
    node_detail,
    nodes,
    pending,
    scope,
    users,
)
from tests.live.builders import NOW
from tests.queries.cluster import ALICE, COLLEAGUE, HEAD, SECRETS, STAFF, STRANGER, open_fakes, secrets_in

PUBLIC = [
    (module, name, function)
    for info in pkgutil.iter_modules(data.queries.__path__)
    for module in [importlib.import_module(f"data.queries.{info.name}")]
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
]

PAST = NOW - timedelta(hours=1)
ASKED = {
    "require_partitions": lambda v, s: asked.require_partitions(v, s, (), None),
    "day_before": lambda v, s: day_before.day_before(v, s, PAST),
    "overview": lambda v, s: [live.overview(v, s), live.overview(v, s, at=PAST, filter=NodeFilter(text="gpu01"))],
    "snapshot": lambda v, s: [live.snapshot(v, s), live.snapshot(v, s, at=PAST)],
    "gpu_line": lambda v, s: [gpu_line.gpu_line(v, s, node, "0", at) for node in ("gpu01", "x") for at in (None, PAST)],
    "nodes": lambda v, s: [nodes.nodes(v, s), nodes.nodes(v, s, NodeFilter(), PAST)],
    "node": lambda v, s: [nodes.node(v, s, name) for name in ("gpu01", "gpu04", "gpu02")],
    "nodes_view": lambda v, s: [node_detail.nodes_view(v, s), node_detail.nodes_view(v, s, NodeFilter(), PAST)],
    "node_view": lambda v, s: [node_detail.node_view(v, s, name) for name in ("gpu01", "gpu04", "gpu02")],
    "node_series": lambda v, s: [
        node_detail.node_series(v, s, "gpu01", metric, Window(PAST, NOW)) for metric in node_detail.SERIES_METRICS
    ],
    "health": lambda v, s: [health.health(v, s), health.health(v, s, PAST)],
    "history_health": lambda v, s: history_health.history_health(v, s),
    "jobs": lambda v, s: [jobs.jobs(v, s), jobs.jobs(v, s, JobFilter(users=frozenset({"mallory"})))],
    "job_rows": lambda v, s: jobs.job_rows(v, s.live.snapshot(), JobFilter()),
    "find": lambda v, s: [jobs.find(v, s, text) for text in (*SECRETS, "gpu", "job")],
    "job_answer": lambda v, s: job_report.job_answer(v, s, "7"),
    "job_report": lambda v, s: job_report.job_report(v, s, "7"),
    "job_findings": lambda v, s: job_report.job_findings(v, s, "7"),
    "job_script": lambda v, s: job_report.job_script(v, s, "7"),
    "pending": lambda v, s: [pending.pending(v, s), pending.pending(v, s, PAST)],
    "waiting": lambda v, s: pending.waiting(v, s, "9"),
    "finished": lambda v, s: finished.finished(v, s, JobFilter(), until=NOW, days=2),
    "job_list": lambda v, s: [job_list.job_list(v, s, job_list.ListQuestion(show, days=2)) for show in job_list.Show],
    "every_row": lambda v, s: [list(job_list.every_row(v, s, job_list.ListQuestion(show))) for show in job_list.Show],
    "job_series": lambda v, s: job_series.job_series(v, s, "7"),
    "series_of": lambda v, s: job_series.series_of(v, s, job_report.job_answer(v, s, "7"), "power_watts"),
    "neighbors": lambda v, s: [job_context.neighbors(v, s, job) for job in live.snapshot(v, s).jobs],
    "ahead": lambda v, s: job_context.ahead(v, s, pending.waiting(v, s, "9")),
    "nearest": lambda v, s: [job_context.nearest(v, s, text) for text in (*SECRETS, "malory", "9021", "7")],
    "user_now": lambda v, s: users.user_now(v, s, "alice"),
    "user_past": lambda v, s: [users.user_past(v, s, name, NOW) for name in ("alice", "mallory")],
    "may_see": lambda v, s: [scope.may_see(v, job) for job in s.live.snapshot().jobs],
    "may_read_script": lambda v, s: [scope.may_read_script(v, job) for job in s.live.snapshot().jobs],
    "scope_job": lambda v, s: [scope.scope_job(v, job) for job in s.live.snapshot().jobs],
    "scope_snapshot": lambda v, s: scope.scope_snapshot(v, s.live.snapshot()),
    "scope_source": lambda v, s: [scope.scope_source(v, source) for source in s.live.snapshot().sources],
}


def test_every_public_query_is_walked_here():
    assert {name for _, name, _ in PUBLIC} == set(ASKED)


@pytest.mark.parametrize(("module", "name", "function"), PUBLIC, ids=lambda part: getattr(part, "__name__", str(part)))
def test_the_viewer_comes_first_everywhere(module, name, function):
    first = next(iter(inspect.signature(function, eval_str=True).parameters.values()))
    assert (first.name, first.annotation) == ("viewer", Viewer)
    assert first.default is inspect.Parameter.empty


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_user_finds_nothing_of_another_in_any_answer(name):
    answer = repr(ASKED[name](ALICE, open_fakes()))
    assert secrets_in(answer) == []


@pytest.mark.parametrize("name", ["overview", "snapshot", "jobs", "node", "scope_snapshot"])
def test_staff_find_it_in_the_same_answers(name):
    answer = repr(ASKED[name](STAFF, open_fakes()))
    assert "mallory" in answer
    assert "90210" in answer


def test_serialized_answers_are_as_tight_as_their_fields():
    found = TypeAdapter(ClusterSnapshot).dump_json(live.snapshot(ALICE, open_fakes())).decode()
    assert secrets_in(found) == []
    assert '"alice"' in found


@pytest.mark.parametrize(
    ("viewer", "sees"), [(ALICE, False), (HEAD, False), (COLLEAGUE, True), (STRANGER, False), (STAFF, True)]
)
def test_other_peoples_jobs_follow_role_account_and_visibility(viewer, sees):
    seen = {row.job.job_id for row in jobs.jobs(viewer, open_fakes()).rows}
    assert (90210 in seen) is sees


def test_a_coordinator_sees_the_jobs_of_the_account_in_full():
    assert {row.job.job_id for row in jobs.jobs(HEAD, open_fakes()).rows} == {7, 8, 9}
    assert jobs.jobs(STRANGER, open_fakes()).rows == ()


def test_totals_are_the_same_for_everyone():
    assert live.overview(STRANGER, open_fakes()).totals == live.overview(STAFF, open_fakes()).totals


def test_hidden_jobs_keep_their_resources():
    hidden = [job for job in live.snapshot(ALICE, open_fakes()).jobs if not job.job_id]
    assert sorted(job.allocated.gpus or 0 for job in hidden) == [0, 2, 8]
    assert {job.display_id for job in hidden} == {""}


@pytest.mark.parametrize("job_id", ["90210", "424242", "90211.batch", "90212_5"])
def test_a_job_of_another_and_one_that_does_not_exist_give_the_same_answer(job_id):
    sources = open_fakes()
    with pytest.raises(NotFound) as caught:
        job_report.job_answer(ALICE, sources, job_id)
    number = job_id.split(".")[0]
    assert str(caught.value) == f"There is no job {number}, or you may not see it"
    assert sources.scheduler.calls.count(f"job {number}") == 1


def test_errors_and_addresses_of_sources_are_for_staff_only():
    sources = open_fakes()
    sources.scheduler.broken = 1
    for viewer, told in ((ALICE, ()), (STAFF, ("half a row",))):
        slurm = live.snapshot(viewer, sources).sources[0]
        assert slurm.broken_rows == 1
        assert slurm.broken_examples == told


def test_names_in_reservations_are_only_ones_own():
    own = live.snapshot(ALICE, open_fakes()).reservations
    assert [(one.users, one.accounts) for one in own] == [(("alice",), ())]


def test_a_number_that_is_none_is_a_bad_request():
    with pytest.raises(BadRequest):
        job_report.job_answer(ALICE, open_fakes(), "7; drop table")


@pytest.mark.parametrize("job_id", ["90210", "424242"])
def test_a_script_of_another_and_one_of_no_job_give_the_same_answer(job_id):
    sources = open_fakes()
    with pytest.raises(NotFound) as caught:
        job_report.job_script(ALICE, sources, job_id)
    assert str(caught.value) == f"There is no job {job_id}, or you may not see it"
    assert "job_script" not in sources.scheduler.calls


def test_a_script_is_for_owner_coordinator_and_staff_whoever_sees_the_job():
    everyone = replace(STRANGER, visibility=Visibility.ALL)
    for viewer in (COLLEAGUE, everyone):
        assert job_report.job_report(viewer, open_fakes(), "90210").job.name == "secret-run"
        with pytest.raises(NotFound):
            job_report.job_script(viewer, open_fakes(), "90210")
    leader = replace(STRANGER, coordinated_accounts=frozenset({"chemistry"}))
    for viewer in (STAFF, leader, replace(STRANGER, user="mallory")):
        assert "secret-run" in (job_report.job_script(viewer, open_fakes(), "90210").text or "")


def test_a_long_script_is_cut_and_says_so():
    sources = open_fakes()
    sources.scheduler.job_script = lambda job: "x" * (job_report.MOST_SCRIPT + 1)
    found = job_report.job_script(ALICE, sources, "7")
    assert found.is_cut and len(found.text or "") == job_report.MOST_SCRIPT
