"""The arms of one question: a statistic of raw samples each, told apart by a mark in a label, joined by `or`."""

from __future__ import annotations

from collections.abc import Sequence

from data.metrics.promql import milliseconds

MARK = "fullwarp_arm"
FUNCTIONS = {
    "sum": "sum_over_time",
    "count": "count_over_time",
    "minimum": "min_over_time",
    "maximum": "max_over_time",
}


def over_time(stat: str, series: str, seconds: float) -> str:
    """A statistic of the samples of a selector in the seconds up to the moment of the question."""
    return f"{FUNCTIONS[stat]}({series}[{milliseconds(seconds)}])"


def marked(expression: str, mark: str) -> str:
    """The expression with the mark in a label, so that several fit into one answer."""
    return f'label_replace({expression}, "{MARK}", "{mark}", "", "")'


def joined(arms: Sequence[str]) -> str:
    """One query, as a balanced tree: a server compares each `or` with all that stands before it."""
    if len(arms) < 3:
        return " or ".join(arms)
    middle = len(arms) // 2
    return f"({joined(arms[:middle])}) or ({joined(arms[middle:])})"
