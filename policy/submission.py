"""Which jobs are refused at submission, over jobs of the past; `templates/job_submit.lua.j2` says the same to Slurm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from configuration.submission import SubmissionLimits, SubmissionSettings

MIB_PER_GIB = 1024
_GIB = 1 << 30


class Excess(StrEnum):
    """Why a job is refused, in the order in which it is looked at."""

    CORES = "cores_per_gpu"
    MEMORY = "memory_per_gpu"
    SPREAD = "gpus_per_node"


@dataclass(frozen=True, slots=True)
class Request:
    """What a job asked for, or what it was given; None = not known, and then that limit is not looked at."""

    partition: str
    gpus: int
    nodes: int | None = None
    cores: int | None = None
    memory_bytes: float | None = None
    user: str | None = None
    account: str | None = None


def refused(settings: SubmissionSettings, request: Request) -> tuple[Excess, ...]:
    """Every limit that a request breaks; () = it is let through."""
    limits = settings.of(request.partition)
    if limits is None or request.gpus < 1:
        return ()
    if request.user in settings.exempt_users or request.account in settings.exempt_accounts:
        return ()
    return tuple(_broken(limits, request))


def _broken(limits: SubmissionLimits, asked: Request) -> Iterable[Excess]:
    cores, memory, least = limits.max_cores_per_gpu, limits.max_memory_gib_per_gpu, limits.min_gpus_per_node
    if cores is not None and asked.cores is not None and asked.cores > cores * asked.gpus:
        yield Excess.CORES
    if memory is not None and asked.memory_bytes is not None and asked.memory_bytes > memory * _GIB * asked.gpus:
        yield Excess.MEMORY
    nodes = asked.nodes or 1
    if least is not None and nodes > 1 and asked.gpus < least * nodes:
        yield Excess.SPREAD


def job_submit_lua(settings: SubmissionSettings) -> str:
    """The text of a job_submit.lua; every value of the settings stands in it as a Lua literal."""
    limits = {name: _limits(one) for name, one in settings.limits.items()}
    return str(_template().render(settings=settings, limits=limits))


def _limits(one: SubmissionLimits) -> dict[str, Any]:
    memory = one.max_memory_gib_per_gpu
    return {
        "cores_per_gpu": one.max_cores_per_gpu,
        "mib_per_gpu": None if memory is None else round(memory * MIB_PER_GIB),
        "gpus_per_node": one.min_gpus_per_node,
    }


@lru_cache(maxsize=1)
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    made = Environment(loader=loader, autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True)
    made.filters["lua"] = lua
    return made.get_template("job_submit.lua.j2")


def lua(value: object) -> str:
    """A Lua literal. In strings only plain letters stand as they are: nothing in them can end the string."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(_char(byte) for byte in value.encode()) + '"'
    raise TypeError(f"no Lua literal for {type(value).__name__}")


_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+*/.,:;()?&=@#!<>")


def _char(byte: int) -> str:
    return chr(byte) if byte in _PLAIN else f"\\{byte:03d}"
