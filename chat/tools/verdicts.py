"""What the policy says of running jobs: the verdict, why, and what follows when."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from chat.model import Asker
from chat.tools.answer import Answer, listed, moment, number, text
from chat.tools.forms import scope_form, sources_form
from chat.tools.links import page
from chat.tools.words import Account, JobId, Limit, PartitionName, User
from data.queries.asked import require_partitions
from policy.model import JobVerdict, Verdict
from policy.queries import VerdictList, verdict, verdicts


def policy_verdict(asker: Asker, job_id: JobId) -> Answer:
    """The policy's verdict on one running GPU job: low, ok, exempt, unknown or calculating, why, the GPU-hours it
    wasted, which step was taken and when the next one comes."""
    found = verdict(asker.viewer, asker.sources, job_id)
    return Answer(_job_form(found), found, page("/policy", {"job": found.job.display_id}))


def policy_verdicts(
    asker: Asker,
    status: Annotated[
        Literal["low", "unknown", "calculating", "ok", "exempt"] | None, Field(description="Only of this status.")
    ] = None,
    user: User = "",
    account: Account = "",
    partition: PartitionName = "",
    limit: Limit = 15,
) -> Answer:
    """The policy's verdicts on running GPU jobs, worst first: which are low, what they wasted, and which steps come
    next. Counts by status are of the whole cluster."""
    require_partitions(asker.viewer, asker.sources, (partition,) if partition else (), None)
    found = verdicts(asker.viewer, asker.sources)
    wanted = {"user": user, "account": account, "partition": partition}
    fitting = [one for one in found.verdicts if status in (None, one.status.value) and _fits(one, wanted)]
    value = {
        "as_of_at": moment(found.time),
        **_totals(found),
        "verdicts_are_of": scope_form(asker.viewer)["counts"],
        "verdicts": listed(fitting, _short_form, limit),
        "sources_failing": sources_form(found.sources),
    }
    link = page("/policy", {"status": status or "", **wanted})
    return Answer(value, replace(found, verdicts=tuple(fitting[:limit])), link)


def _fits(one: JobVerdict, wanted: dict[str, str]) -> bool:
    return all(not word or getattr(one.job, name) == word for name, word in wanted.items())


def _totals(found: VerdictList) -> dict[str, Any]:
    return {
        "running_gpu_jobs": found.running_gpu_jobs,
        "jobs_without_rule": found.uncovered,
        "jobs_by_status": {status.value: count for status, count in found.counts.items()},
        "wasted_in_window_by_status": {
            f"{status}_gpu_hours": number(hours) for status, hours in found.wasted_gpu_hours.items()
        },
        "rules": list(found.rules),
        "nothing_new_measured_because": text(found.fault) or None,
    }


def _short_form(one: JobVerdict) -> dict[str, Any]:
    job = one.job
    return {
        "job": job.display_id,
        "job_name": text(job.name, 80),
        "user": text(job.user),
        "account": text(job.account),
        "partition": text(job.partition),
        "gpus": one.gpus,
        **_verdict_form(one.verdict),
    }


def _job_form(one: JobVerdict) -> dict[str, Any]:
    return {
        "as_of_at": moment(one.time),
        **_short_form(one),
        "wasted_since_start_gpu_hours": number(one.wasted_gpu_hours_total),
        "by_rule": [_verdict_form(each) for each in one.verdicts],
    }


def _verdict_form(found: Verdict) -> dict[str, Any]:
    return {
        "status": found.status.value,
        "rule": found.rule,
        "rule_kind": found.kind.value,
        "rule_only_reports": not found.is_acted_on,
        "why": text(found.sentence, 400),
        "reason_code": found.reason or None,
        "metric": found.metric or None,
        "window_seconds": number(found.window_seconds),
        "mean_ratio": number(found.mean),
        "threshold_ratio": number(found.threshold),
        "coverage_ratio": number(found.coverage),
        "devices_idle": found.devices_idle,
        "devices_low": found.devices_low,
        "devices_measured": found.devices_measured,
        "devices_allocated": found.devices_allocated,
        "idle_for_at_least_seconds": number(found.idle_seconds),
        "wasted_in_window_gpu_hours": number(found.wasted_gpu_hours_window),
        "low_since_at": moment(found.since),
        "steps_taken": found.steps_taken,
        "next_step": found.next_action.value if found.next_action else None,
        "next_step_at": moment(found.next_at),
    }
