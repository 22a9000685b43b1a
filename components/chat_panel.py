"""The panel of the assistant: its head, the conversation, the field; and the list of conversations on its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from chat.model import OnScreen
from components.chat_turn import act, comment_box, suggested
from components.data_table import Column, data_table
from components.elements import icon, moment
from data.words import count, number


@dataclass(frozen=True, slots=True)
class ChatView:
    """What the panel says of itself. `host` is where the text goes (empty = no model is set); `kept_days` 0 = not
    kept; `question_bytes` is the longest question."""

    name: str
    is_staff: bool
    host: str
    kept_days: int
    question_bytes: int
    base: str
    on_screen: OnScreen = field(default_factory=OnScreen)


def chat_panel(view: ChatView) -> list[Component]:
    """Everything inside the panel."""
    return [_head(view), _log(view), _composer(view), html.Div(comment_box(), hidden=True, **{"data-part": "comment"})]


def _head(view: ChatView) -> Component:
    whole = html.A(icon("list"), href=f"{view.base}chat", className="fw-icon-button fw-chat-whole",
                   title="All conversations", **{"aria-label": "All conversations"})  # fmt: skip
    return html.Div(
        [
            html.H2("Ask", id="chat-title"),
            html.Span(["sees what ", html.Bdi(view.name), " may see"], className="fw-note"),
            html.Div([whole, act("new", "plus", "New conversation"), act("close", "close", "Close")],
                     className="fw-panel-right"),
        ],
        className="fw-chat-head",
    )  # fmt: skip


def _log(view: ChatView) -> Component:
    """The conversation. Its changes are read out by the status below, sentence by sentence, not letter by letter."""
    return html.Div(
        [_empty(view), html.Div(className="fw-chat-turns", **{"data-part": "turns"})],
        className="fw-chat-log",
        role="log",
        tabIndex="0",
        **{"aria-live": "off", "aria-label": "Conversation", "data-part": "log"},
    )


def _empty(view: ChatView) -> Component:
    """What can be asked, before anything was."""
    how = "Answers come from the same numbers as the pages, through tools that run as you."
    if not view.host:
        how = "No model is set, so it takes commands, and questions that name a job, a node or a user."
    return html.Div(
        [
            icon("chat"),
            html.H3("Ask about jobs, GPUs and waits"),
            html.P(how),
            suggested(examples(view)),
        ],
        className="fw-chat-empty",
        **{"data-part": "empty"},
    )


def examples(view: ChatView) -> tuple[str, ...]:
    """Questions that fit who asks and what is on screen."""
    shown = view.on_screen
    if not view.host:
        first = (f"/job {shown.job}" if shown.job else f"/node {shown.node}" if shown.node else "/status",)
        return (*first, "/waste week" if view.is_staff else f"/user {view.name}", "/help")
    if shown.job:
        return (f"Does job {shown.job} use its GPUs?", "What should be changed in its script?", "/help")
    if shown.node:
        return (f"What is wrong with {shown.node}?", f"Which jobs run on {shown.node}?", "/help")
    if view.is_staff:
        return ("Who wastes most right now?", "Which GPUs are free?", "How long do jobs wait?")
    return ("Do my jobs use their GPUs?", "Why does my job wait?", "Which GPUs are free?")


def _composer(view: ChatView) -> Component:
    field = html.Textarea(
        id="chat-field",
        className="fw-chat-field",
        rows="1",
        placeholder="Ask about jobs, GPUs or waits" if view.host else "Type /help, a job, a node or a user",
        **{"aria-describedby": "chat-note", "data-most-bytes": str(view.question_bytes)},
    )
    send = html.Button(icon("send"), type="submit", className="fw-chat-send", title="Send",
                       **{"aria-label": "Send"})  # fmt: skip
    busy = html.Div(
        [
            html.Span("", className="fw-chat-busy-text", **{"data-part": "busy"}),
            _small_button([icon("stop"), "Stop"], "stop"),
        ],
        className="fw-chat-busy",
        hidden=True,
        **{"data-part": "busy-row"},
    )  # fmt: skip
    return html.Div(
        [
            html.Div("", className="fw-chat-refused", role="alert", hidden=True, **{"data-part": "refused"}),
            busy,
            html.Div(
                [
                    html.Span("Asks this question anew; what followed it goes."),
                    html.Button(
                        "Cancel", type="button", className="fw-button fw-small", **{"data-chat-act": "end-edit"}
                    ),
                ],
                className="fw-chat-busy",
                hidden=True,
                **{"data-part": "editing"},
            ),
            html.Form(
                [html.Label("Question", htmlFor="chat-field", className="fw-sr"), field, send], className="fw-chat-form"
            ),
            html.P(where_it_goes(view), id="chat-note", className="fw-chat-note"),
            html.Div("", className="fw-sr", role="status", **{"aria-live": "polite", "data-part": "said"}),
        ],
        className="fw-chat-composer",
    )


def _small_button(label: Any, name: str) -> Component:
    return html.Button(label, type="button", className="fw-button fw-small", **{"data-chat-act": name})


def where_it_goes(view: ChatView) -> str:
    """To which server the text goes, and how long it is kept."""
    goes = f"Text and results go to {view.host}." if view.host else "No model: commands only."
    kept = f"Kept for {count(view.kept_days, 'day')}." if view.kept_days else "Not kept."
    return f"{goes} {kept}"


def conversation_list(found: Sequence[tuple[str, str, datetime]], kept_days: int) -> list[Component]:
    """The person's conversations (id, title, time), each to open or delete, and all at once."""
    if not kept_days:
        return [html.P("Conversations are not kept here: they end with their tab.", className="fw-quiet")]
    if not found:
        return [html.P("No conversation yet.", className="fw-quiet")]
    rows = [
        html.Li(
            [
                html.Button(
                    [html.Span(title or "Without a question", className="fw-title"), moment(time)],
                    type="button",
                    className="fw-chat-open",
                    **{"data-conversation": id},
                ),
                act("delete", "trash", f"Delete: {title[:60]}", **{"data-of": id}),
            ]
        )
        for id, title, time in found
    ]
    wipe = html.Button("Delete all", type="button", className="fw-button", **{"data-chat-act": "delete-all"})
    return [html.Ul(rows, className="fw-chat-list"), html.Div(wipe, className="fw-pad")]


