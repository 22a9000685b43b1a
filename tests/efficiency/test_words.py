"""Numbers and times in words. U+2009 is the thin space, U+2212 the minus."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import words

GIB = 1 << 30


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "not measured"),
        (0, "0 s"),
        (42.9, "42 s"),
        (100, "1 min"),
        (1000, "16 min"),
        (3599, "59 min"),
        (4200, "1 h 10 min"),
        (5 * 3600 + 14 * 60 + 59, "5 h 14 min"),
        (86_400, "1 d"),
        (2 * 86_400, "2 d"),
        (2 * 86_400 + 3 * 3600, "2 d 3 h"),
        (-540, "\u22129 min"),
        (math.inf, "no limit"),
        (math.nan, "not measured"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (None, "not measured"),
        (math.nan, "not measured"),
        (0.0, "0 %"),
        (0.00001, "under 0.1 %"),
        (0.031, "3.1 %"),
        (0.05, "5 %"),
        (0.0996, "10 %"),
        (0.0994, "9.9 %"),
        (0.425, "42 %"),
        (1.0, "100 %"),
        (46.29, "4\u2009629 %"),
        (-0.031, "\u22123.1 %"),
    ],
)
def test_ratios(ratio: float | None, text: str) -> None:
    assert words.percent(ratio) == text


def test_a_ratio_near_a_limit_keeps_a_decimal() -> None:
    assert words.percent(0.154, limit=0.15) == "15.4 %"
    assert words.percent(0.174, limit=0.15) == "17 %"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "not measured"),
        (0, "0 GiB"),
        (42, "under 1 MiB"),
        (500 << 20, "0.5 GiB"),
        (50 << 20, "50 MiB"),
        (4_000_000_000, "3.7 GiB"),
        (GIB, "1.0 GiB"),
        (1000 * GIB, "1\u2009000 GiB"),
    ],
)
def test_bytes(count: float | None, text: str) -> None:
    assert words.gib(count) == text


def test_used_of_given() -> None:
    assert words.gib_of(214 * GIB, 1000 * GIB) == "214 of 1\u2009000 GiB"
    assert words.gib_of(None, GIB) == "not measured"
    assert words.gib_of(GIB, None) == "1.0 GiB"


def test_numbers_have_thin_spaces_and_a_real_minus() -> None:
    assert words.number(1234567.8, 1) == "1\u2009234\u2009567.8"
    assert words.number(-5) == "\u22125"
    assert words.number(-0.01) == "0"
    assert words.number(None) == "not measured"
    assert words.points(0.031) == "+3.1"
    assert words.points(-0.2) == "\u221220.0"


def test_gpu_hours() -> None:
    assert words.gpu_hours(31.398) == "31.4 GPU-h"
    assert words.gpu_hours(3980.04) == "3\u2009980 GPU-h"
    assert words.gpu_hours(None) == "not measured"


def test_counts_and_parts() -> None:
    assert words.count(1, "GPU") == "1 GPU"
    assert words.of(6, 8, "GPU") == "6 of 8 GPUs"
    assert words.of(1, None, "GPU") == "1 of an unknown number of GPUs"
    assert words.runs([7, 2, 3, 4, 0, 4]) == "0, 2\u20134, 7"


def test_a_time_has_its_date_when_it_is_not_today_in_the_zone() -> None:
    zone = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 11, 29, 23, 30, tzinfo=UTC)  # the 30th in Berlin
    assert words.clock(now, zone, now) == "00:30"
    assert words.clock(now - timedelta(hours=1), zone, now) == "29 Nov 23:30"
    assert words.clock(datetime(2025, 12, 31, 23, tzinfo=UTC), zone, now).startswith("1 Jan")
    assert words.clock(datetime(2025, 1, 2, tzinfo=UTC), zone, now) == "2025-01-02 01:00"
    assert words.clock(None, zone, now) == "not known"


@pytest.mark.parametrize(("seconds", "text"), [(300, "00:05:00"), (86_400, "1-00:00:00"), (93_784, "1-02:03:04")])
def test_slurm_times(seconds: float, text: str) -> None:
    assert words.slurm_time(seconds) == text


def test_the_edges_of_jobstats_have_a_form_of_ours(reference: Path) -> None:
    cases = json.loads((reference / "cases/jobstats.json").read_text())["cases"]
    edges = [case["input"] for case in cases if case["kind"] in ("human_seconds", "human_bytes")]
    assert len(edges) == 9
    for edge in edges:
        text = words.duration(edge["seconds"]) if "seconds" in edge else words.gib(edge["bytes"])
        assert text.split()[-1] in ("s", "min", "GiB", "MiB")


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_every_number_has_words(value: float) -> None:
    for form in (words.number, words.percent, words.points, words.duration, words.gib, words.gpu_hours):
        text = form(value)
        assert text
        assert "nan" not in text
        assert "-" not in text.replace("GPU-h", "")
