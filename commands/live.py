"""What is so now (or was at a moment): status, nodes, jobs, job."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from commands.asked import AsJson, At, PartitionOption, StateOption, UserOption

if TYPE_CHECKING:
    from rich.console import RenderableType

    from data.model import NodeFilter
    from data.queries.job_report import JobAnswer

SHORT_STATES = {"R": "RUNNING", "PD": "PENDING", "S": "SUSPENDED", "CG": "COMPLETING"}


def register(commands: typer.Typer) -> None:
    for command in (status, nodes, jobs, job):
        commands.command()(command)


def status(
    context: typer.Context,
    partition: PartitionOption = None,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Show the totals of the cluster and what needs attention."""
    from data.known import require_slurm
    from data.queries.asked import require_partitions
    from data.queries.live import overview
    from terminal.status import status_lines

    view = context.obj.view(at)
    require_partitions(view.viewer, view.sources, partition or (), view.at)
    found = overview(view.viewer, view.sources, at=view.at, filter=_node_filter(partition))
    require_slurm(found.snapshot.sources, is_empty=not found.snapshot.nodes and not found.snapshot.jobs)
    context.obj.screen.show(found.status, lambda _, width: status_lines(found, view.zone, width), as_json)


def nodes(
    context: typer.Context,
    partition: PartitionOption = None,
    state: StateOption = None,
    text: Annotated[str, typer.Option("--name", "-n", help="Only nodes whose name holds this.")] = "",
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """List the nodes with their GPUs."""
    from data.known import require_known, require_slurm
    from data.queries.asked import require_partitions
    from data.queries.nodes import nodes as ask
    from data.slurm.states import NODE_BUCKETS
    from terminal.status import node_lines

    require_known("node state", [word.lower() for word in state or ()], NODE_BUCKETS)
    view = context.obj.view(at)
    require_partitions(view.viewer, view.sources, partition or (), view.at)
    found = ask(view.viewer, view.sources, _node_filter(partition, state, text), view.at)
    require_slurm(found.sources, is_empty=not found.total)
    context.obj.screen.show(found, lambda rows, width: node_lines(rows, view.zone, width), as_json)


def jobs(
    context: typer.Context,
    user: UserOption = None,
    account: Annotated[list[str] | None, typer.Option("--account", "-A", help="Only this account's.")] = None,
    partition: PartitionOption = None,
    state: StateOption = None,
    sort: Annotated[str, typer.Option(help="Field to sort by, such as -gpus or utilization.")] = "id",
    limit: Annotated[int, typer.Option(help="The most rows.")] = 100,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """List running, pending and suspended jobs."""
    from data.known import require_known, require_slurm
    from data.model import JobFilter
    from data.queries.asked import require_partitions
    from data.queries.jobs import jobs as ask
    from data.slurm.job_states import JOB_STATES
    from terminal.jobs import job_lines

    states = frozenset(SHORT_STATES.get(word.upper(), word.upper()) for word in state or ())
    require_known("job state", states, JOB_STATES)
    view = context.obj.view(at)
    require_partitions(view.viewer, view.sources, partition or (), view.at)
    wanted = JobFilter(states, frozenset(user or ()), frozenset(account or ()), frozenset(partition or ()))
    found = ask(view.viewer, view.sources, wanted, view.at, sort, limit)
    require_slurm(found.sources, is_empty=not found.total)
    context.obj.screen.show(found, lambda page, width: job_lines(page, view.zone, width), as_json)


def job(
    context: typer.Context,
    job_id: Annotated[str, typer.Argument(metavar="ID", help="123, 123_7 (array task) or 123+1 (part of a het job).")],
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Report one job: what it was given, what it used, what to change."""
    from data.errors import NotFound
    from data.queries.job_report import job_answer
    from data.queries.pending import waiting
    from terminal.jobs import waiting_lines
    from terminal.report import report_lines

    view = context.obj.view(at)
    found = job_answer(view.viewer, view.sources, job_id, view.at)

    def lines(answer: JobAnswer, width: int) -> Iterable[RenderableType]:
        yield from report_lines(answer, view.zone, width)
        if answer.report.job.state == "PENDING":
            with suppress(NotFound):  # the picture may be older than the job
                yield from waiting_lines(waiting(view.viewer, view.sources, job_id, view.at), view.zone)

    context.obj.screen.show(found, lines, as_json)


def _node_filter(partition: list[str] | None = None, state: list[str] | None = None, text: str = "") -> NodeFilter:
    from data.model import NodeFilter

    states = frozenset(word.lower() for word in state or ())
    return NodeFilter(partitions=frozenset(partition or ()), states=states, text=text)
