"""The index page: theme before the first paint, and the frame's outline until the app draws it."""

from __future__ import annotations

from html import escape

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
<script src="PREFIXassets/head/theme.js"></script>
{%favicon%}
{%css%}
</head>
<body>
{%app_entry%}
<noscript><p style="padding:1rem">Fullwarp needs JavaScript to draw its pages.</p></noscript>
{%config%}
{%scripts%}
{%renderer%}
</body>
</html>
"""


def index_string(prefix: str) -> str:
    """Dash's index template for an app under `prefix`."""
    return INDEX.replace("PREFIX", escape(prefix, quote=True))


def skeleton() -> str:
    """The outline of frame and Overview in the shape that the data will have; replaced when the app starts."""
    return (
        '<div id="react-entry-point"><div class="fw-shell" aria-busy="true" aria-label="Loading">'
        '<div class="fw-nav"><span class="fw-brand"><span class="fw-icon fw-icon-brand"></span>'
        '<span class="fw-label">Fullwarp</span></span></div><div class="fw-top"></div>'
        f'<div class="fw-page"><div class="fw-head">{_bone(6, 1.25)}</div>'
        f'<div class="fw-panel fw-kpis">{_kpi() * 7}</div>'
        f'<div class="fw-columns"><div class="fw-panel"><div class="fw-panel-head">{_bone(6, 1)}</div>'
        f'<div class="fw-map-body">{_rack() * 8}</div></div>'
        f'<div class="fw-panel fw-side"><div class="fw-panel-head">{_bone(8, 1)}</div>{_item() * 6}</div></div>'
        "</div></div></div>"
    )


def _bone(width: float, height: float) -> str:
    return f'<span class="fw-bone" style="width:{width}rem;max-width:100%;height:{height}rem"></span>'


def _kpi() -> str:
    bones = "".join(f'<span class="fw-bone" style="width:{width}%;height:{height}rem;margin-bottom:.5rem"></span>'
                    for width, height in ((70, 0.75), (50, 1.25), (80, 0.75)))  # fmt: skip
    return f'<div class="fw-kpi">{bones}</div>'


def _rack() -> str:
    node = '<span class="fw-bone" style="height:2.875rem"></span>'
    return f'<div class="fw-group"><div></div><div class="fw-nodes">{node * 6}</div></div>'


def _item() -> str:
    return f'<div class="fw-kpi" style="border-left:0">{_bone(12, 0.875)}<br>{_bone(9, 0.75)}</div>'
