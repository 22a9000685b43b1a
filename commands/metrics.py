"""How the GPUs were used: the detailed table in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from commands.asked import AsJson, PartitionOption, UserOption, require_one_form

Texts = list[str] | None
Since = Annotated[str, typer.Option(help="Begin of the range: 1h, 7d, -2h, a date or an ISO time.")]
Until = Annotated[str, typer.Option(help="Its end, in the same forms; now unless given.")]
AsCsv = Annotated[
    bool, typer.Option("--csv", help="Print CSV: ratios 0..1, GPU-hours, bytes, watts; empty = not measured.")
]


def register(commands: typer.Typer) -> None:
    commands.command("metrics")(metrics)


def metrics(
    context: typer.Context,
    by: Annotated[
        str, typer.Option(help="What a row is: job, user, account, partition, model or application.")
    ] = "job",
    since: Since = "1h",
    until: Until = "now",
    user: UserOption = None,
    account: Annotated[Texts, typer.Option("--account", "-A", help="Only this account's.")] = None,
    partition: PartitionOption = None,
    model: Annotated[Texts, typer.Option("--model", "-m", help="Only GPUs of this model.")] = None,
    application: Annotated[Texts, typer.Option(help="Only this application's jobs.")] = None,
    finding: Annotated[str, typer.Option(help="Only rows with this finding, such as small_kernels.")] = "",
    by_model: Annotated[bool, typer.Option("--by-model", help="A row for each GPU model, side by side.")] = False,
    sort: Annotated[str, typer.Option(help="Column to sort by, such as -utilization_gap; blanks last.")] = "-gpu_hours",
    limit: Annotated[int, typer.Option(min=1, help="The most rows on screen; JSON and CSV have all.")] = 40,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show how the GPUs were used: UTIL, SM, tensor, memory, links, and a diagnosis for each row."""
    from data.findings.advice import advice
    from data.known import require_known
    from data.moment import parse_edge
    from data.queries.metrics import Group, Question, detailed_metrics
    from data.queries.metrics.flat import csv_text
    from data.queries.metrics.rows import SORTS
    from terminal.metrics import metric_lines

    require_one_form(as_json, as_csv)
    require_known("row", [by], [group.value for group in Group])
    require_known("sort", [sort.removeprefix("-")], SORTS)
    view = context.obj.view()
    require_known("finding", [finding] if finding else [], advice(view.sources.settings.findings))
    now = datetime.now(UTC)
    users, accounts, partitions, models, applications = _sets(user, account, partition, model, application)
    start, end = parse_edge("--since", since, now, view.zone), parse_edge("--until", until, now, view.zone)
    question = Question(
        start, end, Group(by), by_model, users, accounts, partitions, models, applications, finding=finding, sort=sort
    )
    found = detailed_metrics(view.viewer, view.sources, question)
    for key, words in (("user", user), ("account", account), ("partition", partition), ("GPU model", model)):
        require_known(key, words or (), found.options.get(key.removeprefix("GPU "), ()))
    if as_csv:
        return context.obj.screen.write(csv_text(found).encode())  # type: ignore[no-any-return]
    context.obj.screen.show(found, lambda table, width: metric_lines(table, view.zone, width, limit), as_json)
    return None


def _sets(*given: Texts) -> Iterator[frozenset[str]]:
    return (frozenset(words or ()) for words in given)
