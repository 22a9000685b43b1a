"""Holds back what is not meant for the person: thinking in tags, and calls that a model writes as text. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_THINKING = ("<think>", "</think>")
_CALL = "<tool_call>"
_BEGINNINGS = (_CALL, "```json", "```\n{", "{", "[{")


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
        place = self.held.find(_CALL)
        if place < 0:
            kept = next((size for size in range(len(_CALL) - 1, 0, -1) if self.held.endswith(_CALL[:size])), 0)
            place = len(self.held) - kept
        shown, self.held = self.held[:place], self.held[place:]
        return shown
