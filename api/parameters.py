"""What each route may be asked: parameters of its address, with their forms. The answers have no forms of their own."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.paging import FAREST, MOST_ROWS
from data.exemption import KINDS
from data.model import GpuState
from data.queries.history import COLUMNS, Group
from data.queries.history.groups import SIZES
from data.queries.job_series import PLOTTED
from data.queries.jobs import SORTS as JOB_SORTS
from data.queries.metrics import Group as MetricsGroup
from data.queries.metrics.rows import SORTS as METRICS_SORTS
from data.slurm.job_states import JOB_STATES
from data.slurm.states import NODE_BUCKETS
from policy.exemptions import MOST_NAME, MOST_REASON
from policy.model import Status

Words = Annotated[list[Annotated[str, Field(min_length=1, max_length=1000)]], Field(max_length=200)]
JobId = Annotated[str, Field(description="123, 123_7 (array task) or 123+1 (part of a het job).", max_length=100)]
At = Annotated[
    str, Field(description="A past moment: an ISO time, a date, -2h, yesterday 09:00; empty = now.", max_length=60)
]
Since = Annotated[str, Field(description="Begin of the range: 30d, a date or an ISO time.", max_length=60)]
Until = Annotated[str, Field(description="Its end, in the same forms; empty = the last full minute.", max_length=60)]
Users = Annotated[Words, Field(description="Only these users'. May be repeated, as every list.")]
Accounts = Annotated[Words, Field(description="Only these accounts'.")]
Partitions = Annotated[Words, Field(description="Only these partitions'.")]


def _one_of(name: str, words: Iterable[str]) -> Any:
    """A closed list of words as a type, so that the document names them."""
    make: Any = StrEnum
    return make(name, {word: word for word in sorted(words)})


def _sorts(words: Iterable[str]) -> str:
    """A pattern for a name of one of these columns, with or without "-" before it."""
    return f"^-?({'|'.join(sorted(words))})$"


NodeBucket = _one_of("NodeBucket", NODE_BUCKETS)
JobState = _one_of("JobState", JOB_STATES)
Size = _one_of("Size", SIZES)
Column = _one_of("ReportColumn", COLUMNS)
ExemptionKind = _one_of("ExemptionKind", (*KINDS, "interactive", "memory"))


class Parameters(BaseModel):
    """Unknown names are refused: a filter that is not understood must not read as "everything"."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Paging(Parameters):
    limit: int = Field(100, ge=1, le=MOST_ROWS, description="The most rows.")
    offset: int = Field(0, ge=0, le=FAREST, description="Rows to leave out at the beginning.")


class StatusParameters(Parameters):
    partition: Partitions = []
    at: At = ""


class NodesParameters(Paging):
    partition: Partitions = []
    state: list[NodeBucket] = Field([], description="Only nodes in these states.")  # type: ignore[valid-type]
    gpu_state: list[GpuState] = Field([], description="Only nodes with such GPUs, and only those GPUs.")
    model: Words = Field([], description="Only nodes with these GPU models, and only those GPUs.")
    feature: Words = Field([], description="Only nodes with one of these features.")
    name: str = Field("", max_length=200, description="Only nodes whose name holds this.")
    at: At = ""


class NodeParameters(Parameters):
    name: str = Field(min_length=1, max_length=255, description="Name of the node in Slurm.")
    at: At = ""


class JobsParameters(Paging):
    state: list[JobState] = Field([], description="Only jobs in these states.")  # type: ignore[valid-type]
    user: Users = []
    account: Accounts = []
    partition: Partitions = []
    text: str = Field("", max_length=200, description="Only jobs whose id, name, user or account holds this.")
    sort: str = Field("id", pattern=_sorts(JOB_SORTS), description='Column to sort by, "-" before it for the largest.')
    at: At = ""


class JobParameters(Parameters):
    job_id: JobId
    at: At = ""


class SeriesParameters(JobParameters):
    metric: Literal[PLOTTED] = Field(PLOTTED[0], description="Which metric.")  # type: ignore[valid-type]
    devices: int = Field(16, ge=1, le=1024, description="The most devices; the worst used come first.")


class HistoryParameters(Parameters):
    since: Since = "30d"
    until: Until = ""
    user: Users = []
    account: Words = Field([], description="Only these accounts and what is below them.")
    department: Words = Field([], description="Only these departments.")
    partition: Partitions = []
    qos: Words = Field([], description="Only these QOS.")
    model: Words = Field([], description="Only these GPU models.")
    state: list[JobState] = Field([], description="Only attempts that ended so, or RUNNING.")  # type: ignore[valid-type]
    node: Words = Field([], description="Only the hours on these nodes.")
    finding: Words = Field([], description="Only finished attempts with one of these findings.")
    application: Words = Field([], description="Only jobs whose name fits one of these patterns (*, ?).")
    size: list[Size] = Field([], description="Only jobs of so many GPUs.")  # type: ignore[valid-type]
    util: str = Field("", max_length=40, description="Mean UTIL in percent: 20-40, 20- or -40.")
    memory: str = Field("", max_length=40, description="Mean GPU memory used in GiB: 20-40, 20- or -40.")


class ReportParameters(HistoryParameters, Paging):
    group: Group = Field(description="What a row is.")
    level: int | None = Field(None, ge=1, le=100, description="Level of the account tree, 1 = top; absent = all.")
    columns: list[Column] = Field([], description="Columns of the rows; empty = the usual ones.")  # type: ignore[valid-type]
    sort: str = Field("-gpu_hours_allocated", pattern=_sorts([*COLUMNS, "name"]), description="Column to sort by.")
    compare: bool = Field(False, description="With the values of the time of equal length before.")


class FindingsParameters(HistoryParameters, Paging):
    pass


class MetricsParameters(Paging):
    group: MetricsGroup = Field(MetricsGroup.JOB, description="What a row is.")
    since: Since = "1h"
    until: Until = ""
    by_model: bool = Field(False, description="A row for each GPU model.")
    user: Users = []
    account: Accounts = []
    partition: Partitions = []
    model: Words = Field([], description="Only GPUs of these models.")
    application: Words = Field([], description="Only these applications' jobs.")
    text: str = Field("", max_length=200, description="Only rows that hold this.")
    finding: str = Field("", max_length=60, description="Only rows with this finding.")
    sort: str = Field("-gpu_hours", pattern=_sorts(METRICS_SORTS), description="Column to sort by.")


class VerdictsParameters(Paging):
    status: list[Status] = Field([], description="Only verdicts of these statuses.")
    rule: Words = Field([], description="Only verdicts by these rules.")
    user: Users = []
    account: Accounts = []
    partition: Partitions = []


class VerdictParameters(Parameters):
    job_id: JobId


class ExemptionsParameters(Paging):
    kind: list[ExemptionKind] = Field([], description="Only exemptions of these kinds.")  # type: ignore[valid-type]


class NewExemption(Parameters):
    kind: Literal[KINDS] = Field(description="What is exempt.")  # type: ignore[valid-type]
    name: str = Field(min_length=1, max_length=MOST_NAME, description="Its name, or the job's id as people write it.")
    until: str = Field(
        min_length=1, max_length=60, description="Its end: an ISO time, a date, or a distance such as 14d."
    )
    reason: str = Field(min_length=1, max_length=MOST_REASON, description="Why; verdicts and the page show it.")
    rule: str = Field("", max_length=40, description="Only from this rule; empty = from every rule.")


class ExemptionParameters(Parameters):
    exemption_id: str = Field(min_length=1, max_length=40, description="Its id.")


class NoParameters(Parameters):
    pass