@dataclass(frozen=True, slots=True)
class UsageView:
    """Counts of all people over some days, for staff: never a word of what was said. `costs` None = no price is set."""

    days: int
    rows: Sequence[tuple[str, int, int, int]]
    costs: Sequence[float] | None = None
    currency: str = ""
    uncounted: int = 0
    thumbs: tuple[int, int] = (0, 0)


def chat_page(usage: UsageView | None, frame: dict[str, Any] | None) -> Component:
    """The page beside the panel: the conversations, and for staff how much the assistant is used. `frame` is what the
    frame shows of the cluster."""
    head = html.Div(
        [html.H1("Ask"), html.Span("your conversations; nobody else reads them", className="fw-note")],
        className="fw-head",
    )
    found = html.Section(
        html.Div(html.P("Reading", className="fw-quiet fw-late"), id="chat-list"),
        className="fw-panel",
        **{"aria-label": "Your conversations"},
    )
    use = [usage_panel(usage)] if usage is not None else []
    return html.Div([dcc.Store(id="frame", data=frame), head, found, *use], id="chat-page")


def usage_panel(view: UsageView) -> Component:
    """Questions, tokens and costs by person."""
    head = [html.H2("Use of the assistant"), html.Span(f"{view.days} days, counts only", className="fw-note")]
    columns = [Column("Person", place="main"), Column("Questions", "", "", True, place="value"),
               Column("Sent", "tokens", "", True), Column("Received", "tokens", "", True)]  # fmt: skip
    if view.costs is not None:
        columns.append(Column("Cost", view.currency, "", True))
    cells: list[list[Any]] = [
        [html.Bdi(user), number(asked), number(sent), number(received),
         *([number(view.costs[place], 2)] if view.costs is not None else [])]
        for place, (user, asked, sent, received) in enumerate(view.rows)
    ]  # fmt: skip
    up, down = view.thumbs
    notes = [f"{number(up)} good and {number(down)} bad answers of those kept."]
    if view.uncounted:
        notes.append(f"{count(view.uncounted, 'answer')} came without token counts, so tokens and costs are too low.")
    body = data_table(columns, cells, caption="Use of the assistant by person") if cells else html.P(
        "Nobody asked the model in this time.", className="fw-quiet")  # fmt: skip
    return html.Section(
        [html.Div(head, className="fw-panel-head"), body, html.P(" ".join(notes), className="fw-chat-note fw-pad")],
        className="fw-panel fw-chat-usage",
    )
