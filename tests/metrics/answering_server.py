"""A loopback HTTP server that answers as told, for what a real Prometheus cannot be made to say."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

EMPTY = b'{"status":"success","data":[]}'


class AnsweringServer:
    """Answers each path with its body, others with an empty success. `headers` are those of the requests so far."""

    def __init__(
        self, status: int = 200, bodies: Mapping[str, bytes] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                outer.headers.append(dict(self.headers.items()))
                body = (bodies or {}).get(self.path.partition("?")[0], EMPTY)
                self.send_response(status)
                for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> AnsweringServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
