"""An answer as JSON: the dataclasses themselves, field by field, so that names and units are those of the model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Set
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import orjson

UNLIMITED = "unlimited"
# In which zone the server's people read the times of an answer.
ZONE_HEADER = "Fullwarp-Timezone"


def to_json(answer: object, *, is_indented: bool = True) -> bytes:
    """JSON with sorted sets; None = not known or not measured, times in UTC, infinity "unlimited"."""
    indent = orjson.OPT_INDENT_2 if is_indented else 0
    return orjson.dumps(_plain(answer), option=indent | orjson.OPT_UTC_Z)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | bool | date):
        return value
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted(_plain(item) for item in value)
    return str(value) if isinstance(value, Path) else [_plain(item) for item in value]


def _number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else UNLIMITED if value > 0 else f"-{UNLIMITED}"
