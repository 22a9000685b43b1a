"""Which nodes stand together on the map of GPUs."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from configuration.checks import host_list
from configuration.section import Section


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groups
    except re.error as err:
        raise ValueError(f"not a regular expression: {err}") from err
    if text and not groups:
        raise ValueError("needs a group that holds the rack, such as ^(r\\d+)n")
    return text


class RackSettings(Section):
    hosts: dict[str, Annotated[str, AfterValidator(host_list)]] = Field(
        default_factory=dict,
        description='Host list of each rack, as Slurm writes it: { A1 = "gpu[001-006,010]" }. Racks stand in this '
        "order.",
    )
    pattern: Annotated[str, AfterValidator(_pattern)] = Field(
        "",
        description="Regular expression that finds the rack in a node's name, in its first group; for nodes that "
        "racks.hosts does not name. With neither, racks are guessed from names such as r3n07, else rows of six.",
    )
