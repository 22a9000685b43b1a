"""Commands that hang, print garbage, half, too much or nothing: fake executables in a folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from data.errors import CannotKnow, SourceDenied, SourceError, SourceGarbled, SourceTimeout, SourceUnreachable
from data.slurm import process
from data.slurm.commands import CommandsSource
from data.slurm.process import run
from data.sources import open_sources
from settings import IdentityKind, IdentitySettings, MetricsKind, MetricsSettings, Settings, SlurmSettings
from tests.services.slurm import wait_until

CONFIG = "ClusterName             = testing\nSLURM_VERSION           = 23.02.1\n"
NODE = "NodeName=n1 CoresPerSocket=1\n   CPUAlloc=0 CPUTot=4 Gres=gpu:2 NodeAddr=n1 State=IDLE ThreadsPerCore=1\n"
NODE_JSON = json.dumps({"nodes": [{"name": "n1", "state": ["IDLE"], "gres": "gpu:2", "cpus": 4}], "errors": []})
NO_JSON = "echo \"$0: unrecognized option '--json'\" >&2; exit 1"

Install = Callable[..., CommandsSource]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Put shell scripts into a folder as Slurm's commands; each call is noted in `calls`."""

    def put(timeout_seconds: float = 5.0, cluster: str = "", **scripts: str) -> CommandsSource:
        for name, script in scripts.items():
            file = tmp_path / name
            file.write_text(f'#!/bin/sh\necho "{name} $*" >>{tmp_path}/calls\n{script}\n')
            file.chmod(0o755)
        return CommandsSource(SlurmSettings(bin_dir=tmp_path, timeout_seconds=timeout_seconds), cluster)

    return put


def calls(folder: Path) -> list[str]:
    file = folder / "calls"
    return file.read_text().splitlines() if file.exists() else []


def scontrol(show_node: str, as_json: str = NO_JSON) -> str:
    return f"case \"$*\" in\n*config*) cat <<'E'\n{CONFIG}E\n;;\n*--json*) {as_json}\n;;\n*) {show_node}\n;;\nesac"


def printing(text: str) -> str:
    return f"cat <<'E'\n{text}\nE"


def test_json_that_does_not_work_costs_one_request_once(install: Install, tmp_path: Path) -> None:
    slurm = install(scontrol=scontrol(printing(NODE)))
    for _ in range(3):
        assert [node.name for node in slurm.nodes().rows] == ["n1"]
    assert len([call for call in calls(tmp_path) if "--json" in call]) == 1
    assert slurm.requests == len(calls(tmp_path)) == 5  # --json, config, three times text


def test_json_that_works_is_all_that_is_asked(install: Install, tmp_path: Path) -> None:
    slurm = install(cluster="c", scontrol=scontrol("exit 9", as_json=printing(NODE_JSON)))
    assert slurm.nodes().rows[0].cpus == 4
    assert calls(tmp_path) == ["scontrol -a show node --json"]


@pytest.mark.parametrize("nodes", [10, 1000])
def test_the_calls_do_not_grow_with_the_nodes(install: Install, tmp_path: Path, nodes: int) -> None:
    every = [{"name": f"n{number:04}", "state": ["IDLE"], "gres": "gpu:8", "cpus": 64} for number in range(nodes)]
    (tmp_path / "nodes.json").write_text(json.dumps({"nodes": every, "errors": []}))
    no_jobs = json.dumps({"jobs": [], "errors": []})
    answers = f"case \"$*\" in\n*node*) cat {tmp_path}/nodes.json\n;;\n*) echo '{no_jobs}'\n;;\nesac"
    slurm = install(cluster="c", scontrol=answers, squeue=answers)
    for refreshes in (1, 2):
        assert len(slurm.nodes().rows) == nodes and slurm.jobs().broken == 0
        assert slurm.requests == len(calls(tmp_path)) == 2 * refreshes


def test_a_message_before_json_is_skipped(install: Install) -> None:
    slurm = install(
        cluster="c", scontrol=scontrol("exit 9", as_json=printing(f"Welcome to {{this}} site\n{NODE_JSON}"))
    )
    assert [node.name for node in slurm.nodes().rows] == ["n1"]


