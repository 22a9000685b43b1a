"""The address of the Policy page as a value: every choice is a link, and a link is the address with one change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

FILTERS = ("rule", "user", "account", "partition")
KEYS = ("status", *FILTERS, "q", "sort", "limit", "acts", "job", "whatif", "form", "curve", "at")
DEFAULTS: Mapping[str, str] = {"limit": "20", "acts": "10"}


@dataclass(frozen=True, slots=True)
class PolicyAddress:
    """`path` with the app's prefix; `words` are the parameters that are set."""

    path: str
    words: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        return self.words.get(name) or DEFAULTS.get(name, "")

    def query(self, **changes: str | None) -> str:
        """The query string with other values; None or the default takes one away."""
        found = {**self.words, **changes}
        return urlencode({key: value for key in KEYS if (value := found.get(key)) and value != DEFAULTS.get(key)})

    def href(self, **changes: str | None) -> str:
        text = self.query(**changes)
        return f"{self.path}?{text}" if text else self.path

    @property
    def chosen(self) -> dict[str, str]:
        """The filters that are set, by their names."""
        return {key: self.words[key] for key in ("status", *FILTERS, "q") if self.words.get(key)}
