"""What people run: one row per kind of job. To add one, add a row and its weight in `layout.WEIGHTS`.

Ranges are (low, high); every job draws its own value. Shares are 0..1.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np

Range = tuple[float, float]
NEVER = 1e9


@dataclass(frozen=True, slots=True)
class Behavior:
    """How a device of such a job behaves while it runs.

    `level`, `noise`, `swing` (with `period` in s) and `dip` shape UTIL; `duty` is the share of `burst`-long stretches
    in which it works at all. `startup` and `busy` (s) bound the time of work; `used` is the share of the job's devices
    that work. `sm` is SM per UTIL, `occupancy`, `tensor`, `fp*` are per SM, `dram` per UTIL, links per peak.
    `memory` is the share of GPU memory, `cpu` and `host` the used shares of cores and host memory.
    """

    level: Range = (0.0, 0.0)
    noise: Range = (0.0, 0.0)
    swing: Range = (0.0, 0.0)
    period: Range = (600.0, 600.0)
    dip: Range = (0.0, 0.0)
    duty: Range = (1.0, 1.0)
    burst: Range = (300.0, 300.0)
    startup: Range = (0.0, 0.0)
    busy: Range = (NEVER, NEVER)
    used: Range = (1.0, 1.0)
    sm: Range = (0.0, 0.0)
    occupancy: Range = (0.3, 0.5)
    tensor: Range = (0.0, 0.0)
    fp64: Range = (0.0, 0.0)
    fp32: Range = (0.05, 0.15)
    fp16: Range = (0.0, 0.02)
    dram: Range = (0.1, 0.3)
    nvlink: Range = (0.0, 0.0)
    pcie: Range = (0.005, 0.02)
    memory: Range = (0.0, 0.0)
    cpu: Range = (0.02, 0.1)
    host: Range = (0.05, 0.2)


@dataclass(frozen=True, slots=True)
class Archetype:
    """A kind of job: how long (median hours, spread), under which names, and how it ends."""

    name: str
    hours: float
    spread: float
    job_names: tuple[str, ...]
    behavior: Behavior
    is_batch: bool = True
    failed: float = 0.08
    cancelled: float = 0.08
    timed_out: float = 0.07
    out_of_memory: float = 0.02


FREE, LLM, FINETUNE, VISION, KERNELS, SIMULATION, INFERENCE, NOTEBOOK, STALLED, UNBALANCED, CRASH, SWEEP, CPU = range(
    13
)

ARCHETYPES: tuple[Archetype, ...] = (
    Archetype("free", 0, 0, ("",), Behavior()),
    Archetype(
        "llm",
        17,
        0.7,
        ("pretrain_7b", "llm-13b", "sft_mix", "continue-pretrain", "moe-8x2b"),
        Behavior(
            level=(0.985, 1.0),
            noise=(0.004, 0.012),
            dip=(0.008, 0.03),
            duty=(0.8, 0.965),
            burst=(1200, 2400),
            startup=(90, 300),
            sm=(0.38, 0.6),
            occupancy=(0.22, 0.34),
            tensor=(0.4, 0.6),
            fp32=(0.08, 0.16),
            fp16=(0.02, 0.06),
            dram=(0.3, 0.5),
            nvlink=(0.15, 0.4),
            pcie=(0.02, 0.06),
            memory=(0.75, 0.95),
            cpu=(0.1, 0.25),
            host=(0.2, 0.5),
        ),
    ),
    Archetype(
        "finetune",
        6,
        0.8,
        ("lora-ft", "dpo_run", "distill", "bert-ft", "rlhf-ppo"),
        Behavior(
            level=(0.97, 1.0),
            noise=(0.005, 0.02),
            dip=(0.01, 0.05),
            duty=(0.78, 0.95),
            burst=(900, 1800),
            startup=(45, 200),
            sm=(0.36, 0.72),
            occupancy=(0.2, 0.36),
            tensor=(0.3, 0.55),
            fp32=(0.1, 0.2),
            fp16=(0.02, 0.05),
            dram=(0.3, 0.55),
            nvlink=(0.1, 0.3),
            pcie=(0.02, 0.06),
            memory=(0.45, 0.92),
            cpu=(0.1, 0.4),
            host=(0.15, 0.5),
        ),
    ),
    Archetype(
        "vision",
        6,
        0.7,
        ("resnet152", "imagenet", "yolo-train", "segmentation", "video-mae"),
        Behavior(
            level=(0.35, 0.5),
            noise=(0.04, 0.1),
            swing=(0.5, 0.62),
            period=(70, 160),
            startup=(30, 120),
            sm=(0.5, 0.8),
            occupancy=(0.3, 0.5),
            tensor=(0.1, 0.25),
            fp32=(0.1, 0.2),
            dram=(0.3, 0.5),
            nvlink=(0.03, 0.08),
            pcie=(0.1, 0.25),
            memory=(0.2, 0.6),
            cpu=(0.92, 0.99),
            host=(0.4, 0.9),
        ),
    ),
    Archetype(
        "kernels",
        5,
        0.8,
        ("rl-agents", "gnn_small", "pinn", "rnn-lm", "eval_loop"),
        Behavior(
            level=(0.9, 0.97),
            noise=(0.01, 0.03),
            duty=(0.76, 0.94),
            burst=(900, 1800),
            startup=(20, 60),
            sm=(0.08, 0.24),
            occupancy=(0.1, 0.25),
            tensor=(0.02, 0.1),
            fp32=(0.1, 0.3),
            dram=(0.05, 0.15),
            nvlink=(0.0, 0.02),
            memory=(0.05, 0.3),
            cpu=(0.2, 0.6),
            host=(0.1, 0.4),
        ),
    ),
    Archetype(
        "simulation",
        14,
        0.6,
        ("lqcd", "md_prod", "cfd-les", "dft_relax", "climate-core"),
        Behavior(
            level=(0.86, 0.98),
            noise=(0.01, 0.03),
            swing=(0.0, 0.05),
            duty=(0.9, 0.985),
            burst=(900, 1800),
            startup=(30, 90),
            sm=(0.6, 0.85),
            occupancy=(0.3, 0.6),
            fp64=(0.35, 0.65),
            fp32=(0.02, 0.06),
            dram=(0.45, 0.75),
            nvlink=(0.05, 0.15),
            memory=(0.2, 0.7),
            cpu=(0.08, 0.3),
            host=(0.1, 0.4),
        ),
    ),
    Archetype(
        "inference",
        5,
        0.7,
        ("serve-embed", "whisper-batch", "vllm-small", "ocr", "infer"),
        Behavior(
            level=(0.07, 0.15),
            noise=(0.01, 0.02),
            swing=(0.01, 0.03),
            duty=(0.93, 0.99),
            burst=(120, 400),
            startup=(40, 120),
            sm=(0.3, 0.6),
            occupancy=(0.15, 0.3),
            tensor=(0.05, 0.2),
            dram=(0.3, 0.6),
            memory=(0.04, 0.11),
            cpu=(0.05, 0.3),
            host=(0.05, 0.15),
        ),
    ),
    Archetype(
        "notebook",
        5,
        0.5,
        ("jupyter", "ood-jupyter", "ood-vscode", "bash"),
        Behavior(
            level=(0.15, 0.6),
            noise=(0.05, 0.1),
            duty=(0.02, 0.14),
            burst=(240, 700),
            sm=(0.2, 0.5),
            tensor=(0.0, 0.2),
            memory=(0.005, 0.2),
            cpu=(0.01, 0.05),
            host=(0.03, 0.2),
        ),
        is_batch=False,
        failed=0.03,
        cancelled=0.35,
        timed_out=0.45,
        out_of_memory=0.01,
    ),
    Archetype(
        "stalled",
        9,
        0.4,
        ("train_resume", "ddp_run", "multitask", "ray-cluster"),
        Behavior(
            level=(0.95, 1.0),
            noise=(0.01, 0.02),
            startup=(30, 90),
            busy=(900, 5400),
            sm=(0.4, 0.6),
            tensor=(0.2, 0.4),
            dram=(0.2, 0.4),
            nvlink=(0.05, 0.2),
            memory=(0.3, 0.8),
            cpu=(0.01, 0.04),
            host=(0.1, 0.4),
        ),
        cancelled=0.4,
        timed_out=0.4,
    ),
    Archetype(
        "unbalanced",
        8,
        0.5,
        ("ddp_wrong", "torchrun_1", "ensemble", "multi-gpu-test"),
        Behavior(
            level=(0.85, 0.98),
            noise=(0.01, 0.05),
            duty=(0.85, 0.98),
            burst=(300, 900),
            startup=(30, 100),
            used=(0.25, 0.5),
            sm=(0.4, 0.6),
            tensor=(0.2, 0.4),
            dram=(0.2, 0.4),
            memory=(0.2, 0.6),
            cpu=(0.1, 0.3),
            host=(0.05, 0.2),
        ),
    ),
    Archetype(
        "crash",
        0.09,
        0.5,
        ("debug_run", "train_v2", "restart-me"),
        Behavior(
            level=(0.3, 0.6), noise=(0.1, 0.2), startup=(60, 150), sm=(0.2, 0.4), memory=(0.1, 0.4), cpu=(0.1, 0.5)
        ),
        failed=0.9,
        cancelled=0.02,
        timed_out=0.0,
        out_of_memory=0.08,
    ),
    Archetype(
        "sweep",
        1.5,
        0.35,
        ("sweep", "hparam", "xval", "dock-array"),
        Behavior(
            level=(0.8, 0.97),
            noise=(0.02, 0.06),
            dip=(0.01, 0.03),
            duty=(0.84, 0.97),
            burst=(300, 900),
            startup=(15, 60),
            sm=(0.3, 0.6),
            tensor=(0.1, 0.4),
            dram=(0.2, 0.4),
            memory=(0.1, 0.5),
            cpu=(0.3, 0.8),
            host=(0.2, 0.6),
        ),
        timed_out=0.02,
    ),
    Archetype(
        "cpu",
        4,
        0.9,
        ("preprocess", "align", "tokenize", "postproc", "mpi-solver", "R-stats"),
        Behavior(cpu=(0.2, 0.99), host=(0.1, 0.95)),
    ),
)

COLUMNS = tuple(field.name for field in fields(Behavior))
_TABLE = np.array([astuple(row.behavior) for row in ARCHETYPES])
LOW = np.ascontiguousarray(_TABLE[:, :, 0])
HIGH = np.ascontiguousarray(_TABLE[:, :, 1])
