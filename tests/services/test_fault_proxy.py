"""The proxy itself, against a small real HTTP server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from tests.services.fault_proxy import FaultProxy

BODY = b'{"status": "success", "data": [1, 2, 3]}'


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(200)
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
        else:
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

    do_POST = do_GET

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def target() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def proxy(target: int) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", target) as proxy:
        yield proxy


def test_every_request_on_one_kept_alive_connection_is_counted(proxy: FaultProxy) -> None:
    with requests.Session() as session:
        for path in ("/a", "/chunked", "/c"):
            assert session.post(proxy.url + path, data={"query": "up"}).content == BODY
    assert (proxy.requests, proxy.connections) == (3, 1)
    assert proxy.paths == ["/a", "/chunked", "/c"]


@pytest.mark.parametrize("mode", ["cut", "noise", "half"])
def test_a_broken_connection_is_an_error_for_the_client_and_still_a_request(proxy: FaultProxy, mode: str) -> None:
    proxy.mode = mode
    with pytest.raises(requests.RequestException):
        requests.get(proxy.url, timeout=5)
    assert proxy.requests >= 1


def test_refuse_closes_the_port_and_pass_opens_the_same_one_again(proxy: FaultProxy) -> None:
    port = proxy.port
    with requests.Session() as session:
        session.get(proxy.url, timeout=5)
        proxy.mode = "refuse"
        with pytest.raises(requests.ConnectionError):
            session.get(proxy.url, timeout=5)
        proxy.mode = "pass"
        assert session.get(proxy.url, timeout=5).content == BODY
    assert proxy.port == port


def test_500_and_garbage_answer_by_themselves_and_keep_the_connection(proxy: FaultProxy) -> None:
    with requests.Session() as session:
        proxy.mode = "500"
        assert session.get(proxy.url, timeout=5).status_code == 500
        proxy.mode = "garbage"
        garbled = session.get(proxy.url, timeout=5)
    with pytest.raises(ValueError):
        garbled.json()
    assert proxy.connections == 1


def test_delay_and_drip_outlast_an_impatient_client_in_different_ways(proxy: FaultProxy) -> None:
    proxy.mode, proxy.delay_seconds = "delay", 3.0
    with pytest.raises(requests.Timeout):
        requests.get(proxy.url, timeout=0.3)
    proxy.mode, proxy.drip_seconds = "drip", 0.002
    assert requests.get(proxy.url, timeout=5).content == BODY
