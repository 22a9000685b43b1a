"""Runs the web app under gunicorn: warmed up before the fork with nothing open, opened and warmed up again after it."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Generic, TypeVar

from gunicorn.app.base import BaseApplication
from gunicorn.errors import AppImportError, HaltServer

from data.collection import collect_seldom
from data.errors import FullwarpError, SettingsError
from settings import ServeSettings
from terminal.arenas import few_arenas

App = TypeVar("App")
COUNTS = "PROMETHEUS_MULTIPROC_DIR"


@dataclass(frozen=True, slots=True)
class Steps(Generic[App]):
    """What the server does with an app whose framework it does not know.

    `build` and `warm_up` run in the master, where no source may be open; `open` and `warm_up` in each worker.
    `ready` is told once that the port is open.
    """

    build: Callable[[], App]
    warm_up: Callable[[App], None]
    open: Callable[[App], None]
    wsgi: Callable[[App], Any]
    ready: Callable[[], None]


def run(settings: ServeSettings, steps: Steps[App], logs: Mapping[str, Any]) -> None:
    """Serve until a signal ends it; `logs` is for logging.config. Raises SettingsError when the place to listen at is
    taken or not allowed, or when no worker can start."""
    given = _is_given_socket()
    if not given:
        require_free(settings.bind)
    few_arenas()
    with measured():
        try:
            _Server(settings, steps, logs, is_given=given).run()
        except HaltServer as err:  # gunicorn lets it out when two workers fail at once
            raise SettingsError("no worker could start", hint="What each of them said stands above.") from err


def _is_given_socket() -> bool:
    """Whether the socket is open already: from systemd, or from the server that this one takes over from (USR2)."""
    return "GUNICORN_FD" in os.environ or os.environ.get("LISTEN_PID") == str(os.getpid())


@contextmanager
def measured() -> Iterator[None]:
    """A folder in memory where the workers' counts come together, while the server runs. It must be known before
    prometheus_client is imported."""
    folder = mkdtemp(prefix="fullwarp-metrics-", dir=memory_folder())
    owner = os.getpid()
    os.environ[COUNTS] = folder
    try:
        yield
    finally:
        if os.getpid() == owner:  # a worker ends here too
            shutil.rmtree(folder, ignore_errors=True)


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    def __init__(
        self, settings: ServeSettings, steps: Steps[App], logs: Mapping[str, Any], *, is_given: bool = False
    ) -> None:
        self.settings, self.logs, self.is_given = settings, logs, is_given
        self.steps: Steps[Any] = steps
        self.app: Any = None
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options().items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        self.app = self.steps.build()
        self.steps.warm_up(self.app)
        wsgi = self.steps.wsgi(self.app)
        collect_seldom()  # before the fork: a collection in a worker would copy every page that it shares
        return wsgi

    def _options(self) -> dict[str, Any]:
        return {
            "bind": self.settings.bind,
            "workers": self.settings.workers,
            "threads": self.settings.threads,
            "worker_class": "gthread",
            "preload_app": True,
            "control_socket_disable": True,
            "header_map": "drop",
            "forwarded_allow_ips": "",
            "umask": 0o077,
            "timeout": 120,
            "graceful_timeout": 20,
            "keepalive": 15,
            "logconfig_dict": self.logs,
            "worker_tmp_dir": memory_folder(),
            "when_ready": self._when_ready,
            "post_fork": self._post_fork,
            "child_exit": _child_exit,
        }

    def _when_ready(self, server: Any) -> None:
        """The socket was made for its owner alone; only now does it get its mode. One that was given has its own."""
        if self.settings.bind.startswith("unix:") and not self.is_given:
            Path(self.settings.bind.removeprefix("unix:")).chmod(int(self.settings.socket_mode, 8))
        self.steps.ready()

    def _post_fork(self, server: Any, worker: Any) -> None:
        try:
            self.steps.open(self.app)
        except FullwarpError as err:  # gunicorn says this one without a traceback, and ends the server
            raise AppImportError(f"fullwarp: {err}\n{err.hint or ''}".strip()) from err
        self.steps.warm_up(self.app)
        collect_seldom()


def memory_folder() -> str | None:
    """Where files cost no disk; None = wherever temporary files go, as in a container that is read-only."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _child_exit(server: Any, worker: Any) -> None:
    """What a worker has open or in memory is not counted after its end; what it did is."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def require_free(bind: str) -> None:
    """Raise SettingsError, with what to do, when `bind` cannot be listened at."""
    try:
        if bind.startswith("unix:"):
            _require_free_path(Path(bind.removeprefix("unix:")))
        else:
            _require_free_port(bind)
    except OSError as err:
        raise SettingsError(
            f"cannot listen at {bind}: {err.strerror or err}",
            hint="Choose another place with serve.bind (FULLWARP_SERVE__BIND), or end what listens there.",
        ) from err


def _require_free_port(bind: str) -> None:
    host, _, port = bind.rpartition(":")
    for family, kind, _, _, address in socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[:1]:
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)


def _require_free_path(path: Path) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(0, f"the folder {path.parent} does not exist")
    if not path.exists():
        return
    if not path.is_socket():
        raise FileExistsError(0, "a file that is no socket stands there")
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise FileExistsError(0, "another server answers there")


def url_of(bind: str, prefix: str) -> str:
    """What a person opens in a browser."""
    if bind.startswith("unix:"):
        return bind
    host, _, port = bind.rpartition(":")
    shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    return f"http://{shown}:{port}{prefix}"
