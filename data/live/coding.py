"""The picture as bytes for the cache."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import data.model as model
from data.codec import Codec
from data.inventory import Inventory, Known
from data.live.picture import Picture

_KINDS: tuple[type[Any], ...] = tuple(
    kind for _, kind in sorted(vars(model).items()) if isinstance(kind, type) and is_dataclass(kind)
)

CODEC = Codec(
    types=(*_KINDS, Inventory, Known, Picture), enums=(model.GpuState, model.JoinMethod, model.SourceCondition)
)


def write_picture(picture: Picture) -> bytes:
    return CODEC.encode(picture)


def read_picture(data: bytes | None) -> Picture | None:
    """Read what `write_picture` gave; None for anything else."""
    found = None if data is None else CODEC.decode(data)
    return found if isinstance(found, Picture) else None
