"""Collecting the history, and what concerns people in it."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from commands.asked import AsJson, Asked
from data.errors import BadRequest, SettingsError, SourceError

if TYPE_CHECKING:
    from data.history.state import PassNumbers
    from data.sources import Sources
    from settings import Settings

WAIT_SECONDS = 90.0


def register(commands: typer.Typer) -> None:
    commands.command()(collect)
    history = typer.Typer(help="What the history holds of people.", no_args_is_help=True, rich_markup_mode=None)
    history.command()(forget)
    commands.add_typer(history, name="history")


def collect(
    context: typer.Context,
    every: Annotated[str, typer.Option(help="Go on for ever, one pass every 1m, 30s or 1h.")] = "",
    since: Annotated[str, typer.Option(help="Read Slurm's records from here on: 180d, or a date.")] = "",
    from_csv: Annotated[Path | None, typer.Option("--from-csv", help="Import ended jobs from this CSV.")] = None,
    columns: Annotated[Path | None, typer.Option("--columns", help="TOML that says what its columns mean.")] = None,
    wait: Annotated[float, typer.Option(help="How long to wait for another collector, in seconds.")] = WAIT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Write ended jobs, the hours of running ones and the state of the cluster to the history."""
    from data.sources import open_sources
    from terminal.collecting import csv_lines, pass_lines
    from terminal.session import load

    asked: Asked = context.obj
    settings = load(asked.config, is_demo=asked.is_demo).settings
    if (from_csv is None) != (columns is None):
        raise BadRequest("--from-csv and --columns belong together", hint="See docs/how-to/collect-history.md.")
    if from_csv is not None and columns is not None:
        from data.history.csv_import import import_csv

        asked.screen.show(import_csv(settings, from_csv, columns, datetime.now(UTC), wait), csv_lines, as_json)
        return
    sources = open_sources(settings)
    begin = _since(since, sources.clock(), ZoneInfo(settings.site_timezone))
    seconds = seconds_of(every)
    if seconds is None:
        asked.screen.show(_pass(asked, sources, begin, wait), pass_lines, as_json)
        return
    while True:
        _pass_in_a_row(asked, sources, begin, wait)
        begin = None
        time.sleep(seconds - time.time() % seconds)


def forget(
    context: typer.Context,
    user: Annotated[str, typer.Argument(help="Whose name is taken out; their hours stay counted.")],
    wait: Annotated[float, typer.Option(help="How long to wait for the collector, in seconds.")] = WAIT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Take a user's name, and the names of their jobs, out of all that was collected up to now, and delete their
    conversations with the assistant."""
    from data.history.privacy import ForgottenUser, forget_user
    from data.history.store import writing
    from terminal.collecting import forgotten_lines
    from terminal.session import load

    asked: Asked = context.obj
    settings = load(asked.config, is_demo=asked.is_demo).settings
    conversations = _forget_conversations(settings, user)
    if settings.history.directory is None and conversations is not None:
        asked.screen.show(ForgottenUser(0, (), conversations), forgotten_lines, as_json)
        return
    with writing(directory_of(settings.history.directory), wait_seconds=wait) as store:
        found = forget_user(store, settings.history, user, datetime.now(UTC))
    asked.screen.show(replace(found, conversations=conversations), forgotten_lines, as_json)


def _forget_conversations(settings: Settings, user: str) -> int | None:
    """How many conversations with the assistant were deleted, with the person's counts; None without a store."""
    from data.state.chat_kept import forget_conversations
    from data.state.chat_usage import forget_usage
    from data.state.store import open_store

    store = open_store(settings.state)
    if store is None:
        return None
    try:
        forget_usage(store, user)
        return forget_conversations(store, user)
    finally:
        store.close()


def _pass(asked: Asked, sources: Sources, since: datetime | None, wait: float) -> PassNumbers:
    from data.history.collector import Collector
    from data.history.store import writing

    directory = directory_of(sources.settings.history.directory)
    with writing(directory, wait_seconds=wait) as store, asked.screen.progress("Collecting") as progress:
        return Collector(sources, store, progress).run(since)


def _pass_in_a_row(asked: Asked, sources: Sources, since: datetime | None, wait: float) -> None:
    """A pass that fails for a reason outside is said, and the next one tried."""
    from data.history.lease import HeldByAnother

    try:
        numbers = _pass(asked, sources, since, wait)
    except (SourceError, HeldByAnother) as err:
        asked.screen.tell(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {err}" + (f" ({err.hint})" if err.hint else ""))
    else:
        asked.screen.tell(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {numbers.written} written, {numbers.running} running")


def directory_of(directory: Path | None) -> Path:
    """The folder of the history. Raises SettingsError where there is none."""
    if directory is None:
        raise SettingsError(
            "history.directory is empty: there is nowhere to collect to",
            hint='Set it, such as [history] directory = "/var/lib/fullwarp/history".',
        )
    return directory


def _since(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """A distance (180d, -180d) or a moment."""
    from data.moment import RELATIVE, parse_moment

    words = text.strip()
    return parse_moment(f"-{words}" if RELATIVE.fullmatch(f"-{words.lower()}") else words, now, zone)


def seconds_of(text: str, option: str = "--every") -> float | None:
    """The value of an option; None = not given. Raises BadRequest."""
    from data.moment import RELATIVE, UNITS

    if not text:
        return None
    match = RELATIVE.fullmatch(f"-{text.strip().lower()}")
    if match is None or float(match[1]) * UNITS[match[2]] < 1:
        raise BadRequest(f"{option} {text[:40]!r} is not a time from 1s on", hint="Such as 30s, 1m, 1h.")
    return float(match[1]) * UNITS[match[2]]
