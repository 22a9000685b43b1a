"""Where history is kept, for how long, and what a GPU-hour costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from configuration.section import Section

Days = Annotated[int, Field(ge=1, le=36500)]


class HistorySettings(Section):
    directory: Path | None = Field(
        None, description="Folder of the Parquet history, also on a shared file system; empty = no history."
    )
    departments_file: Path | None = Field(
        None, description="CSV with the columns account and department; empty = no departments."
    )
    gpu_hour_rates: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description='Cost of one GPU-hour by GPU model, such as {H100 = 2.5}; "default" for others.',
    )
    currency: str = Field("EUR", description="Currency of gpu_hour_rates.")
    overlap_hours: int = Field(
        48, ge=1, le=720, description="How far back Slurm's records are read again every hour, in hours."
    )
    reread_days: int = Field(14, ge=1, le=400, description="How far back they are read again every night, in days.")
    late_usage_days: int = Field(
        7,
        ge=0,
        le=400,
        description="For how long after its end a job without measured use is looked at again, in days.",
    )
    snapshot_minutes: float = Field(
        5.0, ge=1, le=60, allow_inf_nan=False, description="How often nodes, jobs and devices are recorded, in minutes."
    )
    jobs_days: Days | None = Field(None, description="How long finished jobs are kept, in days; empty = for ever.")
    usage_days: Days | None = Field(None, description="How long hourly use is kept, in days; empty = for ever.")
    allocations_days: Days | None = Field(
        400, description="How long it is kept which device a job held, in days; empty = for ever."
    )
    snapshots_days: Days | None = Field(
        400, description="How long past states of nodes and queues are kept, in days; empty = for ever."
    )
    compact_after_days: int = Field(
        1, ge=1, le=400, description="Age in days from which the parts of a day become one file."
    )
    pseudonyms_after_days: Days | None = Field(
        None, description="Age in days from which users have pseudonyms and jobs no names; empty = never."
    )
    pseudonym_key_file: Path | None = Field(
        None, description="File with the secret that pseudonyms are made with; empty = one in the history's folder."
    )
    report_threads: int = Field(2, ge=1, le=256, description="Threads of each process for reports.")
    report_memory: str = Field(
        "1GB",
        pattern=r"^\d+(\.\d+)? ?(MB|GB|TB|MiB|GiB|TiB)$",
        description="Memory of each process for reports, such as 1GB.",
    )
    reports_at_once: int = Field(
        2, ge=1, le=64, description="Reports that each process makes at once; others wait their turn."
    )
