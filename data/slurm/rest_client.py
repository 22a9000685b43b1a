"""Ask slurmrestd: credentials, version of its data, errors of the tree. One answer is one decoded JSON object."""

from __future__ import annotations

import re
import threading
from typing import Any, Final
from urllib.parse import urlencode

from data.errors import (
    CannotKnow,
    FullwarpError,
    NotFound,
    SettingsError,
    SourceDenied,
    SourceError,
    SourceGarbled,
    SourceUnreachable,
)
from data.slurm.answers import NOTHING_FOUND, check_errors, decoded
from data.slurm.jwt import Token, read_token
from data.slurm.records_json_fields import member
from data.slurm.wire import Answer, endpoint
from settings import SlurmSettings

OLDEST_VERSION: Final = 37  # Slurm 21.08; what came before has other shapes
_OFFERED: Final = re.compile(rb"/slurm\\?/v0\.0\.(\d+)")
_VERSION: Final = re.compile(r"v?0\.0\.(\d+)")
_SPECIFICATIONS: Final = ("/openapi/v3", "/openapi")
_TOKEN_HINT: Final = "make a new token (scontrol token username=NAME lifespan=604800) and see slurm.user"
_PRIVATE_HINT: Final = "PrivateData in slurm.conf hides it: sacctmgr modify user NAME set AdminLevel=Operator"
PATIENCE_SECONDS: Final = 5.0  # how long slurmrestd at least tries a slurmctld that is away
_NO_REASON: Final = re.compile(r"unspecified error", re.IGNORECASE)


class RestClient:
    """A slurmrestd at `settings.url`. Opens nothing before the first question; safe to share among threads."""

    def __init__(self, settings: SlurmSettings) -> None:
        self._settings = settings
        self._endpoint = endpoint(settings.url, settings.ca_file)
        self._forced = _forced_version(settings.api_version)
        self._version = self._forced
        self._lock = threading.Lock()
        self.requests = 0

    @property
    def version(self) -> int:
        """The number N of v0.0.N: the setting, or the newest that the server offers (asked once)."""
        if self._version is None:
            self._version = self._negotiated()
        return self._version

    def get(self, plugin: str, path: str, **query: str) -> dict[str, Any]:
        """The answer of /PLUGIN/v0.0.N/PATH, errors[] not yet looked at when the status is 200.

        Raises SourceUnreachable, SourceTimeout, SourceDenied, SourceGarbled, CannotKnow and NotFound.
        """
        place = f"/{plugin}/v0.0.{self.version}/{path}"
        answer = self._ask(f"{place}?{urlencode(query)}" if query else place)
        if answer.status == 404 and "json" not in answer.content_type:
            self._version = self._forced  # perhaps Slurm was upgraded: negotiate anew next time
        payload = self._opened(answer, place)
        if not path.startswith("job/"):
            _check_list(payload)
        return payload

    def token(self) -> Token | None:
        return read_token(self._settings.token.get_secret_value(), self._settings.token_file)

    def _ask(self, path: str) -> Answer:
        headers = self._headers()
        with self._lock:
            self.requests += 1
        return self._endpoint.get(path, headers, self._settings.timeout_seconds)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "fullwarp"}
        token = self.token()
        if token is not None:
            headers["X-SLURM-USER-TOKEN"] = token.text
            user = self._settings.user or token.user
            if user:
                headers["X-SLURM-USER-NAME"] = user
        return headers

    def _negotiated(self) -> int:
        error: FullwarpError | None = None
        for path in _SPECIFICATIONS:
            answer = self._ask(path)
            offered = [int(number) for number in set(_OFFERED.findall(answer.body))] if answer.status == 200 else []
            if offered:
                return _usable(max(offered))
            error = error or self._refusal(answer, path)
        raise error or SourceGarbled(
            f"{self._endpoint.address} does not say which versions it offers", hint="set slurm.api_version"
        )

    def _refusal(self, answer: Answer, path: str) -> FullwarpError | None:
        try:
            self._opened(answer, path)
        except FullwarpError as err:
            return None if isinstance(err, CannotKnow) else err
        return None

    def _opened(self, answer: Answer, path: str) -> dict[str, Any]:
        """The answer's object. Raises what its status or, unless that is 200, its errors[] say."""
        self._check_status(answer, path)
        try:
            payload = decoded(answer.body)
        except (SourceGarbled, NotFound) as err:
            raise SourceGarbled(f"{path} ({answer.status}): {err}", hint="see whether slurm.url is slurmrestd") from err
        if _is_unexplained(payload):
            raise self._explained(path, answer.seconds)
        if answer.status != 200:
            check_errors(payload)
            raise SourceGarbled(f"{self._endpoint.address} answered {answer.status} to {path} without a reason")
        return payload

    def _check_status(self, answer: Answer, path: str) -> None:
        said = f"{self._endpoint.address} answered {answer.status} to {path}"
        if answer.status in (401, 403):
            raise SourceDenied(said, hint=_TOKEN_HINT)
        if 300 <= answer.status < 400 or answer.status in (502, 503, 504):
            raise SourceUnreachable(f"{said}: a proxy in front, not slurmrestd", hint="see the proxy and slurm.url")

    def _explained(self, path: str, seconds: float) -> SourceError:
        """To 24.05, "Unspecified error" is all that is said of a bad token, of PrivateData and of an absent slurmctld.

        slurmdbd names a bad token, and a slurmctld that is away is tried for 9 seconds.
        """
        denied = SourceDenied(f"slurmrestd got no answer to {path}: the token is not valid", hint=_TOKEN_HINT)
        try:
            payload = decoded(self._ask(f"/slurmdb/v0.0.{self._version}/tres").body)
            if _is_unexplained(payload):
                return denied
            check_errors(payload)
        except SourceDenied:
            return denied
        except FullwarpError:
            pass
        if seconds < PATIENCE_SECONDS:
            return SourceDenied(f"slurmctld refuses {path} to this account", hint=_PRIVATE_HINT)
        return SourceUnreachable(
            f"slurmrestd got no answer to {path}: slurmctld does not answer it", hint="scontrol ping"
        )


def _check_list(payload: dict[str, Any]) -> None:
    """A list that is "not found" is an error, but for slurmdbd's way to say that it is empty."""
    errors = payload.get("errors")
    if isinstance(errors, list) and {member(error, "error_number") for error in errors} == {NOTHING_FOUND}:
        return
    try:
        check_errors(payload)
    except NotFound as err:
        raise SourceError(str(err), hint=err.hint) from err


def _is_unexplained(payload: dict[str, Any]) -> bool:
    errors = payload.get("errors")
    return (
        isinstance(errors, list)
        and bool(errors)
        and all(isinstance(error, dict) and _NO_REASON.search(str(error.get("error"))) for error in errors)
    )


def _usable(version: int) -> int:
    if version < OLDEST_VERSION:
        raise CannotKnow(
            f"slurmrestd offers no newer data version than v0.0.{version}",
            hint="read Slurm by its commands: slurm.kind = commands",
        )
    return version


def _forced_version(text: str) -> int | None:
    if not text:
        return None
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise SettingsError(f"slurm.api_version = {text!r} must look like v0.0.41", hint="leave it empty to negotiate")
    return int(match[1])
