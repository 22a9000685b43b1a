"""One question about detailed metrics and its answer, as the page's parts get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.elements import Choice
from data.errors import FullwarpError
from data.model import ClusterSnapshot
from data.queries.metrics import Group, MetricsTable
from data.words import duration
from settings import FindingLimits

GROUPS: tuple[Choice, ...] = (
    (Group.JOB.value, "Job"),
    (Group.USER.value, "User"),
    (Group.ACCOUNT.value, "Account"),
    (Group.MODEL.value, "Model"),
    (Group.PARTITION.value, "Partition"),
    (Group.APPLICATION.value, "Application"),
)
PERIODS: tuple[Choice, ...] = (
    ("10m", "10 min"),
    ("1h", "1 h"),
    ("6h", "6 h"),
    ("24h", "24 h"),
    ("7d", "7 d"),
    ("30d", "30 d"),
    ("90d", "90 d"),
)
FILTERS = ("user", "account", "partition", "model")


@dataclass(frozen=True, slots=True)
class MetricsAnswer:
    """What one viewer sees of one question. `table` None = there is no answer, and `error` says why.

    `chosen` holds what the address asks for by its name there, `period` the words of the range; `query` the question
    as a query string for the exports.
    """

    chosen: Mapping[str, str]
    period: str
    snapshot: ClusterSnapshot | None
    is_staff: bool
    base: str
    query: str
    limits: FindingLimits
    table: MetricsTable | None = None
    error: FullwarpError | None = None
    ignored: Sequence[str] = ()

    @property
    def version(self) -> str:
        """Changes whenever anything on the page does."""
        table = self.table
        made = f"{table.since}|{table.until}|{len(table.rows)}|{len(table.unknown)}" if table else str(self.error)
        sources = self.snapshot.sources if self.snapshot else ()
        return "|".join((made, *(one.condition.value for one in sources), *self.chosen.values(), self.query))


def words_of(period: str, seconds: float) -> str:
    """ "the last 24 h", or the length of a range."""
    return f"the last {dict(PERIODS)[period]}" if period in dict(PERIODS) else duration(seconds)
