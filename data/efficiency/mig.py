"""What a MIG slice weighs: its compute slices by those of the model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from data.gpu_models import GpuModel, gpu_model, slices_of_profile

_PROFILE = re.compile(r"(?<![0-9])([1-9][0-9]*)g[._]([0-9]+)gb", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Weight:
    """Share of a whole GPU; `is_known` is False where it had to be taken as 1."""

    value: float
    is_known: bool = True


WHOLE = Weight(1.0)
UNKNOWN = Weight(1.0, is_known=False)


def slice_profile(*texts: str | None) -> str | None:
    """Find a MIG profile ("1g.10gb") in the first text that has one: a TRES type, a node's gres, a label."""
    for text in texts:
        found = _PROFILE.search(text or "")
        if found:
            return f"{found.group(1)}g.{found.group(2)}gb"
    return None


def device_weight(profile: str | None, model: str | GpuModel | None, *, is_slice: bool | None = None) -> Weight:
    """Weigh a device: 1 for a whole GPU, compute slices / slices of the model for a MIG slice.

    `profile` may be any text that holds one; `is_slice` True = it is known to be a slice, whatever the texts say.
    An unknown profile or model gives weight 1, marked as not known.
    """
    names = (model if isinstance(model, str) else None, profile)
    found = slice_profile(profile, names[0])
    if found is None:
        return UNKNOWN if is_slice else WHOLE
    facts = model if isinstance(model, GpuModel) else gpu_model(*names)
    of_model = facts.compute_slices if facts else slices_of_profile(found)
    mine = int(found.split("g", 1)[0])
    if not of_model or mine > of_model:
        return UNKNOWN
    return Weight(mine / of_model)
