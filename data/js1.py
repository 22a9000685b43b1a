"""Job summaries in AdminComment: "JS1:" + base64(gzip(JSON)), as jobstats writes them.

Reading never fails: the outcome says what was there, and a number that is missing or impossible is None.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

PREFIX = "JS1:"
MAX_JSON_BYTES = 16 << 20
SLURM_COMMENT_BYTES = 65_535
_NUMBERS = frozenset({int, float})
_MOST_EXACT = 1 << 53
_GZIP = 16 + zlib.MAX_WBITS
_GPU_TABLES = ("gpu_utilization", "gpu_used_memory", "gpu_total_memory")
_HAIR = 0.1  # percent: a mean of ratios times 100, rounded to one place
_MINOR = re.compile(r"0|[1-9][0-9]{0,5}")


class Outcome(StrEnum):
    SUMMARY = "summary"
    TOO_SHORT = "too short"
    NO_DATA = "no data"
    DAMAGED = "damaged"
    NONE = "none"


class GpuSummary(NamedTuple):
    """Mean utilization (0..1) and peak memory (bytes) of one GPU; `minor` is the N of /dev/nvidiaN.

    A tuple like NodeSummary: an import makes hundreds of thousands, and a frozen dataclass takes three times as long.
    """

    minor: int
    utilization: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


class NodeSummary(NamedTuple):
    """One node's share. `gpus` is empty where the summary holds nothing of GPUs: that is not 0 GPUs."""

    node: str
    cores: int | None = None
    cpu_seconds: float | None = None
    memory_used_bytes: int | None = None
    memory_allocated_bytes: int | None = None
    gpus: tuple[GpuSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """`gpu_count` None = not said. `dropped` counts impossible numbers, which were left out."""

    nodes: tuple[NodeSummary, ...] = ()
    elapsed_seconds: float | None = None
    gpu_count: int | None = None
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    outcome: Outcome
    summary: Summary | None = None
    reason: str = ""


def decode(admin_comment: str | None) -> Decoded:
    """Read an AdminComment; `reason` says in words what is wrong with a damaged one."""
    text = (admin_comment or "").strip()
    if not text.startswith(PREFIX):
        return Decoded(Outcome.NONE)
    body = "".join(text[len(PREFIX) :].split())  # base64 in lines, too
    if body in ("Short", "None"):
        return Decoded(Outcome.TOO_SHORT if body == "Short" else Outcome.NO_DATA)
    try:
        payload = _loads(_inflate(base64.b64decode(body, validate=True)))
    except (ValueError, zlib.error, RecursionError) as err:
        return Decoded(Outcome.DAMAGED, reason=_what_is_wrong(text, err))
    if not isinstance(payload, dict) or not isinstance(payload.get("nodes"), dict):
        return Decoded(Outcome.DAMAGED, reason="the summary holds no nodes")
    return Decoded(Outcome.SUMMARY, _Reader().summary(payload))


def _loads(text: bytes) -> Any:
    """Fast where the text is strict JSON; some writers put NaN where nothing was measured."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def encode(summary: Summary) -> str:
    """Write a summary as jobstats does (utilization in percent, GPUs by minor number); unknown keys are left out."""
    payload = _known(
        nodes={node.node: _node_payload(node) for node in summary.nodes},
        total_time=summary.elapsed_seconds,
        gpus=summary.gpu_count,
    )
    packed = gzip.compress(json.dumps(payload, separators=(",", ":")).encode(), mtime=0)
    return PREFIX + base64.b64encode(packed).decode()


def _what_is_wrong(text: str, err: Exception) -> str:
    if len(text.encode(errors="replace")) >= SLURM_COMMENT_BYTES:
        return f"the summary was cut off at Slurm's limit of {SLURM_COMMENT_BYTES} bytes"
    if isinstance(err, binascii.Error):
        return "the summary is not base64"
    return "the summary is not gzip" if isinstance(err, zlib.error) else "the summary is not whole JSON"


def _inflate(data: bytes) -> bytes:
    """Unpack at most MAX_JSON_BYTES; a larger, cut or padded stream is refused."""
    unpacker = zlib.decompressobj(_GZIP)
    text = unpacker.decompress(data, MAX_JSON_BYTES)
    if not unpacker.eof:
        raise ValueError("too large or cut off")
    return text


def _node_payload(node: NodeSummary) -> dict[str, Any]:
    payload: dict[str, Any] = _known(
        total_memory=node.memory_allocated_bytes,
        used_memory=node.memory_used_bytes,
        total_time=node.cpu_seconds,
        cpus=node.cores,
    )
    by_key: dict[str, dict[str, float | None]] = {
        "gpu_total_memory": {str(gpu.minor): gpu.memory_total_bytes for gpu in node.gpus},
        "gpu_used_memory": {str(gpu.minor): gpu.memory_used_bytes for gpu in node.gpus},
        "gpu_utilization": {
            str(gpu.minor): None if gpu.utilization is None else round(gpu.utilization * 100, 6) for gpu in node.gpus
        },
    }
    for key, values in by_key.items():
        known = _known(**values)
        if known:
            payload[key] = known
    return payload


def _known(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class _Reader:
    """Reads one payload and counts the numbers that cannot be."""

    def __init__(self) -> None:
        self.dropped = 0

    def summary(self, payload: Mapping[str, Any]) -> Summary:
        names = _short_names(payload["nodes"])
        nodes = tuple(
            [self.node(names[host], values) for host, values in payload["nodes"].items() if isinstance(values, dict)]
        )
        elapsed = self.number(payload.get("total_time"))
        return Summary(nodes, elapsed, self.gpu_count(payload.get("gpus"), nodes), self.dropped)

    def gpu_count(self, value: Any, nodes: tuple[NodeSummary, ...]) -> int | None:
        """Some writers say true or false instead of a number: true is at least one, and as many as are listed."""
        if isinstance(value, bool):
            return max(1, sum(len(node.gpus) for node in nodes)) if value else 0
        return self.whole(value)

    def node(self, name: str, values: Mapping[str, Any]) -> NodeSummary:
        return NodeSummary(
            name,
            self.whole(values.get("cpus")),
            self.number(values.get("total_time")),
            self.whole(values.get("used_memory")),
            self.whole(values.get("total_memory")),
            self.gpus(values),
        )

    def gpus(self, values: Mapping[str, Any]) -> tuple[GpuSummary, ...]:
        tables = [table if isinstance(table := values.get(key), dict) else {} for key in _GPU_TABLES]
        use, used, total = tables
        minors, strange = _minors(tuple(use), tuple(used), tuple(total))
        self.dropped += strange
        return tuple(
            [
                GpuSummary(minor, self.ratio(use.get(key)), self.whole(used.get(key)), self.whole(total.get(key)))
                for minor, key in minors
            ]
        )

    def number(self, value: Any) -> float | None:
        if type(value) in _NUMBERS and 0 <= value < 1e300:
            return float(value)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            self.dropped += 1
            return None
        return float(value) if value < 1e300 else None

    def whole(self, value: Any) -> int | None:
        if type(value) is int and 0 <= value < _MOST_EXACT:
            return value
        number = self.number(value)
        return None if number is None else round(number)

    def ratio(self, percent: Any) -> float | None:
        if type(percent) in _NUMBERS and 0 <= percent <= 100:
            return float(percent) / 100
        number = self.number(percent)
        if number is not None and number > 100 + _HAIR:
            self.dropped += 1
            return None
        return None if number is None else min(number, 100.0) / 100


@lru_cache(maxsize=4096)
def _minors(*tables: tuple[str, ...]) -> tuple[tuple[tuple[int, str], ...], int]:
    """Minor numbers in order, each with its key, and the number of keys that are none. Of a site's many summaries most
    name the same few sets of GPUs."""
    seen = {key for keys in tables for key in keys}
    minors = sorted((int(key), key) for key in seen if _MINOR.fullmatch(key))
    return tuple(minors), len(seen) - len(minors)


def _short_names(nodes: Mapping[str, Any]) -> dict[str, str]:
    """Host names without their domain, unless two of them would become one or it is an address."""
    short = {
        host: host if "." not in host or host.replace(".", "").isdigit() else host.split(".", 1)[0] for host in nodes
    }
    return short if len(set(short.values())) == len(short) else {host: host for host in nodes}
