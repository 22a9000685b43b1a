"""Compares every number of an answer with the results of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chat.model import Figure, OnScreen, ToolResult


@dataclass(frozen=True, slots=True)
class Checked:
    """Figures of a text, and the spans of sentences that hold one which no result has."""

    figures: tuple[Figure, ...] = ()
    untraced: tuple[tuple[int, int], ...] = ()


def check(text: str, results: Sequence[ToolResult], question: str, on_screen: OnScreen) -> Checked:
    return Checked()
