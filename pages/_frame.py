"""The frame's own callbacks: pages hand it their data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from dash import ClientsideFunction, Dash, Input, Output

from components.shell import low_count
from pages._request import backing, viewer

if TYPE_CHECKING:
    from policy.queries import VerdictList


class HasFrame(Protocol):
    """The parts of a page, a NamedTuple, with what it hands to the frame."""

    @property
    def frame(self) -> Any: ...

    def _replace(self, *args: Any, **changes: Any) -> Self: ...


P = TypeVar("P", bound=HasFrame)


def connect_frame(app: Dash) -> None:
    """Register the callbacks that every page shares; all run in the browser."""
    app.clientside_callback(
        ClientsideFunction("fw", "fillFrame"),
        Output("as-of", "children"),
        Output("source-count", "children"),
        Output("cluster", "children"),
        Output("policy-count", "children"),
        Input("frame", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("fw", "markPage"), Input("_pages_location", "pathname"), Input("page", "id")
    )


def known_verdicts() -> VerdictList | None:
    """What is known of low jobs, as the viewer may see it. Asks nothing and waits for nothing."""
    own = backing()
    return None if own.opened is None else own.verdicts.known(viewer(), own.sources.clock())


def with_low(frame: dict[str, Any]) -> dict[str, Any]:
    """What a page hands to the frame, and how many jobs are low by what is known; a past moment has none."""
    return frame if frame["at"] else {**frame, "low": low_count(known_verdicts())}


def framed(parts: P) -> P:
    """The parts of a page with the same in what it hands to the frame."""
    return parts._replace(frame=with_low(parts.frame))
