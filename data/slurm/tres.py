"""Read TRES: the counted resources of jobs and nodes, as text and as lists of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from data.errors import SourceGarbled
from data.model import Tres
from data.slurm.scalars import MEBIBYTE, count, is_blank, memory_bytes, number

NOTHING: Final = Tres()


@lru_cache(maxsize=8192)
def tres_string(value: str | None) -> Tres:
    """Resources from cpu=8,mem=64G,gres/gpu=4,gres/gpu:a100=4; blank text gives a Tres of which nothing is known.

    The untyped gres/gpu is the total, typed entries are only added up without it. `gpus` is None when none is
    named. Times (cpu=00:10:00 of usage strings), gpuutil and gpumem are no counts of anything.
    """
    return NOTHING if is_blank(value) or value is None else _tres(tres_items(value))


@lru_cache(maxsize=8192)
def tres_items(value: str) -> tuple[tuple[str, str], ...]:
    """The (name, value) pairs of a TRES string, in order."""
    pairs = (item.partition("=") for item in value.split(",") if item.strip())
    items = tuple((name.strip(), rest.strip()) for name, sign, rest in pairs if sign)
    if not items and not is_blank(value):
        raise SourceGarbled(f"{value[:80]!r} is no TRES string like cpu=8,mem=64G")
    return items


def tres_list(value: object) -> Tres:
    """Resources from slurmdb's list of {type, name, count}; memory counts MiB there."""
    items = [(_name(item), item.get("count")) for item in objects(value)]
    return NOTHING if not items else _tres(items)


def objects(value: object) -> Iterable[Mapping[str, Any]]:
    """The objects of a JSON list (or of an object of objects, as the oldest versions write); None is empty."""
    if value is None:
        return ()
    found = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(found, list | tuple) or not all(isinstance(item, dict) for item in found):
        raise SourceGarbled(f"{str(value)[:80]!r} is no list of objects")
    return found


def _name(item: Mapping[str, Any]) -> str:
    return f"{item.get('type')}/{item['name']}" if item.get("name") else str(item.get("type"))


def _tres(items: Iterable[tuple[str, object]]) -> Tres:
    counts: dict[str, object] = dict(items)
    typed = _typed(counts, "gres/gpu:")
    total = _count(counts.get("gres/gpu"))
    if total is None and typed:
        total = sum(typed.values())
    shards = _count(counts.get("gres/shard"))
    memory = counts.get("mem")
    billing = number(counts["billing"]) if not is_blank(counts.get("billing")) else None
    return Tres(
        cpus=_count(counts.get("cpu")),
        memory_bytes=memory_bytes(memory) if isinstance(memory, str) else _mebibytes(memory),
        nodes=_count(counts.get("node")),
        billing=None if billing is None or not 0 <= billing < float("inf") else float(billing),
        gpus=total,
        gpus_by_type=typed,
        shards=sum(_typed(counts, "gres/shard:").values()) if shards is None else shards,
    )


def _typed(counts: Mapping[str, object], prefix: str) -> dict[str, int]:
    found = {name.removeprefix(prefix): _count(value) for name, value in counts.items() if name.startswith(prefix)}
    return {type_: number_ for type_, number_ in found.items() if number_ is not None}


def _count(value: object) -> int | None:
    """A count; a time (cpu=00:10:00) is none. Large counts carry a binary suffix (gres/shard=1K)."""
    if isinstance(value, str):
        return None if ":" in value else memory_bytes(value, bare_unit=1)
    return count(value)


def _mebibytes(value: object) -> int | None:
    found = count(value)
    return None if found is None else found * MEBIBYTE
