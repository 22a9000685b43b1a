"""Words and marks that only some versions or commands of Slurm write, each with what Slurm means by it."""

from __future__ import annotations

from typing import Any

import pytest

from data.model import ExitCode
from data.slurm import records_json, records_text
from data.slurm.gres import gres
from data.slurm.hosts import hostlist
from data.slurm.job_states import exit_code, job_state
from data.slurm.scalars import memory_bytes
from data.slurm.states import node_state
from data.slurm.tres import tres_string


@pytest.mark.parametrize(
    ("word", "base", "display", "bucket"),
    [
        # scontrol of 20.11 for a cloud node that is off: taken for idle, its GPUs would count as free.
        ("IDLE+CLOUD+POWER", "IDLE", "IDLE~", "powered_down"),
        ("DOWN*+CLOUD+POWER", "DOWN", "DOWN~", "down"),
        # sinfo's compact words (%t).
        ("boot*", "IDLE", "REBOOT*", "reboot"),
        ("failg", "MIXED", "FAILING", "draining"),
        ("futr", "FUTURE", "FUTURE", "future"),
        ("plnd", "IDLE", "PLANNED", "planned"),
        ("resv", "IDLE", "RESERVED", "reserved"),
        ("block", "IDLE", "BLOCKED", "blocked"),
        # node_state_string() of every version that has the flags.
        ("IDLE+BLOCKED+RESERVED", "IDLE", "RESERVED", "blocked"),
        ("UNKNOWN+CLOUD+NOT_RESPONDING+POWERING_UP", "UNKNOWN", "UNKNOWN*", "unknown"),
    ],
)
def test_node_words(word: str, base: str, display: str, bucket: str) -> None:
    state = node_state(word)
    assert (state.base, state.display, state.bucket) == (base, display, bucket)


@pytest.mark.parametrize(
    ("word", "state"),
    [("R", "RUNNING"), ("PD", "PENDING"), ("OOM", "OUT_OF_MEMORY"), ("CA+", "CANCELLED"), ("TO", "TIMEOUT")],
)
def test_squeue_and_job_tables_shorten_states(word: str, state: str) -> None:
    assert job_state(word).state == state


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (256, ExitCode("ERROR", 1)),
        (9, ExitCode("SIGNALED", None, 9)),
        (0, ExitCode("SUCCESS", 0)),
        (None, None),
    ],
)
def test_the_wait_status_that_v0_0_39_wraps(status: int | None, expected: ExitCode | None) -> None:
    wrapped: dict[str, Any] = {"set": status is not None, "infinite": False, "number": status or 0}
    assert exit_code(wrapped) == expected


@pytest.mark.parametrize("amount", ["16E", "16384P", "18446744073709551614", "18446744073709551615K"])
def test_slurms_mark_of_nothing_is_no_amount_of_memory(amount: str) -> None:
    assert memory_bytes(amount, bare_unit=1) is None
    assert tres_string(f"cpu=8,mem={amount}").memory_bytes is None


def test_a_host_list_keeps_slurms_order() -> None:
    assert hostlist("b1n1,b2n[05,02]x,b4n[09-10]") == ("b1n1", "b2n05x", "b2n02x", "b4n09", "b4n10")


def test_a_gres_without_a_count_has_as_many_as_its_indices() -> None:
    assert [entry.count for entry in gres("gpu(IDX:0-3),gpu:k80(IDX:5,5)")] == [4, 1]


def test_every_reader_knows_what_newer_slurm_calls_the_cgroups_of_a_job() -> None:
    sluid = "s4N1RKR1N2JG00"
    live = records_json.jobs({"jobs": [{"job_id": 7, "job_state": ["RUNNING"], "sluid": sluid}]}, "c")
    ended = records_json.accounting_jobs(
        {"jobs": [{"job_id": 7, "state": {"current": ["FAILED"]}, "sluid": sluid}]}, "c"
    )
    shown = records_text.jobs(f"JobId=7 JobName=a\n   SLUID={sluid}\n   UserId=a(1)\n   JobState=RUNNING\n", "c")
    printed = records_text.sacct_jobs(f"7|FAILED|{sluid}", ["JobID", "State", "SLUID"], "|", "c")
    for read in (live, ended, shown, printed):
        assert [job.labels for job in read.rows] == [{"7", sluid}]
