"""The GPUs of a snapshot as columns, so that what is counted over thousands of them is counted in numpy. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from data.model import Device, Gpu, GpuState

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
K = TypeVar("K", bound=Hashable)

STATES = tuple(GpuState)
PLACES = {state: place for place, state in enumerate(STATES)}


@dataclass(frozen=True, slots=True, eq=False)
class GpuColumns:
    """Row n is of GPU n; NaN = not measured. `node`, `model` and `state` are places in `nodes`, `models` and `STATES`;
    the slices of one physical card have the same number in `card`."""

    node: Ints
    nodes: tuple[str, ...]
    model: Ints
    models: tuple[str, ...]
    card: Ints
    state: Ints
    weight: Floats
    utilization: Floats
    watts: Floats
    is_slice: Bools
    is_shared: Bools


def gpu_columns(gpus: Sequence[Gpu]) -> GpuColumns:
    """Read the columns of what is counted."""
    devices = [gpu.device for gpu in gpus]
    node, nodes = places(device.node for device in devices)
    model, models = places(map(model_name, gpus))
    card, _ = places(
        (device.node, gpu.slurm_index) if device.slice_id is None else _card_of_slice(device)
        for gpu, device in zip(gpus, devices, strict=True)
    )
    return GpuColumns(
        node=node,
        nodes=nodes,
        model=model,
        models=models,
        card=card,
        state=np.array([PLACES[gpu.state] for gpu in gpus], np.int64),
        weight=np.array([gpu.weight for gpu in gpus], np.float64),
        utilization=np.array([gpu.utilization for gpu in gpus], np.float64),
        watts=np.array([gpu.values.get("power_watts") for gpu in gpus], np.float64),
        is_slice=np.array([device.slice_id is not None for device in devices], np.bool_),
        is_shared=np.array([gpu.is_shared for gpu in gpus], np.bool_),
    )


def places(keys: Iterable[K]) -> tuple[Ints, tuple[K, ...]]:
    """Number the keys as they come: the place of each, and the different ones in order."""
    every = list(keys)
    found = {key: place for place, key in enumerate(dict.fromkeys(every))}
    return np.fromiter(map(found.__getitem__, every), np.int64, len(every)), tuple(found)


def model_name(gpu: Gpu) -> str:
    """The name that GPUs of a kind are grouped and filtered by: the model, and the profile of a slice."""
    model = gpu.model or "unknown model"
    return f"{model} {gpu.device.slice_profile}" if gpu.device.slice_profile else model


def _card_of_slice(device: Device) -> tuple[str, object]:
    own = device.index if device.index is not None else device.uuid or device.bus_id
    return (device.node, ("card", own))
