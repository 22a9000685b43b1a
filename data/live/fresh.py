"""The picture of now, for whoever writes down or acts on what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from data.errors import SourceUnreachable
from data.live.cluster import LiveCluster
from data.live.picture import Picture
from data.model import SourceCondition

_POLL_SECONDS = 0.2


def fresh_picture(live: LiveCluster, clock: Callable[[], datetime], refresh_seconds: float) -> Picture:
    """Slurm's view of now, not one that is being renewed. Raises SourceUnreachable while it does not answer."""
    until = time.monotonic() + live.lapse_seconds
    oldest = clock() - timedelta(seconds=refresh_seconds)
    while (picture := live.picture()).snapshot.made_at < oldest and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    for source in picture.snapshot.sources:
        if source.name == "slurm" and source.condition is not SourceCondition.OK:
            raise SourceUnreachable(
                f"Slurm does not answer: {source.error or source.condition}",
                hint=source.hint or "See `fullwarp check`.",
            )
    return picture
