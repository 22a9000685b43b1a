"""Arguments that several tools take: one form, one description, one check."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

JobId = Annotated[
    str, Field(description="Job id as people write it: 123, 123_7 (array task), 123+1 (het).", max_length=100)
]
NodeName = Annotated[str, Field(description="Name of the node in Slurm.", min_length=1, max_length=255)]
At = Annotated[
    str,
    Field(description="A past moment: -2h, yesterday 09:00, a date or an ISO time. Null = now.", max_length=60),
]
Since = Annotated[
    str,
    Field(description="Begin of the range: 24h, 7d, 30d, a date or an ISO time.", max_length=60),
]
Until = Annotated[str, Field(description="End of the range, same forms. Null = now.", max_length=60)]
User = Annotated[str, Field(description="Only this user's.", max_length=200)]
Account = Annotated[str, Field(description="Only this account's.", max_length=200)]
PartitionName = Annotated[str, Field(description="Only this partition's.", max_length=200)]
Model = Annotated[str, Field(description="Only GPUs of this model, as find_nodes names it.", max_length=200)]
Text = Annotated[str, Field(description="Only rows whose id, name, user or account holds this.", max_length=200)]
Limit = Annotated[int, Field(description="The most rows, 1 to 50.", ge=1, le=50)]
HistoryGroup = Literal[
    "user", "account", "department", "partition", "qos", "model", "node", "state", "size", "day", "job", "application"
]


def one_of(word: str) -> frozenset[str]:
    """A filter's set: of the word, or empty for none."""
    return frozenset({word} if word else ())
