"""What is refused at submission: by the script for Slurm, and over the past, with the same limits."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from policy.submission import Excess, Request, job_submit_lua, lua, refused
from settings import SubmissionSettings
from tests.policy.lua_script import submitted

# What Slurm gives where nothing was said.
NO_VAL16, NO_VAL = 65534.0, 4294967294.0
LIMITS = SubmissionSettings(
    limits={
        "gpu": {"max_cores_per_gpu": 16, "max_memory_gib_per_gpu": 120.5, "min_gpus_per_node": 4},
        "*": {"max_cores_per_gpu": 4},
    },
    exempt_users=["ci"],
    exempt_accounts=["ops"],
    more="See https://hpc.example.org",
)
UNSET = {
    **dict.fromkeys(("min_nodes", "num_tasks", "min_cpus"), NO_VAL),
    **dict.fromkeys(
        ("cpus_per_task", "ntasks_per_node", "ntasks_per_gpu", "pn_min_cpus", "sockets_per_node"), NO_VAL16
    ),
    "user_name": "alice",
    "default_account": "physics",
    "partition": "gpu",
}
CORES, MEMORY, SPREAD = "is more than 16 per GPU", "is more than 120.5 GiB per GPU", "is less than 4 on each node"
GIB = 1024.0


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 16.0}, ""),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 17.0}, "17 cores for 1 GPU " + CORES),
        ({"tres_per_node": "gres:gpu:a100:2", "num_tasks": 2.0, "cpus_per_task": 16.0}, ""),
        ({"tres_per_node": "gres:gpu:a100:2", "num_tasks": 3.0, "cpus_per_task": 16.0}, "--cpus-per-task=10 with 3"),
        ({"tres_per_job": "gres/gpu=2", "num_tasks": 40.0}, "Ask for at most --ntasks=32"),
        ({"tres_per_task": "gres/gpu:1", "num_tasks": 4.0, "cpus_per_task": 16.0}, ""),
        ({"tres_per_socket": "gres/gpu:1", "sockets_per_node": 2.0, "cpus_per_task": 33.0}, "33 cores for 2 GPUs"),
        ({"tres_per_node": "gres/gpu", "min_cpus": 20.0}, "20 cores for 1 GPU"),
        ({"tres_per_job": "gres/gpu:2", "cpus_per_tres": "gres/gpu:17"}, "34 cores for 2 GPUs"),
        ({"tres_per_job": "gres/gpu:2", "ntasks_per_gpu": 20.0}, "40 cores for 2 GPUs"),
        ({"tres_per_job": "gres/gpu:1", "ntasks_per_node": 17.0}, "17 cores for 1 GPU"),
        ({"tres_per_node": "gres/gpu:1", "min_mem_per_node": 120.5 * GIB}, ""),
        ({"tres_per_node": "gres/gpu:1", "min_mem_per_node": 121 * GIB}, "121 GiB of CPU memory for 1 GPU " + MEMORY),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 4.0, "min_mem_per_cpu": 31 * GIB}, "124 GiB"),
        ({"tres_per_node": "gres/gpu:2", "mem_per_tres": "gres/gpu:123905"}, "--mem-per-gpu=123392M"),
        ({"tres_per_node": "gres/gpu:1", "min_mem_per_node": 0.0}, ""),
        ({"tres_per_node": "gres/gpu:1", "min_nodes": 2.0}, f"2 GPUs on 2 nodes {SPREAD}"),
        ({"tres_per_node": "gres/gpu:1", "min_nodes": 8.0}, "--nodes=2 --gpus-per-node=4"),
        ({"tres_per_node": "gres/gpu:4", "min_nodes": 2.0}, ""),
        ({"tres_per_job": "gres/gpu:8", "tres_per_node": "gres/gpu:2"}, "8 GPUs on 4 nodes"),
        ({"tres_per_job": "gres/gpu:1"}, ""),
        ({"cpus_per_task": 64.0, "min_mem_per_node": 900 * GIB}, ""),
        ({"tres_per_node": "gres/shard:1,license/gpu:1", "cpus_per_task": 64.0}, ""),
        ({"tres_per_node": "gres/gpu:0", "cpus_per_task": 64.0}, ""),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 5.0, "partition": "long"}, "more than 4 per GPU, the"),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 5.0, "partition": "gpu,long"}, "partition long"),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 17.0, "partition": None}, "partition gpu"),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 64.0, "user_name": "ci"}, ""),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 64.0, "default_account": "ops"}, ""),
        ({"tres_per_node": "gres/gpu:1", "cpus_per_task": 64.0, "account": "bio", "default_account": "ops"}, CORES),
    ],
)  # fmt: skip
def test_a_request_beyond_a_limit_is_refused_with_the_limit_and_the_fix(
    tmp_path: Path, job: dict[str, Any], says: str
) -> None:
    (said,) = submitted(tmp_path, LIMITS, [{**UNSET, **job}])
    if says:
        assert (said.code, says in said.text, said.text.endswith(LIMITS.more)) == (2072, True, True), said.text
    else:
        assert (said.code, said.text) == (0, "")


def test_a_request_beyond_several_limits_reads_of_all_of_them(tmp_path: Path) -> None:
    job = {"tres_per_node": "gres/gpu:1", "min_nodes": 2.0, "cpus_per_task": 40.0, "min_mem_per_cpu": 9 * GIB}
    (said,) = submitted(tmp_path, LIMITS, [{**UNSET, **job}])
    assert all(part in said.text for part in (CORES, MEMORY, SPREAD))


def test_the_script_and_the_count_of_past_jobs_agree(tmp_path: Path) -> None:
    """A thousand requests: what Slurm would refuse is what `simulate` counts of the same job."""
    dice = random.Random(5)
    asked, expected = [], []
    for _ in range(1000):
        gpus, nodes, cores = dice.randint(0, 9), dice.randint(1, 3), dice.randint(1, 200)
        memory, partition = dice.choice([None, dice.randint(1, 1500)]), dice.choice(["gpu", "long"])
        user = dice.choice(["alice", "ci"])
        job = {"tres_per_job": f"gres/gpu:{gpus}", "min_nodes": float(nodes), "min_cpus": float(cores)}
        per_node = None if memory is None else memory * GIB / nodes
        asked.append(
            {**UNSET, **job, "num_tasks": 1.0, "min_mem_per_node": per_node, "partition": partition, "user_name": user}
        )
        given = None if memory is None else memory * 2.0**30
        expected.append(refused(LIMITS, Request(partition, gpus, nodes, cores, given, user)))
    found = [said.text for said in submitted(tmp_path, LIMITS, asked)]
    words = {Excess.CORES: "per GPU, the", Excess.MEMORY: "GiB per GPU", Excess.SPREAD: "on each node"}
    for text, limits in zip(found, expected, strict=True):
        told = {
            limit
            for limit, word in words.items()
            if any(word in line and ("GiB" in word) == ("GiB" in line) for line in text.split("\n"))
        }
        assert told == set(limits), text
    assert sum(bool(limits) for limits in expected) > 300


def test_a_fault_in_the_script_keeps_nobody_from_submitting(tmp_path: Path) -> None:
    (said,) = submitted(tmp_path, LIMITS, [{**UNSET, "tres_per_job": True}])
    assert said.code == 0
    assert said.text.startswith("FAULT job_submit/lua")


NASTY = ['"] = 1 } os.execute("x") --', "]]\\%s'", "größe", "\\", "{{ 7 * 7 }}", "a" * 300]


@pytest.mark.parametrize("text", NASTY)
def test_no_value_of_the_settings_can_be_taken_for_code(tmp_path: Path, text: str) -> None:
    settings = SubmissionSettings(
        limits={"*": {"max_cores_per_gpu": 1}}, exempt_users=[f"{text}\0\n"], exempt_accounts=[text], more=text
    )
    job = {**UNSET, "tres_per_job": "gres/gpu:1", "min_cpus": 2.0}
    refused_, exempt = submitted(tmp_path, settings, [job, {**job, "user_name": f"{text}\0\n"}])
    assert refused_.text.partition("\n")[2].encode() == text.encode()
    assert exempt.code == 0


def test_names_of_partitions_are_escaped_and_plain() -> None:
    text = job_submit_lua(SubmissionSettings(limits={'a"]=b': {"max_cores_per_gpu": 2}}))
    assert '["a\\034\\093=b"] = { cores_per_gpu = 2,' in text
    for name in ("", " ", "a,b", "a\nb", "x" * 201):
        with pytest.raises(ValidationError, match="cannot be the name of one partition"):
            SubmissionSettings(limits={name: {}})


@pytest.mark.parametrize(
    "limits",
    [{"max_cores_per_gpu": 0}, {"max_memory_gib_per_gpu": float("inf")}, {"min_gpus_per_node": -1}, {"cores": 1}],
)
def test_a_limit_that_is_none_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        SubmissionSettings(limits={"gpu": limits})


def test_the_last_line_of_a_refusal_is_one_line() -> None:
    with pytest.raises(ValidationError, match="one line of plain text"):
        SubmissionSettings(more="a\nb")


def test_lua_has_no_literal_for_other_things() -> None:
    assert [lua(value) for value in (None, True, 3, 1.5, "a")] == ["nil", "true", "3", "1.5", '"a"']
    with pytest.raises(TypeError, match="no Lua literal for list"):
        lua([1])
