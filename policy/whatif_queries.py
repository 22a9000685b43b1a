"""What if: rules and limits at submission, replayed over the kept history. For staff alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from data.errors import BadRequest
from data.history.datasets import DATASETS
from data.model import SourceState, Viewer
from data.queries.history.compiled import MARKS, named_table
from data.queries.history.model import NO_STATE, HistoryState, ReportQuery
from data.queries.history.question import Question, ask
from data.queries.history.reading import ENDED
from data.sources import Sources
from policy.exemptions import as_rules, exemptions_now
from policy.rules import Rule, rules_of
from policy.whatif.answer import Asked, RefusedJobs, refused_jobs, what_if
from policy.whatif.climb import Ways
from policy.whatif.model import WhatIf
from policy.whatif.past import COLUMNS, MODELS, SLICES, parts_of
from policy.whatif.replay import Past
from policy.whatif.variants import Changes, variant

LONGEST = timedelta(days=400)
# Attempts whose steps are looked at together: some hundred each, and a dozen numbers for each step.
_TOGETHER = 5000
_AS_IS = Changes()


@dataclass(frozen=True, slots=True)
class WhatIfAsk:
    """Of jobs that ended in [since, until): `rules` by name (() = all that are on), with `changes`, which need one."""

    since: datetime
    until: datetime
    rules: tuple[str, ...] = ()
    changes: Changes = _AS_IS
    has_curve: bool = False


@dataclass(frozen=True, slots=True)
class Simulation:
    """`submission` None = there are no limits at submission. `source` is the store of exemptions while it does not
    answer: then those that people made are not counted."""

    since: datetime
    until: datetime
    rules: tuple[WhatIf, ...]
    submission: RefusedJobs | None = None
    state: HistoryState = NO_STATE
    source: SourceState | None = None


def simulate(viewer: Viewer, sources: Sources, wanted: WhatIfAsk) -> Simulation:
    """Answer with what the rules would have done, kept for ten minutes.

    Raises BadRequest for others than staff, a rule that is not on, a change that a rule cannot have or too long a
    range, and as `report` does.
    """
    if not viewer.is_staff:
        raise BadRequest("only staff may replay rules over everybody's jobs", hint="Your own: fullwarp efficiency.")
    if not wanted.since < wanted.until or wanted.until - wanted.since > LONGEST:
        raise BadRequest("since must be before until", hint=f"Ask for at most {LONGEST.days} days.")
    rules = _rules(sources, wanted)
    kept = exemptions_now(sources)
    key = ("what if", wanted, tuple(one.id for one in kept.rows))

    settings = sources.settings

    def answer(question: Question) -> Simulation:
        asked = Asked(
            wanted.since,
            wanted.until,
            Ways(settings.policy, ZoneInfo(settings.site_timezone), settings.judgement.gpu_bad),
            sources.clock(),
            as_rules(kept.rows),
            wanted.has_curve,
        )
        return _simulation(question, rules, sources, asked, kept.source)

    query = ReportQuery(wanted.since, wanted.until)
    return sources.windows.get(key, lambda: ask(viewer, sources, query, answer))


def _rules(sources: Sources, wanted: WhatIfAsk) -> tuple[Rule, ...]:
    known = {rule.name: rule for rule in rules_of(sources.settings.policy)}
    for name in wanted.rules:
        if name not in known:
            raise BadRequest(f"there is no rule {name[:40]} that is on", hint=f"Rules: {', '.join(known) or 'none'}.")
    names = wanted.rules or tuple(known)
    if wanted.changes == _AS_IS:
        return tuple(known[name] for name in names)
    if len(names) != 1:
        raise BadRequest("a threshold, window or first step is that of one rule", hint="Name the rule.")
    return (variant(known[names[0]], wanted.changes),)


def _simulation(
    question: Question, rules: tuple[Rule, ...], sources: Sources, asked: Asked, source: SourceState | None
) -> Simulation:
    parts: tuple[Past, ...] = tuple(parts_of(_rows(question), _TOGETHER))
    limits = sources.settings.submission
    return Simulation(
        asked.since,
        asked.until,
        tuple(what_if(rule, parts, asked) for rule in rules),
        refused_jobs(limits, parts) if limits.is_set else None,
        question.state,
        source,
    )


def _rows(question: Question) -> pa.Table:
    """The attempts with GPUs, or with nobody knows how many, that ended in the range."""

    def build() -> Any:
        rows = named_table(DATASETS["jobs"].schema, ENDED)
        rows = question.allowed(rows.filter((rows.end_time >= MARKS.since) & (rows.end_time < MARKS.until)))
        rows = rows.filter((rows.gpu_count > 0) | rows.gpu_count.isnull())
        models = rows.devices.map(lambda one: one["model"]).unique()
        slices = rows.devices.map(lambda one: one["slice_id"]).filter(lambda one: one.notnull()).length() > 0
        return rows.select(*COLUMNS, **{MODELS: models, SLICES: slices.fill_null(False)})

    return question.table("what if", build)
