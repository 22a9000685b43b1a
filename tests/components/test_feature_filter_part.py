"""The control of the feature filter: what is pressed for which text."""

from __future__ import annotations

from typing import Any

import pytest

from components.feature_filter import feature_filter
from tests.components.test_overview_parts import words


def buttons(component: Any, found: list[Any] | None = None) -> list[Any]:
    found = [] if found is None else found
    for child in component if isinstance(component, list | tuple) else [getattr(component, "children", None)]:
        if isinstance(child, list | tuple):
            buttons(child, found)
        elif child is not None and not isinstance(child, str):
            found += [child] if type(child).__name__ == "Button" else []
            buttons(child, found)
    return found


@pytest.mark.parametrize(
    ("value", "pressed", "shown"),
    [
        ("", ["All of them"], "any"),
        ("ib", ["All of them", "ib"], "ib"),
        ("ib+a100", ["All of them", "a100", "ib"], "ib and a100"),
        ("ib|a100", ["Any of them", "a100", "ib"], "ib or a100"),
        ("ib+a100|h100", ["a100", "h100", "ib"], "ib and a100, or h100"),
        ("gone", ["All of them"], "gone"),
    ],
)
def test_it_shows_what_is_chosen_and_how_it_is_joined(value: str, pressed: list[str], shown: str) -> None:
    made = feature_filter("filter-feature", ("a100", "h100", "ib"), value)
    assert [words(one) for one in buttons(made) if getattr(one, "aria-pressed", "") == "true"] == pressed
    summary = made.children[0].children[0]
    assert words(summary) == f"Feature{shown}"
    assert summary.className == ("fw-filter fw-is-set" if value else "fw-filter")
    assert made.children[1].data == value


def test_without_any_feature_it_says_so() -> None:
    made = feature_filter("filter-feature", (), "")
    assert buttons(made) == [] and "No node has a feature." in words(made)


def test_a_hostile_name_is_text() -> None:
    name = "<script>alert(1)</script>\"'" + "x" * 200
    assert name in words(feature_filter("filter-feature", (name,), name))
