"""Bundles from memory: compressed once, answered by ETag, bounded."""

from __future__ import annotations

import gzip

import brotli
import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from pages._http.statics import Kept, Shelf, serve_from_memory, wanted_encoding

BODY = b"body { color: red } " * 200


@pytest.fixture
def client() -> FlaskClient:
    server = Flask(__name__, static_folder=None)
    serve_from_memory(server, "/")
    served: list[str] = []

    @server.get("/assets/<name>")
    def asset(name: str) -> Response:
        served.append(name)
        return Response(BODY, mimetype="text/css")

    @server.get("/data")
    def data() -> Response:
        return Response(BODY, mimetype="application/json")

    @server.get("/stream")
    def stream() -> Response:
        return Response((part for part in (BODY, BODY)), mimetype="text/event-stream")

    server.config["SERVED"] = served
    return server.test_client()


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("br, gzip", "br"),
        ("gzip, deflate", "gzip"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("", ""),
        ("identity", ""),
        ("BR", "br"),
        ("br;q=0.0", ""),
    ],
)
def test_the_best_coding_that_the_browser_takes_is_chosen(accepted: str, coding: str) -> None:
    assert wanted_encoding(accepted) == coding


@pytest.mark.parametrize(("coding", "open_up"), [("br", brotli.decompress), ("gzip", gzip.decompress)])
def test_a_file_is_compressed_and_read_once(client: FlaskClient, coding: str, open_up: object) -> None:
    answers = [client.get("/assets/a.css", headers={"Accept-Encoding": coding}) for _ in range(3)]
    assert {answer.headers["Content-Encoding"] for answer in answers} == {coding}
    assert {open_up(answer.data) for answer in answers} == {BODY}  # type: ignore[operator]
    assert client.application.config["SERVED"] == ["a.css"]


def test_a_known_etag_gets_304_without_a_body(client: FlaskClient) -> None:
    etag = client.get("/assets/a.css").headers["ETag"]
    again = client.get("/assets/a.css", headers={"If-None-Match": etag})
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize(
    ("path", "control"),
    [
        ("/assets/a.css?m=1719.5", "public, max-age=31536000, immutable"),
        ("/assets/a.v1_2m1719.css", "public, max-age=31536000, immutable"),
        ("/assets/a.css", "public, max-age=300"),
    ],
)
def test_only_an_address_with_a_version_is_kept_for_ever(client: FlaskClient, path: str, control: str) -> None:
    for _ in range(2):
        assert client.get(path).headers["Cache-Control"] == control


def test_invented_versions_of_a_file_take_one_place(client: FlaskClient) -> None:
    for version in range(20):
        client.get(f"/assets/a.css?m={version}")
    assert client.application.config["SERVED"] == ["a.css"]


def test_data_is_compressed_and_streams_are_left_alone(client: FlaskClient) -> None:
    data = client.get("/data", headers={"Accept-Encoding": "br"})
    stream = client.get("/stream", headers={"Accept-Encoding": "br"})
    assert brotli.decompress(data.data) == BODY
    assert "Content-Encoding" not in stream.headers
    assert stream.data == BODY * 2


def test_the_shelf_drops_what_was_least_used() -> None:
    shelf = Shelf(max_bytes=25)
    for name in ("a", "b"):
        shelf.put((name, "", False), Kept(b"x" * 10, "text/css", name, "", ""))
    shelf.get(("a", "", False))
    shelf.put(("c", "", False), Kept(b"x" * 10, "text/css", "c", "", ""))
    assert [shelf.get((name, "", False)) is not None for name in "abc"] == [True, False, True]
