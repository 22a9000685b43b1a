"""Units stand once: what the tools say of their keys is what the check of figures knows."""

from __future__ import annotations

import re

import pytest

import chat.tools
from chat.units import KEY_ENDS, Kind, noun_after, unit_at, unit_of_key


def test_every_unit_of_a_tools_key_is_known_to_the_check() -> None:
    said = set(re.findall(r"`(_[a-z_]+)`", chat.tools.__doc__ or "")) - {"_at"}
    assert said
    assert said <= {end for end, _ in KEY_ENDS}


@pytest.mark.parametrize(
    ("key", "within", "kind", "noun"),
    [
        ("wasted_gpu_hours", "", Kind.GPU_HOURS, ""),
        ("pcie_tx_bytes_per_second", "", Kind.RATE, ""),
        ("energy_kwh", "", Kind.JOULES, ""),
        ("total", "gpus", Kind.COUNT, "gpus"),
        ("gpus_requested_by_pending_jobs", "", Kind.COUNT, "gpus"),
        ("jobs_running", "", Kind.COUNT, "jobs"),
        ("priority", "", Kind.COUNT, ""),
    ],
)
def test_a_key_says_its_unit_or_what_it_counts(key: str, within: str, kind: Kind, noun: str) -> None:
    unit = unit_of_key(key, within)
    assert (unit.kind, unit.noun) == (kind, noun)


@pytest.mark.parametrize(
    ("text", "kind", "factor"),
    [
        ("GPU-hours", Kind.GPU_HOURS, 1.0),
        ("GPU-days", Kind.GPU_HOURS, 24.0),
        ("heures GPU", Kind.GPU_HOURS, 1.0),
        ("hours", Kind.SECONDS, 3600.0),
        ("min", Kind.SECONDS, 60.0),
        ("GiB", Kind.BYTES, 2.0**30),
        ("GB", Kind.BYTES, 1e9),
        ("GB/s", Kind.RATE, 1e9),
        ("kW", Kind.WATTS, 1e3),
        ("kWh", Kind.JOULES, 3.6e6),
        ("%", Kind.RATIO, 0.01),
        ("Prozent", Kind.RATIO, 0.01),
        ("°C", Kind.CELSIUS, 1.0),
    ],
)
def test_a_unit_is_read_as_it_is_written(text: str, kind: Kind, factor: float) -> None:
    found = unit_at(f"12 {text} of it", 3)
    assert found is not None
    assert (found[0].kind, found[0].factor, found[1]) == (kind, factor, 3 + len(text))


@pytest.mark.parametrize(
    ("text", "noun"), [(" idle GPUs", "gpus"), (" GPU jobs", "jobs"), (" H100 GPUs", "gpus"), (". Jobs wait", "")]
)
def test_what_a_number_counts_is_the_noun_behind_it(text: str, noun: str) -> None:
    assert noun_after(f"12{text}", 2) == noun
