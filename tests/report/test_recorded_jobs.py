"""Jobs as real Slurm daemons of five versions told them: each gets a report, and nothing that was not measured."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from data.efficiency import Level
from data.findings import JobFacts, PartitionFacts, find
from data.js1 import Outcome, decode
from data.model import Job
from data.report import JobReport, build_report
from data.slurm.records_json_accounting import accounting_jobs
from data.slurm.records_json_jobs import jobs as live_jobs
from settings import FindingLimits, JudgementSettings

NOW = datetime(2026, 11, 29, 18, tzinfo=UTC)
LIMITS = JudgementSettings()
READERS = (
    (r"slurmdb.*job|^sacct", accounting_jobs),
    (r"slurm_v.*jobs|^slurm-jobs|^slurm-job-|^squeue", live_jobs),
)


def recorded(reference: Path) -> list[Job]:
    found: list[Job] = []
    for path in sorted((reference / "data").glob("slurm*/**/*.json")):
        reader = next((read for pattern, read in READERS if re.search(pattern, path.name)), None)
        text = path.read_text()
        if reader is None or not text.startswith("{"):
            continue
        payload = json.loads(text)
        if not payload.get("errors"):
            found += reader(payload, "mini").rows
    return found


def report(job: Job) -> JobReport:
    return build_report(job, now=NOW, limits=LIMITS)


def facts(job: Job) -> JobFacts:
    return JobFacts(report(job), FindingLimits(), LIMITS, PartitionFacts(8, 64, 64 << 30, 86_400.0))


def test_every_recorded_job_has_a_report_with_all_its_gpus(reference: Path) -> None:
    jobs = recorded(reference)
    assert len(jobs) > 300
    for job in jobs:
        found = report(job)
        if job.allocated.gpus is not None:
            assert len(found.allocated_gpus) == job.allocated.gpus, job.display_id
        assert found.utilization.measured in (0, found.gpu_count)
        assert found.faults == ()
        assert all(one.title and one.evidence for one in find(facts(job)))
        hours = found.hours
        assert hours is None or hours.allocated == pytest.approx(hours.measured + hours.not_measured)


def test_slices_of_recorded_jobs_weigh_less_than_a_gpu(reference: Path) -> None:
    slices = [job for job in recorded(reference) if any("1g." in kind for kind in job.allocated.gpus_by_type)]
    assert slices
    for job in slices:
        found = report(job)
        if found.hours is not None and found.device_hours:
            assert found.hours.allocated == pytest.approx(found.device_hours / 7)


def test_a_recorded_job_out_of_memory_is_told_the_line(reference: Path) -> None:
    payload = json.loads((reference / "data/slurm_captures/oom-22.05/sacct.json").read_bytes())
    jobs = {job.job_id: job for job in accounting_jobs(payload, "mini").rows}
    (one,) = (one for one in find(facts(jobs[2])) if one.id == "out_of_memory")
    assert one.sbatch[-1] == "+ #SBATCH --mem=1G"
    assert report(jobs[2]).judgements["memory"].level is Level.NOT_JUDGED


def test_comments_that_slurm_cut_or_changed_are_damaged_and_no_crash(reference: Path) -> None:
    text = (reference / "data/slurm_captures/admincomment.txt").read_text()
    summaries = re.findall(r"JS1:\S+", text)
    assert len(summaries) == 3
    assert {decode(one).outcome for one in summaries} == {Outcome.DAMAGED}
    assert decode("a `single` `double` {json:1} back\\slash").outcome is Outcome.NONE
