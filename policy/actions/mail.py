"""Sends one mail over SMTP. A mail counts as sent when the server has taken it; whether it did is never guessed."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import getaddresses

from configuration.mail import MailSecurity, MailSettings
from configuration.section import secret_text
from policy.actions.outcome import Refused, Unsettled
from policy.actions.smtp_talk import PlainServer, Talk, TlsServer

# The whole talk may take as long as so many answers.
_MOST_WAITS = 6
_WIRE = SMTP.clone(cte_type="7bit")


class Mailer:
    """The site's mail server. Opens a connection for each mail, and none before."""

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings

    def send(self, message: EmailMessage) -> tuple[str, ...]:
        """Hand the mail over; the recipients that the server refused while it took it for others.

        Raises Refused when it surely did not take it, Unsettled when the connection ended before its answer.
        """
        recipients = [address for _, address in getaddresses([str(value) for value in message.get_all("To", [])])]
        if not self._settings.is_set:
            raise Refused("mail.host is not set")
        if not recipients:
            raise Refused("the mail has no recipient")
        try:
            content = message.as_bytes(policy=_WIRE)
            with self._connection() as server:
                refused = _envelope(server, self._settings.sender, recipients)
                _content(server, content)
        except (OSError, smtplib.SMTPException, UnicodeError) as err:
            raise Refused(f"{self._place}: {_words(err)}") from err
        return refused

    def check(self) -> None:
        """Whether the server is there and knows us; sends nothing. Raises Refused."""
        if not self._settings.is_set:
            raise Refused("mail.host is not set")
        try:
            with self._connection() as server:
                server.ehlo_or_helo_if_needed()
        except (OSError, smtplib.SMTPException, UnicodeError) as err:
            raise Refused(f"{self._place}: {_words(err)}") from err

    @property
    def _place(self) -> str:
        return f"mail server {self._settings.host}:{self._settings.server_port}"

    @contextmanager
    def _connection(self) -> Iterator[smtplib.SMTP]:
        """A server that knows who we are. What fails here fails before anything was sent."""
        with Talk(_MOST_WAITS * self._settings.timeout_seconds) as talk:
            try:
                with _served(self._settings, talk) as server:
                    yield server
            except (OSError, smtplib.SMTPException) as err:
                if talk.is_cut:
                    raise TimeoutError from err
                raise


@contextmanager
def _served(settings: MailSettings, talk: Talk) -> Iterator[smtplib.SMTP]:
    server = _connected(settings, talk)
    try:
        if settings.security is MailSecurity.STARTTLS:
            server.starttls(context=_tls(settings))
        if settings.user:
            server.login(settings.user, secret_text(settings.password, settings.password_file))
        yield server
    finally:
        with suppress(OSError, smtplib.SMTPException):
            server.quit()
        server.close()


def _connected(settings: MailSettings, talk: Talk) -> smtplib.SMTP:
    seconds = settings.timeout_seconds
    if settings.security is MailSecurity.TLS:
        return TlsServer(talk, settings.host, settings.server_port, seconds, _tls(settings))
    return PlainServer(talk, settings.host, settings.server_port, seconds)


def _tls(settings: MailSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if settings.ca_file is None else str(settings.ca_file))
    except (OSError, ssl.SSLError) as err:
        raise Refused(f"mail.ca_file: {settings.ca_file} is no readable CA bundle: {err}") from err


def _envelope(server: smtplib.SMTP, sender: str, recipients: Sequence[str]) -> tuple[str, ...]:
    """Name sender and recipients; those that the server refused. Raises when it refused all."""
    server.ehlo_or_helo_if_needed()
    code, said = server.mail(sender)
    if code != 250:
        raise smtplib.SMTPSenderRefused(code, said, sender)
    answers = {recipient: server.rcpt(recipient) for recipient in recipients}
    refused = {recipient: answer for recipient, answer in answers.items() if answer[0] not in (250, 251)}
    if len(refused) == len(answers):
        raise smtplib.SMTPRecipientsRefused(refused)
    return tuple(refused)


def _content(server: smtplib.SMTP, content: bytes) -> None:
    """Send the mail itself. From the server's word to begin on, only its answer tells whether it took it."""
    try:
        code, said = server.data(content)
    except smtplib.SMTPDataError:
        raise
    except (OSError, smtplib.SMTPException) as err:
        raise Unsettled(f"the connection ended before the mail server's answer: {_words(err)}") from err
    if 400 <= code < 600:
        raise smtplib.SMTPDataError(code, said)
    if code != 250:  # half an answer, or none that SMTP has
        raise Unsettled(f"the connection ended within the mail server's answer: {_answer(code, said)}")


def _words(err: Exception) -> str:
    """What the server said, in one line; never the password, which no answer holds."""
    if isinstance(err, smtplib.SMTPRecipientsRefused):
        return "; ".join(f"{whom} refused: {_answer(*answer)}" for whom, answer in err.recipients.items())[:300]
    if isinstance(err, smtplib.SMTPResponseException):
        return _answer(err.smtp_code, err.smtp_error)
    if isinstance(err, TimeoutError):
        return "no answer in time"
    return (" ".join(str(err).split()) or type(err).__name__)[:300]


def _answer(code: int, said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return f"{code} {' '.join(text.split())}"[:300]
