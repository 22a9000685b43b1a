"""Read Slurm's single values: numbers with "not set", times, durations, memory.

Slurm writes one fact in several ways: `{"set", "infinite", "number"}`, plain integers with magic numbers, and words.
Everything here returns None for "not set" and `math.inf` for "unlimited", and raises SourceGarbled for the rest.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Final

from data.errors import SourceGarbled

MEBIBYTE: Final = 1024 * 1024
_BLANK: Final = frozenset(
    {"", "(null)", "null", "n/a", "n/s", "none", "unknown", "none assigned", "not_set", "invalid", "partition_limit"}
)
_NO_TEXT: Final = frozenset({"", "(null)", "N/A"})
_UNLIMITED: Final = frozenset({"infinity", "infinite", "unlimited", "inf"})
_SMALLEST_MARK: Final = 0xFFFFFFFE
_NO_VALUE: Final = frozenset({0xFFFFFFFE, 0xFFFFFFFFFFFFFFFE})
_INFINITE: Final = frozenset({0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, -1})
_MEMORY: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)B?[nc?]?", re.IGNORECASE)
_MOST_BYTES: Final = 1 << 60  # Slurm's "not set" (2^64 - 2) comes out as 16E, or as a number of units
_MEMORY_UNITS: Final = {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
_DURATION: Final = re.compile(r"(?:(\d+)-)?(\d+(?:\.\d+)?(?::\d+(?:\.\d+)?){0,2})")
_CLOCK_WITHOUT_DATE: Final = re.compile(r"(?:[A-Za-z]{3,6} |\d{1,2} [A-Z][a-z]{2} )?\d{1,2}:\d{2}(?::\d{2})?")


def is_blank(value: object) -> bool:
    """Whether Slurm means "nothing" by this value: None, "", (null), N/A, Unknown, None assigned ..."""
    return value is None or (isinstance(value, str) and value.strip().lower() in _BLANK)


def text(value: object) -> str | None:
    """The value as text; None for the marks of nothing that cannot be anyone's name: "", (null), N/A."""
    if value is None or value == "":
        return None
    word = value.strip() if isinstance(value, str) else str(value)
    return None if word in _NO_TEXT else word


def number(value: object) -> float | int | None:
    """A number as any version of Slurm writes it; inf = unlimited, None = not set. A real 0 stays 0."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return math.inf
        value = value.get("number") if value.get("set", True) else None
    if value is None:
        return None
    if isinstance(value, str):
        return _number_word(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SourceGarbled(f"{value!r} is not a number")
    return _plain_number(value)


def count(value: object) -> int | None:
    """A whole number that cannot be negative; unlimited and negative (Slurm's NO_VAL, signed) are not set."""
    found = number(value)
    return int(found) if found is not None and math.isfinite(found) and found >= 0 else None


def timestamp(value: object) -> datetime | None:
    """An aware UTC time from epoch seconds or ISO text (read as UTC); 0, Unknown and unlimited are not set.

    A clock time without a date (SLURM_TIME_FORMAT=relative) cannot be placed and is not set either.
    """
    if isinstance(value, str) and not value.strip().isdigit():
        return _text_time(value.strip())
    seconds = number(value)
    if not seconds or not math.isfinite(seconds) or seconds < 0:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as err:
        raise SourceGarbled(f"{value!r} is no time") from err


def duration_seconds(value: object) -> float | None:
    """Seconds from [days-]hours:minutes:seconds, minutes:seconds; UNLIMITED is inf, Partition_Limit not known."""
    if is_blank(value):
        return None
    word = str(value).strip()
    if word.lower() in _UNLIMITED:
        return math.inf
    match = _DURATION.fullmatch(word)
    if match is None or (match[1] is None and ":" not in word):
        raise SourceGarbled(f"{value!r} is no duration like 1-02:03:04")
    return _seconds(match[1], [float(part) for part in match[2].split(":")])


def minutes_to_seconds(value: object) -> float | None:
    """Seconds from Slurm's limits, which are minutes; inf = unlimited."""
    minutes = number(value)
    return None if minutes is None or minutes < 0 else minutes * 60


def memory_bytes(value: object, bare_unit: int = MEBIBYTE) -> int | None:
    """Bytes from 64G, 4000M, 64Gn (old sacct); `bare_unit` is what a number without a unit counts.

    An exbibyte and more is none of a node's: it is Slurm's mark of nothing, and not set.
    """
    if is_blank(value) or str(value).strip().lower() in _UNLIMITED:
        return None
    match = _MEMORY.fullmatch(str(value).strip())
    if match is None:
        raise SourceGarbled(f"{value!r} is no amount of memory like 64G")
    unit: int = _MEMORY_UNITS.get(match[2].upper(), bare_unit)
    amount = round(float(match[1]) * unit)
    return amount if amount < _MOST_BYTES else None


def cpu_load(value: object) -> float | None:
    """The load of a node from Slurm's hundredths."""
    hundredths = number(value)
    if hundredths is None or not math.isfinite(hundredths) or hundredths < 0:
        return None
    return hundredths / 100


def measured_watts(energy: object) -> float | None:
    """A node's power now; 0 means that no energy plugin collects it."""
    if not isinstance(energy, dict) or energy.get("last_collected") == 0:
        return None
    watts = number(energy.get("current_watts"))
    return float(watts) if watts and math.isfinite(watts) and watts > 0 else None


def string_list(value: object) -> tuple[str, ...]:
    """Words from a list or from comma-separated text, without blanks."""
    words = value.split(",") if isinstance(value, str) else value
    if words is None:
        return ()
    if not isinstance(words, list | tuple):
        raise SourceGarbled(f"{value!r} is no list of words")
    return tuple(found for word in words if (found := text(word)) is not None)


def _number_word(value: str) -> float | int | None:
    word = value.strip()
    if word.lower() in _UNLIMITED:
        return math.inf
    if is_blank(word):
        return None
    try:
        return _plain_number(int(word) if word.lstrip("-").isdecimal() else float(word))
    except ValueError as err:
        raise SourceGarbled(f"{value!r} is not a number") from err


def _plain_number(value: float | int) -> float | int | None:
    if 0 <= value < _SMALLEST_MARK:
        return value
    if value in _INFINITE or value == math.inf:
        return math.inf
    return None if value in _NO_VALUE or math.isnan(value) or value == -math.inf else value


def _text_time(value: str) -> datetime | None:
    if is_blank(value) or value.lower() in _UNLIMITED or _CLOCK_WITHOUT_DATE.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as err:
        raise SourceGarbled(f"{value!r} is no time like 2026-05-11T18:03:04 or epoch seconds") from err


def _seconds(days: str | None, parts: list[float]) -> float:
    if days is not None:
        hours, minutes, seconds = [*parts, 0.0, 0.0][:3]
        return int(days) * 86400 + hours * 3600 + minutes * 60 + seconds
    hours, minutes, seconds = [0.0, *parts][-3:]
    return hours * 3600 + minutes * 60 + seconds
