"""The GPU map as HTML text, for the first view: the same cells that the browser draws later from the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from components.map_columns import MEMORY
from components.map_payload import GAP

COMPACT, DENSE = 120, 600
_WORST = ("down", "idle", "unmeasured", "unknown", "drained", "free", "busy")
OTHERS, NOBODY = "Other users", "Nobody"
_LOOKS = {"unknown": "unmeasured"}
_ALLOCATED = frozenset({"busy", "idle", "unmeasured"})
_MARKS = {"down": "fw-icon-bad fw-bad", "drained": "fw-icon-drained fw-none", "silent": "fw-icon-none fw-none"}
Payload = Mapping[str, Any]
NodeGpus = tuple[int, list[int]]


def map_still(payload: Payload, metric: str, group: str) -> str:
    """HTML of the whole map, in the order and look of assets/js/4*-map-*.js."""
    count = len(payload["nodes"]["name"])
    mode = "dense" if count > DENSE else "compact" if count > COMPACT else ""
    boxes = "".join(_group(payload, name, nodes, group, metric, mode) for name, nodes in _groups(payload, group))
    classes = " ".join(("fw-map", *([f"fw-{mode}"] if mode else []), *(["fw-stale"] if payload["stale"] else [])))
    return f'<div class="{classes}" data-group="{escape(group)}">{boxes}</div>' if count else ""


def _groups(payload: Payload, by: str) -> Sequence[tuple[str, list[NodeGpus]]]:
    if by == "user":
        return _by_user(payload)
    places = payload["gpus"]["node"]
    nodes = [(node, list(gpus)) for node, gpus in groupby(range(len(places)), places.__getitem__)]
    found: dict[str, list[NodeGpus]] = {}
    for node, gpus in nodes:
        found.setdefault("" if by == "node" else payload["nodes"][by][node], []).append((node, gpus))
    return list(found.items())


def _by_user(payload: Payload) -> Sequence[tuple[str, list[NodeGpus]]]:
    """Each user's GPUs, the most first; a node stands in the group of each user on it."""
    found: dict[str, dict[int, list[int]]] = {}
    for at, node in enumerate(payload["gpus"]["node"]):
        found.setdefault(holder(payload, at), {}).setdefault(node, []).append(at)
    sizes = {name: sum(map(len, nodes.values())) for name, nodes in found.items()}
    order = sorted(found, key=lambda name: (name in (OTHERS, NOBODY), name == NOBODY, -sizes[name], name))
    return [(name, list(found[name].items())) for name in order]


def holder(payload: Payload, at: int) -> str:
    """Who holds a device, as far as the viewer may know."""
    if payload["gpus"]["user"][at]:
        return str(payload["gpus"]["user"][at])
    return OTHERS if payload["states"][payload["gpus"]["state"][at]] in _ALLOCATED else NOBODY


def _group(payload: Payload, name: str, nodes: list[NodeGpus], by: str, metric: str, mode: str) -> str:
    title = "" if by == "node" else f'<div class="fw-group-name">{escape(name)}</div>'
    boxes = "".join(_node(payload, node, gpus, metric, mode) for node, gpus in nodes)
    return f'<div class="fw-group">{title}<div class="fw-nodes">{boxes}</div></div>'


def _node(payload: Payload, node: int, gpus: list[int], metric: str, mode: str) -> str:
    if mode == "dense":
        cell = f'<div class="{node_look(payload, gpus, metric)}"></div>'
        return f'<div class="fw-node"><div class="fw-strip">{cell}</div></div>'
    mark = payload["nodes"]["mark"][node]
    icon = f'<span class="fw-icon {_MARKS[mark]}"></span>' if mark else ""
    mig = '<span class="fw-mig">MIG</span>' if payload["gpus"]["slots"][gpus[0]] else ""
    name = f"<span>{escape(payload['nodes']['name'][node])}</span>"
    return (
        f'<div class="fw-node"><div class="fw-node-name">{name}{icon}{mig}</div>{_strip(payload, gpus, metric)}</div>'
    )


