"""What the addresses of live pages have in common: filters, a moment, and what of them could not be used."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from data.features import without_features

MAX_FEATURES = 400


@dataclass(frozen=True, slots=True)
class FiltersAsked:
    """What the address asks for. `ignored` says in words what could not be used."""

    partition: str = ""
    state: str = ""
    model: str = ""
    feature: str = ""
    text: str = ""
    at: datetime | None = None
    ignored: tuple[str, ...] = ()

    @property
    def chosen(self) -> dict[str, str]:
        """The filter values by their name in the address."""
        return {
            "partition": self.partition,
            "state": self.state,
            "model": self.model,
            "feature": self.feature,
            "q": self.text,
        }


def known_features(asked: str, known: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """The features asked for that some node has, and in words those that none has."""
    kept, unknown = without_features(asked, known)
    if asked and not kept and not unknown:
        return "", (f"feature = “{asked[:40]}” names no feature.",)
    return kept, tuple(f"This cluster has no feature “{name[:40]}”." for name in unknown)
