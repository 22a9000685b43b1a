"""Tokens as identity: `Authorization: Bearer fullwarp_...` names a user on the routes of the API, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from flask import Request

from api.routes import FOLDER
from data.model import Association, Viewer
from identity import is_scrape_token
from settings import Settings
from terminal.bearers import OURS, TokenHolders, token_in


class Bearers:
    """The tokens of one app."""

    def __init__(self, settings: Settings, now: Callable[[], datetime]) -> None:
        self._settings = settings
        self._holders = TokenHolders(settings, now)

    def is_sent(self, request: Request) -> bool:
        """Whether a token decides who asks; then nothing else does, right or wrong."""
        folder = self._settings.serve.url_prefix + FOLDER
        return request.path.startswith(folder) and _sent(request).startswith(OURS)

    def viewer(self, request: Request, associations: Iterable[Association]) -> Viewer:
        """The viewer that the token names. Raises Unidentified, SourceUnreachable when the store does not answer."""
        return self._holders.viewer_of(_sent(request), associations)

    def may_scrape(self, request: Request) -> bool:
        """Whether the settings' scrape_token or a token with the role scrape was sent; the first asks no store.

        Raises SourceUnreachable when the store does not answer.
        """
        from data.state.tokens import TokenRole

        sent = _sent(request)
        if not sent.startswith(OURS):  # what the store gave out, the store alone can take back
            return is_scrape_token(sent, self._settings.exposure)
        found = self._holders.found(sent)
        return found is not None and found.role is TokenRole.SCRAPE


def _sent(request: Request) -> str:
    return token_in(request.headers.get("Authorization", ""))
