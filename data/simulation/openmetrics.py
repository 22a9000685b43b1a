"""Write the simulated cluster as OpenMetrics text, to be loaded with `promtool tsdb create-blocks-from openmetrics`."""

from __future__ import annotations

from collections.abc import Collection
from typing import TextIO

from data.model import Window
from data.simulation.exposition import Samples, exported
from data.simulation.world import World


def openmetrics(world: World, window: Window, out: TextIO, metrics: Collection[str] | None = None) -> int:
    """Write all samples of the window (or only those of `metrics`) and give back their number.

    promtool wants one file per UTC day.
    """
    total = 0
    for family, series in exported(world, window, metrics):
        out.write(f"# TYPE {family.name} {family.type}\n")
        for one in series:
            out.write(_lines(family.name, one, family.digits))
            total += len(one.times)
    out.write("# EOF\n")
    return total


def _lines(name: str, series: Samples, digits: int) -> str:
    labels = ",".join(f'{label}="{escaped(value)}"' for label, value in series.labels.items())
    head = f"{name}{{{labels}}}"
    pairs = zip(series.values.tolist(), series.times.tolist(), strict=True)
    return "".join(f"{head} {value:.{digits}f} {time:.3f}\n" for value, time in pairs)


def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
