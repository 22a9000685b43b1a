"""What the names of GPU models and MIG profiles say, remembered: a cluster has few of them and many GPUs."""

from __future__ import annotations

from functools import lru_cache

from data.efficiency.mig import device_weight, slice_profile
from data.gpu_models import GpuModel, gpu_model


@lru_cache(maxsize=1024)
def mig_profile(name: str | None) -> str | None:
    """Find "1g.10gb" in a gres type or profile name such as "nvidia_a100_1g.10gb"; None = no slice."""
    return slice_profile(name)


@lru_cache(maxsize=1024)
def slice_weight(profile: str | None, model: str | None) -> tuple[float, bool]:
    """Give a slice's share of a whole GPU and whether it is known (1.0 where not)."""
    weight = device_weight(profile, model, is_slice=True)
    return weight.value, weight.is_known


@lru_cache(maxsize=1024)
def model_facts(name: str | None) -> GpuModel | None:
    return gpu_model(name)
