"""What the columns of a CSV mean: a TOML file, read into typed fields. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from data.errors import BadRequest


class Kind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    TEXTS = "list"


@dataclass(frozen=True, slots=True)
class CsvField:
    """One thing that a CSV can tell of an ended attempt of a job."""

    name: str
    kind: Kind
    help: str
    is_required: bool = False


FIELDS = {
    field.name: field
    for field in (
        CsvField("job_id", Kind.NUMBER, "Raw job id.", True),
        CsvField("start_time", Kind.TIME, "When it began.", True),
        CsvField("end_time", Kind.TIME, "When it ended; or give elapsed_seconds."),
        CsvField("elapsed_seconds", Kind.NUMBER, "Run time, suspended time left out, in seconds."),
        CsvField("submit_time", Kind.TIME, "When it was submitted; without it start_time stands in the key."),
        CsvField("eligible_time", Kind.TIME, "When it could have started."),
        CsvField("suspended_seconds", Kind.NUMBER, "Suspended time, in seconds."),
        CsvField("time_limit_seconds", Kind.NUMBER, "Time limit, in seconds."),
        CsvField("cluster", Kind.TEXT, "Cluster.", True),
        CsvField("user", Kind.TEXT, "Owner."),
        CsvField("account", Kind.TEXT, "Account that was charged."),
        CsvField("partition", Kind.TEXT, "Partition."),
        CsvField("qos", Kind.TEXT, "Quality of service."),
        CsvField("name", Kind.TEXT, "Job name."),
        CsvField("state", Kind.TEXT, "Final state in Slurm's words (COMPLETED, FAILED, TIMEOUT ...)."),
        CsvField("nodes", Kind.TEXTS, "Nodes that it held."),
        CsvField("cores", Kind.NUMBER, "CPU cores, over all nodes."),
        CsvField("memory_allocated_bytes", Kind.NUMBER, "Host memory held, in bytes."),
        CsvField("cpu_seconds", Kind.NUMBER, "CPU time used, in seconds."),
        CsvField("memory_used_bytes", Kind.NUMBER, "Peak host memory, in bytes."),
        CsvField("gpu_count", Kind.NUMBER, "Allocated GPUs; empty = not known, 0 = none."),
        CsvField("gpu_type", Kind.TEXT, "GPU model or type, such as a100."),
        CsvField("gpu_utilization", Kind.NUMBER, "Mean utilization over the run and its GPUs, 0..1."),
        CsvField("gpu_memory_used_bytes", Kind.NUMBER, "GPU memory used, per GPU, in bytes."),
        CsvField("gpu_memory_total_bytes", Kind.NUMBER, "Memory of a GPU, in bytes."),
    )
}


class CsvColumn(BaseModel):
    """Where a field comes from: a column, or the same `value` in every row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    column: str = ""
    value: str | int | float | None = None
    scale: float = 1.0
    separator: str = " "
    words: dict[str, str] = Field(default_factory=dict)


class CsvMap(BaseModel):
    """`where` names values that a column must have; other rows are left out and counted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: dict[str, CsvColumn]
    where: dict[str, list[str]] = Field(default_factory=dict)
    source: str = "CSV"
    timezone: str = "UTC"

    @field_validator("columns", mode="before")
    @classmethod
    def _short_form(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {name: {"column": one} if isinstance(one, str) else one for name, one in given.items()}

    @field_validator("where", mode="before")
    @classmethod
    def _one_value(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {name: [str(v) for v in one] if isinstance(one, list) else [str(one)] for name, one in given.items()}

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, given: str) -> str:
        ZoneInfo(given)
        return given


def read_map(text: str, header: Mapping[str, object] | None = None) -> CsvMap:
    """Read the TOML. `header` holds the CSV's columns. Raises BadRequest that names what is wrong with what."""
    try:
        found = CsvMap.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as err:
        raise BadRequest(f"the map is not TOML: {err}", hint="See docs/reference/history.md.") from err
    except (ValidationError, KeyError, OSError) as err:
        first = err.errors()[0] if isinstance(err, ValidationError) else {"loc": ("timezone",), "msg": "unknown zone"}
        where = ".".join(str(part) for part in first["loc"])
        raise BadRequest(f"the map's {where}: {first['msg']}", hint="See docs/reference/history.md.") from err
    _check_fields(found)
    if header is not None:
        _check_columns(found, header)
    return found


def _check_fields(found: CsvMap) -> None:
    unknown = [name for name in found.columns if name not in FIELDS]
    if unknown:
        raise BadRequest(f"the map names no field of a job: {unknown[0]}", hint=f"Fields: {', '.join(FIELDS)}.")
    missing = [field.name for field in FIELDS.values() if field.is_required and field.name not in found.columns]
    if "end_time" not in found.columns and "elapsed_seconds" not in found.columns:
        missing.append("end_time or elapsed_seconds")
    if missing:
        raise BadRequest(f"the map lacks {', '.join(missing)}", hint="See docs/reference/history.md.")


def _check_columns(found: CsvMap, header: Mapping[str, object]) -> None:
    named = [one.column for one in found.columns.values() if one.value is None] + list(found.where)
    lost = [name for name in named if name not in header]
    if lost:
        raise BadRequest(f"the CSV has no column {lost[0]!r}", hint=f"It has: {', '.join(header)}.")
