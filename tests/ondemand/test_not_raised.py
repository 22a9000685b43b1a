"""The user owns the process and its environment, and still sees own jobs only, in both modes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.errors import CannotKnow, NotFound, SettingsError
from data.model import Role, Viewer
from data.queries.jobs import jobs
from ondemand.direct import Direct
from ondemand.options import Mode, Options, read_options
from ondemand.web import process_user
from settings import MetricsKind, MetricsSettings, SlurmKind, SlurmSettings
from tests.ondemand.test_passenger import MIB, get, names_of_others
from tests.services.passenger import BASE, DIRECT, ROOT, Site

only_root = pytest.mark.skipif(os.getuid() != 0, reason="a settings file counts only if root owns it")
ASKS = f"""
import sys, os
sys.path.insert(0, os.getcwd())
import passenger_wsgi
found = passenger_wsgi.application.test_client().get("/", environ_overrides={{"SCRIPT_NAME": "{BASE.rstrip("/")}"}})
sys.stdout.write(found.text)
"""

READS = """
import pathlib, sys
from ondemand import options
options.SYSTEM_FILE = pathlib.Path(sys.argv[1])
try:
    options.read_options(pathlib.Path("/nowhere"))
except Exception as err:
    print(repr(err))
"""


@pytest.fixture
def site(ondemand_site: Site) -> Iterator[Site]:
    yield ondemand_site
    ondemand_site.configure()


def hostile(site: Site) -> dict[str, str]:
    """What a user can lay in the way: variables, a settings file, a package of the same name."""
    fake = site.home / "fake" / "ondemand"
    fake.mkdir(parents=True, exist_ok=True)
    (fake / "__init__.py").write_text("raise SystemExit('taken over')")
    own = site.home / "own.toml"
    own.write_text(f'mode = "direct"\n[identity]\nkind = "demo"\nstaff_users = ["{site.user}"]\n')
    return {
        "FULLWARP_CONFIG": str(own),
        "FULLWARP_IDENTITY__KIND": "demo",
        "FULLWARP_IDENTITY__STAFF_USERS": site.user,
        "FULLWARP_IDENTITY__VISIBILITY": "all",
        "FULLWARP_MODE": "direct",
        "FULLWARP_SERVER": "http://127.0.0.1:9/",
        "FULLWARP_TOKEN": "fullwarp_000000000000_" + "x" * 43,
        "PYTHONPATH": str(fake.parent),
        "PYTHONSTARTUP": str(fake / "__init__.py"),
        "USER": "root",
        "LOGNAME": "root",
        "REMOTE_USER": "sam",
        "HTTP_X_FORWARDED_USER": "sam",
        "PASSENGER_BASE_URI": "/elsewhere",
    }


@pytest.mark.parametrize("mode", ["", DIRECT])
def test_a_hostile_environment_changes_nothing(site: Site, mode: str) -> None:
    site.configure(mode)
    asks = site.folder / "asks.py"
    asks.write_text(ASKS)
    program = str(site.app / "bin" / "python")
    plain = site.as_user(program, str(asks))
    changed = site.as_user(program, str(asks), **hostile(site))
    assert plain.returncode == changed.returncode == 0, plain.stderr + changed.stderr
    assert unstamped(changed.stdout) == unstamped(plain.stdout)
    words = set(re.findall(r"[\w-]+", re.sub(r"<[^>]*>", " ", changed.stdout)))
    assert "My jobs" in changed.stdout and not words & names_of_others(site)


def unstamped(page: str) -> str:
    """Without what goes on by itself: times, ages and the numbers of a cluster that lives."""
    return re.sub(r"\d+", "0", re.sub(r"<(time|td|dd)\b.*?</\1>", "", page)) if "Direct mode" in page else page


def test_the_direct_mode_says_so_asks_no_server_and_stays_small(site: Site) -> None:
    site.configure(DIRECT)
    before = len(site.central.asked)
    found = get(site)
    assert found.status_code == 200 and "Direct mode" in found.text and "no history" in found.text.lower()
    assert "no history" in get(site, "efficiency").text and "no history" in get(site, "?embed=1").text
    assert len(site.central.asked) == before
    (process,) = site.processes()
    assert process.memory_info().rss < 150 * MIB


@pytest.fixture(scope="module")
def of_an_administrator() -> Direct:
    """For somebody whom Slurm calls an administrator, and who is staff everywhere else."""
    options = Options(
        mode=Mode.DIRECT,
        slurm=SlurmSettings(kind=SlurmKind.SIMULATED),
        metrics=MetricsSettings(kind=MetricsKind.SIMULATED),
    )
    probe = Direct(options, "nobody")
    admin = next(row.user for row in probe._sources.associations() if row.admin_level == "Administrator" and row.user)
    return Direct(options, admin)


def test_an_administrator_of_slurm_is_a_plain_user_here(of_an_administrator: Direct) -> None:
    direct = of_an_administrator
    everybody = jobs(Viewer("root", Role.STAFF), direct._sources, limit=10_000).rows
    others = [row for row in everybody if row.job.user != direct.user]
    assert len(others) > 50
    found = direct.now()
    assert {row.job.user for row in found.jobs.rows} <= {direct.user}
    assert {one.job.user for one in found.verdicts.verdicts} <= {direct.user}
    with pytest.raises(NotFound):
        direct.job(others[0].job.display_id)
    for ask in (direct.past, direct.last_jobs, direct.advised):
        with pytest.raises(CannotKnow):
            ask()


@only_root
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "server is needed"),
        ('server = "ftp://x"', "server"),
        ('server = "https://x"\nrefresh_seconds = 10', "refresh_seconds"),
        ('server = "https://x"\nstaff_users = ["me"]', "staff_users"),
        ('server = "https://x"\nframe_ancestors = ["*"]', "frame_ancestors"),
        ('mode = "direct"\n[metrics]\nurl = "http://p"\ntoken_file = "/t"', "metrics.token_file is a secret"),
        (
            'mode = "direct"\n[metrics]\nurl = "http://p"\nheaders = {Authorization = "x"}',
            "metrics.headers is a secret",
        ),
        ('mode = "direct"\n[slurm]\nkind = "rest"\nurl = "http://p"\ntoken = "x"', "slurm.token is a secret"),
        ("mode = direct", "not TOML"),
    ],
)
def test_settings_that_cannot_hold_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "ondemand.toml").write_text(text)
    with pytest.raises(SettingsError) as found:
        read_options(tmp_path)
    assert said in str(found.value)


def test_settings_that_the_user_cannot_reach_are_named(site: Site) -> None:
    (site.folder / "closed").mkdir(mode=0o700)
    script = site.folder / "reads.py"
    script.write_text(READS)
    found = site.as_user(str(site.app / "bin" / "python"), str(script), str(site.folder / "closed" / "ondemand.toml"))
    assert found.stdout.startswith("SettingsError") and "closed/ondemand.toml cannot be reached" in found.stdout


def test_an_umask_of_root_hides_nothing_from_users(site: Site) -> None:
    app = site.folder / "hidden"
    shutil.copytree(ROOT / "deploy" / "ondemand", app, ignore=shutil.ignore_patterns("public", "tmp"))
    for path in (app, *app.rglob("*")):
        path.chmod(0o700 if path.is_dir() or path.stat().st_mode & 0o100 else 0o600)
    python = (site.app / "bin" / "python").read_text().split()[2]
    words = ["sh", "-c", f"umask 077; exec {app}/install --python {python}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "users cannot" not in done.stderr, done.stderr
    for path in ("passenger_wsgi.py", "bin/python", "bin/start.py", "dashboard/views/widgets/_fullwarp.html.erb"):
        assert site.as_user("cat", str(app / path)).returncode == 0, path


@only_root
def test_it_does_not_run_as_root() -> None:
    with pytest.raises(SettingsError, match="as root"):
        process_user()
