"""Whether `fullwarp enforce` could act, be stopped, and tell people: from facts, pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from data.check.result import Check, Verdict, some
from data.words import duration
from settings import Settings

SUBJECT = "Enforcement"
_LATE = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class EnforcerFacts:
    """What was found. `acting` are the rules that act, `errors` by what was tried (store, mail, exemptions).
    `last_pass` None = never or not known, `stopped` says why acting is stopped now."""

    acting: tuple[str, ...]
    store_error: str = ""
    mail_error: str = ""
    exemptions_error: str = ""
    last_pass: datetime | None = None
    stopped: str = ""


def enforcement(settings: Settings, facts: EnforcerFacts, now: datetime) -> Iterator[Check]:
    """Nothing where nobody has begun to set it up."""
    if not (settings.policy.enforce or settings.enforcement.is_set):
        return
    yield _is_on(settings, facts)
    yield from _store(settings, facts, now)
    yield from _exemptions(settings, facts)
    yield from _mail(settings, facts)
    if facts.stopped:
        yield Check(SUBJECT, Verdict.PROBLEM, f"nothing is acted on: {facts.stopped}", ())
    elif settings.policy.stop_file is None:
        fix = ('in fullwarp.toml, under [policy]: stop_file = "/etc/fullwarp/stop-enforcing"',)
        yield Check(SUBJECT, Verdict.NOTE, "there is no kill switch", fix)


def _is_on(settings: Settings, facts: EnforcerFacts) -> Check:
    rules = some(facts.acting) if facts.acting else "no rule"
    if settings.policy.enforce:
        return Check(SUBJECT, Verdict.OK if facts.acting else Verdict.NOTE, f"may act, by {rules}")
    fix = ("in fullwarp.toml, under [policy]: enforce = true, once `fullwarp enforce` shows what you expect",)
    return Check(SUBJECT, Verdict.NOTE, f"policy.enforce is false: dry runs only (by {rules})", fix)


def _store(settings: Settings, facts: EnforcerFacts, now: datetime) -> Iterator[Check]:
    if not settings.enforcement.is_set:
        fix = ('in fullwarp.toml, under [enforcement]: directory = "/var/lib/fullwarp-enforce"',)
        yield Check(SUBJECT, Verdict.PROBLEM, "nothing is kept of acts, so none is done", fix)
    elif facts.store_error:
        yield Check(SUBJECT, Verdict.PROBLEM, facts.store_error, ())
    elif facts.last_pass is None:
        fix = ("systemctl enable --now fullwarp-enforce.timer",)
        yield Check(SUBJECT, Verdict.NOTE, "no pass that acts has ended yet", fix)
    else:
        yield _last_pass(now - facts.last_pass)


def _exemptions(settings: Settings, facts: EnforcerFacts) -> Iterator[Check]:
    if facts.exemptions_error:
        yield Check(SUBJECT, Verdict.PROBLEM, f"nothing is acted on: {facts.exemptions_error}", ())
    elif not settings.state.is_set:
        fix = ("in the enforcer's file too, where the server's has it: [state] directory = ...",)
        yield Check(SUBJECT, Verdict.NOTE, "exemptions that people make are not read: state.directory is empty", fix)


def _last_pass(age: timedelta) -> Check:
    text = f"the last pass that acted ended {duration(age.total_seconds())} ago"
    if age <= _LATE:
        return Check(SUBJECT, Verdict.OK, text)
    return Check(SUBJECT, Verdict.PROBLEM, text, ("systemctl status fullwarp-enforce.timer fullwarp-enforce.service",))


def _mail(settings: Settings, facts: EnforcerFacts) -> Iterator[Check]:
    mail = settings.mail
    if not mail.is_set:
        fix = ("see docs/how-to/mail.md: [mail] host, sender, address_pattern",)
        yield Check(SUBJECT, Verdict.PROBLEM, "mail.host is empty, and no step is taken without its mail", fix)
        return
    if facts.mail_error:
        yield Check(SUBJECT, Verdict.PROBLEM, facts.mail_error, ())
    else:
        yield Check(SUBJECT, Verdict.OK, f"mail goes through {mail.host}:{mail.server_port} ({mail.security})")
    if not (mail.address_pattern or mail.address_file or mail.address_command):
        fix = ('in fullwarp.toml, under [mail]: address_pattern = "{user}@example.org"',)
        yield Check(SUBJECT, Verdict.PROBLEM, "no user has a mail address, so no step is taken", fix)
    if not mail.staff:
        fix = ('in fullwarp.toml, under [mail]: staff = ["hpc-ops@example.org"]',)
        yield Check(SUBJECT, Verdict.NOTE, "nobody is told what goes wrong: mail.staff is empty", fix)
