"""Who a request or a process is, and who it cannot pretend to be."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

import identity
from data.model import Association, Role
from identity import Unidentified, demo_viewer, make_viewer, peer_address, request_viewer, unix_viewer
from settings import IdentityKind, IdentitySettings

SECRET = "s3cret-s3cret-s3cret"


def header_settings(**changes: object) -> IdentitySettings:
    return IdentitySettings.model_validate({"kind": "header", "secret": SECRET, **changes})


def request(user: str = "alice", peer: str = "127.0.0.1", **headers: str) -> dict[str, object]:
    environ: dict[str, object] = {"REMOTE_ADDR": peer, "HTTP_X_REMOTE_USER": user, "HTTP_X_FULLWARP_SECRET": SECRET}
    return {**environ, **{f"HTTP_{name.upper()}": value for name, value in headers.items()}}


def coordinator(user: str, account: str, *, level: str | None = None, coordinates: bool = False) -> Association:
    return Association("c", account, None, user, coordinates, level)


@pytest.fixture(autouse=True)
def fresh_groups() -> Iterator[None]:
    identity._unix_groups.cache_clear()
    yield
    identity._unix_groups.cache_clear()


def test_the_proxy_with_the_secret_names_the_user() -> None:
    rows = [coordinator("alice", "ml"), coordinator("alice", "nlp", coordinates=True), coordinator("bob", "bio")]
    viewer = request_viewer(request(), header_settings(visibility="account"), rows)
    assert (viewer.user, viewer.role, viewer.visibility) == ("alice", Role.USER, "account")
    assert (viewer.accounts, viewer.coordinated_accounts) == ({"ml", "nlp"}, {"nlp"})
    assert viewer.matched == "no rule makes this user staff"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        request(""),
        request("  "),
        request("alice,bob"),
        request("alice, alice"),
        request("alice\r\nX-Fullwarp-Secret: x"),
        request("alice\x00"),
        request("al ice"),
        request("../root"),
        request("-alice"),
        request("älice"),
        request("a" * 10_240),
        request(x_fullwarp_secret=""),
        request(x_fullwarp_secret=SECRET + "x"),
        request(x_fullwarp_secret=f"{SECRET},{SECRET}"),
        request(x_fullwarp_secret="\xff" * 10_240),
        request(peer="10.0.0.9"),
        request(peer=""),
        request(peer="localhost"),
        request(peer="10.0.0.9", x_forwarded_for="127.0.0.1"),
        {**request(peer="127.0.0.1"), "werkzeug.proxy_fix.orig": {"REMOTE_ADDR": "10.0.0.9"}},
        {"REMOTE_ADDR": "127.0.0.1", "REMOTE_USER": "root", "HTTP_X_FULLWARP_SECRET": SECRET},
    ],
)
def test_nobody_else_names_a_user(environ: dict[str, object]) -> None:
    with pytest.raises(Unidentified) as refused:
        request_viewer(environ, header_settings())
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("domain", "sent", "user"),
    [
        ("site.edu", "alice@site.edu", "alice"),
        ("Site.EDU", "Alice@SITE.edu", "Alice"),
        ("site.edu", "alice+lab@site.edu", "alice+lab"),
        ("", "alice@site.edu", "alice@site.edu"),
    ],
)
def test_the_domain_that_is_set_is_taken_off_the_name(domain: str, sent: str, user: str) -> None:
    viewer = request_viewer(request(sent), header_settings(user_domain=domain), [coordinator(user, "ml")])
    assert (viewer.user, viewer.accounts) == (user, {"ml"})


@pytest.mark.parametrize(
    "sent",
    [
        "alice",
        "alice@other.edu",
        "alice@evil-site.edu",
        "alice@dept.site.edu",
        "alice@site.edu.evil.com",
        "alice@siteXedu",
        "alice@evil.com@site.edu",
        "alice@site.edu@site.edu",
        "alice@",
        "@site.edu",
    ],
)
def test_a_name_of_another_domain_or_of_none_is_nobody(sent: str) -> None:
    with pytest.raises(Unidentified):
        request_viewer(request(sent), header_settings(user_domain="site.edu"))


@pytest.mark.parametrize("domain", ["@site.edu", "*", ".edu", "site.edu ", "a.edu,b.edu"])
def test_only_one_whole_domain_can_be_taken_off(domain: str) -> None:
    with pytest.raises(ValidationError):
        header_settings(user_domain=domain)


def test_the_peer_counts_and_not_what_it_forwards() -> None:
    environ = {**request(peer="203.0.113.7"), "werkzeug.proxy_fix.orig": {"REMOTE_ADDR": "::ffff:127.0.0.1"}}
    assert str(peer_address(environ)) == "127.0.0.1"
    assert request_viewer(environ, header_settings()).user == "alice"


def test_a_proxy_may_be_a_network() -> None:
    assert request_viewer(request(peer="10.1.2.3"), header_settings(proxy_addresses=["10.1.0.0/16"])).user == "alice"


def test_loopback_without_a_secret_counts_only_when_it_is_trusted() -> None:
    with pytest.raises(Unidentified, match="trust_loopback"):
        request_viewer(request(), header_settings(secret=""))
    trusting = header_settings(secret="", trust_loopback=True, proxy_addresses=["127.0.0.1", "10.0.0.1"])
    assert request_viewer(request(), trusting).user == "alice"
    with pytest.raises(Unidentified):
        request_viewer(request(peer="10.0.0.1"), trusting)


def test_trusting_loopback_does_not_weaken_a_secret() -> None:
    with pytest.raises(Unidentified, match="Secret"):
        request_viewer(request(x_fullwarp_secret="guess"), header_settings(trust_loopback=True))


def test_a_unix_socket_counts_without_an_address_but_not_without_its_secret() -> None:
    with socket.socket(socket.AF_UNIX) as over_socket, socket.socket(socket.AF_INET) as over_tcp:
        environ = {**request(peer=""), "gunicorn.socket": over_socket}
        assert request_viewer(environ, header_settings(secret="")).user == "alice"
        with pytest.raises(Unidentified):
            request_viewer({**environ, "HTTP_X_FULLWARP_SECRET": "guess"}, header_settings())
        with pytest.raises(Unidentified):
            request_viewer({**environ, "gunicorn.socket": over_tcp}, header_settings(secret=""))


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_a_secret_file_without_a_secret_lets_nobody_in(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_text(content)
    settings = header_settings(secret="", secret_file=path, trust_loopback=True)
    with pytest.raises(Unidentified, match="secret_file"):
        request_viewer(request(x_fullwarp_secret=""), settings)


def test_the_secret_may_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(SECRET + "\n")
    assert request_viewer(request(), header_settings(secret="", secret_file=path)).user == "alice"


@pytest.mark.parametrize(
    ("settings", "rows", "headers", "matched"),
    [
        ({"staff_users": ["alice"]}, [], {}, "listed in identity.staff_users"),
        ({"staff_users": ["Alice"]}, [], {}, ""),
        ({"staff_groups": ["hpc staff"], "group_header": "X-Groups"}, [], {"x_groups": "a;hpc staff"}, "X-Groups"),
        ({"staff_groups": ["hpc"], "group_header": "X-Groups"}, [], {"x_groups": "hpc-users,hp"}, ""),
        ({"staff_groups": ["hpc"]}, [], {"x_groups": "hpc"}, ""),
        ({"staff_groups": [""], "group_header": "X-Groups"}, [], {"x_groups": ",,"}, ""),
        ({}, [coordinator("alice", "ml", level="Operator")], {}, "Slurm AdminLevel Operator"),
        ({}, [coordinator("bob", "ml", level="Administrator")], {}, ""),
        ({}, [coordinator("alice", "ml", level="None")], {}, ""),
        ({"staff_admin_levels": []}, [coordinator("alice", "ml", level="Operator")], {}, ""),
    ],
)
def test_the_rule_that_makes_staff_is_named(
    settings: dict[str, object], rows: list[Association], headers: dict[str, str], matched: str
) -> None:
    viewer = request_viewer(request(**headers), header_settings(**settings), rows)
    assert viewer.is_staff is bool(matched)
    assert (matched or "no rule") in viewer.matched


def test_a_unix_group_makes_staff() -> None:
    viewer = make_viewer("root", header_settings(staff_groups=["root"]))
    assert (viewer.role, viewer.matched) == (Role.STAFF, "member of the Unix group root")


def test_a_user_that_this_host_does_not_know_has_no_groups() -> None:
    assert identity.unix_groups("no-such-user-here") == frozenset()


def test_the_unix_viewer_is_the_owner_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = IdentitySettings(kind=IdentityKind.UNIX)
    monkeypatch.setattr("os.getuid", lambda: 0)
    assert unix_viewer(settings).matched == "runs as root"
    monkeypatch.setattr("os.getuid", lambda: 65534)
    monkeypatch.setenv("USER", "root")
    monkeypatch.setenv("LOGNAME", "root")
    assert (unix_viewer(settings).user, unix_viewer(settings).role) == ("nobody", Role.USER)
    monkeypatch.setattr("os.getuid", lambda: 3_999_999)
    with pytest.raises(Unidentified, match="3999999"):
        unix_viewer(settings)


def test_the_demo_shows_all_or_what_one_user_sees() -> None:
    assert demo_viewer(IdentitySettings(kind=IdentityKind.DEMO)).is_staff
    viewer = demo_viewer(IdentitySettings(kind=IdentityKind.DEMO, demo_user="ada"), [coordinator("ada", "ml")])
    assert (viewer.user, viewer.role, viewer.accounts) == ("ada", Role.USER, {"ml"})


@pytest.mark.parametrize("kind", [IdentityKind.HEADER, IdentityKind.UNIX, IdentityKind.DEMO])
def test_one_kind_never_stands_in_for_another(kind: IdentityKind) -> None:
    settings = IdentitySettings(kind=kind)
    asked = {IdentityKind.UNIX: unix_viewer, IdentityKind.DEMO: demo_viewer}
    for other, viewer_of in asked.items():
        if other is not kind:
            with pytest.raises(Unidentified, match=f"identity.kind is {kind}"):
                viewer_of(settings)


def test_a_header_says_nothing_to_the_unix_and_demo_kinds() -> None:
    owner = pwd.getpwuid(os.getuid()).pw_name
    assert request_viewer(request("mallory"), IdentitySettings(kind=IdentityKind.DEMO)).user == "demo"
    assert request_viewer(request("mallory"), IdentitySettings(kind=IdentityKind.UNIX)).user == owner
