"""Answers of the HTTP API as labels and numpy arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from data.errors import SourceGarbled
from data.metrics.values import Floats

Labels = dict[str, str]


def vector(data: Any, dropped: Counter[str]) -> Iterator[tuple[Labels, float, float]]:
    """Rows of an instant query: labels, time, raw value (NaN for text). Rows of another form are counted."""
    for row in _rows(data, "vector"):
        try:
            time, text = row["value"]
            yield _labels(row), float(time), _number(text)
        except (KeyError, TypeError, ValueError):
            dropped["unreadable row"] += 1


def matrix(data: Any, dropped: Counter[str]) -> Iterator[tuple[Labels, Floats, Floats]]:
    """Series of a range: labels, times, raw values. Series of another form are counted."""
    for row in _rows(data, "matrix"):
        try:
            pairs = row["values"]
            times = np.fromiter((pair[0] for pair in pairs), np.float64, len(pairs))
            values = np.fromiter((_number(pair[1]) for pair in pairs), np.float64, len(pairs))
            yield _labels(row), times, values
        except (KeyError, IndexError, TypeError, ValueError):
            dropped["unreadable row"] += 1


def _rows(data: Any, kind: str) -> list[Any]:
    if not isinstance(data, dict) or data.get("resultType") != kind or not isinstance(data.get("result"), list):
        raise SourceGarbled(f"the metrics server gave no {kind} for a query that asks for one")
    rows: list[Any] = data["result"]
    return rows


def _labels(row: Any) -> Labels:
    labels = row["metric"]
    if not isinstance(labels, dict):
        raise TypeError("labels are no object")
    return labels


def _number(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
