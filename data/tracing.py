"""Which request a line in the log belongs to, and who asked."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Trace:
    """`viewer` is empty while nobody is known."""

    request_id: str
    viewer: str = ""


_TRACE: ContextVar[Trace | None] = ContextVar("fullwarp_trace", default=None)


def trace() -> Trace | None:
    """The request of this thread; None outside of one."""
    return _TRACE.get()


def begin(request_id: str) -> Token[Trace | None]:
    """A request begins in this thread, perhaps within another; give the token to `end`."""
    return _TRACE.set(Trace(request_id))


def asked_by(viewer: str) -> None:
    """Name who asks, once that is known."""
    if (found := _TRACE.get()) is not None:
        _TRACE.set(replace(found, viewer=viewer))


def end(token: Token[Trace | None]) -> None:
    _TRACE.reset(token)
