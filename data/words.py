"""Numbers and times in words, the same on pages and in the terminal."""

from __future__ import annotations

import math
import unicodedata
from datetime import datetime, tzinfo

NOT_MEASURED = "not measured"
NO_LIMIT = "no limit"
THIN_SPACE = "\u2009"
MINUS = "\u2212"
GIB = 1 << 30
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def number(value: float | None, decimals: int = 0) -> str:
    """A number with thin spaces in thousands and a real minus; "not measured" for None."""
    if value is None or not math.isfinite(value):
        return NOT_MEASURED
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN_SPACE)
    is_zero = not text.strip("0.")
    return text if value >= 0 or is_zero else MINUS + text


def percent(ratio: float | None, *, limit: float | None = None) -> str:
    """A ratio as percent: one decimal under 10 % (none for a whole number), none above except within a point of
    `limit`. A share above 0 never reads "0 %"."""
    if ratio is None or not math.isfinite(ratio * 100):
        return NOT_MEASURED
    points = ratio * 100
    if 0 < abs(points) < 0.05:
        return "under 0.1 %" if points > 0 else f"over {MINUS}0.1 %"
    is_near = limit is not None and abs(points - limit * 100) < 1
    is_whole = abs(points - round(points)) < 1e-9
    decimals = 1 if not is_whole and (abs(round(points, 1)) < 10 or is_near) else 0
    return f"{number(points, decimals)} %"


def points(ratio: float | None) -> str:
    """A difference of ratios in points, with its sign."""
    if ratio is None or not math.isfinite(ratio * 100):
        return NOT_MEASURED
    sign = "+" if round(ratio * 100, 1) > 0 else ""
    return f"{sign}{number(ratio * 100, 1)}"


def duration(seconds: float | None) -> str:
    """Two units at most: "42 s", "9 min", "5 h 14 min", "2 d 3 h"; cut, not rounded."""
    if seconds is None or math.isnan(seconds):
        return NOT_MEASURED
    if math.isinf(seconds):
        return NO_LIMIT
    if seconds < 0:
        return MINUS + duration(-seconds)
    whole = int(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _DAY:
        return _two(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "min")
    return _two(whole // _DAY, "d", whole % _DAY // _HOUR, "h")


def gib(count: float | None) -> str:
    """Bytes as "42 GiB"; one decimal under 10, MiB under 0.1 GiB."""
    if count is None or not math.isfinite(count):
        return NOT_MEASURED
    size = count / GIB
    if 0 < abs(size) < 0.1:
        return "under 1 MiB" if 0 < count < 1 << 20 else f"{number(count / (1 << 20))} MiB"
    return f"{number(size, 1 if 0 < abs(size) < 9.95 else 0)} GiB"


def gib_of(used: float | None, given: float | None) -> str:
    """Used of given: "214 of 1 000 GiB"."""
    if used is None or given is None:
        return NOT_MEASURED if used is None else gib(used)
    of = number(given / GIB, 1 if 0 < given / GIB < 9.95 else 0)
    return f"{number(used / GIB, 1 if 0 < used / GIB < 9.95 else 0)} of {of} GiB"


def gpu_hours(hours: float | None) -> str:
    """GPU-hours with one decimal under 100: "31.4 GPU-h"."""
    if hours is None or not math.isfinite(hours):
        return NOT_MEASURED
    return f"{number(hours, 1 if 0 < abs(hours) < 99.95 else 0)} GPU-h"


def count(amount: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: "1 GPU", "8 GPUs"."""
    return f"{number(amount)} {singular if amount == 1 else plural or singular + 's'}"


def of(part: int, whole: int | None, noun: str) -> str:
    """ "6 of 8 GPUs"; an unknown whole is said."""
    return (
        f"{number(part)} of an unknown number of {noun}s"
        if whole is None
        else f"{number(part)} of {count(whole, noun)}"
    )


def clock(time: datetime | None, zone: tzinfo, now: datetime) -> str:
    """24 h clock in `zone`, with the date when it is not today there, and the year when it is not this one."""
    if time is None:
        return "not known"
    here, today = time.astimezone(zone), now.astimezone(zone)
    if here.date() == today.date():
        return here.strftime("%H:%M")
    return here.strftime("%Y-%m-%d %H:%M" if here.year != today.year else f"{here.day} %b %H:%M")


def span(first: int, last: int) -> str:
    """A run of numbers: "4" or "2-7" with an en dash."""
    return str(first) if first == last else f"{first}\u2013{last}"


def runs(numbers: list[int]) -> str:
    """Numbers as runs: "0, 2\u20137"."""
    found: list[list[int]] = []
    for value in sorted(set(numbers)):
        if found and value == found[-1][1] + 1:
            found[-1][1] = value
        else:
            found.append([value, value])
    return ", ".join(span(first, last) for first, last in found)


def slurm_time(seconds: float) -> str:
    """Seconds as Slurm's --time takes them: "D-HH:MM:SS" or "HH:MM:SS"."""
    days, rest = divmod(int(seconds), _DAY)
    text = f"{rest // _HOUR:02}:{rest % _HOUR // _MINUTE:02}:{rest % _MINUTE:02}"
    return f"{days}-{text}" if days else text


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit}" + (f" {small} {small_unit}" if small else "")


def clean(text: str) -> str:
    """Text without control, format and surrogate characters, and with plain spaces for all others."""
    return "".join(char if char.isprintable() else _instead(char) for char in text)


def one_line(text: str) -> str:
    """Text as one line of printable characters, with single spaces: nothing in it can end a header or an argument."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _instead(char: str) -> str:
    return " " if unicodedata.category(char) == "Zs" else "\N{REPLACEMENT CHARACTER}"
