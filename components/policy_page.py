"""The Policy page put together: rules, verdicts, the evidence behind one, what was done, who is exempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.data_table import show_more
from components.elements import Tone, banner, icon, moment, panel_state, text_filter, try_again
from components.history_address import go
from components.policy_address import PolicyAddress
from components.policy_evidence import evidence_panel, not_open
from components.policy_panels import acts_panel, exemptions_panel, savings_panel
from components.policy_table import filters, fits, in_order, tabs, verdict_table
from components.policy_words import rules_line
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.model import ClusterSnapshot, SourceCondition
from data.words import count
from policy.evidence import JobEvidence
from policy.exempted import ExemptionList
from policy.queries import VerdictList
from policy.rules import Rule
from policy.taken import ActList

MORE = ("20", "100", "1000")


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What one viewer sees. `found` None = a past moment, of which no verdicts are kept. `evidence` is of the job that
    the address names, None where there is none to see. `enforcement` says in words who acts, and how."""

    address: PolicyAddress
    snapshot: ClusterSnapshot
    rules: tuple[Rule, ...]
    found: VerdictList | None
    exempt: ExemptionList | None
    is_staff: bool
    base: str
    enforcement: str
    is_acting: bool = False
    last_run: datetime | None = None
    evidence: JobEvidence | None = None
    share: float = 0.5
    ignored: Sequence[str] = ()
    version: str = ""

    @property
    def is_past(self) -> bool:
        return self.found is None

    @property
    def by_name(self) -> Mapping[str, Rule]:
        return {rule.name: rule for rule in self.rules}


class PolicyParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    note: Any
    banner: Any
    filters: Any
    evidence: Any
    verdicts: Any
    exempt: Any
    frame: Any
    version: str


def policy_parts(view: PolicyView) -> PolicyParts:
    """Every part of the page that depends on the live picture."""
    rows = () if view.found is None else view.found.verdicts
    return PolicyParts(
        note=_note(view),
        banner=_banner(view),
        filters=filters(rows, view.address) if rows else [],
        evidence=_evidence(view),
        verdicts=_verdicts(view),
        exempt=_exempt(view),
        frame=frame_data(view.snapshot, view.found),
        version=view.version,
    )


def policy_page(view: PolicyView, *, refresh_seconds: float, past: Sequence[Component] = ()) -> Component:
    """The whole page; `past` is what was done, where that is known already, else it is read after the page is shown."""
    parts = policy_parts(view)
    head = [
        html.H1("Policy"),
        html.Span(parts.note, id="policy-note", className="fw-note"),
        html.Div(_controls(view, parts), className="fw-filters", role="group", **{"aria-label": "Filters"}),
    ]
    return html.Div(
        [
            html.Div(head, className="fw-head"),
            html.Div(parts.banner, id="policy-banner"),
            html.Div(parts.evidence, id="policy-open"),
            html.Div(parts.verdicts, id="policy-verdicts"),
            html.Div(list(past) or _waiting("Actions taken"), id="policy-past", className="fw-policy-past"),
            html.Div(parts.exempt, id="policy-exempt"),
            html.Div(_waiting("What if") if _replays(view) else [], id="policy-whatif"),
            dcc.Store(id="policy-words", data=view.address.query()),
            dcc.Store(id="policy-arrived"),
            dcc.Store(id="policy-version", data=parts.version),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Interval(id="policy-tick", interval=round(refresh_seconds * 1000), disabled=view.is_past),
        ],
        className="fw-ticking fw-policy",
        id="policy-page",
        **{"data-tick": "policy-tick"},
    )


def policy_past(found: ActList, address: PolicyAddress, base: str, *, share: float, is_staff: bool) -> list[Component]:
    """What is read last: acts, and what they saved."""
    panels = [acts_panel(found, address, base, share=share, is_staff=is_staff)]
    return panels if found.savings is None else [*panels, savings_panel(found.savings)]


def _controls(view: PolicyView, parts: PolicyParts) -> list[Any]:
    if view.is_past:
        return [html.Div(id="policy-filters")]
    csv = html.A(
        [icon("download"), "CSV"],
        href=f"{view.base}policy.csv?{view.address.query()}",
        className="fw-button",
        download="",
    )
    picks = html.Div(parts.filters, id="policy-filters", className="fw-policy-picks")
    return [picks, text_filter("policy-q", view.address.value("q"), hint="job, name, why"), csv]


def _replays(view: PolicyView) -> bool:
    return view.is_staff and not view.is_past and bool(view.address.value("whatif"))


