"""The `fullwarp` command: parse, ask, show. The only file that prints or exits; everything heavy is imported late."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from commands import (
    chat,
    enforce,
    evaluate,
    exempt,
    history,
    live,
    mcp,
    metrics,
    notify,
    policy,
    report,
    simulated,
    tokens,
    whatif,
)
from commands.asked import AsJson, Asked
from data.errors import FullwarpError, NotFound, SettingsError, SourceUnreachable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from settings import Settings

FINE, NO, WRONG = 0, 1, 2
PIPE_WIDTH = 250

program = typer.Typer(
    name="fullwarp",
    help="Shows where a Slurm cluster's GPU-hours go, and why a job is slow or idle.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich's help alone costs half a second
    pretty_exceptions_enable=False,
)


class Terminal:
    """The screen of a terminal: the answer goes to stdout, everything else to stderr."""

    @property
    def out(self) -> TextIO:
        return sys.stdout

    def show(self, answer: Any, lines: Callable[[Any, int], Iterable[RenderableType]], as_json: bool) -> None:
        if as_json:
            from terminal.form import to_json

            return self.write(to_json(answer) + b"\n")
        console = _console()
        for item in lines(answer, console.width):
            console.print(item)
        return None

    def write(self, content: bytes) -> None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int, str], None]]:
        if not sys.stderr.isatty():
            yield lambda done, of, what: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, of, what: bar.update(task, completed=done, total=of, description=f"{title} {what}")


def _console() -> Console:
    """A pipe has no width: there, nothing is cut."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


SCREEN = Terminal()


def _say_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"fullwarp {version('fullwarp')}")
        raise typer.Exit


@program.callback()
def options(
    context: typer.Context,
    demo: Annotated[bool, typer.Option("--demo", help="Use the simulated cluster; no settings are needed.")] = False,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file (TOML).")] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and stop.")
    ] = False,
) -> None:
    context.obj = Asked(demo, config, SCREEN)


@program.command()
def demo(
    context: typer.Context,
    bind: Annotated[str, typer.Option(help="host:port to listen at; empty = serve.bind.")] = "",
) -> None:
    """Start the dashboard with the simulated cluster."""
    from data.settings_file import demo_settings

    _serve(demo_settings(bind))


@program.command()
def serve(context: typer.Context) -> None:
    """Start the dashboard (behind a proxy that names the user)."""
    from data.check import Verdict, identity_checks
    from terminal.session import load, web_settings

    asked: Asked = context.obj
    settings = web_settings(load(asked.config, is_demo=asked.is_demo), is_demo=asked.is_demo)
    for found in identity_checks(settings) if not asked.is_demo else ():
        if found.verdict is Verdict.PROBLEM:
            SCREEN.tell(f"warning: {found.text} (see `fullwarp check`)")
    _serve(settings)


def _check_state(settings: Settings) -> None:
    """Raise SettingsError for a store whose tables are not this version's, before anything is served. What reads it is
    imported here, once for all workers."""
    if not settings.state.is_set:
        return None
    from data.state.store import open_store

    try:
        store = open_store(settings.state)
    except SourceUnreachable as err:  # pages need no store: only tokens wait until it answers
        return SCREEN.tell(f"warning: {err}")
    if store is not None:
        store.close()
    return None


def _serve(settings: Settings) -> None:
    from app import create_app, open_settings, warm_up
    from terminal.logs import log_config
    from terminal.serving import Steps, run, url_of

    _check_state(settings)
    steps = Steps(
        build=lambda: create_app(settings),
        warm_up=warm_up,
        open=open_settings,
        wsgi=lambda app: app.server,
        ready=lambda: SCREEN.tell(f"Fullwarp is at {url_of(settings.serve.bind, settings.serve.url_prefix)}"),
    )
    run(settings.serve, steps, log_config(settings))


@program.command()
def check(
    context: typer.Context,
    init: Annotated[bool, typer.Option("--init", help="Write a commented fullwarp.toml here, and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what works, what is missing and what fixes it. Exit code 1 = problems found."""
    from chat.model_check import model_checks
    from data.check import Verdict, look
    from data.metrics.prometheus_recording import recorded_names
    from data.sources import open_sources
    from policy.rules import rules_of
    from terminal.checks import check_lines, closing_line
    from terminal.session import load

    if init:
        _write_example(Path("fullwarp.toml"))
        return
    loaded = load(context.obj.config, is_demo=context.obj.is_demo)
    if loaded.path is None and not context.obj.is_demo:
        SCREEN.tell("No settings file was found; fullwarp check --init writes a commented one here.")
    sources = open_sources(loaded.settings)
    names = recorded_names(rule.windows[0] for rule in rules_of(loaded.settings.policy))
    asked = (loaded.settings, loaded.path, sources.scheduler, sources.metrics)
    found = list(look(*asked, is_demo=context.obj.is_demo, recorded=names))
    found += enforce.enforcer_checks(loaded.settings, sources.clock())
    found += model_checks(loaded.settings.chat)
    problems = sum(1 for item in found if item.verdict is Verdict.PROBLEM)
    SCREEN.show(found, lambda rows, _: [*check_lines(rows), closing_line(problems)], as_json)
    raise typer.Exit(NO if problems else FINE)


def _write_example(path: Path) -> None:
    from terminal.reference import example_file

    try:
        with path.open("x", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o640)
            file.write(example_file())
    except FileExistsError as err:
        raise SettingsError(f"{path} exists already", hint="Nothing was written. Move it away first.") from err
    except OSError as err:
        raise SettingsError(f"{path} cannot be written here: {err.strerror}") from err
    SCREEN.tell(f"Wrote {path}. Change it, then run: fullwarp check")


def main() -> None:
    """Run the command; every error becomes a line and an exit code (0 fine, 1 the answer is no, 2 an error)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        program()
    except KeyboardInterrupt:
        sys.exit(130)
    except FullwarpError as err:
        SCREEN.tell(f"fullwarp: {err}" + (f"\n{err.hint}" if err.hint else ""))
        sys.exit(NO if isinstance(err, NotFound) else WRONG)
    except Exception as err:
        place = traceback.extract_tb(err.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        SCREEN.tell(f"fullwarp: unexpected {type(err).__name__} at {where}: {err}")
        SCREEN.tell("This is a fault of Fullwarp: please report it.")
        sys.exit(WRONG)


for subject in (
    live,
    metrics,
    chat,
    evaluate,
    mcp,
    policy,
    history,
    report,
    simulated,
    exempt,
    enforce,
    notify,
    tokens,
    whatif,
):
    subject.register(program)


if __name__ == "__main__":
    main()
