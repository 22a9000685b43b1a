"""The wanted forms of values, each with words that name it."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_network
from typing import Annotated
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, SecretStr

_RANGES = r"\[\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*\]"
_HOST = rf"[\w.\-]*(?:{_RANGES}[\w.\-]*)*"
_HOST_LIST = re.compile(rf"(?=.*\w){_HOST}(?:,\s*{_HOST})*", re.ASCII)
_ORIGIN_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", re.ASCII)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RANGE = re.compile(r"(?<=[\[,])(\d+)-(\d+)(?=[\],])")


def known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as err:
        raise ValueError("must be a time zone such as Europe/Berlin or UTC") from err
    return name


def web_address(*schemes: str) -> Callable[[str], str]:
    def checked(url: str) -> str:
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise ValueError("must not hold a user name or password; they have fields of their own")
        if url and (parts.scheme not in schemes or not (parts.netloc or parts.path.strip("/"))):
            raise ValueError(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)} and name a server")
        if not _has_port_or_none(parts):
            raise ValueError("must have a port from 1 to 65535, or none")
        return url.rstrip("/")

    return checked


def _has_port_or_none(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def redis_address(url: SecretStr) -> SecretStr:
    if url.get_secret_value() and not url.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("must begin with redis://, rediss:// or unix://")
    return url


def listening_place(bind: str) -> str:
    host, _, port = bind.rpartition(":")
    is_port = bool(host) and port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if not (bind.startswith("unix:/") and len(bind) > 6) and not (is_port and "/" not in host):
        raise ValueError("must be host:port (a port from 1 to 65535) or unix:/path/to.sock")
    return bind


def host_list(text: str) -> str:
    """A host list as Slurm writes it, such as gpu[001-006,010],login1; every range rises, and none is huge."""
    if not _HOST_LIST.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no host list such as gpu[001-006,010]")
    for first, last in _RANGE.findall(text):
        if not 0 <= int(last) - int(first) < 65536:
            raise ValueError(f"{first}-{last} is no range of hosts")
    return text


def http_headers(headers: dict[str, str]) -> dict[str, str]:
    """Headers as they can be sent; the complaint names a header and never its value, which may be a secret."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name[:80]!r} is no name of a header")
        if not value.isprintable() or not value.isascii() or value != value.strip():
            raise ValueError(f"the value of {name} must be one line of plain ASCII without spaces around it")
    return headers


def header_lines(text: str) -> dict[str, str]:
    """Headers written one a line, as in HTTP. Raises ValueError, which names no value."""
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError("a line is no header: Name: value")
        found[name.strip()] = value.strip()
    return http_headers(found)


def known_network(text: str) -> str:
    ip_network(text, strict=False)
    return text


def origin(text: str) -> str:
    """An origin as a browser sends it: scheme, host, and a port where it is not the scheme's own."""
    parts = urlsplit(text)
    if (
        parts.scheme not in ("http", "https")
        or not _ORIGIN_HOST.fullmatch(parts.netloc)
        or not _has_port_or_none(parts)
    ):
        raise ValueError("must be an origin such as https://portal.example.org, without a path")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("must be an origin such as https://portal.example.org, without a path")
    return f"{parts.scheme}://{parts.netloc.lower()}"


Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Ratio = Annotated[float, Field(ge=0, le=1)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]
