"""Asks for what the Policy page shows."""

from __future__ import annotations

from contextlib import suppress

from components.policy_page import PolicyView
from data.errors import BadRequest, NotFound
from data.model import Viewer
from data.queries.live import snapshot
from data.sources import Sources
from pages._policy_address import AskedPolicy
from policy.evidence import JobEvidence, job_evidence
from policy.exempted import exemptions_of
from policy.exemptions import exemptions_now
from policy.queries import verdicts
from policy.rules import rules_of
from policy.simulated import is_simulated
from policy.standing import last_run
from policy.taken import ActList, acts
from settings import PolicySettings


def policy_view(viewer: Viewer, sources: Sources, asked: AskedPolicy, base: str) -> PolicyView:
    """One answer. Raises SourceError when there is no picture at all."""
    seen = snapshot(viewer, sources, at=asked.at)
    policy = sources.settings.policy
    found = None if asked.at is not None else verdicts(viewer, sources)
    kept = exemptions_now(sources).rows
    is_kept = is_simulated(sources) or sources.settings.enforcement.is_set
    marks = (seen.version, *(one.id for one in kept), asked.address.query())
    return PolicyView(
        address=asked.address,
        snapshot=seen,
        rules=rules_of(policy),
        found=found,
        exempt=None if found is None else exemptions_of(viewer, found, kept),
        is_staff=viewer.is_staff,
        base=base,
        enforcement=_enforcement(policy, is_kept=is_kept, is_simulated=is_simulated(sources)),
        is_acting=policy.enforce and is_kept and not is_simulated(sources),
        last_run=None if asked.at is not None else last_run(sources, sources.clock()),
        evidence=None if found is None else _evidence(viewer, sources, asked),
        share=policy.saved_share,
        ignored=asked.ignored,
        version="|".join(marks),
    )


def _enforcement(policy: PolicySettings, *, is_kept: bool, is_simulated: bool) -> str:
    """Who acts, in one sentence."""
    if is_simulated:
        return "Simulated: the steps here are made up, nothing is mailed and nothing is cancelled."
    if not is_kept:
        return "Nobody enforces: no store of an enforcer is set, and each ladder looks as if it began now."
    if not policy.enforce:
        return "Dry run: policy.enforce is false, so steps are looked at and not taken."
    return "Rules that act are enforced: owners are warned by mail, and jobs that stay low are cancelled."


def _evidence(viewer: Viewer, sources: Sources, asked: AskedPolicy) -> JobEvidence | None:
    """None for a job that has ended, has no verdict or may not be seen."""
    job = asked.address.value("job")
    with suppress(NotFound, BadRequest):
        return job_evidence(viewer, sources, job) if job else None
    return None


def policy_acts(viewer: Viewer, sources: Sources, asked: AskedPolicy) -> ActList:
    """What was done in the days before the moment."""
    return acts(viewer, sources, asked.at or sources.clock())
