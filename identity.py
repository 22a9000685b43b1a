"""Who asks: a request behind a trusted proxy, a Unix process, or the demo -> Viewer. Exactly one, no fall-back."""

from __future__ import annotations

import grp
import hmac
import logging
import os
import pwd
import re
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from data.model import Association, Role, Viewer, Visibility
from settings import ExposureSettings, IdentityKind, IdentitySettings, secret_text

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}", re.ASCII)
NSS_SECONDS = 60.0
_PASSED_ON = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")
log = logging.getLogger(__name__)


class Unidentified(Exception):
    """Nobody that we may trust named the viewer: 401. The text is for the log, not for the asker."""


def request_viewer(
    environ: Mapping[str, object], settings: IdentitySettings, associations: Iterable[Association] = ()
) -> Viewer:
    """The viewer of one WSGI request, by the one kind of identity that is set. Raises Unidentified."""
    if settings.kind is IdentityKind.DEMO:
        return demo_viewer(settings, associations)
    if settings.kind is IdentityKind.UNIX:
        return unix_viewer(settings, associations)
    _trust_sender(environ, settings)
    groups = _header_groups(environ, settings)
    return make_viewer(_named(environ, settings), settings, associations, proxy_groups=groups)


def _named(environ: Mapping[str, object], settings: IdentitySettings) -> str:
    """The user whom the header names, without the domain where one is set."""
    user = _header(environ, settings.user_header)
    if not NAME.fullmatch(user):
        raise Unidentified(f"{settings.user_header} is missing, empty or not one user name")
    if not settings.user_domain:
        return user
    name, _, domain = user.partition("@")
    if domain.lower() != settings.user_domain.lower():
        raise Unidentified(f"{settings.user_header} names nobody of {settings.user_domain} (identity.user_domain)")
    return name


def unix_viewer(settings: IdentitySettings, associations: Iterable[Association] = ()) -> Viewer:
    """The viewer who runs this process, by its real user id. Raises Unidentified."""
    if settings.kind is not IdentityKind.UNIX:
        raise Unidentified(f"identity.kind is {settings.kind}, not unix")
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError as err:
        raise Unidentified(f"user id {os.getuid()} has no name on this host") from err
    if os.getuid() == 0:
        return _viewer(user, Role.STAFF, settings, associations, "runs as root")
    return make_viewer(user, settings, associations)


def demo_viewer(settings: IdentitySettings, associations: Iterable[Association] = ()) -> Viewer:
    """A member of staff, or `demo_user` with the role that the rules give. Raises Unidentified."""
    if settings.kind is not IdentityKind.DEMO:
        raise Unidentified(f"identity.kind is {settings.kind}, not demo")
    if not settings.demo_user:
        return _viewer("demo", Role.STAFF, settings, associations, "the demo shows everything")
    return make_viewer(settings.demo_user, settings, associations, nss=False)


def token_viewer(user: str, role: Role, settings: IdentitySettings, associations: Iterable[Association] = ()) -> Viewer:
    """The viewer of a token of the API: what its user may now, and less where the token's `role` is less.

    Groups that only a proxy tells are not known here.
    """
    found = make_viewer(user, settings, associations, nss=settings.kind is not IdentityKind.DEMO)
    if role is Role.STAFF:
        return found
    return replace(found, role=Role.USER, matched="the token has the role user")


def make_viewer(
    user: str,
    settings: IdentitySettings,
    associations: Iterable[Association] = (),
    *,
    proxy_groups: frozenset[str] = frozenset(),
    nss: bool = True,
) -> Viewer:
    """The viewer of this name with role and accounts; `matched` says which rule gave the role."""
    rows = [row for row in associations if row.user == user]
    reason = _staff_reason(user, settings, rows, proxy_groups, nss)
    role = Role.STAFF if reason else Role.USER
    return _viewer(user, role, settings, rows, reason or "no rule makes this user staff")


def _viewer(
    user: str, role: Role, settings: IdentitySettings, associations: Iterable[Association], matched: str
) -> Viewer:
    rows = [row for row in associations if row.user == user]
    return Viewer(
        user=user,
        role=role,
        accounts=frozenset(row.account for row in rows),
        coordinated_accounts=frozenset(row.account for row in rows if row.is_coordinator),
        visibility=Visibility(settings.visibility),
        matched=matched,
    )


def _staff_reason(
    user: str, settings: IdentitySettings, rows: Iterable[Association], proxy_groups: frozenset[str], nss: bool
) -> str:
    if user in settings.staff_users:
        return "listed in identity.staff_users"
    wanted = frozenset(settings.staff_groups)
    if found := sorted(wanted & proxy_groups):
        return f"group {found[0]} in {settings.group_header}"
    if wanted and nss and (found := sorted(wanted & unix_groups(user))):
        return f"member of the Unix group {found[0]}"
    levels = {row.admin_level for row in rows if row.admin_level} & set(settings.staff_admin_levels)
    return f"Slurm AdminLevel {sorted(levels)[0]}" if levels else ""


