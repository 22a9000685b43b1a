"""A real SMTP server on a loopback port, which takes mails, refuses them, or breaks off where a test says."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.conftest import service_missing

USER, PASSWORD = "fullwarp", "s3cret-4711"


@dataclass
class Inbox:
    """What the server took, and how it answers. `at_data`: an answer such as "550 no", or cut, or silence."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    at_data: str = ""
    cuts_at_rcpt: bool = False

    @property
    def ids(self) -> list[str]:
        """The Message-IDs of what came, in order."""
        return [str(mail["Message-ID"]) for mail in self.mails]

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, _: Any) -> str:
        if self.cuts_at_rcpt:
            _cut(server)
        if address in self.refused:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.at_data[:1].isdigit():
            return self.at_data
        mail = message_from_bytes(bytes(envelope.content or b""), policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.recipients.append(list(envelope.rcpt_tos))
        if self.at_data == "silence":
            await asyncio.sleep(30)
        if self.at_data == "cut":
            _cut(server)
        return "250 taken"


def _cut(server: SMTP) -> None:
    assert server.transport is not None
    server.transport.abort()


@dataclass(frozen=True)
class Certificate:
    """A certificate of localhost that is its own CA."""

    file: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        return context


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    if shutil.which("openssl") is None:
        service_missing("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("certificate")
    made = Certificate(folder / "ca.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(made.key), "-out", str(made.file)]
    subprocess.run([*command, *names], check=True, capture_output=True, env={"PATH": os.environ["PATH"]})
    return made


class _Quiet(Controller):
    """Finds its port when it listens."""

    def _trigger_server(self) -> None:
        assert self.server is not None
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


def _authenticated(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    known = isinstance(data, LoginPassword) and data == LoginPassword(USER.encode(), PASSWORD.encode())
    return AuthResult(success=known, handled=known)


@contextmanager
def mail_server(certificate: Certificate | None = None, *, tls: bool = False, login: bool = False) -> Iterator[Inbox]:
    """A server; with a certificate it offers STARTTLS, or (`tls`) speaks TLS from the first byte."""
    inbox = Inbox()
    options: dict[str, Any] = {"authenticator": _authenticated, "auth_required": True} if login else {}
    if certificate is not None and tls:
        options |= {"ssl_context": certificate.server_context(), "auth_require_tls": False}
    elif certificate is not None:
        options |= {"tls_context": certificate.server_context(), "require_starttls": True}
    controller = _Quiet(inbox, hostname="127.0.0.1", port=0, server_hostname="localhost", ready_timeout=10, **options)
    controller.start()
    inbox.port = controller.port
    try:
        yield inbox
    finally:
        controller.stop()


@pytest.fixture
def mail_inbox() -> Iterator[Inbox]:
    """A server without TLS or login."""
    with mail_server() as inbox:
        yield inbox
