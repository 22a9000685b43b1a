"""Tells a chat, by its incoming webhook. Best effort: nothing waits for it."""

from __future__ import annotations

import requests

from configuration.mail import WebhookSettings
from configuration.section import secret_text
from policy.actions.outcome import Refused

_MOST_CHARS = 3000


class Webhook:
    """The site's webhook, in the JSON that Slack, Mattermost and others take."""

    def __init__(self, settings: WebhookSettings) -> None:
        self._settings = settings

    def tell(self, text: str) -> None:
        """Post a text; names in it stay names. Raises Refused, without the address, which is a secret."""
        try:
            url = secret_text(self._settings.url, self._settings.url_file)
            answer = requests.post(
                url,
                json={"text": _plain(text)[:_MOST_CHARS]},
                timeout=self._settings.timeout_seconds,
                verify=True if self._settings.ca_file is None else str(self._settings.ca_file),
                allow_redirects=False,
                stream=True,  # its words are not read, however long it takes to say them
            )
            answer.close()
        except (OSError, UnicodeDecodeError, ValueError) as err:
            raise Refused(f"the webhook cannot be reached: {type(err).__name__}") from err
        if not answer.ok or answer.is_redirect:
            raise Refused(f"the webhook answered {answer.status_code}")


def _plain(text: str) -> str:
    """Without mentions and links: Slack reads <!channel> and <http://...> as such."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
