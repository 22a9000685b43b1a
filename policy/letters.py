"""Mails from templates: the shipped ones, or the site's own where it has them. Values in, an EmailMessage out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
    meta,
    select_autoescape,
)

from data.errors import SettingsError
from data.words import one_line
from settings import MailSettings

SHIPPED = Path(__file__).with_name("templates") / "mail"
PARTS = ("subject.j2", "txt.j2", "html.j2")
_SUBJECT_CHARS = 150


def letter(
    name: str,
    values: Mapping[str, Any],
    settings: MailSettings,
    *,
    to: Sequence[str],
    title: str,
    reference: str,
    now: datetime,
) -> EmailMessage:
    """The mail `name` as text and HTML, the same for the same values. `title` is the sender's name; its Message-ID
    follows from `reference` alone. Raises SettingsError for a template that cannot be filled."""
    subject, text, page = (filled(f"{name}.{part}", values, settings) for part in PARTS)
    return composed(subject, text, page, settings, to=to, title=title, reference=reference, now=now)


def composed(
    subject: str,
    text: str,
    page: str,
    settings: MailSettings,
    *,
    to: Sequence[str],
    title: str,
    reference: str,
    now: datetime,
) -> EmailMessage:
    """A mail of these words, as `letter` makes it."""
    message = EmailMessage()
    message["From"] = Address(display_name=one_line(title), addr_spec=settings.sender)
    message["To"] = tuple(Address(addr_spec=address) for address in to)
    if settings.reply_to:
        message["Reply-To"] = Address(addr_spec=settings.reply_to)
    message["Subject"] = one_line(subject)[:_SUBJECT_CHARS]
    message["Date"] = format_datetime(now)
    message["Message-ID"] = message_id(reference, settings)
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "OOF, AutoReply"
    message.set_content(text, cte="quoted-printable")
    message.add_alternative(page, subtype="html", cte="quoted-printable")
    message.set_boundary(f"=={_digest(reference)[:24]}==")
    return message


def message_id(reference: str, settings: MailSettings) -> str:
    """The Message-ID of a reference: a mail that is sent again is known again."""
    return f"<{_digest(reference)[:40]}@{settings.sender.rpartition('@')[2]}>"


def templates(settings: MailSettings) -> Environment:
    """The site's templates before the shipped ones. Raises SettingsError for a folder that is none, and for a file
    whose name no mail asks for: it would be passed over in silence."""
    own = settings.templates
    if own is None:
        return _environment(None)
    if not own.is_dir():
        raise SettingsError(f"mail.templates: {own} is no folder", hint=f"Copy what you change from {SHIPPED}.")
    known = {path.name for path in SHIPPED.glob("*.j2")}
    for file in sorted(own.glob("*.j2")):
        if file.name not in known and not file.name.startswith("_"):
            raise SettingsError(
                f"mail.templates: {file.name} is no mail's template", hint=f"They are {', '.join(sorted(known))}."
            )
    return _environment(own)


def filled(template: str, values: Mapping[str, Any], settings: MailSettings) -> str:
    """One template with its values. Raises SettingsError with its name."""
    try:
        return templates(settings).get_template(template).render(values)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, UnicodeDecodeError) as err:
        raise SettingsError(
            f"mail.templates: {template} cannot be filled: {err}", hint=f"Fields: {', '.join(sorted(values))}."
        ) from err


def check_letter(name: str, values: Mapping[str, Any], needed: Mapping[str, str], settings: MailSettings) -> None:
    """Fill the three templates of a mail. Raises SettingsError, with the template's name and the field, for a field
    that does not exist, and for a text that does not show what is `needed`: a field and its value."""
    for part in PARTS:
        _check(f"{name}.{part}", values, {} if part == "subject.j2" else needed, settings)


def _check(name: str, values: Mapping[str, Any], needed: Mapping[str, str], settings: MailSettings) -> None:
    environment = templates(settings)
    source, _, _ = environment.loader.get_source(environment, name) if environment.loader else ("", None, None)
    try:
        unknown = meta.find_undeclared_variables(environment.parse(source)) - values.keys()
    except TemplateSyntaxError as err:
        raise SettingsError(f"mail.templates: {name}, line {err.lineno}: {err.message}") from err
    if unknown:
        raise SettingsError(
            f"mail.templates: {name} has the field {sorted(unknown)[0]}, which does not exist",
            hint=f"Fields: {', '.join(sorted(values))}.",
        )
    text = filled(name, values, settings)
    if not text.strip():
        raise SettingsError(f"mail.templates: {name} is empty")
    for field, shown in needed.items():
        if shown not in text:
            raise SettingsError(f"mail.templates: {name} does not show {field}", hint="Put it in: its readers need it.")


@lru_cache(maxsize=4)
def _environment(own: Path | None) -> Environment:
    folders = [FileSystemLoader(folder) for folder in (own, SHIPPED) if folder is not None]
    return Environment(
        loader=ChoiceLoader(folders),
        autoescape=select_autoescape(("html.j2",), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _digest(reference: str) -> str:
    return hashlib.sha256(reference.encode()).hexdigest()
