"""What each diagnosis is called, when it holds and what to do: the words of every table that lists diagnoses."""

from __future__ import annotations

from dataclasses import dataclass

from data.words import percent
from settings import FindingLimits


@dataclass(frozen=True, slots=True)
class Advice:
    """`name` as on a chip, `when` with the site's own limits, `advice` as an imperative."""

    id: str
    name: str
    when: str
    advice: str


def advice(limits: FindingLimits) -> dict[str, Advice]:
    """All diagnoses by id, those that cost most first."""
    return {row.id: row for row in _rows(limits)}


def _rows(limits: FindingLimits) -> tuple[Advice, ...]:
    return (*_unused(limits), *_busy(limits), *_placed(limits))


def _unused(limits: FindingLimits) -> tuple[Advice, ...]:
    return (
        Advice(
            "idle",
            "idle",
            "UTIL is 0, and no other signal says otherwise.",
            "Check that the program selects the GPU, that its libraries are not built for CPUs only, and that it is "
            "not waiting for input.",
        ),
        Advice(
            "unbalanced",
            "unbalanced",
            "Some of the job's GPUs are idle while others work.",
            "Start one process per GPU, or ask for fewer GPUs.",
        ),
        Advice(
            "mostly_idle",
            "mostly idle",
            f"It did work, and was idle in at least {percent(limits.mostly_idle)} of the samples.",
            "End the job when its work is done, and give steps without GPU work a job of their own.",
        ),
        Advice(
            "too_powerful",
            "too powerful",
            f"UTIL is at most {percent(limits.powerful_utilization)}, and GPU memory, host memory and cores would fit "
            "a MIG slice or a smaller GPU.",
            "Ask for a MIG slice or a smaller GPU; the job's page has the lines.",
        ),
        Advice(
            "input_bound",
            "input-bound",
            f"UTIL is below {percent(limits.input_utilization)}, and the job's cores are at least "
            f"{percent(limits.input_cpu)} busy or UTIL swings between low and high.",
            "Give the data loader more workers, prefetch, and read from the fastest storage that you have.",
        ),
    )


def _busy(limits: FindingLimits) -> tuple[Advice, ...]:
    busy = percent(limits.busy_utilization)
    return (
        Advice(
            "small_kernels",
            "small kernels",
            f"UTIL is at least {busy} and SM below {percent(limits.small_kernels_sm)}: busy, and mostly empty.",
            "Raise the batch size, fuse kernels, use CUDA graphs or torch.compile.",
        ),
        Advice(
            "no_tensor_cores",
            "no tensor cores",
            f"UTIL is at least {busy}, TENSOR below {percent(limits.tensor_unused)} and FP64 below "
            f"{percent(limits.tensor_fp64)}, on a model with tensor cores.",
            "Turn mixed precision on (bf16 or tf32) and choose sizes that are multiples of 8.",
        ),
        Advice(
            "low_occupancy",
            "low occupancy",
            f"SM is at least {percent(limits.occupancy_sm)} and OCC below {percent(limits.occupancy_low)}.",
            "Check the block size and how many registers and how much shared memory each block takes.",
        ),
        Advice(
            "double_precision",
            "double precision",
            f"FP64 is at least {percent(limits.double_precision)} on a model that is slow at it.",
            "Check whether the program needs FP64. If it does, ask for a model with full FP64 speed.",
        ),
        Advice(
            "memory_bound",
            "memory-bound",
            f"DRAM is at least {percent(limits.memory_bound_dram)} and TENSOR below "
            f"{percent(limits.memory_bound_tensor)}.",
            "Improve the memory layout, fuse operations and reuse what is loaded.",
        ),
    )


def _placed(limits: FindingLimits) -> tuple[Advice, ...]:
    return (
        Advice(
            "communication_bound",
            "communication-bound",
            f"Several GPUs, SM below {percent(limits.communication_sm)}, and NVLINK or PCIE at "
            f"{percent(limits.communication_link)} or more of the model's peak.",
            "Place the job on fewer nodes, overlap communication with compute, and use larger gradient buckets.",
        ),
        Advice(
            "fragmented",
            "fragmented",
            "The job is on more nodes than its GPUs, cores and memory need.",
            "Ask for as few nodes as the GPUs fit on: GPUs of one node talk faster.",
        ),
    )
