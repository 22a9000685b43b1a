"""The connection to a Prometheus HTTP API: one time limit over everything, bounded retries, clear errors."""

from __future__ import annotations

import ipaddress
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson
import requests
from prometheus_api_client import PrometheusConnect
from urllib3.exceptions import HTTPError
from urllib3.util.retry import Retry

from data.collection import without_collection
from data.errors import SettingsError, SourceError, SourceGarbled, SourceTimeout, SourceUnreachable
from data.metrics.prometheus_auth import Authorization
from data.metrics.prometheus_deadline import Deadline, DeadlineAdapter
from data.metrics.prometheus_refusal import is_worth_another_try, refusal
from settings import MetricsSettings

# Decoded bytes of one answer: 64,000 series with all labels are 15 MB, 2 million raw samples 50 MB.
ANSWER_LIMIT = 512 * 1024 * 1024
_PIECE = 256 * 1024
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0
_NETWORK_ERRORS = (requests.RequestException, HTTPError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class Answer:
    data: Any
    warnings: tuple[str, ...] = ()


class Connection(PrometheusConnect):  # type: ignore[misc]
    """A PrometheusConnect whose requests end in time, put their parameters in the body and keep warnings.

    `requests` counts what went over the wire, retries included. `timeout_seconds` holds for a query with all
    its tries together.
    """

    def __init__(self, settings: MetricsSettings, answer_limit: int = ANSWER_LIMIT) -> None:
        url = _root(settings.url)
        auth = Authorization(settings)
        super().__init__(url, retry=Retry(0), auth=auth, session=_session(settings, url), method=settings.method)
        self._session.mount(url, DeadlineAdapter(pool_maxsize=16))
        self._limit_seconds = settings.timeout_seconds
        self._tries = settings.retries + 1
        self._answer_limit = answer_limit
        self._counted = threading.Lock()
        self.requests = 0

    def query(self, query: str, at: float | None, *, tries: int | None = None) -> Answer:
        """Evaluate at one moment (seconds since 1970); None = now by the server's own clock."""
        parameters = {"query": query} if at is None else {"query": query, "time": f"{at:.3f}"}
        return self.ask("/api/v1/query", parameters, method=self._method, tries=tries)

    def query_range(self, query: str, start: float, end: float, step: float) -> Answer:
        """Evaluate at start, start + step ... up to the end (seconds since 1970)."""
        moments = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return self.ask("/api/v1/query_range", {"query": query, **moments}, method=self._method)

    def ask(self, path: str, parameters: Mapping[str, Any], *, method: str = "GET", tries: int | None = None) -> Answer:
        """Ask with retries; raises a SourceError (or SettingsError for unreadable secrets).

        A failed try is followed by another after a pause that doubles, as long as the time limit allows.
        """
        deadline = Deadline(self._limit_seconds)
        last = tries or self._tries
        try:
            for attempt in range(1, last + 1):
                try:
                    return self._ask_once(path, parameters, method, deadline)
                except SourceError as err:
                    pause = _pause(attempt)
                    if attempt == last or not is_worth_another_try(err) or pause >= deadline.remaining:
                        raise
                    time.sleep(pause)
        finally:
            deadline.end()
        raise AssertionError("unreachable: the last try returns or raises")

    def _ask_once(self, path: str, parameters: Mapping[str, Any], method: str, deadline: Deadline) -> Answer:
        with self._counted:
            self.requests += 1
        where = "data" if method == "POST" else "params"
        try:
            with (
                deadline,
                self._session.request(
                    method,
                    self.url + path,
                    headers=self.headers,
                    auth=self.auth,
                    verify=self._session.verify,
                    cert=self._session.cert,
                    timeout=max(0.001, deadline.remaining),
                    stream=True,
                    allow_redirects=False,
                    **{where: dict(parameters)},
                ) as response,
            ):
                body = self._body(response)
        except _NETWORK_ERRORS as err:
            raise self._network_error(err, deadline) from err
        if deadline.is_over:
            raise self._too_late()
        return _read(response, body, self.url)

    def _body(self, response: requests.Response) -> bytes:
        body = bytearray()
        for piece in response.raw.stream(_PIECE, decode_content=True):
            body += piece
            if len(body) > self._answer_limit:
                raise SourceGarbled(
                    f"{self.url} gave an answer of more than {self._answer_limit // 2**20} MiB",
                    hint="Ask for a shorter time or fewer metrics.",
                )
        return bytes(body)

    def _network_error(self, err: Exception, deadline: Deadline) -> SourceError:
        if deadline.is_over or isinstance(err, requests.Timeout):
            return self._too_late()
        if isinstance(err, requests.exceptions.SSLError):
            return SourceUnreachable(
                f"no TLS connection to {self.url}: {_reason(err)}", hint="Check metrics.ca_file and the URL."
            )
        return SourceUnreachable(
            f"no answer from {self.url}: {_reason(err)}", hint="Check metrics.url and that the server runs."
        )

    def _too_late(self) -> SourceTimeout:
        return SourceTimeout(
            f"{self.url} gave no whole answer within {self._limit_seconds:g} s",
            hint="Raise metrics.timeout_seconds, or find out why the server is slow.",
        )


def _read(response: requests.Response, body: bytes, url: str) -> Answer:
    try:
        with without_collection():
            document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    known = document if isinstance(document, dict) else {}
    if response.status_code != 200 or known.get("status") == "error":
        raise refusal(response, known, body, url)
    if known.get("status") != "success" or "data" not in known:
        raise SourceGarbled(
            f"{url} answered with something else than Prometheus' JSON",
            hint="Check that metrics.url is the root of a Prometheus HTTP API.",
        )
    notes = [*(known.get("warnings") or []), *(known.get("infos") or [])]
    return Answer(known["data"], tuple(map(str, notes)))


def _session(settings: MetricsSettings, url: str) -> requests.Session:
    session = requests.Session()
    session.trust_env = not _is_loopback(url)
    # uncompressed: packing 10 MB costs the server more time than a local network needs to carry them
    session.headers.update({"User-Agent": "fullwarp", "Accept-Encoding": "identity", **settings.headers})
    session.verify = str(settings.ca_file) if settings.ca_file else True
    if settings.client_cert_file:
        certificate, key = str(settings.client_cert_file), settings.client_key_file
        session.cert = (certificate, str(key)) if key else certificate
    return session


def _root(text: str) -> str:
    """The URL without a trailing slash, query or fragment."""
    parts = urlsplit(text.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            "metrics.url must be a URL such as http://prometheus.example:9090",
            hint='Set it under [metrics], or there kind = "none" for a cluster without metrics.',
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _pause(attempt: int) -> float:
    """Seconds before the next try: doubling, with a spread so that many clients do not return at once."""
    doubled = _FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1)
    return min(_LONGEST_PAUSE_SECONDS, doubled) * random.uniform(1.0, 1.5)


def _reason(err: Exception) -> str:
    inner: BaseException = err
    while inner.__cause__ or inner.__context__:
        inner = inner.__cause__ or inner.__context__  # type: ignore[assignment]
    return f"{type(inner).__name__}: {inner}"[:200]
