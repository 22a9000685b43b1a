"""The app with the small cluster behind it, an assistant of its own, and a reader of its events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from app import open_app
from configuration.chat import Delivery, ModelKind
from data.sources import Sources
from pages._chat_desk import Desk
from pages._chat_routes import HEADER, HEADER_VALUE, KEY
from settings import ChatSettings, Settings, StateSettings
from tests.queries.cluster import open_fakes
from tests.services.web import PREFIX

CHAT = f"{PREFIX}_chat/"
OURS = {HEADER: HEADER_VALUE, "Content-Type": "application/json"}


def settings_with(base_url: str = "", state: Path | None = None, **chat: Any) -> Settings:
    model = {"kind": ModelKind.OPENAI, "base_url": base_url, "model": "scripted"} if base_url else {}
    return Settings(
        chat=ChatSettings(**{"delivery": Delivery.STREAM, **model, **chat}), state=StateSettings(directory=state)
    )


def open_chat(app: Any, settings: Settings, sources: Sources | None = None) -> FlaskClient:
    """A client of the app, opened anew with an assistant that remembers nothing."""
    open_app(app, replace(sources or open_fakes(), settings=settings))
    app.server.config[KEY] = Desk()
    client: FlaskClient = app.server.test_client()
    return client


def headers_of(user: str) -> dict[str, str]:
    return {**OURS, "X-Remote-User": user}


def post(client: FlaskClient, user: str, name: str, **body: Any) -> Any:
    return client.post(CHAT + name, data=json.dumps(body), headers=headers_of(user))


def get(client: FlaskClient, user: str, name: str, **query: str) -> Any:
    return client.get(CHAT + name, query_string=query, headers={"X-Remote-User": user})


def ask(client: FlaskClient, user: str, question: str, **more: Any) -> list[dict[str, Any]]:
    """All events of one turn."""
    answer = post(client, user, "ask", question=question, **more)
    assert answer.status_code == 200, answer.text
    return events_of(answer.data)


def events_of(stream: bytes) -> list[dict[str, Any]]:
    return [json.loads(block[6:]) for block in stream.decode().split("\n\n") if block.startswith("data: ")]


def polled(client: FlaskClient, user: str, question: str, **more: Any) -> Iterator[Sequence[dict[str, Any]]]:
    """The events of one turn in short requests, until it is over."""
    begun, seen, is_over = post(client, user, "ask", question=question, **more).json, 0, False
    while not is_over:
        found = get(client, user, "events", turn=begun["turn"], seen=str(seen)).json
        seen, is_over = seen + len(found["events"]), found["over"]
        yield found["events"]
        time.sleep(0.02)


def words_of(part: Any) -> str:
    """All text of components that came as JSON."""
    if isinstance(part, list):
        return " ".join(words_of(one) for one in part)
    if isinstance(part, dict):
        return words_of(part.get("props", {}).get("children"))
    return "" if part is None else str(part)
