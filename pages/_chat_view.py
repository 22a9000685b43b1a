"""What the panel and the page of the assistant say of it."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from chat.model import OnScreen
from chat.model_server import ModelServer
from components.chat_panel import ChatView, UsageView
from data.model import Viewer
from data.state.chat_usage import UsageRow, thumbs_since, usage_since
from data.state.store import StateStore
from settings import Settings

USAGE_DAYS = 30
_MILLION = 1_000_000


def chat_view(settings: Settings, base: str, viewer: Viewer, on_screen: OnScreen) -> ChatView:
    chat = settings.chat
    return ChatView(
        name=viewer.user,
        is_staff=viewer.is_staff,
        host=ModelServer(chat).host if chat.has_model else "",
        kept_days=chat.history_days if settings.state.is_set else 0,
        question_bytes=chat.question_bytes,
        base=base,
        on_screen=on_screen,
    )


def usage_view(settings: Settings, viewer: Viewer, store: StateStore | None, now: datetime) -> UsageView | None:
    """Counts of the last days for staff: how much was asked, never what. None for others and without a store."""
    if not viewer.is_staff or store is None:
        return None
    zone = ZoneInfo(settings.site_timezone)
    since = (now.astimezone(zone) - timedelta(days=USAGE_DAYS - 1)).date()
    rows = usage_since(store, since)
    return UsageView(
        days=USAGE_DAYS,
        rows=[(row.user, row.questions, row.prompt_tokens, row.completion_tokens) for row in rows],
        costs=_costs(settings, rows),
        currency=settings.history.currency,
        uncounted=sum(row.uncounted for row in rows),
        thumbs=thumbs_since(store, datetime.combine(since, time(), zone).timestamp()),
    )


def _costs(settings: Settings, rows: tuple[UsageRow, ...]) -> list[float] | None:
    sent, received = settings.chat.price_prompt, settings.chat.price_completion
    if sent is None or received is None:
        return None
    return [(row.prompt_tokens * sent + row.completion_tokens * received) / _MILLION for row in rows]
