"""Which findings on finished jobs are mailed, from where on, and how often."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from configuration.checks import Ratio
from configuration.section import Section

# What is told of each kind: at least this amount (GPU-, core- or GiB-hours in the range), this part of the whole, and,
# for low utilization, of heavy users alone.
SHIPPED_KINDS: dict[str, dict[str, float]] = {
    "zero_gpu_hours": {"least": 24.0, "ratio": 0.10},
    "low_gpu_utilization": {"least": 50.0, "ratio": 0.75, "share_of_all": 0.02},
    "low_cpu_utilization": {"least": 1000.0, "ratio": 0.40, "share_of_all": 0.02},
    "too_powerful": {"least": 24.0, "ratio": 0.20},
    "cores_per_gpu": {"least": 24.0, "ratio": 0.20},
    "memory_per_gpu": {"least": 24.0, "ratio": 0.20},
    "fragmented": {"least": 24.0, "ratio": 0.20},
    "cpu_fragmented": {"least": 1000.0, "ratio": 0.20},
    "gpu_time_limit": {"least": 200.0, "ratio": 0.70},
    "cpu_time_limit": {"least": 5000.0, "ratio": 0.70},
    "excess_memory": {"least": 20000.0, "ratio": 0.80},
    "serial": {"least": 500.0, "ratio": 0.20},
    "unused_nodes": {"least": 500.0, "ratio": 0.10},
}


class NotifyKindSettings(Section):
    """From where on one kind is told. All limits must be passed."""

    mail: bool = Field(True, description="Whether users are mailed; false = only staff read of it.")
    least: float = Field(
        gt=0, allow_inf_nan=False, description="Least amount of a user in the range: GPU-, core- or GiB-hours."
    )
    ratio: Ratio = Field(description="Least part that it is of what the user's jobs held or asked for (ratio).")
    share_of_all: Ratio = Field(0.0, description="Least part of everybody's hours that the user's jobs had (ratio).")
    judged: int = Field(1, ge=1, description="Least number of the user's jobs that could be judged.")


def _with_shipped(given: object) -> object:
    """What is said of a kind changes only that; those of which nothing is said stay as they are."""
    if not isinstance(given, dict):
        return given
    kinds: dict[str, object] = dict(SHIPPED_KINDS)
    for name, fields in given.items():
        kinds[name] = {**SHIPPED_KINDS.get(name, {}), **fields} if isinstance(fields, dict) else fields
    return kinds


class NotifySettings(Section):
    """Mails about finished jobs (`fullwarp notify`)."""

    days: float = Field(7.0, gt=0, le=366, description="Length of the range that is looked at, in days.")
    again_days: float = Field(14.0, ge=0, le=366, description="A user hears of one kind at most once in so many days.")
    most_users: int = Field(50, ge=1, le=10_000, description="Most users that one run mails, those with most first.")
    jobs: int = Field(10, ge=1, le=100, description="Most jobs in the table of a kind.")
    kinds: Annotated[dict[str, NotifyKindSettings], BeforeValidator(_with_shipped)] = Field(
        default_factory=dict, validate_default=True, description="Limits by kind, beside those shipped."
    )
    exempt_users: list[str] = Field(default_factory=list, description="Users who are not mailed; * and ? count.")

    @field_validator("kinds", mode="after")
    @classmethod
    def _are_known(cls, kinds: dict[str, NotifyKindSettings]) -> dict[str, NotifyKindSettings]:
        for name in kinds:
            if name not in SHIPPED_KINDS:
                raise ValueError(f"there is no kind {name[:60]!r}; the kinds are {', '.join(SHIPPED_KINDS)}")
        return kinds
