"""The commands as a person or a script meets them, on the simulated cluster."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import cli
from data.errors import NotFound
from data.settings_file import load_settings
from settings import Settings

ROOT = Path(__file__).resolve().parents[2]
FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shared_cache: Path) -> Run:
    """Run the command in this process: exit code, stdout, stderr."""
    for name in [name for name in os.environ if name.upper().startswith("FULLWARP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FULLWARP_CACHE__DIRECTORY", str(shared_cache))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fullwarp", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return int(ended.value.code or 0), out, err

    return call


def answer(run: Run, *arguments: str) -> Any:
    code, out, err = run("--demo", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def a_running_job(run: Run) -> str:
    return str(answer(run, "jobs", "-t", "R", "--sort", "-gpus")["rows"][0]["job"]["display_id"])


def test_help_is_fast() -> None:
    """In seconds of computing, which a busy machine does not change."""
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([FULLWARP, "--help"], capture_output=True, text=True, timeout=60, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert "status" in done.stdout
    assert min(taken) < 0.7


def test_help_imports_nothing_heavy() -> None:
    heavy = ("dash", "numpy", "pandas", "rich.markdown", "requests", "flask")
    code = f"import sys, cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version") == (0, f"fullwarp {version('fullwarp')}\n", "")


def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    names = [item.name or item.callback.__name__ for item in cli.program.registered_commands if item.callback]
    assert [name for name in names if f"| `{name}" not in page] == []


def test_status_counts_every_gpu_once(run: Run) -> None:
    found = answer(run, "status")
    assert sum(found["totals"]["by_state"].values()) == 42 * 8 + 8 * 4 + 34
    assert found["cluster"] == "larch"
    code, out, _ = run("--demo", "status")
    assert code == 0
    assert "72 nodes, 368 GPUs, 34 MIG slices" in out


def test_a_filter_narrows_the_totals(run: Run) -> None:
    assert answer(run, "status", "-p", "mig")["totals"]["nodes"] == 2
    assert {row["node"]["name"] for row in answer(run, "nodes", "-n", "h00")["rows"]} == {
        f"h00{n}" for n in range(1, 10)
    }


def test_jobs_and_job_agree(run: Run) -> None:
    job_id = a_running_job(run)
    report = answer(run, "job", job_id)["report"]
    listed = [
        row
        for row in answer(run, "jobs", "-t", "RUNNING", "--limit", "10000")["rows"]
        if row["job"]["display_id"] == job_id
    ]
    assert (report["job"]["user"], report["gpu_count"]) == (listed[0]["job"]["user"], listed[0]["gpus"])
    code, out, _ = run("--demo", "job", job_id)
    assert code == 0
    assert f"Job {job_id}" in out
    assert "GPU utilization" in out


def test_a_pending_job_says_why_it_waits(run: Run) -> None:
    job_id = answer(run, "jobs", "-t", "PD")["rows"][0]["job"]["display_id"]
    code, out, _ = run("--demo", "job", job_id)
    assert code == 0
    assert "Why it waits: " in out


def test_a_task_of_a_waiting_array_says_why_it_waits_now_and_then(run: Run) -> None:
    rows = [
        row["job"] for row in answer(run, "jobs", "-t", "PD", "--at", "2026-03-03T14:00", "--limit", "10000")["rows"]
    ]
    array = next(job for job in rows if job["array_tasks"])
    task = f"{array['array_job_id']}_{re.split('[-,%]', array['array_tasks'])[0]}"
    code, out, err = run("--demo", "job", task, "--at", "2026-03-03T14:00")
    assert (code, err) == (0, "")
    assert "PENDING" in out and "Why it waits: " in out and "earlier attempt" not in out


def test_a_waiting_job_that_the_picture_does_not_hold_yet_is_no_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = answer(run, "jobs", "-t", "PD")["rows"][0]["job"]["display_id"]

    def not_yet(*_: object) -> None:
        raise NotFound("There is no waiting job")

    monkeypatch.setattr("data.queries.pending.waiting", not_yet)
    code, out, err = run("--demo", "job", job_id)
    assert (code, err) == (0, "")
    assert f"Job {job_id}" in out and "Why it waits" not in out


def test_a_job_without_gpus_says_nothing_of_gpu_hours(run: Run) -> None:
    rows = answer(run, "jobs", "-t", "R", "-p", "cpu")["rows"]
    out = run("--demo", "job", next(row["job"]["display_id"] for row in rows if row["gpus"] == 0))[1]
    assert "CPU utilization" in out and "GPU-hours" not in out


def test_a_past_moment_is_shown_as_such_and_stays_what_it_was(run: Run) -> None:
    first = answer(run, "status", "--at", "2026-03-01T14:00")
    again = answer(run, "status", "--at", "2026-03-01T14:00Z")
    assert (first["time"], first["is_past"]) == ("2026-03-01T14:00:00Z", True)
    assert first["totals"] == again["totals"]
    assert "as it was 2026-03-01 14:00:00 UTC" in run("--demo", "status", "--at", "2026-03-01 14:00")[1]
    for what in ("nodes", "jobs"):
        assert "as it was 2026-03-01 14:00:00 UTC" in run("--demo", what, "--at", "2026-03-01 14:00")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--demo", "job", "1"], 1, ["no job 1", "may not see it"]),
        (["--demo", "job", "abc"], 2, ["'abc'"]),
        (["--demo", "job", "--", "-5"], 2, ["-5"]),
        (["--demo", "job", "9" * 40], 2, ["999"]),
        (["--demo", "status", "--at", "tomorrow"], 2, ["'tomorrow' is not a time", "-2h"]),
        (["--demo", "status", "--at", "2999-01-01"], 2, ["in the future"]),
        (["--demo", "status", "--at", "0001-01-01"], 2, ["too long ago: 0001-01-01"]),
        (["--demo", "metrics", "--json", "--csv"], 2, ["two forms of one answer"]),
        (["check"], 2, ["No settings file was found", "fullwarp check --init"]),
        (["--demo", "status", "--at", "-9999999w"], 2, ["-9999999w"]),
        (["--demo", "jobs", "--sort", "color"], 2, ["'color'", "utilization"]),
        (["--demo", "jobs", "--limit", "0"], 2, ["limit"]),
        (["--demo", "nosuch"], 2, ["nosuch"]),
        (["--demo", "status", "--nosuch"], 2, ["--nosuch"]),
        (["demo-series", "--since", "-1h", "--until", "-2h"], 2, ["nothing lies between"]),
        (["--config", "/nope.toml", "status"], 2, ["/nope.toml", "No such file"]),
        (["status"], 2, ["identity.kind = header", 'kind = "unix"']),
    ],
)
def test_an_error_is_a_line_with_what_to_do(run: Run, arguments: list[str], code: int, words: list[str]) -> None:
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert [word for word in words if word not in err] == []


def test_the_demo_needs_no_file_and_is_not_disturbed_by_one(run: Run) -> None:
    Path("fullwarp.toml").write_text("nonsense = [")
    code, out, err = run("--demo", "check")
    assert code in (0, 1) and err == ""  # 1: the simulated cluster has faults of its own
    assert "Metrics: simulated answers" in out
    assert run("check")[0] == 2


def test_demo_identity_counts_only_with_the_demo_option(run: Run) -> None:
    Path("fullwarp.toml").write_text("[slurm]\nkind = 'simulated'\n[identity]\nkind = 'demo'\n")
    for command in ("status", "check", "serve"):
        code, _, err = run(command)
        assert code == 2
        assert "makes everybody staff" in err


def test_a_user_of_the_demo_sees_only_what_a_user_may_see(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = answer(run, "jobs", "--limit", "10000")["rows"]
    user = rows[0]["job"]["user"]
    theirs = next(row["job"]["display_id"] for row in rows if row["job"]["user"] != user)
    monkeypatch.setenv("FULLWARP_IDENTITY__DEMO_USER", user)
    assert {row["job"]["user"] for row in answer(run, "jobs", "--limit", "10000")["rows"]} == {user}
    hidden, absent = run("--demo", "job", theirs), run("--demo", "job", "1")
    assert hidden[0] == absent[0] == 1
    assert hidden[2].replace(theirs, "1") == absent[2]


def test_check_init_writes_an_example_once(run: Run) -> None:
    assert run("check", "--init")[0] == 0
    path = Path("fullwarp.toml")
    assert load_settings(path).settings.slurm == Settings().slurm
    assert path.stat().st_mode & 0o777 == 0o640
    before = path.read_text()
    code, _, err = run("check", "--init")
    assert (code, path.read_text()) == (2, before)
    assert "exists already" in err


def test_check_says_what_a_dead_source_says(run: Run) -> None:
    Path("fullwarp.toml").write_text("[slurm]\nkind = 'rest'\nurl = 'http://127.0.0.1:9'\n[metrics]\nkind = 'none'\n")
    code, out, _ = run("check")
    assert code == 1
    assert "problem Slurm: no usable answer through rest" in out
    assert "problems found." in out


def test_check_shows_no_secret(run: Run) -> None:
    secret = "canary-4711-canary-4711"
    Path("fullwarp.toml").write_text(
        f"[slurm]\nkind = 'rest'\nurl = 'http://127.0.0.1:9'\nuser = 'u'\ntoken = '{secret}'\n"
        f"[metrics]\nurl = 'http://127.0.0.1:9'\ntoken = '{secret}'\nretries = 0\n[identity]\nsecret = '{secret}'\n"
    )
    for arguments in (["check"], ["check", "--json"]):
        code, out, err = run(*arguments)
        assert code == 1
        assert secret not in out + err
        assert "holds a secret that others can read" in out


def test_simulate_writes_text_that_ends_as_openmetrics_must(run: Run) -> None:
    code, out, _ = run("demo-series", "--since", "-2m", "--nodes", "2")
    lines = out.splitlines()
    assert (code, lines[-1]) == (0, "# EOF")
    assert re.fullmatch(r"DCGM_FI_\w+\{.*\} \S+ \d+\.\d{3}", lines[1])


def test_simulate_writes_one_file_per_day(run: Run, tmp_path: Path) -> None:
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since, until = midnight.timestamp() - 60, midnight.timestamp() - 30
    texts = [datetime.fromtimestamp(at, UTC).isoformat() for at in (since, until)]
    code, _, err = run(
        "demo-series", "--since", texts[0], "--until", texts[1], "--nodes", "1", "--folder", str(tmp_path / "om")
    )
    assert code == 0
    assert len(list((tmp_path / "om").iterdir())) == 1
    assert "samples" in err


@pytest.mark.parametrize("columns", ["40", "80", "200"])
@pytest.mark.parametrize("command", ["status", "nodes", "jobs"])
def test_no_line_is_wider_than_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    _, out, _ = run("--demo", command)
    assert max(len(line) for line in out.splitlines()) <= int(columns)


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{FULLWARP} --demo jobs --limit 1000 | head -1"
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stderr, done.stdout.split()[0]) == ("", "JOBID")


@pytest.mark.parametrize(
    "variables",
    [
        {"NO_COLOR": "1", "TERM": "xterm"},
        {"TERM": "dumb"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_it_works_without_color_and_without_unicode(variables: dict[str, str]) -> None:
    done = subprocess.run(
        [FULLWARP, "--demo", "nodes"], env={**os.environ, **variables}, capture_output=True, timeout=60, check=True
    )
    assert b"\x1b[" not in done.stdout
    assert b"NODE" in done.stdout