def unix_groups(user: str) -> frozenset[str]:
    """Names of the user's groups by NSS, empty for a user that NSS does not know. Kept for a minute."""
    return _unix_groups(user, int(time.monotonic() / NSS_SECONDS))


@lru_cache(maxsize=4096)
def _unix_groups(user: str, minute: int) -> frozenset[str]:
    try:
        numbers = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
    except (KeyError, OSError):
        return frozenset()
    return frozenset(name for number in numbers if (name := _group_name(number)))


def _group_name(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return ""


def _trust_sender(environ: Mapping[str, object], settings: IdentitySettings) -> None:
    """Pass only what comes from the proxy: a Unix socket, or a listed address with the secret."""
    given_secret = _shared_secret(settings)
    if given_secret and not _same(_header(environ, settings.secret_header), given_secret):
        raise Unidentified(f"{settings.secret_header} is missing or wrong")
    if _is_unix_socket(environ):
        return
    peer = peer_address(environ)
    if peer is None or not any(peer in ip_network(item, strict=False) for item in settings.proxy_addresses):
        raise Unidentified(f"{peer or 'no address'} is not in identity.proxy_addresses")
    if not given_secret and not (settings.trust_loopback and peer.is_loopback):
        raise Unidentified("a TCP port needs identity.secret_file, or identity.trust_loopback on a host without users")


def is_trusted_sender(environ: Mapping[str, object], settings: IdentitySettings) -> bool:
    """Whether a request comes from the proxy, whoever it is that the proxy names."""
    if settings.kind is not IdentityKind.HEADER:
        return False
    try:
        _trust_sender(environ, settings)
    except Unidentified:
        return False
    return True


def is_listed(environ: Mapping[str, object], networks: Iterable[str], settings: IdentitySettings) -> bool:
    """Whether a request comes straight from a listed address. What a proxy passes on has the proxy's address: nothing
    that a proxy may have sent counts, and no Unix socket."""
    peer = peer_address(environ)
    if _is_unix_socket(environ) or peer is None or any(environ.get(name) for name in _PASSED_ON):
        return False
    if settings.kind is IdentityKind.HEADER and _may_be_proxy(environ, settings, peer):
        return False
    return any(peer in ip_network(item, strict=False) for item in networks)


def is_scrape_token(sent: str, settings: ExposureSettings) -> bool:
    """Whether this is the token of the settings; a file that is empty or cannot be read has none."""
    try:
        wanted = secret_text(settings.scrape_token, settings.scrape_token_file)
    except (OSError, UnicodeDecodeError) as err:
        log.warning("exposure.scrape_token_file cannot be read: %s", err)
        return False
    return bool(wanted) and _same(sent, wanted)


def _may_be_proxy(environ: Mapping[str, object], settings: IdentitySettings, peer: IPv4Address | IPv6Address) -> bool:
    """A proxy is told by its secret; without one, by its address alone."""
    try:
        has_secret = bool(_shared_secret(settings))
    except Unidentified:
        return True
    if has_secret:
        return bool(_header(environ, settings.secret_header))
    return any(peer in ip_network(item, strict=False) for item in settings.proxy_addresses)


def peer_address(environ: Mapping[str, object]) -> IPv4Address | IPv6Address | None:
    """The address of the other end of the connection, before any X-Forwarded-For was believed."""
    original = environ.get("werkzeug.proxy_fix.orig")
    source: Mapping[str, object] = original if isinstance(original, Mapping) else environ
    try:
        address = ip_address(str(source.get("REMOTE_ADDR") or ""))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_unix_socket(environ: Mapping[str, object]) -> bool:
    return getattr(environ.get("gunicorn.socket"), "family", None) == socket.AF_UNIX


def _shared_secret(settings: IdentitySettings) -> str:
    try:
        secret = secret_text(settings.secret, settings.secret_file)
    except (OSError, UnicodeDecodeError) as err:
        raise Unidentified("identity.secret_file cannot be read") from err
    if settings.secret_file is not None and not secret:
        raise Unidentified("identity.secret_file is empty")
    return secret


def _same(given: str, wanted: str) -> bool:
    """WSGI gives header bytes as latin-1 text."""
    return hmac.compare_digest(given.encode("latin-1", "replace"), wanted.encode())


def _header(environ: Mapping[str, object], name: str) -> str:
    return str(environ.get("HTTP_" + name.upper().replace("-", "_")) or "")


def _header_groups(environ: Mapping[str, object], settings: IdentitySettings) -> frozenset[str]:
    """Groups from the proxy, separated by comma or semicolon (a Unix or directory group may hold spaces)."""
    if not settings.group_header:
        return frozenset()
    return frozenset(part.strip() for part in re.split("[,;]", _header(environ, settings.group_header))) - {""}
