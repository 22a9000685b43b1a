"""The index page: theme before the first paint, one style sheet, and the first view until the app has drawn its own."""

from __future__ import annotations

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
<script>THEME</script>
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


def index_string(theme_script: str) -> str:
    """Dash's index template with the theme's script in it."""
    return INDEX.replace("THEME", theme_script)


def app_entry(first_view: str) -> str:
    """Where the app draws itself, unseen below the first view until it has something to show."""
    return f'<div id="first-view" aria-hidden="true" inert>{first_view}</div><div id="react-entry-point"></div>'


def skeleton(*, is_overview: bool) -> str:
    """The inside of the page in the shape that its data will have."""
    body = _overview() if is_overview else f'<div class="fw-panel fw-bones">{_item() * 8}</div>'
    return f'<div class="fw-late"><div class="fw-head">{_bone(6, 1.25)}</div>{body}</div>'


def _overview() -> str:
    return (
        f'<div class="fw-panel fw-kpis">{_kpi() * 7}</div>'
        f'<div class="fw-columns"><div class="fw-panel"><div class="fw-panel-head">{_bone(6, 1)}</div>'
        f'<div class="fw-map-body">{_rack() * 8}</div></div>'
        f'<div class="fw-panel fw-side"><div class="fw-panel-head">{_bone(8, 1)}</div>{_item() * 6}</div></div>'
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
