"""The score of the assistant's evaluation as a table, and the answers that were not right."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from chat.evaluation import Kind, Score

_MOST_TEXT = 160


def score_lines(score: Score, width: int) -> Iterator[RenderableType]:
    """One row per kind, then each wrong answer with the reason."""
    yield f"Model {score.model}, simulated cluster of seed {score.seed}"
    yield _table(score)
    for row in score.asked:
        if not row.is_right:
            yield f"{row.question.id} {row.question.text}\n    {row.wrong}: {' '.join(row.text.split())[:_MOST_TEXT]}"
    yield f"{score.share:.0%} right; {score.marked} sentences with a figure that no result has were marked"


def _table(score: Score) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("kind")
    for head in ("right", "of", "share"):
        table.add_column(head, justify="right")
    for kind in Kind:
        right, count = score.of(kind)
        if count:
            table.add_row(kind.value, str(right), str(count), f"{right / count:.0%}")
    return table