@pytest.mark.parametrize("broken", ["garbage \\\\377 {", NODE_JSON[: len(NODE_JSON) // 2], ""])
def test_broken_json_falls_back_to_text(install: Install, tmp_path: Path, broken: str) -> None:
    slurm = install(cluster="c", scontrol=scontrol(printing(NODE), as_json=printing(broken)))
    assert [node.name for node in slurm.nodes().rows] == ["n1"]
    slurm.nodes()
    assert len([call for call in calls(tmp_path) if "--json" in call]) == 1


@pytest.mark.parametrize("text", ["", "garbage", "<html></html>", "\x00\x01"])
def test_text_without_a_node_is_never_an_empty_cluster(install: Install, text: str) -> None:
    with pytest.raises(SourceGarbled):
        install(cluster="c", scontrol=scontrol(printing(text))).nodes()


def test_half_a_row_is_counted_and_the_others_kept(install: Install) -> None:
    rows = install(cluster="c", scontrol=scontrol(printing(f"{NODE}\nNodeName=n2 CoresPerSocket=1\n   CPUAl"))).nodes()
    assert [node.name for node in rows.rows] == ["n1"]
    assert rows.broken == 1 and "n2" in rows.broken_examples[0]


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (
            "slurm_load_node error: Unable to contact slurm controller (connect failure)",
            SourceUnreachable,
            "scontrol ping",
        ),
        ("slurm_load_jobs error: Zero Bytes were transmitted or received", SourceUnreachable, "scontrol ping"),
        ("slurm_load_jobs error: Incompatible versions of client and server code", SourceUnreachable, "release"),
        ("slurm_load_node: Access/permission denied", SourceDenied, "PrivateData"),
        ("error: Munge encode failed: Failed to access socket", SourceDenied, "munge"),
        ("slurm_load_jobs error: Protocol authentication error", SourceDenied, "munge"),
        ("error: s_p_parse_file: cannot stat file /etc/slurm/slurm.conf", SourceUnreachable, "slurm.conf"),
        ("fatal: Could not establish a configuration source", SourceUnreachable, "slurm.conf"),
        ("something unheard of", SourceGarbled, "by hand"),
    ],
)
def test_what_a_command_complains_of_becomes_an_error_with_a_hint(
    install: Install, words: str, error: type[SourceError], hint: str
) -> None:
    slurm = install(cluster="c", scontrol=f"echo '{words}' >&2; exit 1")
    with pytest.raises(error) as caught:
        slurm.nodes()
    assert words[:40] in str(caught.value) or words[-30:] in str(caught.value)
    assert hint in caught.value.hint


def test_a_command_that_fails_at_json_without_a_word_is_asked_for_text(install: Install) -> None:
    words = "echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
    slurm = install(cluster="c", scontrol=scontrol(words, as_json="exit 1"))
    with pytest.raises(SourceUnreachable):
        slurm.nodes()


def test_jobs_come_as_text_where_squeue_has_no_json(install: Install, tmp_path: Path) -> None:
    slurm = install(cluster="c", squeue=NO_JSON, scontrol=scontrol(printing("No jobs in the system")))
    assert slurm.jobs().rows == slurm.jobs().rows == ()
    assert [call.split()[0] for call in calls(tmp_path)] == ["squeue", "scontrol", "scontrol"]


def test_sacct_that_cannot_reach_slurmdbd_is_no_empty_history(install: Install) -> None:
    words = "sacct: error: Problem talking to the database: Connection refused"
    slurm = install(
        cluster="c", sacct=f"case $* in *helpformat*) echo JobID State Start End;; *) echo '{words}' >&2; exit 1;; esac"
    )
    now = datetime.now(UTC)
    with pytest.raises(SourceUnreachable) as caught:
        slurm.finished_jobs(now - timedelta(hours=1), now)
    assert "slurmdbd" in caught.value.hint


def test_sacct_is_asked_only_for_fields_that_it_knows_by_days_and_with_duplicates(
    install: Install, tmp_path: Path
) -> None:
    slurm = install(cluster="c", sacct="case $* in *helpformat*) printf 'JobID  State\\nStart End\\n';; esac")
    assert slurm.finished_jobs(datetime(2026, 1, 1, 22, tzinfo=UTC), datetime(2026, 1, 3, 1, tzinfo=UTC)).rows == ()
    asked = calls(tmp_path)
    assert asked[0] == "sacct --helpformat"
    spans = [(call.split()[4], call.split()[6]) for call in asked[1:]]
    assert spans == [
        ("2026-01-01T22:00:00", "2026-01-02T00:00:00"),
        ("2026-01-02T00:00:00", "2026-01-03T00:00:00"),
        ("2026-01-03T00:00:00", "2026-01-03T01:00:00"),
    ]
    assert all(call.startswith("sacct -D -a -S") and call.endswith("-o JobID,State,Start,End") for call in asked[1:])


def test_a_missing_command_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for settings in (SlurmSettings(), SlurmSettings(bin_dir=tmp_path)):
        with pytest.raises(SourceUnreachable, match="no command") as caught:
            CommandsSource(settings, "c").nodes()
        assert "bin_dir" in caught.value.hint


def test_a_file_that_cannot_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "scontrol").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "scontrol").chmod(0o755)
    with pytest.raises(SourceUnreachable, match="cannot run"):
        CommandsSource(SlurmSettings(bin_dir=tmp_path), "c").nodes()


def test_a_missing_slurm_conf_is_said_at_once(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(SourceUnreachable, match="does not exist") as caught:
        CommandsSource(SlurmSettings(conf=tmp_path / "slurm.conf"), "c").nodes()
    assert time.monotonic() - started < 10 and "slurm.conf" in caught.value.hint


def test_a_command_that_hangs_is_killed_with_its_children(install: Install, tmp_path: Path) -> None:
    slurm = install(timeout_seconds=3, cluster="c", scontrol=f"sleep 300 & echo $! >{tmp_path}/child; wait")
    started = time.monotonic()
    with pytest.raises(SourceTimeout):
        slurm.nodes()
    assert time.monotonic() - started < 20
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not _is_running(child), 10, "the child to be gone")


