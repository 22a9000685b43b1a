"""The index page: the theme first, the outline of the frame, nothing that is not used."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

from bs4 import BeautifulSoup

from pages._request import backing
from tests.services.web import PREFIX, USER


def index(web_app: Any) -> BeautifulSoup:
    answer = web_app.server.test_client().get(PREFIX, headers={"X-Remote-User": USER})
    return BeautifulSoup(answer.text, "lxml")


def test_the_theme_is_set_before_any_style_sheet(web_app: Any) -> None:
    first, second = index(web_app).head.select("script, link[rel=stylesheet]")
    assert "data-bs-theme" in first.string and second["href"].startswith(f"{PREFIX}_bundle/fullwarp-")


def test_without_a_picture_the_outline_has_the_shape_of_the_page(web_app: Any) -> None:
    backing(web_app.server).opened = None
    entry = index(web_app).select_one("#first-view")
    assert [len(entry.select(part)) for part in (".fw-nav", ".fw-top", ".fw-kpis > .fw-kpi", ".fw-group")] == [
        1,
        1,
        7,
        8,
    ]


def test_the_plotly_bundle_is_not_loaded_with_the_page(web_app: Any) -> None:
    scripts = [str(tag.get("src")) for tag in index(web_app).select("script[src]")]
    assert any("dash_core_components" in address for address in scripts) and len(scripts) < 10
    assert [address for address in scripts if "plotly" in address] == []


def test_every_script_in_the_page_itself_is_allowed_by_its_hash(web_app: Any) -> None:
    answer = web_app.server.test_client().get(PREFIX, headers={"X-Remote-User": USER})
    page = BeautifulSoup(answer.text, "lxml")
    inline = [tag.string for tag in page.select("script:not([src])") if tag.get("type") != "application/json"]
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in inline]
    policy = answer.headers["Content-Security-Policy"]
    assert inline and [one for one in hashes if f"'sha256-{one}'" not in policy] == []


def test_the_script_of_the_table_is_named_and_not_loaded(web_app: Any) -> None:
    page = index(web_app)
    named = page.select_one("#late-scripts")["data-dash_ag_grid"]
    assert named not in [tag.get("src") for tag in page.select("script[src]")]
    answer = web_app.server.test_client().get(named, headers={"X-Remote-User": USER})
    assert answer.status_code == 200 and b"window.dash_ag_grid=" in answer.data
