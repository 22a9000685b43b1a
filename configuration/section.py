"""What every section of the settings has in common."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_none(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        return {name: None if _means_none(cls, name, value) else value for name, value in values.items()}

    @model_validator(mode="after")
    def _secret_given_once(self) -> Self:
        for name in type(self).model_fields:
            twin = getattr(self, f"{name}_file", None)
            value = getattr(self, name)
            if twin is not None and isinstance(value, SecretStr) and value.get_secret_value():
                raise ValueError(f"give either {name} or {name}_file, not both")
        return self


def _means_none(section: type[Section], name: str, value: object) -> bool:
    field = section.model_fields.get(name)
    return value == "" and field is not None and field.default is None


def secret_text(value: SecretStr, file: Path | None) -> str:
    """The secret itself, from its file when there is one (read again when it changes), else from its field.

    Raises OSError or UnicodeDecodeError for a file that cannot be read.
    """
    if file is None:
        return value.get_secret_value().strip()
    status = file.stat()
    return _file_text(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _file_text(file: Path, modified_ns: int, size: int) -> str:
    return file.read_text(encoding="utf-8-sig").strip()  # without the mark that some editors begin a file with
