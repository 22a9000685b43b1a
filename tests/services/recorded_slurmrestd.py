"""A loopback server that gives recorded answers of slurmrestd, as it gave them: same status, same bytes."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any


class RecordedSlurmrestd:
    """Serve the files of one `folder` per data version (.../0.0.44). `seen` keeps the path and headers of each request.

    /slurmdb/vX/jobs is put together from the recorded single jobs; users were not recorded, and are none.
    """

    def __init__(self, folder: Path, *, specification: str = "/openapi/v3") -> None:
        self.folder = folder
        self.version = f"v{folder.name}"
        self.seen: list[tuple[str, dict[str, str]]] = []
        self._specification = specification
        self._status = json.loads((folder / "status.json").read_text())
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> RecordedSlurmrestd:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def file_of(self, path: str) -> str:
        """The name of the recording for a path: /slurm/v0.0.44/jobs is slurm-jobs."""
        plugin, _, rest = path.strip("/").partition(f"/{self.version}/")
        page, _, number = rest.strip("/").partition("/")
        return f"{plugin}-{page}" if page != "job" else self._file_of_job(plugin, number)

    def _file_of_job(self, plugin: str, number: str) -> str:
        for file in sorted(self.folder.glob(f"{plugin}-job-*.json")):
            if any(str(job["job_id"]) == number for job in json.loads(file.read_text())["jobs"]):
                return file.stem
        return f"{plugin}-job-unfound"

    def answer(self, path: str) -> tuple[int, str, bytes]:
        if path == self._specification:
            offered = {f"/{plugin}/{self.version}/jobs/": {} for plugin in ("slurm", "slurmdb")}
            older = {"/slurm/v0.0.40/jobs/": {}, "/slurmdb/v0.0.40/jobs/": {}}
            return 200, "application/json", json.dumps({"paths": older | offered}).encode()
        name = self.file_of(path)
        if name == "slurmdb-jobs":
            return 200, "application/json", json.dumps(self._all_jobs()).encode()
        if name == "slurmdb-users":
            return 200, "application/json", b'{"users": [], "errors": []}'
        for file in (self.folder / f"{name}.json", self.folder / f"{name}.txt"):
            if file.exists():
                recorded = self._status.get(name, {"status": 200, "content-type": "application/json"})
                return recorded["status"], recorded["content-type"], file.read_bytes()
        return 404, "text/plain", (self.folder / "slurm-not-found.txt").read_bytes()

    def _all_jobs(self) -> dict[str, Any]:
        answers = [json.loads(file.read_text()) for file in sorted(self.folder.glob("slurmdb-job-*.json"))]
        jobs = {str(job["job_id"]): job for answer in answers for job in answer["jobs"]}
        return answers[0] | {"jobs": list(jobs.values()), "errors": []}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        recorded = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                recorded.seen.append((self.path, dict(self.headers)))
                status, kind, body = recorded.answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
