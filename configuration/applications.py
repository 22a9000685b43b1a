"""How jobs are put together to applications."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from configuration.section import Section


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as err:
        raise ValueError(f"not a regular expression: {err}") from err
    return text


class ApplicationSettings(Section):
    name_pattern: Annotated[str, AfterValidator(_pattern)] = Field(
        "",
        description="Regular expression that finds the application in a job name; its first group counts, else all "
        "that it matches. Empty, or no match = the name without numbers and hashes at its end.",
    )
