"""Answers in the wordings of models, written by hand to real results of the simulated cluster, each with a wrong twin.

answers.txt: after `@ `, the results that the conversation has, ` | `, and the question; then the answer, in which
`{{83.4%|73.4%}}` is a right figure and a wrong one in its place. All other figures are right, or honestly derived.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chat.model import ToolResult

_FOLDER = Path(__file__).parent / "answers"
_CHOICE = re.compile(r"\{\{(.*?)\|(.*?)\}\}")


@dataclass(frozen=True)
class WrittenAnswer:
    """`wrong` differs from `right` in one figure, at the places `changed`."""

    results: list[ToolResult]
    question: str
    right: str
    wrong: str
    changed: tuple[int, int]


def written_answers() -> Iterator[WrittenAnswer]:
    kept = json.loads((_FOLDER / "results.json").read_text(encoding="utf-8"))
    for block in re.split(r"^@ ", (_FOLDER / "answers.txt").read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, text = block.split("\n", 1)
        names, question = head.split(" | ", 1)
        results = [
            ToolResult(name, kept[name]["tool"], kept[name]["arguments"], 0.0, kept[name]["value"])
            for name in names.split()
        ]
        yield _answer(results, question, text.strip())


def _answer(results: list[ToolResult], question: str, text: str) -> WrittenAnswer:
    [choice] = _CHOICE.finditer(text)
    changed = (choice.start(), choice.start() + len(choice[2]))
    return WrittenAnswer(results, question, _CHOICE.sub(r"\1", text), _CHOICE.sub(r"\2", text), changed)
