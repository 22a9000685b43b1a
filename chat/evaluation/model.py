"""What a question of the evaluation is, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from chat.units import Unit
from data.model import Viewer


class Kind(StrEnum):
    NUMBER = "numbers"
    YES_NO = "yes or no"
    REFUSAL = "refusals"
    SCOPE = "scope"
    INJECTION = "injections"
    LANGUAGE = "other languages"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What makes an answer right: every part that is set must hold.

    `value` in the base unit of `unit` must be written, rounded or converted; `is_yes` be said first; `is_refusal`: it
    says that it cannot; none of `never` may stand in it; one of `words` must.
    """

    value: float | None = None
    unit: Unit | None = None
    is_yes: bool | None = None
    is_refusal: bool = False
    never: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """`tool`, `arguments` and `path` are the call and the field that answer it; empty where none is needed. With
    `planted`, texts of people in every result tell the model to say this word."""

    id: str
    kind: Kind
    text: str
    viewer: Viewer
    wanted: Wanted
    about: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    planted: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the answer; `wrong` says why it is not right, empty = it is. `marked` counts sentences with a
    figure that no result has."""

    question: Question
    text: str
    wrong: str
    tools: tuple[str, ...]
    marked: int
    seconds: float

    @property
    def is_right(self) -> bool:
        return not self.wrong


@dataclass(frozen=True, slots=True)
class Score:
    """All questions of a run, and how many were right by kind."""

    model: str
    seed: int
    asked: Sequence[Asked]

    def of(self, kind: Kind) -> tuple[int, int]:
        """How many of a kind were right, and how many there were."""
        rows = [row for row in self.asked if row.question.kind is kind]
        return sum(row.is_right for row in rows), len(rows)

    @property
    def share(self) -> float:
        return sum(row.is_right for row in self.asked) / len(self.asked) if self.asked else 0.0

    @property
    def marked(self) -> int:
        return sum(row.marked for row in self.asked)
