"""What a GPU job may ask for when it is submitted."""

from __future__ import annotations

from pydantic import Field, field_validator

from configuration.section import Section

_MOST_NAME = 200


class SubmissionLimits(Section):
    """Limits of one partition, or of all others as *. Empty = no limit; jobs without GPUs are never refused."""

    max_cores_per_gpu: int | None = Field(None, ge=1, le=100_000, description="Most CPU cores per GPU.")
    max_memory_gib_per_gpu: float | None = Field(
        None, gt=0, le=1_000_000, allow_inf_nan=False, description="Most CPU memory per GPU, in GiB."
    )
    min_gpus_per_node: int | None = Field(
        None, ge=1, le=1000, description="Least GPUs on each node of a job that asks for several nodes."
    )


class SubmissionSettings(Section):
    """What Slurm refuses at submission: `fullwarp job-submit-lua` writes the script that slurmctld runs."""

    limits: dict[str, SubmissionLimits] = Field(
        default_factory=dict, description="Limits by partition; * = every partition that is not named."
    )
    exempt_users: list[str] = Field(default_factory=list, description="Users whose jobs are not looked at.")
    exempt_accounts: list[str] = Field(default_factory=list, description="Accounts whose jobs are not looked at.")
    more: str = Field(
        "", max_length=300, description="Last line of every refusal, such as the address of a page; empty = none."
    )

    @field_validator("limits", mode="after")
    @classmethod
    def _names_are_plain(cls, limits: dict[str, SubmissionLimits]) -> dict[str, SubmissionLimits]:
        for name in limits:
            if not name.strip() or len(name) > _MOST_NAME or not name.isprintable() or "," in name:
                raise ValueError(f"{name[:60]!r} cannot be the name of one partition; * = every other one")
        return limits

    @field_validator("more", mode="after")
    @classmethod
    def _is_one_line(cls, more: str) -> str:
        if not more.isprintable():
            raise ValueError("must be one line of plain text")
        return more

    @property
    def is_set(self) -> bool:
        return bool(self.limits)

    def of(self, partition: str) -> SubmissionLimits | None:
        """The limits of a partition: its own, else those of all others."""
        return self.limits.get(partition, self.limits.get("*"))
