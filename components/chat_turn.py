"""One turn of a conversation: the question, the cards, the answer, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon


def turn_box(
    turn: str, question: str, cards: Sequence[Any] = (), text: Sequence[Any] = (), end: Sequence[Any] = ()
) -> Component:
    """The box of a turn; what comes later is put into its three parts."""
    asked = html.Div(
        [
            html.H3("You asked", className="fw-sr"),
            html.P(question, className="fw-chat-question", **{"data-question": "1"}),
            act("edit", "pen", "Edit the question"),
        ],
        className="fw-chat-asked",
    )
    parts = [
        html.Div(list(cards), className="fw-chat-cards", **{"data-part": "cards"}),
        html.Div(list(text), className="fw-chat-text", **{"data-part": "text"}),
        html.Div(list(end), className="fw-chat-end", **{"data-part": "end"}),
    ]
    return html.Article([asked, *parts], className="fw-chat-turn", **{"data-turn": turn, "aria-label": question[:80]})


def turn_end(
    text: str,
    *,
    failure: Mapping[str, Any] | None = None,
    is_cut: bool = False,
    has_figures: bool = False,
    suggestions: Sequence[str] = (),
    thumb: int | None = None,
    is_kept: bool = False,
) -> list[Component]:
    """What stands below an answer: why there is none, where figures come from, acts, what to ask next."""
    parts: list[Component] = []
    if failure:
        parts.append(_failed(failure))
    if is_cut:
        parts.append(html.P([icon("partial"), "This answer was stopped before its end."], className="fw-chat-note"))
    if has_figures:
        dotted = html.Span("6 of 8", className="fw-traced", **{"aria-hidden": "true"})
        parts.append(
            html.P([dotted, " dotted = from a tool result; hover shows which"], className="fw-chat-note fw-chat-legend")
        )
    parts.append(_acts(text, kept=is_kept, thumb=thumb))
    if suggestions:
        parts.append(suggested(suggestions))
    return parts


def not_kept() -> Component:
    """Said of a turn that should be kept and is not."""
    return html.P([icon("info"), "This could not be kept: it ends with this tab."], className="fw-chat-note")


def suggested(questions: Sequence[str]) -> Component:
    """Questions that a click asks."""
    buttons = [
        html.Li(html.Button(one, type="button", className="fw-chat-suggestion", **{"data-chat-ask": one}))
        for one in questions
    ]
    return html.Ul(buttons, className="fw-chat-suggestions", **{"aria-label": "What to ask next"})


def act(name: str, icon_name: str, label: str, **more: str) -> Component:
    """A small button of the chat."""
    return html.Button(
        icon(icon_name),
        type="button",
        title=label,
        className="fw-icon-button",
        **{"aria-label": label, "data-chat-act": name, **more},
    )


def _failed(failure: Mapping[str, Any]) -> Component:
    hint = [" ", failure["hint"]] if failure.get("hint") else []
    said = html.P([html.B(str(failure.get("message", "There is no answer."))), *hint])
    return html.Div(
        [icon("bad"), html.Div(said)], className="fw-banner fw-banner-bad fw-chat-failed", **{"data-failed": "1"}
    )


def _acts(text: str, *, kept: bool, thumb: int | None) -> Component:
    buttons: list[Component] = []
    if text:
        label = html.Span("Copy", className="fw-label")
        copy = {"data-copy": text, "aria-label": "Copy the answer"}
        buttons.append(html.Button([icon("copy"), label], type="button", className="fw-chat-copy", **copy))
    buttons.append(act("retry", "retry", "Ask again"))
    if kept and text:
        buttons += [_thumb(1, "thumb-up", "Good answer", thumb), _thumb(-1, "thumb-down", "Bad answer", thumb)]
    return html.Div(buttons, className="fw-chat-acts")


def _thumb(value: int, icon_name: str, label: str, chosen: int | None) -> Component:
    pressed = {"aria-pressed": "true" if chosen == value else "false"}
    return act("thumb", icon_name, label, **{"data-thumb": str(value), **pressed})


def comment_box() -> Component:
    """Asks what was wrong or right, once a thumb was given."""
    field = html.Textarea(
        className="fw-chat-comment-field", maxLength="1000", rows="2", placeholder="What was right or wrong?",
        **{"aria-label": "What was right or wrong?"},
    )  # fmt: skip
    send = html.Button("Send", type="button", className="fw-button fw-small", **{"data-chat-act": "comment"})
    return html.Div([field, send], className="fw-chat-comment")
