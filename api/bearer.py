"""Tokens as identity: `Authorization: Bearer fullwarp_...` names a user on the routes of the API, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from flask import Request

from api.routes import FOLDER
from data.model import Association, Role, Viewer
from identity import Unidentified, token_viewer
from settings import Settings

if TYPE_CHECKING:
    from data.state.store import StateStore
    from data.state.tokens import Token

_SCHEME = "bearer "
_OURS = "fullwarp_"


class Bearers:
    """The tokens of one app. The store is opened at the first token, so that no connection outlives a fork."""

    def __init__(self, settings: Settings, now: Callable[[], datetime]) -> None:
        self._settings = settings
        self._now = now
        self._lock = threading.Lock()
        self._opened: StateStore | None = None

    def is_sent(self, request: Request) -> bool:
        """Whether a token decides who asks; then nothing else does, right or wrong."""
        folder = self._settings.serve.url_prefix + FOLDER
        return request.path.startswith(folder) and _sent(request).startswith(_OURS)

    def viewer(self, request: Request, associations: Iterable[Association]) -> Viewer:
        """The viewer that the token names. Raises Unidentified, SourceUnreachable when the store does not answer."""
        from data.state.tokens import TokenRole

        found = self._found(request)
        if found is None:
            raise Unidentified("the token is not known, has ended or was revoked")
        if found.role is TokenRole.SCRAPE:
            raise Unidentified("the token has the role scrape, which names nobody")
        return token_viewer(found.user, Role(found.role), self._settings.identity, associations)

    def may_scrape(self, request: Request) -> bool:
        """Whether a token with the role scrape was sent. Raises SourceUnreachable when the store does not answer."""
        from data.state.tokens import TokenRole

        found = self._found(request)
        return found is not None and found.role is TokenRole.SCRAPE

    def _found(self, request: Request) -> Token | None:
        from data.state.tokens import find_token

        store = self._store() if _sent(request).startswith(_OURS) else None
        return None if store is None else find_token(store, _sent(request), self._now())

    def _store(self) -> StateStore | None:
        from data.state.store import open_store

        with self._lock:
            if self._opened is None:
                self._opened = open_store(self._settings.state)
            return self._opened


def _sent(request: Request) -> str:
    header = request.headers.get("Authorization", "")
    return header[len(_SCHEME) :].strip() if header[: len(_SCHEME)].lower() == _SCHEME else ""