def test_the_reason_that_a_hanging_command_gave_is_kept(install: Install) -> None:
    words = "error: s_p_parse_file: cannot stat file /etc/slurm/slurm.conf: No such file, retrying in 1sec up to 60sec"
    slurm = install(timeout_seconds=3, cluster="c", scontrol=f"echo '{words}' >&2; sleep 300")
    with pytest.raises(SourceUnreachable, match="cannot stat"):
        slurm.nodes()


def test_a_command_that_closes_its_output_and_goes_on_is_killed_too(install: Install) -> None:
    started = time.monotonic()
    with pytest.raises(SourceTimeout):
        install(timeout_seconds=3, cluster="c", scontrol="exec >&- 2>&-; sleep 300").nodes()
    assert time.monotonic() - started < 20


def test_hundreds_of_megabytes_are_cut_off(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(SourceGarbled, match="more than 8 MiB"):
        run(["yes"], environment={"PATH": os.environ["PATH"]}, timeout_seconds=20, limit_bytes=8 * 2**20)
    assert time.monotonic() - started < 10


def test_a_flood_of_complaints_does_not_fill_the_memory() -> None:
    script = "head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 1"
    finished = run(["sh", "-c", script], environment={"PATH": os.environ["PATH"]}, timeout_seconds=20)
    assert finished.code == 1 and len(finished.stderr) == process.STDERR_LIMIT_BYTES


def test_bytes_that_are_no_text_are_replaced() -> None:
    finished = run(["printf", "a\\377b"], environment={"PATH": os.environ["PATH"]}, timeout_seconds=5)
    assert finished.stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_nothing_of_the_callers_environment_reaches_a_command(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SQUEUE_USERS", "SLURM_CLUSTERS", "SCONTROL_ALL", "TZ", "LD_PRELOAD_X", "HOME", "LANG"):
        monkeypatch.setenv(name, "nonsense")
    monkeypatch.setenv("SLURM_CONF", "/some/slurm.conf")
    slurm = install(cluster="c", scontrol=f"env >{tmp_path}/environment; exit 1")
    with pytest.raises(SourceGarbled):
        slurm.nodes()
    seen = dict(line.split("=", 1) for line in (tmp_path / "environment").read_text().splitlines())
    for added_by_the_shell in ("PWD", "OLDPWD", "SHLVL", "_"):
        seen.pop(added_by_the_shell, None)
    assert seen.pop("PATH").startswith(str(tmp_path))
    expected = {"SLURM_CONF": "/some/slurm.conf", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}
    assert seen == expected


def test_arguments_are_never_read_by_a_shell(install: Install, tmp_path: Path) -> None:
    slurm = install(cluster="c", scontrol="exit 1", sacct="exit 1")
    for hostile in ("1;touch /tmp/x", "$(id)", "1 2", "-a", "--help", "1\n2"):
        with pytest.raises(Exception, match="not a job id"):
            slurm.job(hostile)
    assert calls(tmp_path) == []


def test_a_past_moment_is_refused(install: Install) -> None:
    slurm = install()
    for read in (slurm.nodes, slurm.jobs):
        with pytest.raises(CannotKnow):
            read(at=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ("AccountingStorageTRES   = cpu,mem,gres/gpu", None),
        ("AccountingStorageTRES   = cpu,mem", "AccountingStorageTRES=gres/gpu"),
        ("AccountingStorageType   = accounting_storage/none", "accounting_storage/slurmdbd"),
        ("AccountingStorageTRES   = gres/gpu\nPrivateData             = jobs,nodes", "AdminLevel=Operator"),
    ],
)
def test_health_says_what_to_change_in_slurm_conf(install: Install, config: str, note: str | None) -> None:
    health = install(scontrol=printing(f"{CONFIG}{config}"), sacctmgr="echo testing").health()
    assert health.reachable and health.version == "23.02.1"
    assert len(health.notes) == (0 if note is None else 1)
    assert note is None or note in health.notes[0]


def test_health_says_when_slurmdbd_is_away(install: Install) -> None:
    health = install(
        scontrol=printing(f"{CONFIG}AccountingStorageTRES   = gres/gpu"),
        sacctmgr="echo 'sacctmgr: error: Sending PersistInit msg: Connection refused' >&2; exit 1",
    ).health()
    assert health.reachable and "slurmdbd" in health.notes[0]


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_user_in_the_terminal_cannot_choose_the_commands_by_path(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(cluster="planted")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", "/planted/slurm.conf")
    told = Settings(identity=IdentitySettings(kind=IdentityKind.UNIX), metrics=MetricsSettings(kind=MetricsKind.NONE))
    monkeypatch.setattr(os, "getuid", lambda: 6001)
    monkeypatch.setattr(shutil, "which", lambda name, path: asked.append(path))
    asked: list[str] = []
    with pytest.raises(SourceUnreachable):
        open_sources(told).scheduler.nodes()
    assert set(asked) == {os.defpath}
