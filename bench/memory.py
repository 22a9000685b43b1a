"""The memory of a server's workers while something is asked of it."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass, field

from bench.server import Report, own_metrics

EVERY_SECONDS = 2.0


@dataclass
class Memory:
    """Resident MiB of each worker by its name, with the second of each look."""

    begun: float = field(default_factory=time.perf_counter)
    looks: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    async def look(self, port: int) -> None:
        found = await own_metrics(port)
        at = time.perf_counter() - self.begun
        for name, value in found.items():
            if name.startswith("fullwarp_worker_resident_bytes"):
                self.looks.setdefault(name, []).append((at, value / 2**20))

    async def watch(self, port: int, until: float) -> None:
        while time.perf_counter() < until:
            await self.look(port)
            await asyncio.sleep(EVERY_SECONDS)

    @property
    def report(self) -> list[Report]:
        """For each worker: first, last, least and most MiB, and the slope of a straight line through all looks."""
        return [_of_worker(found) for found in self.looks.values()]


def _of_worker(found: list[tuple[float, float]]) -> Report:
    seconds, sizes = zip(*found, strict=True)
    line = statistics.linear_regression(seconds, sizes) if len(found) > 1 else None
    return {
        "first_mib": round(sizes[0], 1),
        "last_mib": round(sizes[-1], 1),
        "least_mib": round(min(sizes), 1),
        "most_mib": round(max(sizes), 1),
        "mib_per_minute": None if line is None else round(line.slope * 60, 2),
    }
