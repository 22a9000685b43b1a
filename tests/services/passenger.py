"""The app of Open OnDemand as a portal runs it: Apache and Phusion Passenger as an unprivileged user, at a sub-path.

Behind it stands a Fullwarp server in front of the simulated cluster; the token comes from the hook itself.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from flask import Flask
from werkzeug.serving import BaseWSGIServer, make_server

from data.model import Role, Viewer
from data.recent import Recent
from data.sources import Sources, open_sources
from pages._chat_routes import add_chat
from policy.model import Status
from policy.queries import verdicts
from settings import CacheSettings
from tests.api.conftest import COLLECTED, server_of, settings_for
from tests.conftest import service_missing
from tests.queries.history.attempts import MONDAY, Attempt, write
from tests.services.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BASE = "/pun/sys/fullwarp/"
PREFIX = "fullwarp-ondemand-"
DIRECT = 'mode = "direct"\n[slurm]\nkind = "simulated"\n[metrics]\nkind = "simulated"\n'
PROGRAMS = ("/usr/sbin/apache2", "/usr/bin/passenger")
LAST_HOUR = (COLLECTED - MONDAY) / timedelta(hours=1)
# Of what Open OnDemand gives to the users' web servers, what could change how an app runs.
PORTAL = {"PATH": "/usr/bin:/bin", "LANG": "C", "GEM_PATH": "/opt/ood/gems:", "SECRET_KEY_BASE": "secret"}
APACHE = """
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/httpd.pid
ErrorLog {folder}/error.log
DefaultRuntimeDir {folder}
Mutex file:{folder}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule passenger_module /usr/lib/apache2/modules/mod_passenger.so
TypesConfig /etc/mime.types
PassengerRoot /usr/lib/ruby/vendor_ruby/phusion_passenger/locations.ini
PassengerUserSwitching Off
PassengerDefaultUser {user}
PassengerDisableSecurityUpdateCheck On
PassengerDisableAnonymousTelemetry On
PassengerInstanceRegistryDir {folder}
PassengerLogFile {folder}/passenger.log
PassengerMaxInstancesPerApp 1
PassengerMinInstances 0
PassengerSpawnMethod direct
PassengerLoadShellEnvvars Off
DocumentRoot {folder}/empty
Alias /pun/sys/fullwarp {app}/public
<Location /pun/sys/fullwarp>
  PassengerBaseURI /pun/sys/fullwarp
  PassengerAppRoot {app}
  PassengerPython {app}/bin/python
  PassengerAppEnv production
</Location>
<Directory {app}/public>
  Require all granted
  Options -MultiViews
</Directory>
"""


@dataclass
class Central:
    """The Fullwarp server; `asked` are the addresses that came, `is_down` makes it answer as a broken proxy does."""

    url: str
    sources: Sources
    settings_file: Path
    server: Flask
    asked: list[str] = field(default_factory=list)
    is_down: bool = False


@dataclass
class Site:
    """`url` ends with a slash. `app` is the copied folder, `low_job` a job of the user with a low verdict."""

    url: str
    folder: Path
    app: Path
    user: str
    home: Path
    central: Central
    low_job: str
    hook_conf: Path

    @property
    def settings(self) -> Path:
        return self.app / "ondemand.toml"

    @property
    def token_file(self) -> Path:
        return self.folder / "tokens" / self.user

    @property
    def kept(self) -> Path:
        return self.home / ".cache" / "fullwarp" / "ondemand"

    def configure(self, text: str = "") -> None:
        """Write the site's settings and let the next request start a new process."""
        given = f'server = "{self.central.url}"\ntoken_folder = "{self.folder}/tokens"\n'
        self.settings.write_text(text or given)
        self.restart()

    def forget(self) -> None:
        """Remove what is kept, and let the next request start a new process."""
        for file in self.kept.glob("*"):
            file.unlink()
        self.restart()

    def restart(self) -> None:
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.terminate()
                process.wait(10)

    def processes(self) -> list[psutil.Process]:
        """The app's own: the user's, and running the loader."""
        return [
            one
            for one in psutil.process_iter(["cmdline", "username"])
            if one.info["username"] == self.user and str(self.app / "bin" / "start.py") in (one.info["cmdline"] or [])
        ]

    def hook(self, *words: str, user: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(ROOT / "deploy/ondemand/bin/token-hook"), *(words or ("--user", user or self.user))]
        environment = {**os.environ, "FULLWARP_TOKEN_HOOK_CONF": str(self.hook_conf)}
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)

    def as_user(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run something as the user, in an environment of the user's making."""
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **variables}
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            user=self.user,
            group=self.user,
            extra_groups=[],
            cwd=self.app,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="session")
