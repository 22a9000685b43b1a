"""Whatever Slurm, a proxy or a user may write: no reader falls over, and no count is negative or beyond reason."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.errors import FullwarpError
from data.model import Job, Node, Rows
from data.slurm import records_json, records_text
from data.slurm.gres import gpu_pools, gpus_used, gres
from data.slurm.hosts import cfg_range, hostlist, index_list
from data.slurm.job_ids import array_task_count, job_id
from data.slurm.job_states import exit_code, job_state, partition_state
from data.slurm.scalars import count, cpu_load, duration_seconds, memory_bytes, minutes_to_seconds, number, timestamp
from data.slurm.states import node_state
from data.slurm.tres import tres_list, tres_string

ROOT = Path(__file__).resolve().parents[2]
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SLURM_WORDS = """gpu a100 (null) 4 IDX:0-3 N/A - [ ] [1-3] ( ) : , = + | cpu mem 64G gres/gpu shard 2/4 UNLIMITED None
    1-02:03:04 DRAIN IDLE* RUNNING CANCELLED by 9:0 0x3F 1-10%2 ³ ٣ 99999999999999999999"""
WORDS = st.sampled_from(SLURM_WORDS.split())
TEXT = st.one_of(
    st.text(max_size=40), st.lists(WORDS, max_size=8).map("".join), st.lists(WORDS, max_size=8).map(" ".join)
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["set", "infinite", "number", "name", "list", "count", "state"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)
TEXT_PARSERS: tuple[Callable[[Any], object], ...] = (
    gres,
    hostlist,
    cfg_range,
    index_list,
    tres_string,
    duration_seconds,
    memory_bytes,
    job_id,
    array_task_count,
)
VALUE_PARSERS: tuple[Callable[[Any], object], ...] = (
    number,
    count,
    timestamp,
    minutes_to_seconds,
    cpu_load,
    node_state,
    job_state,
    exit_code,
    partition_state,
    tres_list,
)
JSON_READERS: tuple[tuple[str, Callable[[Any, str], Rows[Any]]], ...] = (
    ("nodes", records_json.nodes),
    ("jobs", records_json.jobs),
    ("jobs", records_json.accounting_jobs),
    ("partitions", records_json.partitions),
    ("reservations", records_json.reservations),
    ("associations", records_json.associations),
    ("users", records_json.users),
)
JSON_FIELDS = """job_id name job_state state state_flags nodes time array het tres steps gres gres_used tres_used cpus
    alloc_cpus gres_detail job_resources tres_alloc_str tres_per_job start_time end_time suspend_time pre_sus_time
    array_job_id array_task_id array_task_string het_job_id exit_code energy partition maximums node_list flags users
    account cluster user parent_account coordinators administrator_level default real_memory reason"""
RECORDS = st.dictionaries(st.sampled_from(JSON_FIELDS.split()), ANYTHING, max_size=12)
LINES = """JobId=7 NodeName=n1 State=IDLE JobState=RUNNING UserId=a(1) Gres=gpu:4 GresUsed=gpu:9 7| 7.0| COMPLETED|
    PartitionName=p"""


@pytest.mark.parametrize("parse", TEXT_PARSERS, ids=lambda parse: parse.__name__)
@FEW
@given(value=TEXT)
def test_any_text_is_read_or_refused_with_our_error(parse: Callable[[Any], object], value: str) -> None:
    try:
        parse(value)
    except FullwarpError as err:
        assert str(err)


@pytest.mark.parametrize("parse", VALUE_PARSERS, ids=lambda parse: parse.__name__)
@FEW
@given(value=ANYTHING)
def test_any_value_is_read_or_refused_with_our_error(parse: Callable[[Any], object], value: object) -> None:
    try:
        parse(value)
    except FullwarpError as err:
        assert str(err)


@pytest.mark.parametrize(("key", "read"), JSON_READERS, ids=lambda part: getattr(part, "__name__", part))
@FEW
@given(records=st.lists(st.one_of(ANYTHING, RECORDS), max_size=4))
def test_every_json_row_is_read_or_counted(key: str, read: Callable[[Any, str], Rows[Any]], records: list[Any]) -> None:
    rows = read({key: records, "errors": []}, "c")
    assert rows.broken <= len(records)
    if read not in (records_json.users, records_json.associations):
        assert len(rows.rows) + rows.broken == len(records)
    assert all(plausible(row) for row in rows.rows)


@FEW
@given(payload=st.one_of(TEXT, st.binary(max_size=60), ANYTHING))
def test_any_payload_is_an_answer_or_our_error(payload: object) -> None:
    for _, read in JSON_READERS:
        with pytest.raises(FullwarpError):
            read(payload, "c")


@FEW
@given(text=st.lists(st.one_of(TEXT, st.sampled_from(["\n", *LINES.split()])), max_size=12))
def test_any_output_of_a_command_is_read_or_refused_with_our_error(text: list[str]) -> None:
    output = " ".join(text).replace("\n ", "\n")
    fields = ["JobID", "State", "TotalCPU"]
    readers: tuple[Callable[[], Rows[Any]], ...] = (
        lambda: records_text.nodes(output, "c"),
        lambda: records_text.jobs(output, "c"),
        lambda: records_text.sacct_jobs(output, fields, "|", "c"),
        lambda: records_text.partitions(output, "c"),
        lambda: records_text.reservations(output, "c"),
        lambda: records_text.associations("Account|User\n" + output, "c"),
        lambda: records_text.users("User|Admin\n" + output, "c"),
        lambda: records_text.priorities(output),
    )
    for read in readers:
        try:
            assert all(plausible(row) for row in read().rows)
        except FullwarpError as err:
            assert str(err)


@FEW
@given(configured=st.lists(st.integers(0, 16), min_size=1, max_size=3), used=st.integers(0, 40), typed=st.booleans())
def test_used_gpus_never_exceed_those_configured(configured: list[int], used: int, typed: bool) -> None:
    total = ",".join(f"gpu:t{index}:{number}" for index, number in enumerate(configured))
    taken = f"gpu:t0:{used}" if typed else f"gpu:{used}"
    pools = gpu_pools(total, taken)
    assert all(pool.used is None or 0 <= pool.used <= pool.total for pool in pools)
    taken_count = gpus_used(pools, taken)
    assert taken_count is None or taken_count <= sum(configured)


@FEW
@given(names=st.lists(st.from_regex(r"[a-z]{1,4}[0-9]{1,4}(-ib[0-9])?", fullmatch=True), unique=True, max_size=8))
def test_plain_names_come_back_in_their_order(names: list[str]) -> None:
    assert hostlist(",".join(names)) == tuple(names)


@FEW
@given(
    prefix=st.from_regex(r"[a-z]{1,5}-?", fullmatch=True),
    first=st.integers(0, 900),
    size=st.integers(1, 90),
    width=st.integers(1, 5),
)
def test_a_folded_range_unfolds_to_its_hosts(prefix: str, first: int, size: int, width: int) -> None:
    numbers = [f"{number:0{width}d}" for number in range(first, first + size)]
    if len(numbers[0]) != len(numbers[-1]) and width > 1:
        numbers = [number for number in numbers if len(number) == len(numbers[0])]
    assert hostlist(f"{prefix}[{numbers[0]}-{numbers[-1]}]") == tuple(prefix + number for number in numbers)


def test_huge_lists_are_refused_at_once() -> None:
    for text in (
        "n[1-999999999999]",
        "n[1-99999]x[1-99999]",
        "gpu:4(IDX:0-99999999999)",
        ",".join("n[1-60000]" for _ in "ab"),
    ):
        if "gpu" in text:
            with pytest.raises(FullwarpError):
                gres(text)
        elif "," in text:
            assert len(hostlist(text)) == 60000
        else:
            with pytest.raises(FullwarpError):
                hostlist(text)


def test_an_answer_nested_without_end_is_our_error() -> None:
    with pytest.raises(FullwarpError):
        records_json.jobs("[" * 100_000, "c")
    with pytest.raises(FullwarpError):
        records_json.jobs('{"jobs":' * 5000, "c")


def plausible(row: object) -> bool:
    if isinstance(row, Job):
        numbers = [
            row.allocated.gpus,
            row.suspended_seconds,
            row.elapsed_seconds,
            row.usage.cpu_seconds,
            row.restart_count,
        ]
        return row.array_task_count >= 1 and all(value is None or value >= 0 for value in numbers)
    if isinstance(row, Node):
        return all(0 <= (pool.used or 0) <= pool.total for pool in row.gpu_pools) and (row.gpus_allocated or 0) >= 0
    return True


def test_host_lists_read_no_configuration_of_the_host() -> None:
    """ClusterShell's NodeSet reads files of /etc and of the user's home when it is imported."""
    loaded = "import sys, data.slurm.hosts; sys.exit('ClusterShell.Defaults' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loaded], check=False, cwd=ROOT).returncode == 0
