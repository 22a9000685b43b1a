"""Attempts of jobs, spans of days and tokens: pure."""

from __future__ import annotations

import base64
import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import NotFound, SourceTimeout
from data.model import ExitCode, Job, JobUsage, Rows
from data.slurm.attempts import (
    attempts_of,
    day_slices,
    ended_within,
    from_both,
    is_live,
    merged,
    without_doubtful_codes,
)
from data.slurm.job_ids import job_id
from data.slurm.jwt import read_token

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
RUNNING = Job("c", 7, "7", "RUNNING", submit_time=NOON, start_time=NOON)
ENDED = replace(RUNNING, state="COMPLETED", end_time=NOON + HOUR, elapsed_seconds=3600.0)
moments = st.datetimes(datetime(2026, 1, 1), datetime(2026, 2, 1), timezones=st.just(UTC))


@given(moments, st.timedeltas(timedelta(0), timedelta(days=9)))
def test_day_slices_cover_a_span_without_gaps_and_never_exceed_a_day(since: datetime, span: timedelta) -> None:
    slices = list(day_slices(since, since + span))
    assert sum((end - start for start, end in slices), timedelta()) == span
    assert all(timedelta(0) < end - start <= timedelta(days=1) for start, end in slices)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(slices))


@pytest.mark.parametrize(
    ("state", "flags", "expected"),
    [
        ("RUNNING", (), True),
        ("PENDING", ("REQUEUED",), True),
        ("COMPLETED", ("COMPLETING",), True),
        ("COMPLETED", (), False),
        ("REQUEUED", (), False),
        ("TIMEOUT", (), False),
    ],
)
def test_which_states_are_live(state: str, flags: tuple[str, ...], expected: bool) -> None:
    assert is_live(replace(RUNNING, state=state, state_flags=flags)) is expected


def test_a_job_that_just_started_is_one_attempt_although_slurmdbd_still_has_it_waiting() -> None:
    late = replace(RUNNING, state="PENDING", account="physics")
    (found,) = attempts_of(job_id("7"), [RUNNING], [late])
    assert (found.state, found.account) == ("RUNNING", "physics")
    requeued = replace(RUNNING, state="PENDING", submit_time=NOON + HOUR, start_time=None)
    both = attempts_of(job_id("7"), [requeued], [replace(ENDED, state="REQUEUED")])
    assert [one.state for one in both] == ["PENDING", "REQUEUED"]


def test_an_attempt_counts_once_and_only_when_it_ran_in_the_span() -> None:
    never = replace(ENDED, start_time=None)
    assert ended_within([ENDED, ENDED, RUNNING, never], NOON, NOON + HOUR) == (ENDED,)
    assert ended_within([ENDED], NOON + HOUR, NOON + 2 * HOUR) == ()
    assert ended_within([ENDED], NOON - HOUR, NOON) == ()


def test_while_a_job_runs_slurmctld_is_right_and_no_open_sum_is_taken_over() -> None:
    recorded = replace(RUNNING, elapsed_seconds=10.0, end_time=NOON, admin_comment="note")
    job = merged(RUNNING, recorded)
    assert (job.end_time, job.elapsed_seconds, job.admin_comment) == (None, None, "note")


def test_once_it_ended_slurmdbd_is_right_and_the_controllers_exit_code_is_finer() -> None:
    current = replace(ENDED, state="FAILED", name='a "b"', command="/x.sh", exit_code=ExitCode("ERROR", 137))
    recorded = replace(ENDED, state="FAILED", name="a `b`", exit_code=ExitCode("ERROR", 9), usage=JobUsage(5.0))
    job = merged(current, recorded)
    assert (job.name, job.command, job.exit_code, job.usage.cpu_seconds) == ('a "b"', "/x.sh", current.exit_code, 5.0)


@pytest.mark.parametrize(
    ("current", "recorded", "expected"),
    [
        (ExitCode("ERROR", 137), ExitCode("ERROR", 9), ExitCode("ERROR", 137)),
        (ExitCode("SIGNALED", None, 15), ExitCode("SUCCESS", 0), ExitCode("SIGNALED", None, 15)),
        (ExitCode("SIGNALED", None, 1), ExitCode("ERROR", 1), ExitCode("ERROR", 1)),
        (ExitCode("SUCCESS", 0), ExitCode("ERROR", 1), ExitCode("ERROR", 1)),
        (ExitCode("SIGNALED", None, 15), None, ExitCode("SIGNALED", None, 15)),
        (None, ExitCode("SUCCESS", 0), ExitCode("SUCCESS", 0)),
    ],
)
def test_the_finer_exit_code_of_two_counts(
    current: ExitCode | None, recorded: ExitCode | None, expected: ExitCode
) -> None:
    job = merged(replace(ENDED, exit_code=current), replace(ENDED, exit_code=recorded))
    assert job.exit_code == expected


@pytest.mark.parametrize(
    ("state", "code", "is_kept"),
    [
        ("COMPLETED", ExitCode("SUCCESS", 0), True),
        ("NODE_FAIL", ExitCode("SUCCESS", 0), False),
        ("CANCELLED", ExitCode("SUCCESS", 0), False),
        ("FAILED", ExitCode("ERROR", 2), True),
    ],
)
def test_success_of_a_job_that_did_not_complete_is_not_believed(state: str, code: ExitCode, is_kept: bool) -> None:
    (job,) = without_doubtful_codes(Rows((replace(ENDED, state=state, exit_code=code),))).rows
    assert job.exit_code == (code if is_kept else None)


def test_a_task_of_a_pending_array_is_named_by_the_array() -> None:
    array = replace(RUNNING, state="PENDING", start_time=None, array_job_id=7, array_tasks="1-9:2,20%3")
    found = [task for task in range(30) if attempts_of(job_id(f"7_{task}"), [array], [])]
    assert found == [1, 3, 5, 7, 9, 20]


def test_one_daemon_that_fails_leaves_what_the_other_knows_and_two_that_fail_an_error() -> None:
    def fails() -> tuple[Job, ...]:
        raise SourceTimeout("slow")

    def knows_nothing() -> tuple[Job, ...]:
        raise NotFound("no such job")

    assert from_both(job_id("7"), fails, lambda: [ENDED]) == (ENDED,)
    assert from_both(job_id("7"), knows_nothing, knows_nothing) == ()
    for current, recorded in ((fails, knows_nothing), (knows_nothing, fails), (fails, fails)):
        with pytest.raises(SourceTimeout):
            from_both(job_id("7"), current, recorded)


def token(claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"head.{body}.signature"


@pytest.mark.parametrize(
    ("hours", "words"), [(48, None), (2, "expires in 2.0 h"), (-1, "expired on 2026-03-01 11:00 UTC")]
)
def test_a_token_that_ends_soon_is_noted_with_the_way_to_renew_it(hours: int, words: str | None) -> None:
    expires = int((NOON + hours * HOUR).timestamp())
    found = read_token(token({"sun": "alice", "exp": expires}), None)
    assert found is not None and found.user == "alice"
    note = found.expiry_note(NOON)
    assert note is None if words is None else note is not None and words in note and "username=alice" in note


@pytest.mark.parametrize("claims", [[], {"exp": "soon"}, {"exp": 1e300}, {"exp": True, "sun": 5}, None])
def test_odd_claims_are_not_known_and_never_an_error(claims: object) -> None:
    found = read_token(token(claims), None)
    assert found is not None and found.user is None and found.expires is None


def test_a_token_never_shows_itself() -> None:
    secret = token({"sun": "alice"})
    assert secret not in repr(read_token(secret, None))
