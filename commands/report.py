"""Reports over history, and digests, in a terminal and as files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.asked import AsJson, require_one_form
from data.errors import BadRequest, FullwarpError

if TYPE_CHECKING:
    from data.queries.history import Report, ReportQuery
    from data.queries.history.digest import Digest
    from terminal.session import View

AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV: ratios 0..1, GPU-hours; empty = not measured.")]
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,100}", re.ASCII)


def register(commands: typer.Typer) -> None:
    commands.command("report")(report)


def report(
    context: typer.Context,
    by: Annotated[str, typer.Option(help="What a row is: user, account, partition, node, day, job ...")] = "user",
    since: Annotated[str, typer.Option(help="Begin of the range: 30d, a date or an ISO time.")] = "30d",
    until: Annotated[str, typer.Option(help="Its end, in the same forms.")] = "now",
    where: Annotated[
        list[str] | None, typer.Option(help="Only where user=alice, partition=gpu, finding=idle ... (repeatable).")
    ] = None,
    level: Annotated[str, typer.Option(help="Level of the account tree, 1 = top; empty = a row for each.")] = "",
    columns: Annotated[str, typer.Option(help="Columns, separated by commas; empty = the usual ones.")] = "",
    sort: Annotated[str, typer.Option(help="Column to sort by, such as -gpu_hours_wasted; or name.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="The most rows on screen; files have all.")] = 40,
    compare: Annotated[bool, typer.Option("--compare", help="With the time before (in files).")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    parquet: Annotated[Path | None, typer.Option(help="Write a Parquet file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one HTML file that can be mailed.")] = None,
    pseudonyms: Annotated[bool, typer.Option("--pseudonyms", help="Pseudonyms for users, no names of jobs.")] = False,
    digest: Annotated[str, typer.Option(help="Write each user's or account's digest: user or account.")] = "",
    to: Annotated[Path | None, typer.Option(help="Folder for the digests.")] = None,
    mail: Annotated[bool, typer.Option("--mail", help="Mail the digests to users, or accounts' coordinators.")] = False,
) -> None:
    """Report the GPU-hours of any past range: who used them, how well, and why not better."""
    from data.queries.history import report as ask
    from data.queries.history import report_query

    require_one_form(as_json, as_csv)
    if (digest or mail) and (digest not in ("user", "account") or not (mail or to)):
        raise BadRequest("a digest needs --digest user or --digest account, and --to FOLDER or --mail")
    view = context.obj.view()
    given = {"by": digest or by, "since": since, "until": until, "level": level, "columns": columns, "sort": sort}
    query = report_query({**_filters(where or []), **given}, datetime.now(UTC), view.zone)
    if digest:
        _give_digests(context, view, query, to, mail=mail)
        return
    is_file = as_json or as_csv or parquet is not None or html is not None
    by_job = query.by.value == "job" and not is_file
    found = ask(view.viewer, view.sources, replace(query, compare=compare, limit=limit if by_job else None))
    _give(context, view, _without_names(view, found) if pseudonyms else found, as_json, as_csv, parquet, html, limit)


def _give(
    context: typer.Context,
    view: View,
    found: Report,
    as_json: bool,
    as_csv: bool,
    parquet: Path | None,
    html: Path | None,
    limit: int,
) -> None:
    from data.queries.history.flat import csv_text, parquet_bytes
    from terminal.history import report_lines

    screen = context.obj.screen
    if parquet is not None:
        _write(parquet, parquet_bytes(found))
    if html is not None:
        _write(html, _html(view, found).encode())
    for path in (parquet, html):
        if path is not None:
            screen.tell(f"wrote {path}")
    if as_csv:
        screen.write(csv_text(found).encode())
    elif as_json or (parquet is None and html is None):
        screen.show(found, lambda answer, width: report_lines(answer, view.zone, width, limit), as_json)


def _filters(where: list[str]) -> Mapping[str, list[str]]:
    """The filters of `--where NAME=VALUE`; several values of one name are alternatives."""
    from data.queries.history.asking import FILTERS

    known = (*FILTERS, "util", "memory")
    found: dict[str, list[str]] = {}
    for text in where:
        name, equals, value = text.partition("=")
        if not equals or name.strip() not in known or not value.strip():
            raise BadRequest(f"--where {text[:60]} is not known", hint=f"Write NAME=VALUE; NAME is {', '.join(known)}.")
        found.setdefault(name.strip(), []).append(value)
    return found


def _html(view: View, found: Report) -> str:
    from data.queries.history import trend
    from terminal.history_pages import report_html

    curve = trend(view.viewer, view.sources, replace(found.query, compare=False))
    return report_html(found, curve, view.zone, datetime.now(UTC))


def _give_digests(context: typer.Context, view: View, query: ReportQuery, to: Path | None, *, mail: bool) -> None:
    from commands.digests import mail_digests
    from data.queries.history.digest import digests

    now, screen = datetime.now(UTC), context.obj.screen
    made = digests(view.viewer, view.sources, query)
    if to is not None:
        _write_digests(view, made, to, now)
        screen.tell(f"wrote {len(made)} digests to {to}")
    if mail:
        mail_digests(screen, view, made, now)


def _write_digests(view: View, made: Sequence[Digest], folder: Path, now: datetime) -> None:
    from terminal.history_pages import digest_html, digest_text

    for found in made:
        stem = folder / f"{found.by.value}-{_file_name(found.name)}"
        _write(stem.with_name(f"{stem.name}.html"), digest_html(found, view.zone, now).encode())
        _write(stem.with_name(f"{stem.name}.txt"), digest_text(found, view.zone, now).encode())


def _file_name(name: str) -> str:
    """A name that is safe as a file's; an odd one is told apart by its digest."""
    if _SAFE.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60] + "-" + hashlib.sha256(name.encode()).hexdigest()[:8]


def _without_names(view: View, found: Report) -> Report:
    from data.history.privacy import read_pseudonyms
    from data.queries.history.unnamed import unnamed

    return unnamed(found, read_pseudonyms(view.sources.settings.history).of)


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as err:
        raise FullwarpError(f"{path} cannot be written: {err.strerror or err}") from err
