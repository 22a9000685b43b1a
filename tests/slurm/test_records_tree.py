"""Every recorded answer of Slurm is read whole; a new file in the folders is a new test.

Expected counts come from regular expressions on the raw text, never from the readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.errors import CannotKnow, FullwarpError, NotFound, SourceDenied, SourceError
from data.model import Node, Rows
from data.slurm import records_json, records_text
from data.slurm.gres import gpu_entries
from data.slurm.tres import tres_string

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CLUSTER = "mini"
Reader = Callable[[Any, str], Rows[Any]]

# By the file's name: the reader, and what stands once in each row of the raw text.
JSON_READERS: tuple[tuple[str, Reader, str], ...] = (
    (r"slurmdb.*_jobs?[_.]|slurmdb-job|sacct", records_json.accounting_jobs, "derived_exit_code"),
    (r"slurm_v.*_jobs?[_.]|slurm-job|squeue", records_json.jobs, "tres_alloc_str"),
    (r"_nodes?[_.]|slurm-node|scontrol_node", records_json.nodes, "tres_weighted"),
    (r"partition", records_json.partitions, "job_factor|priority_job_factor"),
    (r"reservations", records_json.reservations, "node_list"),
    (r"association", records_json.associations, "shares_raw"),
    (r"slurmdb.*_users?[_.]", records_json.users, "administrator_level"),
)
# Answers to questions that the product does not ask; they must still be told apart from errors.
OTHER_JSON = r"account|cluster|config|diag|licenses|ping|qos|tres|wckeys|status|jwt|not-found|sinfo|sdiag"
ERRORS: tuple[tuple[str, type[FullwarpError]], ...] = (
    (r"unfound|slurm-job.*archived|slurm_v.*job_99999", NotFound),
    (r"jwt-(missing|invalid)-headers", SourceDenied),
    (r"25\.11.*jwt-", SourceDenied),
    (r"24\.05.*jwt-invalid-token", SourceError),
    (r"not-found|v0\.0\.37_licenses", CannotKnow),
    (r"_(config|wckeys|diag)\.json", SourceDenied),
    (r"22\.05.*users_alice|association\.json", SourceError),
)
GPU_COUNT = re.compile(r"(?<![\w/])gpu:(?:[^:,()\"\s]+:|\(null\):)?(\d+)")


def files(*patterns: str) -> list[Any]:
    found = sorted(path for pattern in patterns for path in DATA.glob(pattern) if path.is_file())
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no recorded answers in {DATA}"))]
    return [pytest.param(path, id=str(path.relative_to(DATA))) for path in found]


def json_reader(path: Path) -> tuple[Reader, str] | None:
    return next(((read, mark) for pattern, read, mark in JSON_READERS if re.search(pattern, path.name)), None)


def expected_error(path: Path, raw: str) -> type[FullwarpError] | None:
    if path.suffix == ".json" and not re.search(r'"error_number"|"errno"', raw) and raw.lstrip().startswith("{"):
        return None
    return next((kind for pattern, kind in ERRORS if re.search(pattern, str(path.relative_to(DATA)))), None)


def count_marks(mark: str, raw: str) -> int:
    return len(re.findall(rf'"(?:{mark})"\s*:', raw))


@pytest.mark.parametrize("path", files("slurmrestd/*/*/*", "slurm_captures/*/rest/*", "slurm_captures/*/*.json"))
def test_every_recorded_json_answer_is_read_whole_or_raises_its_error(path: Path) -> None:
    raw = path.read_text()
    reader, error = json_reader(path), expected_error(path, raw)
    if error is not None:
        with pytest.raises(error):
            reader[0](raw, CLUSTER) if reader else records_json.check_errors(raw)
        return
    if reader is None or re.search(r"jwt|sinfo", path.name):
        assert re.search(OTHER_JSON, path.name), f"say in this test what {path.name} holds"
        records_json.check_errors(raw)
        return
    read = reader[0](raw, CLUSTER)
    assert (len(read.rows), read.broken) == (count_marks(reader[1], raw), 0), read.broken_examples


@pytest.mark.parametrize(
    "path", files("slurmrestd/*/*/slurm-node*[!d].json", "slurm_captures/*/rest/sock_slurm_*_node*")
)
def test_gpus_of_recorded_nodes_add_up_to_those_in_the_raw_text(path: Path) -> None:
    raw = path.read_text()
    rows = records_json.nodes(raw, CLUSTER).rows
    configured = " ".join(re.findall(r'"gres"\s*:\s*"([^"]*)"', raw))
    used = " ".join(re.findall(r'"gres_used"\s*:\s*"([^"]*)"', raw))
    assert sum(node.gpus_total for node in rows) == sum(map(int, GPU_COUNT.findall(configured)))
    assert sum(node.gpus_allocated or 0 for node in rows) == sum(map(int, GPU_COUNT.findall(used)))
    assert_plausible(rows)


def assert_plausible(nodes: tuple[Node, ...]) -> None:
    for pool in (pool for node in nodes for pool in node.gpu_pools):
        assert pool.used is None or 0 <= pool.used <= pool.total
        if pool.used_indices is not None and pool.free_indices is not None:
            assert set(pool.used_indices).isdisjoint(pool.free_indices)


def sacct(raw: str, cluster: str) -> Rows[Any]:
    header = raw.split("\n", 1)[0]
    delimiter = "\x1f" if "\x1f" in header else "|"
    return records_text.sacct_jobs(raw, header.split(delimiter), delimiter, cluster)


def without_cluster(read: Callable[[str], Rows[Any]]) -> Reader:
    return lambda raw, _: read(raw)


# By the file's name: the reader, and what begins each of its rows.
TEXT_READERS: tuple[tuple[str, Reader, str], ...] = (
    (r"scontrol_job", records_text.jobs, r"^JobId="),
    (r"scontrol_nodes?", records_text.nodes, r"^NodeName="),
    (r"scontrol_partition", records_text.partitions, r"^PartitionName="),
    (r"^reservations", records_text.reservations, r"^ReservationName="),
    (r"sacctmgr_assoc", records_text.associations, r"^mini\|"),
    (r"sprio_o", without_cluster(records_text.priorities), r"^\d+\|"),
)
# Tables for people and answers to questions that the product does not ask: their GRES and TRES are read below.
OTHER_TEXT = r"""squeue|sinfo|sprio|sshare|sdiag|sacctmgr_(qos|tres)|scontrol_hostnames|INDEX|privatedata|lua_
    |admincomment|readme|cpus|fairshare|licenses|scheduler|queue_|node_detail|gpus_snapshot|partitions_gpu|nodes_gres|reportseff|SOURCE
    |oom2?\.(out|err)|sacct_efficiency|sacct\.txt"""


def text_reader(path: Path) -> tuple[Reader, str] | None:
    return next(((read, mark) for pattern, read, mark in TEXT_READERS if re.search(pattern, path.name)), None)


TEXT_FILES = files(
    "slurm_captures/*.txt", "slurm_captures/*/*.txt", "slurm_commands/*", "slurm_commands/test_data/**/*"
)


@pytest.mark.parametrize("path", TEXT_FILES)
def test_every_recorded_text_of_a_command_is_read_whole(path: Path) -> None:
    raw = path.read_text(errors="replace")
    reader = text_reader(path)
    if reader is None:
        is_sacct = re.search(r"sacct_(P_|dups|as_|states|array)", path.name)
        assert is_sacct or re.search(OTHER_TEXT, path.name, re.VERBOSE), f"say in this test what {path.name} holds"
        return
    read = reader[0](raw, CLUSTER)
    assert len(read.rows) == len(re.findall(reader[1], raw, re.MULTILINE))
    assert read.broken == 0, read.broken_examples


@pytest.mark.parametrize("path", files("slurm_captures/*/sacct_*.txt"))
def test_every_sacct_row_becomes_a_job_or_is_counted_as_broken(path: Path) -> None:
    raw = path.read_text()
    columns = raw.split("\n", 1)[0].replace("\x1f", "|").split("|")
    before = rf"(?:[^|\x1f\n]*[|\x1f]){{{columns.index('JobID')}}}"
    jobs = len(re.findall(rf"^{before}\d+(?:_\d+|_\[[^\]]*\]|\+\d+)?[|\x1f]", raw, re.MULTILINE))
    if columns[0] != "JobID":  # texts with "|" stand before the job's id; the cluster stands once in each row
        jobs = len(re.findall(r"\|mini\|", raw))
    read = sacct(raw, CLUSTER)
    broken_jobs = read.broken - sum("own row is missing" in example for example in read.broken_examples)
    assert len(read.rows) + broken_jobs == jobs
    assert len(read.rows) >= jobs - 2  # two jobs of the captures hold the delimiter "|" in their texts


@pytest.mark.parametrize("path", TEXT_FILES)
def test_every_gres_and_tres_of_recorded_text_is_read(path: Path) -> None:
    raw = path.read_text(errors="replace")
    for tres in re.findall(r"(?<=[|=\s])cpu=\d+,mem=[\w.,=/:]*", raw):
        gpus = re.search(r"gres/gpu=(\d+)", tres)
        if gpus is not None:
            assert tres_string(tres).gpus == int(gpus[1])
    for gres in re.findall(r"(?<=[\s|=])gpu:[^\s|]*", raw):
        counts = [int(count) for count in GPU_COUNT.findall(re.sub(r"mig:[^,]*", "", gres))]
        if counts:
            assert [entry.count for entry in gpu_entries(gres)] == counts