def _waiting(title: str) -> list[Component]:
    bone = html.Span(className="fw-bone fw-late", style={"height": "12rem"})
    return [html.Section([html.Div(html.H2(title), className="fw-panel-head"), bone], className="fw-panel")]


def _note(view: PolicyView) -> str:
    return rules_line(view.rules) or "no rule is on"


def _banner(view: PolicyView) -> list[Component]:
    """The worst of what is so: a source away, nothing judged, who acts."""
    main = past_banner(view.snapshot, view.address.path) or sources_banner(view.snapshot, is_staff=view.is_staff)
    found = [ignored_banner(view.ignored), main]
    if main is None and view.found is not None and view.found.fault:
        detail = [html.Code(view.found.detail)] if view.found.detail else []
        found.append(banner("bad", "bad", "Nothing is judged now:", [f"{view.found.fault}.", *detail]))
    tone: Tone = "waste" if view.is_acting else "info"
    ran = [html.Span(["Last run ", moment(view.last_run), "."])] if view.last_run is not None else []
    found.append(banner(tone, "info", view.enforcement, [*ran, "This page shows and never acts."]))
    return [part for part in found if part is not None]


def _evidence(view: PolicyView) -> Any:
    job = view.address.value("job")
    if not job or view.is_past:
        return ""
    if view.evidence is None:
        return not_open(view.address, job)
    return evidence_panel(view.evidence, view.address, view.base)


def _verdicts(view: PolicyView) -> Component:
    found = view.found
    if found is None:
        lines = ["Verdicts are not kept: which jobs were low at that moment is not known.", "What was done is below."]
        now = html.A("Verdicts of now", href=view.address.href(at=None), className="fw-button")
        return _section([panel_state("clock", "none", "Not known for that moment", lines, [now])])
    if not found.verdicts:
        return _section([_nothing(view, found)])
    rows = [one for one in found.verdicts if fits(one, view.address.chosen)]
    ordered = in_order(rows, view.address.value("sort"))
    limit = int(view.address.value("limit"))
    table: list[Any] = [tabs(found.verdicts, view.address)]
    if not rows:
        return _section([*table, _none_fits(view)])
    table.append(verdict_table(ordered[:limit], view.by_name, view.address, view.base))
    return _section([*table, *_more(view.address, limit, len(rows)), *_uncovered(found)])


def _section(parts: Sequence[Any]) -> Component:
    return html.Section([html.H2("Verdicts", className="fw-sr"), *parts], className="fw-panel fw-verdicts")


def _more(address: PolicyAddress, limit: int, total: int) -> list[Component]:
    following = next((step for step in MORE if int(step) > limit), None)
    if total <= limit or following is None:
        return []
    return [show_more(limit, total, address.href(limit=following))]


def _uncovered(found: VerdictList) -> list[Component]:
    if not found.uncovered:
        return []
    words = f"No rule is about {count(found.uncovered, 'running GPU job')} of the cluster."
    return [html.P(words, className="fw-small-print fw-pad fw-under-table")]


def _nothing(view: PolicyView, found: VerdictList) -> Component:
    if not view.rules:
        lines = ["Every rule is off, so no job is judged.", "A rule is on with mode = report or act."]
        return panel_state("empty", "none", "No rule is on", lines if view.is_staff else lines[:1])
    if any(source.name == "slurm" and source.condition is SourceCondition.DOWN for source in found.sources):
        return panel_state("bad", "bad", "Jobs are not available", ["Slurm does not answer."], [try_again()])
    if not found.running_gpu_jobs:
        return panel_state("empty", "none", "No GPU job is running", ["There is nothing to judge at this time."])
    if view.is_staff:
        return panel_state("empty", "none", "No job is judged", ["No rule is about the GPU jobs that run now."])
    return panel_state("empty", "none", "None of your jobs is judged", ["No GPU job that you may see runs now."])


def _none_fits(view: PolicyView) -> Component:
    chosen = view.address.chosen
    if list(chosen) == ["status"] and chosen["status"] == "low":
        return panel_state(
            "ok", "ok", "No job is low", ["Every judged job uses its GPUs enough, or is not judged yet."]
        )
    said = ", ".join(f"{key} “{value[:40]}”" for key, value in chosen.items())
    clear = go("Clear all filters", PolicyAddress(view.address.path).href(), className="fw-button")
    return panel_state("empty", "none", "No verdict matches", [f"No judged job has {said}."], [clear])


def _exempt(view: PolicyView) -> Any:
    if view.exempt is None:
        return ""
    answers = not any(source.name == "exemptions" for source in view.exempt.sources)
    return exemptions_panel(view.exempt, is_staff=view.is_staff, store_answers=answers)
