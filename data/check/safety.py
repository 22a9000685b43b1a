"""Identity and secrets: can somebody pretend to be another, or read what is not theirs?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from data.check.result import Check, Verdict, some
from settings import IdentityKind, IdentitySettings, ServeSettings

SUBJECT = "Safety"
SHORT_SECRET = 16


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file that settings name. `mode` is None when it does not exist or cannot be looked at; `reader` is the account
    that cannot read it, "" where this one can."""

    field: str
    path: Path
    mode: int | None
    holds_secret: bool = True
    reader: str = ""


def identity(
    settings: IdentitySettings, serve: ServeSettings, secret_length: int, users: Iterable[str]
) -> Iterator[Check]:
    """Whether requests are named by somebody whom the server may trust. `users` can log in to this host."""
    if settings.kind is IdentityKind.UNIX:
        yield Check(SUBJECT, Verdict.OK, "identity is the Unix user: terminal and Passenger only, `serve` refuses it")
        return
    if not serve.bind.startswith("unix:") and not secret_length:
        yield from _port_without_secret(settings, sorted(users))
    elif secret_length and secret_length < SHORT_SECRET:
        fix = ("openssl rand -hex 32 > FILE   (named by identity.secret_file), and the same in the proxy",)
        yield Check(SUBJECT, Verdict.PROBLEM, f"the shared secret has only {secret_length} characters", fix)
    else:
        how = "a Unix socket" if serve.bind.startswith("unix:") else "a shared secret"
        yield Check(SUBJECT, Verdict.OK, f"users are named in {settings.user_header} by the proxy, over {how}")
    if serve.bind.startswith("unix:") and int(serve.socket_mode, 8) & 0o007:
        fix = ('in fullwarp.toml, under [serve]: socket_mode = "660", and the proxy in the socket\'s group',)
        yield Check(SUBJECT, Verdict.PROBLEM, f"every user of this host can open the socket ({serve.socket_mode})", fix)


def _port_without_secret(settings: IdentitySettings, users: list[str]) -> Iterator[Check]:
    fix = (
        "openssl rand -hex 32 > /etc/fullwarp/proxy-secret; chmod 640 /etc/fullwarp/proxy-secret",
        'in fullwarp.toml, under [identity]: secret_file = "/etc/fullwarp/proxy-secret"',
        f"in nginx: proxy_set_header {settings.secret_header} <the secret>; and always set {settings.user_header}",
    )
    if not settings.trust_loopback:
        yield Check(SUBJECT, Verdict.PROBLEM, "a TCP port without a shared secret: every request is refused (401)", fix)
    elif users:
        text = f"trust_loopback lets every user of this host be anybody, and others are here: {some(users)}"
        yield Check(SUBJECT, Verdict.PROBLEM, text, fix)
    else:
        yield Check(SUBJECT, Verdict.NOTE, "trust_loopback: every process of this host can name any user", fix)


def watching(
    listed: Iterable[str],
    settings: IdentitySettings,
    serve: ServeSettings,
    secret_length: int,
    token: str = "",
) -> Iterator[Check]:
    """Whether whoever is listed to read /readyz and the server's own metrics can, and nobody who guesses `token`."""
    yield from _scrape_token(token)
    listed = tuple(listed)
    fix = ("fullwarp token create --user prometheus --role scrape   (and send it as a bearer token)",)
    if listed and serve.bind.startswith("unix:"):
        text = "exposure.scrape_addresses counts for nobody: who comes over a Unix socket has no address"
        yield Check(SUBJECT, Verdict.NOTE, text, fix)
    elif settings.kind is IdentityKind.HEADER and not secret_length:
        proxies = [ip_network(one, strict=False) for one in settings.proxy_addresses]
        lost = [one for one in listed if any(_overlap(ip_network(one, strict=False), proxy) for proxy in proxies)]
        if lost:
            text = f"what comes from a proxy's address counts as passed on, and may not watch: {some(lost)}"
            yield Check(SUBJECT, Verdict.NOTE, text, fix)


def _scrape_token(token: str) -> Iterator[Check]:
    fix = ("openssl rand -hex 32 > FILE   (named by exposure.scrape_token_file), and the same in Prometheus",)
    if token.startswith("fullwarp_"):
        text = "exposure.scrape_token is one of `fullwarp token`, which the store alone knows: it counts for nobody"
        yield Check(SUBJECT, Verdict.PROBLEM, text, fix)
    elif token and len(token) < SHORT_SECRET:
        yield Check(SUBJECT, Verdict.PROBLEM, f"the scrape token has only {len(token)} characters", fix)


def _overlap(one: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def staff(settings: IdentitySettings) -> Iterator[Check]:
    """Whether anybody at all can be staff."""
    if not (settings.staff_users or settings.staff_groups or settings.staff_admin_levels):
        fix = ('in fullwarp.toml, under [identity]: staff_users = ["..."] or staff_groups = ["..."]',)
        yield Check(SUBJECT, Verdict.NOTE, "nobody is staff", fix)


def files(facts: Iterable[FileFacts]) -> Iterator[Check]:
    """Files that are absent, that others can read although they hold a secret, or that others can change."""
    for fact in facts:
        named = f"{fact.path} ({fact.field})"
        if fact.mode is None:
            yield Check(SUBJECT, Verdict.PROBLEM, f"{named} is absent or cannot be looked at", ())
        elif fact.reader:
            fix = (f"chgrp {fact.reader} {fact.path} && chmod 640 {fact.path}", "or run this as the server's account")
            yield Check(SUBJECT, Verdict.PROBLEM, f"{named} cannot be read by {fact.reader}", fix)
        elif fact.mode & 0o022 and fact.holds_secret is False:
            yield Check(SUBJECT, Verdict.PROBLEM, f"{named} can be changed by others", (f"chmod go-w {fact.path}",))
        elif fact.mode & 0o007 and fact.holds_secret:
            yield Check(
                SUBJECT, Verdict.PROBLEM, f"{named} holds a secret that others can read", (f"chmod 640 {fact.path}",)
            )
