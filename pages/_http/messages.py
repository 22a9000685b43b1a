"""Whole pages without Dash: for people who may not (or cannot) load the app."""

from __future__ import annotations

from html import escape

_STYLE = (
    "body{margin:0;min-height:100vh;display:grid;place-items:center;background:#F7F8F9;color:#15181D;"
    "font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}"
    "main{max-width:26rem;padding:2rem;text-align:center}h1{font-size:18px;margin:0 0 .5rem}"
    "p{margin:.25rem 0;color:#4E5561}"
    "@media(prefers-color-scheme:dark){body{background:#0B0D10;color:#ECEEF1}p{color:#AEB5C0}}"
)


def message_page(title: str, why: str, what_to_do: str) -> str:
    """A page that says what is so, why, and what to do."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} - Fullwarp</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1><p>{escape(why)}</p><p>{escape(what_to_do)}</p></main></body></html>"
    )
