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
