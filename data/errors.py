"""Every error that the metrics layer raises, drawn as one tree.

FullwarpError
├── SettingsError          a setting is wrong: names the field, the value and the wanted form
├── NotFound               the thing does not exist, or the viewer may not see it (one answer for both)
├── BadRequest             the question itself is wrong (a filter, a time, a job id)
└── SourceError            a source did not answer as it should
    ├── SourceUnreachable  refused, cut, no such host
    ├── SourceTimeout      no answer within the time limit
    ├── SourceDenied       wrong or missing credentials
    ├── SourceGarbled      an answer that cannot be read
    └── CannotKnow         a past moment or a question that this source cannot answer

A message says what went wrong and with which value; `hint` says what to do next.
"""

from __future__ import annotations


class FullwarpError(Exception):
    """What went wrong (`str(error)`), and in `hint` what to do next (may be empty)."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class SettingsError(FullwarpError):
    code = "settings"


class NotFound(FullwarpError):
    code = "not_found"


class BadRequest(FullwarpError):
    code = "bad_request"


class SourceError(FullwarpError):
    code = "source"


class SourceUnreachable(SourceError):
    code = "source_unreachable"


class SourceTimeout(SourceError):
    code = "source_timeout"


class SourceDenied(SourceError):
    code = "source_denied"


class SourceGarbled(SourceError):
    code = "source_garbled"


class CannotKnow(SourceError):
    """The source works, but cannot answer for this past moment or this kind of question."""

    code = "cannot_know"
