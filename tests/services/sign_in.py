"""A real OpenID Connect provider on a loopback port, and the people who sign in at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import requests
from oidc_provider_mock import User, run_server_in_thread

PEOPLE = {
    "alice": ("alice@site.edu", ["hpc-users"]),
    "sam": ("sam@site.edu", ["hpc-users", "hpc-staff"]),
    "mallory": ("root@elsewhere.org", []),
}


@contextmanager
def provider() -> Iterator[str]:
    """The address of a login that knows PEOPLE."""
    with run_server_in_thread(user_claims=[_user(name) for name in PEOPLE]) as server:
        yield f"http://localhost:{server.server_port}"


def _user(name: str) -> User:
    email, groups = PEOPLE[name]
    return User(sub=f"id-{name}", claims={"preferred_username": name, "email": email, "groups": groups})


def sign_in(session: requests.Session, url: str, name: str) -> requests.Response:
    """Open a page as a browser does, name oneself at the login that it leads to, and come back."""
    form = session.get(url, headers={"Accept": "text/html"}, timeout=30)
    assert "Authorize Client" in form.text, form.text[:500]
    return session.post(form.url, data={"sub": f"id-{name}"}, headers={"Accept": "text/html"}, timeout=30)
