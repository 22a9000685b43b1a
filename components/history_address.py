"""The address of a page of history as a value: every choice is a link, and a link is the address with one change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

Words = str | tuple[str, ...]
DEFAULTS: Mapping[str, Words] = {
    "by": "user",
    "since": "30d",
    "sort": "-gpu_hours_idle",
    "limit": "12",
    "view": "hours",
}


@dataclass(frozen=True, slots=True)
class HistoryAddress:
    """`path` with the app's prefix; `words` are the parameters that are set, in the order in which they were chosen."""

    path: str
    words: Mapping[str, Words] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """What is asked for, or its default; several words with commas between them."""
        found = self.words.get(name) or DEFAULTS.get(name, "")
        return found if isinstance(found, str) else ",".join(found)

    def changed(self, **changes: Words | None) -> HistoryAddress:
        """The address with other values; None or the default takes one away. What is new comes last."""
        kept = {name: value for name, value in self.words.items() if name not in changes or changes[name]}
        kept |= {name: value for name, value in changes.items() if value}
        return HistoryAddress(self.path, {name: value for name, value in kept.items() if value != DEFAULTS.get(name)})

    def href(self, **changes: Words | None) -> str:
        """The address as text."""
        text = self.changed(**changes).query()
        return f"{self.path}?{text}" if text else self.path

    def query(self) -> str:
        """The query string."""
        return urlencode(self.words, doseq=True)

    def export(self, form: str, **changes: Words | None) -> str:
        """Where the same question is answered as a file."""
        return f"{self.path}.{form}?{self.changed(**changes).query()}"


def go(children: Any, href: str, **attributes: Any) -> Component:
    """A link that changes the page in place and leaves the reader where they are."""
    return html.A(children, href=href, **{"data-go": "1"}, **attributes)
