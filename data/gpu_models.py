"""Facts about GPU models, found from the names that Slurm and the exporters use. To add a model, add a row.

Link speeds are the peak of one direction. `idle_watts` is what the card draws while a process holds it open and
does nothing (measured on A100, H100 and L40S: 26 to 66 W more than with no process), so that a held, idle card
is not taken for a working one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

GIB = 1 << 30
_GIGA = 1_000_000_000


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One model. `compute_slices` is 0 where MIG is not supported; links 0 where there is none."""

    name: str
    memory_gib: int
    compute_slices: int
    idle_watts: float
    maximum_watts: float
    has_weak_fp64: bool
    has_tensor_cores: bool
    nvlink_bytes_per_second: float
    pcie_bytes_per_second: float
    slice_profiles: frozenset[str] = frozenset()

    @property
    def memory_bytes(self) -> int:
        return self.memory_gib * GIB


def _row(
    name: str,
    memory_gib: int,
    watts: tuple[float, float],
    *,
    nvlink: float = 0,
    pcie: float = 32,
    weak_fp64: bool = False,
    tensor: bool = True,
    slices: int = 0,
    profiles: str = "",
) -> GpuModel:
    idle, maximum = watts
    links = (nvlink * _GIGA, pcie * _GIGA)
    return GpuModel(
        name, memory_gib, slices, idle, maximum, weak_fp64, tensor, *links, slice_profiles=frozenset(profiles.split())
    )


_P40 = "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb"
_P80 = "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"
_P94 = "1g.12gb 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb"
_P96 = "1g.12gb 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"
_P141 = "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"
_P180 = "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb"
_P269 = "1g.34gb 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"

