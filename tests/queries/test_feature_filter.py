"""Node features with and / or: the text of the address, what it means, and which nodes it lets through."""

from __future__ import annotations

import pytest

from data.features import feature_sets, feature_text, feature_words, wanted_features, without_features
from data.model import NodeFilter
from data.narrowing import narrow
from tests.components.snapshots import node, snapshot


@pytest.mark.parametrize(
    ("text", "sets", "words"),
    [
        ("", (), ""),
        ("  ", (), ""),
        ("a100", (("a100",),), "a100"),
        ("a+b", (("a", "b"),), "a and b"),
        ("a b", (("a", "b"),), "a and b"),
        ("a&b", (("a", "b"),), "a and b"),
        ("a|b", (("a",), ("b",)), "a or b"),
        ("a,b", (("a",), ("b",)), "a or b"),
        ("a+b|c", (("a", "b"), ("c",)), "a and b, or c"),
        ("a+a|a", (("a",),), "a"),
        ("||+&|", (), ""),
        ("<b>|\"'", (("<b>",), ("\"'",)), "<b> or \"'"),
    ],
)
def test_a_text_names_sets_of_features(text: str, sets: object, words: str) -> None:
    assert feature_sets(text) == sets and feature_words(text) == words
    assert feature_sets(feature_text(feature_sets(text))) == sets


@pytest.mark.parametrize(
    ("text", "kept", "unknown"),
    [
        ("a+b", "a+b", ()),
        ("a+nope", "a", ("nope",)),
        ("nope|no|b", "b", ("nope", "no")),
        ("nope", "", ("nope",)),
        ("x+y", "x+y", ()),
    ],
)
def test_unknown_features_are_named_and_left_out(text: str, kept: str, unknown: tuple[str, ...]) -> None:
    assert without_features(text, ("a", "b", "x+y")) == (kept, unknown)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["n1", "n2", "n3", "n4"]),
        ("ib", ["n1", "n3"]),
        ("ib+nvlink", ["n1"]),
        ("ib|nvlink", ["n1", "n2", "n3"]),
        ("ib+nvlink|odd", ["n1"]),
        ("odd+name", ["n4"]),
    ],
)
def test_a_node_has_all_features_of_one_of_the_sets(text: str, names: list[str]) -> None:
    features = {"n1": ("ib", "nvlink"), "n2": ("nvlink",), "n3": ("ib",), "n4": ("odd+name",)}
    shown = snapshot(nodes=tuple(node(name, features=has) for name, has in features.items()), gpus=(), jobs=())
    kept = narrow(shown, NodeFilter(feature_sets=wanted_features(text)))
    assert [one.name for one in kept.nodes] == names
