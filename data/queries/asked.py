"""Who asks, what of, and when, as one value; and what several ways of asking check alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from data.known import require_known
from data.model import Viewer
from data.moment import parse_moment
from data.queries.live import snapshot
from data.sources import Sources


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks, what of, and when."""

    viewer: Viewer
    sources: Sources
    now: datetime

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.sources.settings.site_timezone)

    @property
    def minute(self) -> datetime:
        """The last full minute: who asks twice within it gets the same answer, and the same mark of it."""
        return self.now.replace(second=0, microsecond=0)

    def moment(self, text: str) -> datetime | None:
        return parse_moment(text, self.now, self.zone)


def require_partitions(viewer: Viewer, sources: Sources, partitions: Iterable[str], at: datetime | None) -> None:
    """Raise BadRequest for a partition that is not there: an empty list would read as an answer."""
    wanted = tuple(partitions)
    if wanted:
        seen = snapshot(viewer, sources, at=at)
        names = {name for node in seen.nodes for name in node.partitions} | {part.name for part in seen.partitions}
        require_known("partition", wanted, names)