# The first row whose pattern is found in the lower-case name wins: special forms stand before plain ones.
_ROWS: tuple[tuple[str, GpuModel], ...] = (
    (r"b300", _row("B300", 268, (190, 1400), nvlink=900, pcie=64, weak_fp64=True, slices=7, profiles=_P269)),
    (r"b200", _row("B200", 180, (190, 1000), nvlink=900, pcie=64, slices=7, profiles=_P180)),
    (r"gh200.*(144|141)", _row("GH200 144GB", 141, (130, 1000), nvlink=450, pcie=64, slices=7, profiles=_P141)),
    (r"gh200", _row("GH200", 96, (130, 1000), nvlink=450, pcie=64, slices=7, profiles=_P96)),
    (r"h200.*nvl", _row("H200 NVL", 141, (110, 600), nvlink=450, pcie=64, slices=7, profiles=_P141)),
    (r"h200", _row("H200", 141, (120, 700), nvlink=450, pcie=64, slices=7, profiles=_P141)),
    (r"h100.*nvl", _row("H100 NVL", 94, (90, 400), nvlink=300, pcie=64, slices=7, profiles=_P94)),
    (r"h100.*(64 ?gb)", _row("H100 64GB", 64, (120, 700), nvlink=450, pcie=64, slices=7)),
    (r"h100.*(94|96) ?gb", _row("H100 94GB", 94, (120, 700), nvlink=450, pcie=64, slices=7, profiles=_P94)),
    (r"h100.*pcie", _row("H100 PCIe", 80, (85, 350), nvlink=300, pcie=64, slices=7, profiles=_P80)),
    (r"h100", _row("H100", 80, (120, 700), nvlink=450, pcie=64, slices=7, profiles=_P80)),
    (r"h800", _row("H800", 80, (120, 700), nvlink=200, pcie=64, weak_fp64=True, slices=7, profiles=_P80)),
    (r"h20(?!\d)", _row("H20", 96, (120, 500), nvlink=450, pcie=64, weak_fp64=True, slices=7, profiles=_P96)),
    (r"a100.*(pcie.*80|80.*pcie)", _row("A100 PCIe 80GB", 80, (75, 300), nvlink=300, slices=7, profiles=_P80)),
    (r"a100.*pcie", _row("A100 PCIe 40GB", 40, (65, 250), nvlink=300, slices=7, profiles=_P40)),
    (r"a100.*80", _row("A100 80GB", 80, (90, 400), nvlink=300, slices=7, profiles=_P80)),
    (r"a100.*40", _row("A100 40GB", 40, (85, 400), nvlink=300, slices=7, profiles=_P40)),
    (r"a100", _row("A100", 0, (90, 400), nvlink=300, slices=7, profiles=f"{_P40} {_P80}")),
    (r"a800", _row("A800", 80, (90, 400), nvlink=200, slices=7, profiles=_P80)),
    (r"a30(?!\d)", _row("A30", 24, (45, 165), nvlink=100, slices=4, profiles="1g.6gb 2g.12gb 4g.24gb")),
    (r"a40(?!\d|00)", _row("A40", 48, (85, 300), nvlink=56, weak_fp64=True)),
    (r"a10(?!\d)", _row("A10", 24, (65, 150), weak_fp64=True)),
    (r"a16(?!\d)", _row("A16", 16, (30, 62), weak_fp64=True)),
    (r"a2(?!\d)", _row("A2", 16, (25, 60), weak_fp64=True)),
    (r"l40s", _row("L40S", 48, (105, 350), weak_fp64=True)),
    (r"l40(?!\d)", _row("L40", 48, (100, 300), weak_fp64=True)),
    (r"(?<![a-z])l4(?!\d)", _row("L4", 24, (35, 72), weak_fp64=True)),
    (
        r"rtx.?pro.?(?:server.?)?6000",
        _row("RTX PRO 6000", 96, (90, 600), pcie=64, weak_fp64=True, slices=4, profiles="1g.24gb 2g.48gb 4g.96gb"),
    ),
    (r"v100.*32", _row("V100 32GB", 32, (60, 300), nvlink=150, pcie=16)),
    (r"v100", _row("V100", 16, (60, 300), nvlink=150, pcie=16)),
    (r"titan.?v", _row("TITAN V", 12, (50, 250), pcie=16)),
    (r"p100", _row("P100", 16, (50, 300), nvlink=80, pcie=16, tensor=False)),
    (r"p40(?!\d)", _row("P40", 24, (55, 250), pcie=16, weak_fp64=True, tensor=False)),
    (r"k80", _row("K80", 12, (75, 300), pcie=16, tensor=False)),
    (r"(?<![a-z])t4(?!\d)", _row("T4", 16, (35, 70), pcie=16, weak_fp64=True)),
    (r"gtx", _row("GeForce GTX", 0, (60, 250), pcie=16, weak_fp64=True, tensor=False)),
    (r"5090", _row("RTX 5090", 32, (90, 575), pcie=64, weak_fp64=True)),
    (r"4090", _row("RTX 4090", 24, (75, 450), weak_fp64=True)),
    (r"3090", _row("RTX 3090", 24, (110, 350), nvlink=56, weak_fp64=True)),
    (r"2080", _row("RTX 2080", 0, (60, 260), pcie=16, weak_fp64=True)),
    (r"rtx.?6000.?ada", _row("RTX 6000 Ada", 48, (80, 300), weak_fp64=True)),
    (r"a6000", _row("RTX A6000", 48, (85, 300), nvlink=56, weak_fp64=True)),
    (r"rtx", _row("RTX", 0, (80, 300), weak_fp64=True)),
    (r"mi300x", _row("MI300X", 192, (170, 750), pcie=64)),
    (r"mi300a", _row("MI300A", 128, (170, 760), pcie=64)),
    (r"mi250", _row("MI250", 64, (100, 560))),
    (r"mi210", _row("MI210", 64, (60, 300))),
)
_PATTERNS = tuple((re.compile(pattern), model) for pattern, model in _ROWS)


@lru_cache(maxsize=1024)
def gpu_model(*names: str | None) -> GpuModel | None:
    """Find the model by the first of `names` that any row knows ("NVIDIA H100 80GB HBM3", "h100"); None = unknown."""
    for name in names:
        lowered = (name or "").lower().replace("_", " ")
        for pattern, model in _PATTERNS:
            if pattern.search(lowered):
                return model
    return None


def slices_of_profile(profile: str) -> int | None:
    """Find the compute slices of the model that offers `profile`; None where no model does or models differ."""
    counts = {model.compute_slices for _, model in _ROWS if profile in model.slice_profiles}
    return counts.pop() if len(counts) == 1 else None
