"""Whatever somebody writes into an address, a field or a callback stays a text: it is shown or refused, and does
nothing. Walks every route, every parameter of the API, every query field of the pages, and every callback."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

import orjson
import pytest
from flask.testing import FlaskClient

from api.operations import OPERATIONS
from app import open_app
from components.jobs_list import FILTERS
from data.metrics.prometheus import PrometheusSource
from pages._request import backing
from settings import MetricsSettings
from tests.queries.cluster import open_fakes
from tests.services.web import PREFIX, STAFF, USER, NoDay, NoVerdicts

ROOT = Path(__file__).resolve().parents[2]
MARK = "fwmark"
TEXTS = {
    "html": f"<img src=x onerror={MARK}>",
    "attribute": f"\"'><svg/onload={MARK}>",
    "header": f"x\r\nSet-Cookie: {MARK}=1\r\n\r\n<b>{MARK}</b>",
    "promql": f'x"}} or vector(1) or {{{MARK}="',
    "sql": f"x' OR '1'='1'; DROP TABLE {MARK}; --",
    "path": f"../../../../etc/passwd/{MARK}",
    "template": f"{{{{7*7}}}}${{{MARK}}}%s%n",
    "nul": f"x\0{MARK}\ud7ff\u202e",
    "long": MARK * 500,
}
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAMES_IN_PAGES = re.compile(r"""query(?:\.get\(|, |\[)["'](\w+)["']""")


class Prometheus:
    """Knows no series, and keeps every query."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        queries = self.queries

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"] or 0)).decode())
                queries.extend(form.get("query", []))
                kind = "matrix" if self.path.endswith("query_range") else "vector"
                self._answer({"resultType": kind, "result": []})

            def do_GET(self) -> None:
                self._answer([])

            def _answer(self, data: object) -> None:
                body = orjson.dumps({"status": "success", "data": data})
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing."""

        return Handler


@pytest.fixture(scope="module")
def prometheus() -> Iterator[Prometheus]:
    made = Prometheus()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def client(web_app: Any, prometheus: Prometheus) -> Iterator[FlaskClient]:
    """The small cluster, with a metrics server that keeps what it is asked."""
    fakes = open_fakes()
    asked = PrometheusSource(MetricsSettings(url=prometheus.url, dialects=["dcgm_exporter"]), "")
    open_app(web_app, replace(fakes, metrics=asked))
    own = backing(web_app.server)
    own.day, own.verdicts = NoDay(), NoVerdicts()
    yield web_app.server.test_client()
    asked.close()


def check(answer: Any, what: str) -> None:
    """No failure of ours, no header of theirs, no markup of theirs in a page."""
    assert answer.status_code < 500, f"{what}: {answer.status_code} {answer.text[:300]}"
    assert "Set-Cookie" not in answer.headers, what
    assert not [name for name, value in answer.headers if MARK in name or "\n" in value], what
    if answer.mimetype == "text/html":
        assert not re.search(rf"<(?:img|svg|b)\b[^>]*{MARK}", answer.text), what


def page_fields() -> set[str]:
    """Every query field that the pages read, by the words in their code."""
    found = {name for path in (ROOT / "pages").glob("*.py") for name in _NAMES_IN_PAGES.findall(path.read_text())}
    return found | set(FILTERS)


def rules(client: FlaskClient) -> list[str]:
    """Every route that answers GET, with its own parts in braces."""
    skipped = ("assets/", "_dash-component-suites/", "_bundle/")
    found = {rule.rule for rule in client.application.url_map.iter_rules() if "GET" in (rule.methods or ())}
    return sorted(rule for rule in found if not rule.removeprefix(PREFIX).startswith(skipped))


def test_the_walk_meets_what_it_should() -> None:
    assert {"at", "q", "user", "account", "partition", "since", "node", "metric"} - page_fields() <= {"node", "metric"}
    assert len(page_fields()) > 15


@pytest.mark.parametrize("kind", TEXTS)
def test_no_route_fails_or_echoes_markup(client: FlaskClient, kind: str) -> None:
    text = TEXTS[kind]
    query = urlencode(dict.fromkeys(sorted(page_fields()), text))
    for rule in rules(client):
        path = re.sub(r"<[^>]+>", quote(text, safe=""), rule)
        for user in (USER, STAFF):
            answer = client.get(f"{path}?{query}", headers={"X-Remote-User": user, "Accept": "text/html"})
            check(answer, f"{rule} {kind}")


@pytest.mark.parametrize("kind", TEXTS)
def test_no_parameter_of_the_api_fails(client: FlaskClient, kind: str) -> None:
    text = TEXTS[kind]
    for one in OPERATIONS:
        if one.changes:
            continue
        path = f"{PREFIX}api/v1/" + re.sub(r"{\w+}", quote(text, safe=""), one.path)
        for name in set(one.parameters.model_fields) - set(one.in_path):
            answer = client.get(f"{path}?{urlencode({name: text})}", headers={"X-Remote-User": STAFF})
            check(answer, f"{one.name} {name} {kind}")
            assert answer.mimetype in ("application/json", "text/html"), one.name


@pytest.mark.parametrize("kind", TEXTS)
def test_no_page_fails_at_its_first_data(client: FlaskClient, kind: str) -> None:
    import dash

    text = TEXTS[kind]
    search = "?" + urlencode(dict.fromkeys(sorted(page_fields()), text))
    for page in dash.page_registry.values():
        template = str(page.get("path_template") or page["path"]).strip("/")
        path = PREFIX + re.sub(r"<[^>]+>", quote(text, safe=""), template)
        check(ask_page(client, path, search), f"{page['name']} {kind}")


def ask_page(client: FlaskClient, path: str, search: str) -> Any:
    body = {
        "output": ".._pages_content.children..._pages_store.data..",
        "outputs": [{"id": "_pages_content", "property": "children"}, {"id": "_pages_store", "property": "data"}],
        "inputs": [
            {"id": "_pages_location", "property": "pathname", "value": path},
            {"id": "_pages_location", "property": "search", "value": search},
        ],
        "changedPropIds": [],
        "state": [],
    }
    return client.post(f"{PREFIX}_dash-update-component", json=body, headers={"X-Remote-User": STAFF})


WHERE = ("inputs", "state")


def value_of(part: dict[str, str], kind: str) -> object:
    """The text, in the shape that a page's own store has."""
    query = urlencode(dict.fromkeys(sorted(page_fields()), TEXTS[kind]))
    known: dict[str, object] = {
        "eff-words": {"now": "2026-03-02T00:00:00+00:00", "query": query},
        "eff-step": {"left": 1, "ready": 0},
        "policy-words": query,
    }
    return 1 if part["property"] == "n_intervals" else known.get(part["id"], TEXTS[kind])


@pytest.mark.parametrize("kind", TEXTS)
def test_no_callback_fails(client: FlaskClient, kind: str) -> None:
    for one in client.get(f"{PREFIX}_dash-dependencies", headers={"X-Remote-User": STAFF}).json:
        if one.get("clientside_function") or one["output"].startswith(".._pages_content"):
            continue
        names = [name.split("@")[0].rsplit(".", 1) for name in one["output"].strip(".").split("...")]
        outputs = [{"id": name, "property": prop} for name, prop in names]
        parts = {where: [{**part, "value": value_of(part, kind)} for part in one[where]] for where in WHERE}
        first = one["inputs"][0]
        body = {
            "output": one["output"],
            "outputs": outputs if one["output"].startswith("..") else outputs[0],
            **parts,
            "changedPropIds": [f"{first['id']}.{first['property']}"],
        }
        answer = client.post(f"{PREFIX}_dash-update-component", json=body, headers={"X-Remote-User": USER})
        check(answer, f"{one['output']} {kind}")


def test_every_text_stayed_within_its_quotes(client: FlaskClient, prometheus: Prometheus) -> None:
    """The last of this file: the other tests have asked."""
    client.get(f"{PREFIX}api/v1/jobs/1/series?metric=gpu_utilization", headers={"X-Remote-User": STAFF})
    assert prometheus.queries
    assert [query for query in prometheus.queries if MARK in QUOTED.sub('""', query)] == []
