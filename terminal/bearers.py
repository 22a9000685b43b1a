"""Tokens as identity, without a web framework: the text that was sent, and whom it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from data.model import Association, Role, Viewer
from data.state.opened import OpenedState
from identity import Unidentified, token_viewer
from settings import Settings

if TYPE_CHECKING:
    from data.state.tokens import Token

_SCHEME = "bearer "
OURS = "fullwarp_"


class TokenHolders:
    """The tokens of one process. The store is opened at the first token, so that no connection outlives a fork."""

    def __init__(self, settings: Settings, now: Callable[[], datetime], opened: OpenedState | None = None) -> None:
        self._settings = settings
        self._now = now
        self._opened = opened or OpenedState()

    def viewer_of(self, sent: str, associations: Iterable[Association]) -> Viewer:
        """The viewer that a token names. Raises Unidentified, SourceUnreachable when the store does not answer."""
        from data.state.tokens import TokenRole

        found = self.found(sent)
        if found is None:
            raise Unidentified("the token is not known, has ended or was revoked")
        if found.role is TokenRole.SCRAPE:
            raise Unidentified("the token has the role scrape, which names nobody")
        return token_viewer(found.user, Role(found.role), self._settings.identity, associations)

    def found(self, sent: str) -> Token | None:
        """The valid token that was sent. Raises SourceUnreachable when the store does not answer."""
        from data.state.tokens import find_token, is_token

        if not is_token(sent):
            return None
        return self._opened.read(self._settings.state, lambda store: find_token(store, sent, self._now()))


def token_in(header: str) -> str:
    """The token of an Authorization header; "" for any other."""
    return header[len(_SCHEME) :].strip() if header[: len(_SCHEME)].lower() == _SCHEME else ""
