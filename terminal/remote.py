"""A Fullwarp server, asked over its API in the place of the cluster: the same answers, as the same dataclasses."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit
from zoneinfo import ZoneInfo

import requests
from pydantic import TypeAdapter, ValidationError

from configuration.checks import web_address
from data.errors import (
    BadRequest,
    CannotKnow,
    FullwarpError,
    NotFound,
    SettingsError,
    SourceDenied,
    SourceError,
    SourceGarbled,
    SourceTimeout,
    SourceUnreachable,
)
from data.metrics.prometheus_deadline import Deadline, DeadlineAdapter
from policy.model import JobVerdict
from policy.queries import VerdictList
from terminal.form import UNLIMITED, ZONE_HEADER

T = TypeVar("T")
TIMEOUT_SECONDS = 60.0
MOST_PASSED = 4 << 20
_PAGE = 1000
_ENDLESS = "time_limit_seconds"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said, and the zone in which it writes times."""

    body: Any
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Passed:
    """What the server answered to somebody else's request: its status and a JSON object."""

    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Following:
    next: str | None


@dataclass(frozen=True, slots=True)
class _Part:
    """One page of verdicts."""

    answer: VerdictList
    page: _Following


class Bearer(requests.auth.AuthBase):
    """The token alone: without this, an entry in ~/.netrc would be sent in its place."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class RemoteServer:
    """One server and one token. Raises the same errors as the questions themselves, and SourceError."""

    def __init__(self, url: str, token: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._base = _checked(url)
        self._timeout_seconds = timeout_seconds
        self._session = requests.Session()
        self._session.auth = Bearer(token)
        self._session.mount(self._base, DeadlineAdapter())

    def verdicts(self) -> tuple[VerdictList, ZoneInfo]:
        """All verdicts that the token may see, page after page."""
        parts: list[_Part] = []
        following: str | None = f"api/v1/gpu-efficiency?limit={_PAGE}"
        while following:
            answer = self._get(urljoin(self._base, following))
            parts.append(read_as(_Part, answer.body))
            following = parts[-1].page.next
        verdicts = tuple(one for part in parts for one in part.answer.verdicts)
        return replace(parts[0].answer, verdicts=verdicts), answer.zone

    def verdict(self, job_id: str) -> tuple[JobVerdict, ZoneInfo]:
        answer = self._get(f"{self._base}api/v1/gpu-efficiency/{quote(job_id, safe='')}")
        return read_as(JobVerdict, answer.body), answer.zone

    def ask(self, path: str) -> Any:
        """The body of any route, as it came; `path` is what stands behind /api/v1/, with its parameters."""
        return self._get(f"{self._base}api/v1/{path}").body

    def pass_on(self, method: str, path: str, asked: Mapping[str, str], given: bytes | None) -> Passed:
        """A request for somebody else, behind /api/: of theirs it carries `asked` in its address and `given`, a JSON
        object, as its body. Raises SourceError where the server refuses the token or does not answer as Fullwarp."""
        headers = {"Accept": "application/json", "X-Requested-With": "fullwarp"}
        if given is not None:
            headers["Content-Type"] = "application/json"
        status, raw = self._sent(method, f"{self._base}api/{path}", params=asked, data=given, headers=headers)
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        is_ours = isinstance(body, dict) and (status == 200 or isinstance(body.get("error"), dict))
        if not is_ours or status in (401, 403):
            raise _error(self._base, status, body)
        return Passed(status, body)

    def _sent(self, method: str, address: str, **more: Any) -> tuple[int, bytes]:
        """Status and body; a server that sends too much does not answer."""
        more |= {"timeout": self._timeout_seconds, "allow_redirects": False, "stream": True}
        raw = b""
        with self._reaching(), self._session.request(method, address, **more) as answer:
            for part in answer.iter_content(1 << 16):
                raw += part
                if len(raw) > MOST_PASSED:
                    raise SourceGarbled(f"{self._base} answered more than {MOST_PASSED:,} bytes")
        return answer.status_code, raw

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """One time limit over all that is done within, and its failures as ours."""
        deadline = Deadline(self._timeout_seconds)
        try:
            with deadline:
                yield
            if deadline.is_over:
                raise requests.Timeout
        except requests.RequestException as err:
            if deadline.is_over or isinstance(err, requests.Timeout):
                raise SourceTimeout(f"{self._base} did not answer within {self._timeout_seconds:.0f} s") from err
            raise SourceUnreachable(
                f"{self._base} cannot be reached: {_cause(err)}", hint="See --server or FULLWARP_SERVER."
            ) from err
        finally:
            deadline.end()

    def _get(self, address: str) -> Answer:
        with self._reaching():
            answer = self._session.get(address, timeout=self._timeout_seconds, allow_redirects=False)
        body = _json(answer)
        if answer.status_code == 200 and isinstance(body, dict):
            return Answer(body, _zone(answer))
        raise _error(self._base, answer.status_code, body)


def _checked(url: str) -> str:
    """The address with a slash at its end. Raises SettingsError where a token must not be sent."""
    hint = "Such as https://fullwarp.example.org/"
    try:
        address = web_address("http", "https")(url)
    except ValueError as err:
        raise SettingsError(f"--server {url[:200]!r} is no address: {err}", hint=hint) from err
    parts = urlsplit(address)
    if not parts.hostname:
        raise SettingsError(f"--server {url[:200]!r} is no address: it names no server", hint=hint)
    if parts.scheme == "http" and not _is_here(parts.hostname):
        raise SettingsError(
            f"--server {url[:200]} would send the token in the open", hint="Use https://, or a server on this host."
        )
    return f"{address}/"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(file: Path | None, text: str) -> str:
    """The token of the file, else the text of FULLWARP_TOKEN. Raises SettingsError."""
    try:
        token = (file.read_text(encoding="utf-8") if file is not None else text).strip()
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"--token-file {file} cannot be read: {err}") from err
    if not token:
        hint = "Make one: fullwarp token create; give its file with --token-file, or the token in FULLWARP_TOKEN."
        raise SettingsError(f"--token-file {file} is empty" if file else "a server needs a token", hint=hint)
    if not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError("the token is not one word", hint="It begins with fullwarp_ and stands on one line.")
    return token


def _json(answer: requests.Response) -> Any:
    try:
        return answer.json()
    except requests.JSONDecodeError:
        return None


def _zone(answer: requests.Response) -> ZoneInfo:
    try:
        return ZoneInfo(answer.headers.get(ZONE_HEADER, "UTC"))
    except (ValueError, OSError):
        return ZoneInfo("UTC")


def _error(base: str, status: int, body: object) -> FullwarpError:
    """The server's own words where it has the form of the API."""
    problem = body.get("error") if isinstance(body, dict) else None
    if not isinstance(problem, dict):
        return SourceGarbled(
            f"{base} answered {status}, and not as Fullwarp does", hint="Is it the right address, without a login?"
        )
    message, hint = str(problem.get("message", "")), str(problem.get("hint", ""))
    if status in (401, 403):
        return SourceDenied(f"{base} refuses the token: {message}", hint=hint)
    if problem.get("code") == "not_found":
        return NotFound(message, hint=hint)
    if problem.get("code") == CannotKnow.code:
        return CannotKnow(message, hint=hint)
    if status == 400:
        return BadRequest(message, hint=hint)
    return SourceError(f"{base} answered {status}: {message}", hint=hint)


def read_as(kind: type[T], body: object) -> T:
    """A body as a dataclass of this version. Raises SourceGarbled that names the first field that does not fit."""
    try:
        adapter = _adapter(kind)  # type: ignore[arg-type]  # a class is hashable, which mypy does not see
        found: T = adapter.validate_python(_with_infinity(body))
    except ValidationError as err:
        first = err.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise SourceGarbled(
            f"the answer cannot be read: {place}: {first['msg']}", hint="Is the server of another version?"
        ) from err
    return found


@lru_cache(maxsize=32)
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _with_infinity(value: object) -> object:
    if isinstance(value, Mapping):
        return {
            key: math.inf if key == _ENDLESS and item == UNLIMITED else _with_infinity(item)
            for key, item in value.items()
        }
    return [_with_infinity(item) for item in value] if isinstance(value, list) else value


def _cause(err: BaseException) -> str:
    """The innermost reason, in one line."""
    while err.__cause__ or err.__context__:
        err = err.__cause__ or err.__context__ or err
    return str(err).splitlines()[0][:200] if str(err) else type(err).__name__