def ondemand_site() -> Iterator[Site]:
    """Installed by its own script, with the token of its own hook."""
    _require()
    _reset_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    folder.chmod(0o755)
    made: list[str] = []
    try:
        sources = _sources(folder)
        user, low_job = _somebody_low(sources)
        home = folder / "home"
        made += _make_user(user, home)
        with _serving(sources, folder) as central:
            app = _install(folder)
            hook_conf = _hook_conf(folder, central)
            with _apache(folder, app, user) as url:
                site = Site(url, folder, app, user, home, central, low_job, hook_conf)
                found = site.hook()
                assert found.returncode == 0, found.stderr
                site.configure()
                yield site
    finally:
        for name in made:
            subprocess.run(["userdel", name], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _require() -> None:
    missing = [path for path in PROGRAMS if not Path(path).exists()]
    if missing:
        service_missing(f"{missing[0]} is not installed")
    if os.getuid() != 0:
        service_missing("another user can be had by root only")


def _reset_leftovers() -> None:
    """Remove the users of runs that crashed: those whose home is ours and who run nothing."""
    busy = {one.info["username"] for one in psutil.process_iter(["username"])}
    for row in pwd.getpwall():
        if row.pw_dir.startswith(f"{tempfile.gettempdir()}/{PREFIX}") and row.pw_name not in busy:
            subprocess.run(["userdel", row.pw_name], check=False, capture_output=True)


def _sources(folder: Path) -> Sources:
    """The simulated cluster at a moment that does not move, with a state of its own; its answers do not age either."""
    settings = settings_for(folder / "history", folder / "state")
    settings = settings.model_copy(update={"cache": CacheSettings(kind="memory", directory=folder / "cache")})
    opened = open_sources(settings, clock=lambda: COLLECTED)
    return replace(opened, recent=Recent(inf), views=Recent(inf, 32), windows=Recent(inf, 8), reports=Recent(inf, 128))


def _somebody_low(sources: Sources) -> tuple[str, str]:
    """A user of the simulated cluster whose job is low, who coordinates no account and is nobody on this host."""
    found = verdicts(Viewer("root", Role.STAFF), sources).verdicts
    known = {row.pw_name for row in pwd.getpwall()} | {row.user for row in sources.associations() if row.is_coordinator}
    low = next(one for one in found if one.status is Status.LOW and one.job.user not in known)
    assert low.job.user is not None
    return low.job.user, low.job.display_id


def _make_user(user: str, home: Path) -> list[str]:
    for left in (20, 0):  # another test may be making users of its own
        words = ["useradd", "-M", "-U", "-d", str(home), "-s", "/bin/bash", user]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            break
        time.sleep(left / 10)
    assert found.returncode == 0, found.stderr
    home.mkdir(mode=0o700)
    shutil.chown(home, user, user)
    attempts = [
        Attempt(50, LAST_HOUR - 60, LAST_HOUR - 50, gpus=2, used=0.9, user=user, findings=("idle",), name="older"),
        Attempt(51, LAST_HOUR - 20, LAST_HOUR - 10, gpus=4, used=0.25, idle=0.5, user=user, name="newer"),
        Attempt(90210, LAST_HOUR - 30, LAST_HOUR - 20, gpus=8, user="mallory", name="secret-run"),
    ]
    write(home.parent / "history", attempts)
    return [user]


class _serving:
    """The server on a loopback port while the block runs."""

    def __init__(self, sources: Sources, folder: Path) -> None:
        self.sources, self.folder = sources, folder

    def __enter__(self) -> Central:
        file = self.folder / "central.toml"
        kinds = '[slurm]\nkind = "simulated"\n[metrics]\nkind = "simulated"\n[identity]\ntrust_loopback = true\n'
        file.write_text(f'{kinds}[state]\ndirectory = "{self.folder}/state"\n')
        settings = self.sources.settings
        server = server_of(settings, self.sources)
        add_chat(server, settings.serve.url_prefix)
        self.central = Central("", self.sources, file, server)
        self.made: BaseWSGIServer = make_server("127.0.0.1", 0, _Watched(server, self.central), threaded=True)
        self.thread = threading.Thread(target=self.made.serve_forever, daemon=True)
        self.thread.start()
        self.central.url = f"http://127.0.0.1:{self.made.port}/warp"
        return self.central

    def __exit__(self, *_: object) -> None:
        self.made.shutdown()
        self.thread.join(10)


class _Watched:
    """WSGI around the server: notes what is asked."""

    def __init__(self, server: Flask, central: Central) -> None:
        self.server, self.central = server, central

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.central.asked.append(f"{environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}")
        if self.central.is_down:
            start_response("502 Bad Gateway", [("Content-Type", "text/html")])
            return [b"<h1>Bad gateway</h1>"]
        return self.server.wsgi_app(environ, start_response)


def _install(folder: Path) -> Path:
    app = folder / "fullwarp"
    shutil.copytree(ROOT / "deploy" / "ondemand", app, ignore=shutil.ignore_patterns("public", "tmp", "__pycache__"))
    command = [str(app / "install"), "--python", str(_interpreter(folder))]
    (app / "ondemand.toml").touch()
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return app


def _interpreter(folder: Path) -> Path:
    """A Python that everybody may run, with the packages of this one: the base of ours may lie in root's home."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = Path(sys.executable)
    with suppress(PermissionError):
        subprocess.run([own, "-c", ""], user="nobody", check=True, capture_output=True, cwd="/")
        return own
    if not Path(f"/usr/bin/{name}").exists():
        service_missing(f"there is no {name} that another user may run")
    subprocess.run([f"/usr/bin/{name}", "-m", "venv", "--without-pip", folder / "venv"], check=True)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    line = f"import site; site.addsitedir({packages!r}); site.addsitedir({str(ROOT)!r})\n"
    (folder / "venv" / "lib" / name / "site-packages" / "fullwarp.pth").write_text(line)
    return folder / "venv" / "bin" / "python"


def _hook_conf(folder: Path, central: Central) -> Path:
    """Tokens by the real command, with the server's settings."""
    conf = folder / "token-hook.conf"
    program = f"{sys.executable} -m cli --config {central.settings_file} token"
    lines = [
        f"TOKEN_FOLDER={folder}/tokens",
        f'CREATE="env PYTHONPATH={ROOT} {program} create"',
        f'REVOKE="env PYTHONPATH={ROOT} {program} revoke"',
    ]
    conf.write_text("\n".join(lines) + "\n")
    conf.chmod(0o600)
    return conf


class _apache:
    """Apache and Passenger, all of it as the user."""

    def __init__(self, folder: Path, app: Path, user: str) -> None:
        self.folder, self.app, self.user = folder / "apache", app, user

    def __enter__(self) -> str:
        (self.folder / "empty").mkdir(parents=True)
        port = free_port()
        text = APACHE.format(folder=self.folder, app=self.app, user=self.user, port=port)
        (self.folder / "httpd.conf").write_text(text)
        for path in (self.folder, *self.folder.iterdir()):
            shutil.chown(path, self.user, self.user)
        self.server = subprocess.Popen(
            [PROGRAMS[0], "-f", self.folder / "httpd.conf", "-DFOREGROUND"],
            user=self.user,
            group=self.user,
            extra_groups=[],
            env={"HOME": str(self.folder.parent / "home"), **PORTAL},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for(port, self.folder)
        return f"http://127.0.0.1:{port}{BASE}"

    def __exit__(self, *_: object) -> None:
        self.server.terminate()
        try:
            self.server.wait(15)
        except subprocess.TimeoutExpired:
            self.server.kill()
        for one in psutil.process_iter(["username"]):
            if one.info["username"] == self.user:
                with suppress(psutil.NoSuchProcess):
                    one.kill()
                    one.wait(5)


def _wait_for(port: int, folder: Path) -> None:
    until = time.monotonic() + 15
    while time.monotonic() < until:
        with suppress(requests.RequestException):
            requests.get(f"http://127.0.0.1:{port}/", timeout=2)
            return
        time.sleep(0.05)
    log = folder / "error.log"
    raise AssertionError(f"apache did not start: {log.read_text() if log.exists() else ''}")
