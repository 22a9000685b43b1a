"""The `fullwarp` command: parse, ask, show. The only file that prints or exits; everything heavy is imported late."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from data.errors import FullwarpError, NotFound, SettingsError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from data.model import Viewer
    from data.settings_file import LoadedSettings
    from data.sources import Sources
    from settings import Settings

FINE, NO, WRONG = 0, 1, 2

commands = typer.Typer(
    name="fullwarp",
    help="Shows where a Slurm cluster's GPU-hours go, and why a job is slow or idle.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich's help alone costs half a second
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: ratios 0..1, seconds, bytes; null = not known.")]
At = Annotated[str, typer.Option("--at", help="A past moment: 2026-03-01T14:00, a date, -2h, yesterday 09:00.")]
UserOption = Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user's (may be repeated).")]
PartitionOption = Annotated[list[str] | None, typer.Option("--partition", "-p", help="Only this partition's.")]
StateOption = Annotated[list[str] | None, typer.Option("--state", "-t", help="Only in this state.")]


@dataclass(slots=True)
class Session:
    """What the options before the command say, and what is opened for it once."""

    is_demo: bool
    config: Path | None

    def loaded(self) -> LoadedSettings:
        from data.settings_file import LoadedSettings, demo_settings, load_settings

        if self.is_demo:
            return LoadedSettings(demo_settings())
        loaded = load_settings(self.config)
        for ignored in loaded.ignored:
            _tell(f"ignored: {ignored}")
        return loaded

    def opened(self) -> tuple[Settings, Sources, Viewer]:
        """Settings, sources and who asks. Raises SettingsError where nobody may ask from a terminal."""
        from data.sources import open_sources

        settings = self.loaded().settings
        _refuse_header(settings)
        sources = open_sources(settings)
        return settings, sources, _viewer(settings, sources)


@commands.callback()
def options(
    context: typer.Context,
    demo: Annotated[bool, typer.Option("--demo", help="Use the simulated cluster; no settings are needed.")] = False,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file (TOML).")] = None,
) -> None:
    context.obj = Session(demo, config)


@commands.command()
def demo(
    context: typer.Context,
    bind: Annotated[str, typer.Option(help="host:port to listen at; empty = serve.bind.")] = "",
) -> None:
    """Start the dashboard with the simulated cluster."""
    from data.settings_file import demo_settings

    _serve(demo_settings(bind))


@commands.command()
def serve(context: typer.Context) -> None:
    """Start the dashboard (behind a proxy that names the user)."""
    from settings import IdentityKind

    session: Session = context.obj
    settings = session.loaded().settings
    if settings.identity.kind is not IdentityKind.HEADER and not session.is_demo:
        raise SettingsError(
            f"serve needs identity.kind = header, and it is {settings.identity.kind}",
            hint="unix is for the terminal and for Passenger, demo comes with `fullwarp demo`. "
            "Give serve a settings file of its own: fullwarp --config FILE serve.",
        )
    _serve(settings)


def _serve(settings: Settings) -> None:
    from app import create_app, open_app, warm_up
    from data.sources import open_sources
    from terminal.serving import Steps, run, url_of

    steps = Steps(
        build=lambda: create_app(settings),
        warm_up=warm_up,
        open=lambda app: open_app(app, open_sources(settings)),
        wsgi=lambda app: app.server,
        ready=lambda: _tell(f"Fullwarp is at {url_of(settings.serve.bind, settings.serve.url_prefix)}"),
    )
    run(settings.serve, steps)


@commands.command()
def check(
    context: typer.Context,
    init: Annotated[bool, typer.Option("--init", help="Write a commented fullwarp.toml here, and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what works, what is missing and what fixes it. Exit code 1 = problems found."""
    from data.check import Verdict, look
    from data.sources import open_sources
    from terminal.checks import check_lines, closing_line

    if init:
        _write_example(Path("fullwarp.toml"))
        return
    loaded = context.obj.loaded()
    sources = open_sources(loaded.settings)
    found = list(look(loaded.settings, loaded.path, sources.scheduler, sources.metrics))
    problems = sum(1 for item in found if item.verdict is Verdict.PROBLEM)
    _show(found, lambda rows: [*check_lines(rows), closing_line(problems)], as_json)
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
    _tell(f"Wrote {path}. Change it, then run: fullwarp check")


def _refuse_header(settings: Settings) -> None:
    from settings import IdentityKind

    if settings.identity.kind is IdentityKind.HEADER:
        raise SettingsError(
            "identity.kind = header says who asks in the browser, and not in a terminal",
            hint='For the terminal use a settings file (owned by root) with\n  [identity]\n  kind = "unix"\n'
            "and give the server one of its own: fullwarp --config FILE serve. Without a cluster: fullwarp --demo.",
        )


def _viewer(settings: Settings, sources: Sources) -> Viewer:
    from identity import Unidentified, demo_viewer, unix_viewer
    from settings import IdentityKind

    viewer_of = demo_viewer if settings.identity.kind is IdentityKind.DEMO else unix_viewer
    try:
        return viewer_of(settings.identity, _associations(sources))
    except Unidentified as err:
        raise SettingsError(str(err)) from err


def _show(answer: Any, lines: Callable[[Any], Iterable[RenderableType]], as_json: bool) -> None:
    if as_json:
        from terminal.form import to_json

        sys.stdout.buffer.write(to_json(answer) + b"\n")
        sys.stdout.flush()
        return
    console = _console()
    for line in lines(answer):
        console.print(line)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def _tell(text: str) -> None:
    """A message that is not the answer goes to stderr."""
    print(text, file=sys.stderr, flush=True)


def main() -> NoReturn:
    """Run the command; every error becomes a line and an exit code (0 fine, 1 the answer is no, 2 an error)."""
    try:
        code = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FINE
    sys.exit(code)


def _run() -> int:
    from click.exceptions import Abort, ClickException

    try:
        result = commands(standalone_mode=False)
        return result if isinstance(result, int) else FINE
    except ClickException as err:
        err.show()
        return WRONG
    except (Abort, KeyboardInterrupt):
        return 130
    except FullwarpError as err:
        _tell(f"fullwarp: {err}" + (f"\n{err.hint}" if err.hint else ""))
        return NO if isinstance(err, NotFound) else WRONG


if __name__ == "__main__":
    main()
