"""Mail over SMTP: taken, surely not taken, or unknown; never in the clear where TLS was asked for."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path

import pytest
from pydantic import ValidationError

from policy.actions.addresses import Addresses
from policy.actions.mail import Mailer
from policy.actions.outcome import Refused, Unsettled
from settings import MailSettings
from tests.services.mail import PASSWORD, USER, Certificate, Inbox, mail_server


def mail_settings(port: int, **changes: object) -> MailSettings:
    base = {"host": "localhost", "port": port, "security": "none", "sender": "hpc@example.org", "timeout_seconds": 5}
    return MailSettings.model_validate(base | changes)


def mail(to: str = "alice@example.org") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "hpc@example.org", to, "GPUs of Jörg"
    message["Message-ID"] = "<4711@example.org>"
    message.set_content("Grüße\n.\n" + "long line " * 300)
    return message


def test_a_mail_arrives_as_it_was_written_and_again_under_the_same_id(mail_inbox: Inbox) -> None:
    mailer = Mailer(mail_settings(mail_inbox.port))
    mailer.check()
    assert (mailer.send(mail()), mailer.send(mail())) == ((), ())
    assert mail_inbox.recipients == [["alice@example.org"]] * 2
    assert mail_inbox.ids == ["<4711@example.org>"] * 2
    assert mail_inbox.mails[0]["Subject"] == "GPUs of Jörg"
    assert mail_inbox.mails[0].get_content().split() == mail().get_content().split()


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_with_tls_and_a_login_only_the_right_ca_and_password_get_through(
    security: str, certificate: Certificate, tmp_path: Path
) -> None:
    secret, wrong = tmp_path / "password", tmp_path / "wrong"
    secret.write_text(f"{PASSWORD}\n")
    wrong.write_text("canary-1")
    good = {"security": security, "ca_file": certificate.file, "user": USER, "password_file": secret}
    with mail_server(certificate, tls=security == "tls", login=True) as inbox:
        Mailer(mail_settings(inbox.port, **good)).send(mail())
        for change in ({"ca_file": None}, {"password_file": wrong}, {"password_file": tmp_path / "none"}):
            with pytest.raises(Refused) as caught:
                Mailer(mail_settings(inbox.port, **good | change)).send(mail())
            assert "canary" not in str(caught.value) and PASSWORD not in str(caught.value)
        assert len(inbox.mails) == 1


def test_without_starttls_at_the_server_nothing_is_sent_in_the_clear(mail_inbox: Inbox) -> None:
    for call in (Mailer(mail_settings(mail_inbox.port, security="starttls")).check, None):
        with pytest.raises(Refused, match="STARTTLS"):
            call() if call else Mailer(mail_settings(mail_inbox.port, security="starttls")).send(mail())
    assert mail_inbox.mails == []


@pytest.mark.parametrize("answer", ["550 spam", "451 try later", "421 going down"])
def test_what_the_server_refuses_was_not_sent_and_its_words_are_kept(mail_inbox: Inbox, answer: str) -> None:
    mail_inbox.at_data = answer
    with pytest.raises(Refused, match=answer):
        Mailer(mail_settings(mail_inbox.port)).send(mail())


def test_a_refused_recipient_is_named_and_others_get_the_mail(mail_inbox: Inbox) -> None:
    mail_inbox.refused = {"gone@example.org"}
    mailer = Mailer(mail_settings(mail_inbox.port))
    with pytest.raises(Refused, match=r"gone@example.org refused: 550 no such user"):
        mailer.send(mail("gone@example.org"))
    assert mailer.send(mail("gone@example.org, erin@example.org")) == ("gone@example.org",)
    assert mail_inbox.recipients == [["erin@example.org"]]


@pytest.mark.parametrize("fault", ["cut", "silence"])
def test_a_connection_that_ends_before_the_answer_leaves_it_unsettled(mail_inbox: Inbox, fault: str) -> None:
    mail_inbox.at_data = fault
    with pytest.raises(Unsettled, match="before the mail server's answer"):
        Mailer(mail_settings(mail_inbox.port, timeout_seconds=0.5)).send(mail())
    assert len(mail_inbox.mails) == 1  # it did take it


def test_a_connection_that_ends_before_the_mail_began_is_refused(mail_inbox: Inbox) -> None:
    mail_inbox.cuts_at_rcpt = True
    with pytest.raises(Refused):
        Mailer(mail_settings(mail_inbox.port)).send(mail())


def test_a_server_that_is_not_there_or_says_nothing_is_refused() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        for listens in (False, True):
            if listens:
                silent.listen()
            with pytest.raises(Refused, match=f"mail server localhost:{port}"):
                Mailer(mail_settings(port, timeout_seconds=0.3)).send(mail())
    with pytest.raises(Refused, match=r"mail.host is not set"):
        Mailer(MailSettings()).send(mail())


def drip(listening: socket.socket, answers: list[bytes]) -> None:
    """Say what is in `answers`, one for each line that comes, and then go on for ever with a byte now and then."""
    with suppress(OSError):
        connection, _ = listening.accept()
        with connection, connection.makefile("rb") as lines:
            for answer in answers:
                connection.sendall(answer)
                lines.readline()
            if b"354" in b"".join(answers):
                while lines.readline() not in (b".\r\n", b""):
                    pass
            while True:
                connection.sendall(b"2")
                time.sleep(0.05)


GREETING = [b"220 hi\r\n", b"250 localhost\r\n", b"250 ok\r\n", b"250 ok\r\n"]


@pytest.mark.parametrize(
    ("answers", "outcome"), [([], Refused), (GREETING[:2], Refused), ([*GREETING, b"354 go on\r\n"], Unsettled)]
)
def test_a_server_that_drips_byte_by_byte_does_not_hold_the_talk(
    answers: list[bytes], outcome: type[Exception]
) -> None:
    """Each byte comes well within the limit of one answer, and no answer ever ends."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        threading.Thread(target=drip, args=(listening, answers), daemon=True).start()
        mailer = Mailer(mail_settings(listening.getsockname()[1], host="127.0.0.1", timeout_seconds=0.2))
        with pytest.raises(outcome):
            mailer.send(mail())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"host": "x"}, "sender is missing"),
        ({"sender": "hpc@example.org\nBcc: x@y.z"}, "no mail address"),
        ({"staff": ["Sam <sam@example.org>"]}, "no mail address"),
        ({"address_pattern": "@example.org"}, "{user}"),
        ({"user": "x", "password": "y", "security": "none"}, "in the clear"),
        ({"user": "x"}, "come together"),
        ({"address_command": ["mail-of"]}, "{user}"),
        ({"dashboard": "ftp://x"}, "http"),
    ],
)
def test_wrong_settings_are_named(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        MailSettings.model_validate(fields)
    assert words in str(caught.value)


def test_ports_follow_the_security() -> None:
    ports = [MailSettings.model_validate({"security": one}).server_port for one in ("starttls", "tls", "none")]
    assert ports == [587, 465, 25]


def test_an_address_comes_from_the_file_then_the_command_then_the_pattern(tmp_path: Path) -> None:
    file, program = tmp_path / "addresses.csv", tmp_path / "mail-of"
    file.write_text("# the exceptions\nalice, alice.a@physics.example.org\n\n")
    program.write_text('#!/bin/sh\n[ "$1" = bob ] && echo bob@chem.example.org\nexit 0\n')
    program.chmod(0o755)
    found = Addresses(
        MailSettings(address_file=file, address_command=[str(program), "{user}"], address_pattern="{user}@example.org")
    )
    assert [found.of(user) for user in ("alice", "bob", "carol")] == [
        "alice.a@physics.example.org",
        "bob@chem.example.org",
        "carol@example.org",
    ]
    file.write_text("alice,alice@new.example.org\n")
    assert found.of("alice") == "alice@new.example.org"
    assert Addresses(MailSettings(address_file=file)).of("carol") is None
    assert Addresses(MailSettings()).of("alice") is None


@pytest.mark.parametrize("user", ["a b", "x@y", "eve\nBcc: z", "eve>,<all", ""])
def test_a_name_that_would_be_more_than_one_address_has_none(user: str) -> None:
    assert Addresses(MailSettings(address_pattern="{user}@example.org")).of(user) is None


def test_an_option_is_no_user_of_the_command(tmp_path: Path) -> None:
    program = tmp_path / "mail-of"
    program.write_text("#!/bin/sh\necho root@example.org\n")
    program.chmod(0o755)
    assert Addresses(MailSettings(address_command=[str(program), "{user}"])).of("--all") is None


@pytest.mark.parametrize(
    ("line", "words"),
    [("alice", "line 1 must be user,address"), ("alice,nobody", "'nobody', which is no mail address")],
)
def test_a_wrong_line_of_the_file_is_named(line: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "addresses.csv"
    file.write_text(line)
    with pytest.raises(Refused, match=words):
        Addresses(MailSettings(address_file=file)).of("bob")


def test_a_command_that_fails_or_prints_no_address_is_not_an_unknown_user(tmp_path: Path) -> None:
    program = tmp_path / "mail-of"
    found = Addresses(MailSettings(address_command=[str(program), "{user}"], timeout_seconds=3))
    cases = {None: "no command", "echo nonsense": "printed for bob", "sleep 90": "did not end"}
    for script, words in (cases | {"echo no server >&2; exit 3": "ended with 3: no server"}).items():
        if script is not None:
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        with pytest.raises(Refused, match=words):
            found.of("bob")
    program.write_text("#!/bin/sh\nexit 2\n")  # as getent says that there is none
    assert found.of("bob") is None
    with pytest.raises(Refused, match="cannot be read"):
        Addresses(MailSettings(address_file=tmp_path / "none.csv")).of("bob")
