"""Credentials for the metrics server, read again for every request so that rotated files count at once."""

from __future__ import annotations

from pathlib import Path

import requests
from pydantic import SecretStr
from requests.auth import AuthBase, HTTPBasicAuth

from configuration.checks import header_lines
from data.errors import SourceDenied
from settings import MetricsSettings, secret_text


class Authorization(AuthBase):
    """The headers of their file, then a bearer token, else a user name with password, else nothing.

    Given to every request, also when it adds nothing: requests would otherwise take credentials from ~/.netrc.
    """

    def __init__(self, settings: MetricsSettings) -> None:
        self._settings = settings

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        settings = self._settings
        request.headers.update(_more_headers(settings.headers_file))
        token = _secret(settings.token_file, settings.token.get_secret_value(), "token_file")
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
            return request
        if settings.username:
            password = _secret(settings.password_file, settings.password.get_secret_value(), "password_file")
            return HTTPBasicAuth(settings.username.encode(), password.encode())(request)  # type: ignore[no-any-return]
        return request


def _more_headers(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return header_lines(secret_text(SecretStr(""), path))
    except (OSError, ValueError) as err:
        raise SourceDenied(
            f"metrics.headers_file {path} cannot be used: {err}", hint="See metrics.headers_file."
        ) from err


def _secret(path: Path | None, given: str, field: str) -> str:
    if path is None:
        return _one_line(given.strip(), f"metrics.{field.removesuffix('_file')}")
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as err:
        raise SourceDenied(f"metrics.{field} {path} cannot be read: {err}", hint="Check its path and mode.") from err
    if not secret:
        raise SourceDenied(f"metrics.{field} {path} is empty")
    return _one_line(secret, f"metrics.{field} {path}")


def _one_line(secret: str, place: str) -> str:
    """What cannot be sent as a header would be shown in the error of the library that refuses it."""
    if not secret.isprintable():
        raise SourceDenied(f"{place} holds more than one line")
    if "token" in place and not secret.isascii():
        raise SourceDenied(f"{place} holds letters that no token has")
    return secret
