"""Holds back what is not meant for the person: thinking in tags, and calls that a model writes as text. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from chat.stream_leaks import CALL_MARKS

_THINKING = ("<think>", "</think>")
_THOUGHTS: Final = re.compile(f"{_THINKING[0]}.*?{_THINKING[1]}\\s*", re.DOTALL)
_BEGINNINGS = (*CALL_MARKS, "```json", "```\n{", "{", "[{")


@dataclass(slots=True)
class ShownText:
    """Give it the pieces, and it gives back what may be shown at once; `rest` is what it holds back at the end."""

    held: str = ""
    is_open: bool = False

    def add(self, piece: str) -> str:
        self.held += piece
        if not self.is_open and not self._opens():
            return ""
        return self._release()

    def rest(self) -> str:
        return "" if self._is_thinking() else self.held

    def _opens(self) -> bool:
        """Whether the answer has begun as text, after any thinking."""
        start = self.held.lstrip()
        if start.startswith(_THINKING[0]):
            _, closed, after = start.partition(_THINKING[1])
            if not closed:
                return False
            self.held = start = after.lstrip()
        if not start or any(start.startswith(one) or one.startswith(start) for one in (_THINKING[0], *_BEGINNINGS)):
            return False
        self.held, self.is_open = start, True
        return True

    def _is_thinking(self) -> bool:
        return not self.is_open and self.held.lstrip().startswith(_THINKING[0])

    def _release(self) -> str:
        if self.held.startswith(CALL_MARKS):  # held to the end
            return ""
        places = [place for mark in CALL_MARKS if (place := self.held.find(mark)) >= 0]
        place = min(places, default=len(self.held) - max(_kept(self.held, mark) for mark in CALL_MARKS))
        shown, self.held = self.held[:place], self.held[place:]
        return shown


def answer_in(text: str) -> str:
    """The text without thinking that was shown: in its midst, or begun by the server's template without a tag."""
    thought, closed, after = text.rpartition(_THINKING[1])
    if not closed:
        return text
    found = _THOUGHTS.sub("", thought + closed) + after.lstrip()
    return found.rpartition(_THINKING[1])[2].lstrip() if _THINKING[1] in found else found


def _kept(text: str, mark: str) -> int:
    """How many characters at the end of a text may be the begin of a mark."""
    return next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)
