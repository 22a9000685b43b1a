"""An answer's Markdown as components: never as HTML, links only to where they may lead, figures marked.

The model writes the text, and what jobs and documents say may stand in it: whatever it holds, the result is text in a
few known elements. Marks of figures go into the source as private characters, because Markdown keeps no places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from dash import html
from dash.development.base_component import Component
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from chat.model import Figure
from components.elements import icon

_SHUT, _OPENED, _SHUT_UNTRACED, _FIRST, _LAST = "\ue000", "\ue001", "\ue002", "\ue100", "\uf8ff"
_OURS = re.compile(f"[{_SHUT}-{_LAST}]")
_MARKS = re.compile(f"([{_SHUT}-{_LAST}])")
_ENTITY = re.compile(r"&(?=#(?:x(?P<hex>[0-9a-f]{1,6})|(?P<decimal>\d{1,7}));)", re.I)
# What opens a line of Markdown: a mark before it would turn a list into a paragraph.
_OPENING = re.compile(r"(?:[ \t\n]|[-*+>][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\|)*")
_KINDS = {"paragraph": html.P, "bullet_list": html.Ul, "list_item": html.Li, "blockquote": html.Blockquote,
          "strong": html.Strong, "em": html.Em, "s": html.S, "thead": html.Thead, "tbody": html.Tbody,
          "tr": html.Tr, "heading": html.H3}  # fmt: skip


@dataclass
class _Drawing:
    """What is open while the text is walked: a figure, a sentence that is not traced. `sources` says of each figure
    where it comes from, in words."""

    base: str
    sources: Sequence[str] = ()
    figure: int | None = None
    is_untraced: bool = False


def answer_text(
    text: str,
    base: str,
    figures: Sequence[Figure] = (),
    untraced: Sequence[tuple[int, int]] = (),
    names: Mapping[str, str] | None = None,
) -> list[Any]:
    """The blocks of an answer. `names` gives the tool of each call, for what a figure says of its source."""
    traced = sorted((one for one in figures if one.is_traced), key=lambda one: one.start)[: ord(_LAST) - ord(_FIRST)]
    drawing = _Drawing(base, [_source(one, names or {}) for one in traced])
    marked = _marked(_without_ours(text), [(one.start, one.end) for one in traced], untraced)
    return _all(SyntaxTreeNode(_parser().parse(marked)).children, drawing)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """CommonMark with tables; HTML is text, and no address is fetched."""
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _source(figure: Figure, names: Mapping[str, str]) -> str:
    tool = names.get(figure.call_id, "")
    return f"from {tool}: {figure.path}" if tool else f"from {figure.path}"


def _without_ours(text: str) -> str:
    """The text without our marks, written out or as an entity: else a model could mark its own figures as traced. Its
    length stays."""
    return _ENTITY.sub(_harmless, _OURS.sub("\ufffd", text))


def _harmless(entity: re.Match[str]) -> str:
    """The `&` of an entity, replaced where it would become one of our marks."""
    code = int(entity["hex"], 16) if entity["hex"] else int(entity["decimal"])
    return "\ufffd" if ord(_SHUT) <= code <= ord(_LAST) else "&"


def _marked(text: str, figures: Sequence[tuple[int, int]], untraced: Sequence[tuple[int, int]]) -> str:
    """The source with a mark at each begin and end; of what ends and begins at one place, the end comes first."""
    marks: list[tuple[int, int, str]] = []
    for number, (start, end) in enumerate(figures):
        marks += [(start, 3, chr(ord(_FIRST) + number)), (end, 0, _SHUT)]
    for start, end in untraced:
        begin = min(_OPENING.match(text, start).end(), end)  # type: ignore[union-attr]  # it matches nothing, too
        last = start + len(text[start:end].rstrip())
        marks += [(begin, 2, _OPENED), (max(begin, last), 1, _SHUT_UNTRACED)]
    parts, at = [], 0
    for place, _, mark in sorted(marks):
        parts += [text[at:place], mark]
        at = place
    return "".join([*parts, text[at:]])


def _all(nodes: Iterable[SyntaxTreeNode], drawing: _Drawing) -> list[Any]:
    return [part for node in nodes for part in _drawn(node, drawing)]


def _drawn(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    kind = node.type
    if kind == "paragraph" and node.hidden:
        return _all(node.children, drawing)
    if kind in _KINDS:
        return [_KINDS[kind](_all(node.children, drawing))]
    if kind in _OTHERS:
        return _OTHERS[kind](node, drawing)
    if node.children:
        return _all(node.children, drawing)
    return _words(node.content, drawing)


def _words(text: str, drawing: _Drawing) -> list[Any]:
    """Text with its marks turned into elements."""
    parts: list[Any] = []
    for piece in _MARKS.split(text):
        if piece == _SHUT:
            drawing.figure = None
        elif piece == _OPENED:
            drawing.is_untraced = True
        elif piece == _SHUT_UNTRACED:
            drawing.is_untraced = False
            parts.append(not_traced())
        elif piece and _OURS.match(piece):
            drawing.figure = ord(piece) - ord(_FIRST)
        elif piece:
            parts.append(_said(piece, drawing))
    return parts


def _said(text: str, drawing: _Drawing) -> Any:
    shown: Any = text
    if drawing.figure is not None:
        source = html.Span(drawing.sources[drawing.figure], className="fw-source", role="tooltip")
        shown = html.Span([text, source], className="fw-traced", tabIndex="0")
    return html.Span(shown, className="fw-untraced") if drawing.is_untraced else shown


def not_traced() -> Component:
    """The chip after a sentence with a figure that no result holds."""
    words = "A figure in this sentence stands in no result of a tool."
    return html.Span([icon("waste"), "not traced"], className="fw-chip fw-chip-waste fw-not-traced", title=words)


def _link(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    inside = _all(node.children, drawing)
    href = _OURS.sub("", _without_marks(str(node.attrs.get("href", ""))))
    own = own_address(href, drawing.base)
    if own is not None:
        return [html.A(inside, href=own)]
    if urlsplit(href).scheme in ("http", "https"):
        return [html.A(inside, href=href, target="_blank", rel="noopener noreferrer nofollow", title=href)]
    return inside


def _without_marks(href: str) -> str:
    """Markdown writes what is not ASCII as bytes."""
    return re.sub(r"%EE%8[0-9A-F]%[0-9A-F]{2}|%EF%A3%BF", "", href)


def own_address(href: str, base: str) -> str | None:
    """An address of the app, given below its prefix or with it; None for any other."""
    if not re.fullmatch(r"/(?![/\\])[^\\\s]*", href):
        return None
    return href if base != "/" and href.startswith(base) else base + href.removeprefix("/")


def _code(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    return [html.Code(_words(node.content, drawing))]


def _block_of_code(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    words = _words(node.content.rstrip("\n"), drawing)
    return [html.Pre(html.Code(words), className="fw-chat-code", tabIndex="0")]


def _ordered(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    start = {"start": str(node.attrs["start"])} if "start" in node.attrs else {}
    return [html.Ol(_all(node.children, drawing), **start)]


def _table(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    table = html.Table(_all(node.children, drawing), className="fw-table")
    return [html.Div(table, className="fw-table-box", tabIndex="0", role="region", **{"aria-label": "Table"})]


def _head(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    return [html.Th(_all(node.children, drawing), scope="col", **_side(node))]


def _cell(node: SyntaxTreeNode, drawing: _Drawing) -> list[Any]:
    return [html.Td(_all(node.children, drawing), **_side(node))]


def _side(node: SyntaxTreeNode) -> dict[str, str]:
    return {"className": "fw-number"} if "right" in str(node.attrs.get("style", "")) else {}


_OTHERS: Mapping[str, Callable[[SyntaxTreeNode, _Drawing], list[Any]]] = {
    "softbreak": lambda node, drawing: [" "],
    "hardbreak": lambda node, drawing: [html.Br()],
    "hr": lambda node, drawing: [html.Hr()],
    "image": lambda node, drawing: _words(node.content, drawing),
    "link": _link,
    "code_inline": _code,
    "code_block": _block_of_code,
    "fence": _block_of_code,
    "ordered_list": _ordered,
    "table": _table,
    "th": _head,
    "td": _cell,
}


def settled_length(text: str) -> int:
    """How many characters of a text that still grows are whole blocks, which nothing that follows can change."""
    if "\n\n" not in text:
        return 0
    is_in_code, settled, at = False, 0, 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(("```", "~~~")):
            is_in_code = not is_in_code
        at += len(line)
        if not line.strip() and not is_in_code:
            settled = at
    return settled