def _strip(payload: Payload, gpus: list[int], metric: str) -> str:
    parents: dict[int, list[int]] = {}
    for at in gpus:
        parents.setdefault(payload["gpus"]["parent"][at], []).append(at)
    columns = max(8, payload["nodes"]["cards"][payload["gpus"]["node"][gpus[0]]])
    span = columns // payload["nodes"]["cards"][payload["gpus"]["node"][gpus[0]]]
    style = f' style="--span:{span}"' if span > 1 else ""
    cells = []
    for members in parents.values():
        if payload["gpus"]["slots"][members[0]]:
            cells.append(f'<div class="fw-mig-gpu"{style}>{_slices(payload, members, metric)}</div>')
        else:
            cells += [f'<div class="{look(payload, at, metric)}"{style}></div>' for at in members]
    return f'<div class="fw-strip" style="--cols:{columns}">{"".join(cells)}</div>'


def _slices(payload: Payload, members: list[int], metric: str) -> str:
    """Two rows of 4 + 3 slots; the largest slices take their places first."""
    slots, free, start, cells = payload["gpus"]["slots"], [4, 3], [1, 1], []
    for at in sorted(members, key=lambda at: -slots[at]):
        size = min(slots[at], 7)
        row = next((row for row in (0, 1) if free[row] >= size), None)
        style = ""
        if size > 4:
            style, free = ' style="grid-area:1/1/3/5"', [0, 0]
        elif row is not None:
            style = f' style="grid-area:{row + 1}/{start[row]}/auto/span {size}"'
            free[row] -= size
            start[row] += size
        cells.append(f'<div class="{look(payload, at, metric)}"{style}></div>')
    return "".join(cells)


def look(payload: Payload, at: int, metric: str) -> str:
    """The classes of one device's cell."""
    state = payload["states"][payload["gpus"]["state"][at]]
    classes = "fw-cell fw-out" if payload["gpus"]["out"][at] else "fw-cell"
    if metric == "allocation" and state in _ALLOCATED:
        return f"{classes} fw-s7"
    if metric == "policy" and state in _ALLOCATED:
        return f"{classes} fw-v-{_verdict(payload, at)}"
    if state != "busy":
        return f"{classes} fw-{_LOOKS.get(state, state)}"
    value = _value(payload, at, metric)
    return f"{classes} fw-unmeasured" if value is None else f"{classes} fw-s{_step(value, payload['metrics'][metric])}"


def _verdict(payload: Payload, at: int) -> str:
    place = payload["gpus"]["verdict"][at]
    return "none" if place < 0 else str(payload["verdicts"][place])


def node_look(payload: Payload, gpus: Sequence[int], metric: str) -> str:
    """The classes of a whole node's cell: its worst state, colored by the lowest value of its busy GPUs."""
    out = " fw-out" if all(payload["gpus"]["out"][at] for at in gpus) else ""
    states = {at: payload["states"][payload["gpus"]["state"][at]] for at in gpus}
    held = [at for at in gpus if states[at] in _ALLOCATED]
    if metric == "policy" and held:
        last = len(payload["verdicts"])
        worst_first = min(held, key=lambda at: payload["gpus"]["verdict"][at] % (last + 1))
        return f"fw-cell{out} fw-v-{_verdict(payload, worst_first)}"
    has = set(states.values())
    worst = next((one for one in _WORST if one in has and (one != "free" or "busy" not in has)), "")
    if worst != "busy":
        return f"fw-cell{out} fw-{_LOOKS.get(worst, worst)}"
    values = {at: _value(payload, at, metric) for at in gpus if states[at] == "busy"}
    lowest = min(values, key=lambda at: -2.0 if (value := values[at]) is None else value)
    return look(payload, lowest, metric).replace(" fw-out", "") + out


def _value(payload: Payload, at: int, metric: str) -> float | None:
    values = payload["values"]
    if metric in ("allocation", "policy"):
        return None
    if metric == MEMORY[0]:
        used, total = values[MEMORY[0]][at], values[MEMORY[1]][at]
        return None if used is None or not total else float(used / total)
    if metric == GAP:
        utilization, activity = values["gpu_utilization"][at], values["sm_activity"][at]
        return None if utilization is None or activity is None else (utilization - activity) / 1000
    value = values[metric][at]
    return None if value is None else float(value * payload["metrics"][metric]["scale"])


def _step(value: float, metric: Mapping[str, Any]) -> int:
    share = (value - metric["low"]) / (metric["high"] - metric["low"])
    return max(1, min(9, int(share * 9 // 1) + 1))
