"""`fullwarp enforce`: says what it would do, and refuses to act without what acting needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cli
from commands.enforce import _sources
from data.model import Role, Viewer
from settings import Settings

Run = Callable[..., tuple[int, str, str]]
SIMULATED = '[slurm]\nkind = "simulated"\n[metrics]\nkind = "simulated"\n[identity]\nkind = "header"\n'


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("FULLWARP_CACHE__DIRECTORY", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, settings: str = "") -> tuple[int, str, str]:
        file = tmp_path / "enforce.toml"
        file.write_text(settings)
        before = ["--config", str(file)] if settings else ["--demo"]
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["fullwarp", *before, "enforce", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_a_dry_run_says_so_and_shows_what_is_due(run: Run) -> None:
    code, out, _ = run()
    assert code == 0
    assert "Dry run: nothing is done, because --act is not given and policy.enforce is false." in out
    report = json.loads(run("--act", "--json")[1])
    assert report["dry_because"] == "policy.enforce is false"
    assert {line["fate"] for line in report["lines"]} <= {"would be done", "withheld"}
    assert sum(report["counts"].values()) == report["running_gpu_jobs"] > 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "enforcement.directory and enforcement.url are empty"),
        ('[enforcement]\ndirectory = "kept"\n', "mail.host is empty"),
        (
            '[enforcement]\ndirectory = "kept"\n[mail]\nhost = "x"\nsender = "a@x.org"\ntemplates = "none"\n',
            "mail.templates: none is no folder",
        ),
    ],
)
def test_without_what_acting_needs_it_does_not_begin(run: Run, more: str, words: str, tmp_path: Path) -> None:
    code, out, err = run("--act", settings=f"{SIMULATED}[policy]\nenforce = true\n{more}")
    assert (code, out) == (2, "") and words in err
    assert not (tmp_path / "kept").exists()


def test_metrics_that_do_not_answer_are_said_with_exit_code_2(run: Run) -> None:
    silent = SIMULATED.replace('[metrics]\nkind = "simulated"', '[metrics]\nurl = "http://127.0.0.1:9"\nretries = 0')
    code, out, err = run("--json", settings=silent)
    assert code == 2 and "nothing is acted on: metrics does not answer" in err
    assert json.loads(out)["faults"] and json.loads(out)["lines"] == []


def test_a_store_of_exemptions_that_is_not_there_stops_it(run: Run, tmp_path: Path) -> None:
    code, out, err = run(
        settings=f'{SIMULATED}[state]\ndirectory = "{tmp_path}/none"\n[enforcement]\ndirectory = "x"\n'
    )
    assert (code, out) == (2, "") and "the store of exemptions is not there" in err


def test_only_staff_may_look_at_everybodys_jobs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commands.enforce.who_asks", lambda _: (Settings(), Viewer("alice", Role.USER)))
    code, out, err = run()
    assert (code, out) == (2, "") and "only staff" in err


@pytest.mark.parametrize("every", ["0s", "soon", "-2m"])
def test_a_wrong_interval_is_refused(run: Run, every: str) -> None:
    code, _, err = run("--every", every)
    assert code == 2 and "--every" in err


@pytest.mark.parametrize("wait", ["nan", "inf", "-1"])
def test_a_wait_without_an_end_is_refused(run: Run, wait: str) -> None:
    code, _, err = run("--wait", wait)
    assert code == 2 and f"--wait {wait} is no time to wait" in err


def test_no_picture_is_shared_with_others(tmp_path: Path) -> None:
    simulated = {"kind": "simulated"}
    settings = Settings.model_validate(
        {"slurm": simulated, "metrics": simulated, "cache": {"kind": "files", "directory": tmp_path}}
    )
    sources = _sources(settings)
    sources.live.snapshot()
    assert list(tmp_path.iterdir()) == []
