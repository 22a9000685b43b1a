"""Which node features are asked for, in text: `a+b` = both, `a|b` = one of them, `a+b|c` = both a and b, or c. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

FeatureSet = tuple[str, ...]
_ALTERNATIVE = re.compile(r"[|,]")
_TOGETHER = re.compile(r"[+&\s]+")  # a plus in an address may come as a space


def feature_sets(text: str) -> tuple[FeatureSet, ...]:
    """The alternatives in their order, each the features that a node must all have; () = nothing is asked.

    Accepts Slurm's own `&`, and commas as in its lists of features.
    """
    parts = (_TOGETHER.split(part.strip()) for part in _ALTERNATIVE.split(text))
    found = (tuple(dict.fromkeys(name for name in names if name)) for names in parts)
    return tuple(dict.fromkeys(names for names in found if names))


def feature_text(sets: Sequence[FeatureSet]) -> str:
    """The text that names these alternatives."""
    return "|".join("+".join(names) for names in sets)


def feature_words(text: str) -> str:
    """The same for people: "a100 and nvlink, or h100"."""
    sets = feature_sets(text)
    separator = " or " if all(len(names) == 1 for names in sets) else ", or "
    return separator.join(" and ".join(names) for names in sets)


def without_features(text: str, known: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """The text without names that are not known, and those names."""
    if text in known:
        return text, ()
    sets = feature_sets(text)
    unknown = dict.fromkeys(name for names in sets for name in names if name not in known)
    kept = (tuple(name for name in names if name in known) for names in sets)
    return feature_text(tuple(dict.fromkeys(names for names in kept if names))), tuple(unknown)


def wanted_features(text: str) -> tuple[frozenset[str], ...]:
    """What a NodeFilter takes. A feature whose own name holds an operator is still found by its name."""
    sets = tuple(frozenset(names) for names in feature_sets(text))
    return sets if len(sets) < 2 and all(len(names) < 2 for names in sets) else (*sets, frozenset({text}))
