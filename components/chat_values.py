"""A value of a tool's result as a person reads it: the end of its key says the unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from dash import html

from components.data_table import DASH, ratio_cell
from components.elements import moment, short_model
from data.words import duration, gib, number

_ENDS: Mapping[str, str] = {
    "_ratio": "%",
    "_seconds": "",
    "_bytes_per_second": "GiB/s",
    "_bytes": "",
    "_gpu_hours": "GPU-h",
    "_gpu_days": "GPU-d",
    "_watts": "W",
    "_celsius": "°C",
    "_hertz": "MHz",
    "_kwh": "kWh",
    "_amount": "",
    "_at": "",
}
_LONG = 28
_PLACES = {"job": "jobs", "job_id": "jobs", "node": "nodes", "node_name": "nodes", "user": "users"}
_SHORT = {"gpu": "GPU", "gpus": "GPUs", "cpu": "CPU", "cpus": "CPUs", "id": "id", "sm": "SM", "mig": "MIG",
          "qos": "QOS", "xid": "XID"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Name:
    """A key in words, with its unit."""

    words: str
    unit: str = ""
    is_number: bool = False


def name_of(key: str) -> Name:
    """ "Idle" in "GPU-h" of idle_gpu_hours."""
    end = next((one for one in _ENDS if key.endswith(one)), "")
    words = key.removesuffix(end).split("_") if key != end else [key.strip("_")]
    said = " ".join(_SHORT.get(word, word) for word in words if word)
    return Name(said[:1].upper() + said[1:], _ENDS.get(end, ""), bool(end) and end != "_at")


def shown(key: str, value: Any, base: str) -> Any:
    """One value under its key: in the unit of its column, with a link where the key names a job, node or user."""
    if value is None:
        return html.Span(DASH, title="not measured or not known", className="fw-not-measured")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _measured(key, float(value))
    if key.endswith("_at"):
        return _time(str(value))
    place = _PLACES.get(key)
    if place and str(value):
        return html.A(html.Bdi(str(value)), href=f"{base}{place}/{quote(str(value), safe='+_')}")
    return _words(str(value))


def _words(text: str) -> Any:
    """A GPU model as people say it; what is long may wrap."""
    if text.startswith(("NVIDIA ", "AMD ")):
        return short_model(text)
    return html.Bdi(text) if len(text) < _LONG else html.Div(text, className="fw-chat-words")


def _measured(key: str, value: float) -> Any:
    if key.endswith("_ratio"):
        return ratio_cell(value) if 0 <= value <= 1 else number(value * 100)
    if key.endswith("_seconds"):
        return duration(value)
    if key.endswith("_bytes_per_second"):
        return number(value / 2**30, 1)
    if key.endswith("_bytes"):
        return gib(value)
    if key.endswith("_hertz"):
        return number(value / 1e6)
    return number(value, 0 if value == int(value) or abs(value) >= 100 else 1 if abs(value) >= 1 else 2)


def _time(text: str) -> Any:
    try:
        return moment(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except ValueError:
        return html.Bdi(text)
