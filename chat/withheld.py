"""Takes out of what goes to the model server what the settings keep here. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from settings import ChatSettings

WITHHELD = "(withheld)"
_LEAST = 3  # a shorter name would be found in every other word
_NAMES = frozenset({"job_name", "job_names", "application"})
_COMMENTS = frozenset({"comment", "admin_comment", "system_comment", "comments"})
_SCRIPTS = frozenset({"script", "script_lines", "batch_script", "submit_line", "command", "lines_to_change"})


@dataclass(frozen=True, slots=True)
class Withheld:
    """Keys whose values stay here."""

    keys: frozenset[str] = frozenset()

    @property
    def keeps_job_names(self) -> bool:
        return bool(self.keys & _NAMES)

    def out_of(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """The value without what is withheld, also where it is quoted within another text."""
        found = sorted(set(_texts(value, self.keys)), key=len, reverse=True)
        cleaned: dict[str, Any] = self._clean(value, [text for text in found if len(text) >= _LEAST])
        return cleaned

    def _clean(self, value: Any, texts: list[str]) -> Any:
        if isinstance(value, Mapping):
            return {
                key: WITHHELD if key in self.keys and inner not in (None, "") else self._clean(inner, texts)
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._clean(inner, texts) for inner in value]
        if isinstance(value, str):
            for text in texts:
                value = value.replace(text, WITHHELD)
        return value


def withheld_by(settings: ChatSettings) -> Withheld:
    """What these settings keep here."""
    kept = (
        (settings.send_job_names, _NAMES),
        (settings.send_comments, _COMMENTS),
        (settings.send_scripts, _SCRIPTS),
    )
    return Withheld(frozenset[str]().union(*(keys for is_sent, keys in kept if not is_sent)))


def _texts(value: Any, keys: frozenset[str], *, is_kept: bool = False) -> Iterator[str]:
    """The texts that stand under the keys."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, keys, is_kept=is_kept or key in keys)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, keys, is_kept=is_kept)
    elif is_kept and isinstance(value, str):
        yield value
