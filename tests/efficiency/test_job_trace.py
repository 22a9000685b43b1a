"""A whole cluster's real jobs through the formulas: the sums are known from the raw table."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from data.efficiency import device_hours, job_mean, total_hours, weighted_mean


def test_hours_of_303_real_jobs_are_those_of_the_raw_table(reference: Path) -> None:
    with (reference / "data/job_trace/jobs.csv").open(newline="") as file:
        jobs = [row for row in csv.DictReader(file) if row["cluster"] == "alex"]
    per_job = [_hours(row) for row in jobs]
    total = total_hours(per_job)

    assert len(jobs) == 303
    assert len({row["user"] for row in jobs}) == 41
    assert total.allocated == pytest.approx(3980.04, abs=0.005)
    assert total.used == pytest.approx(2859.88, abs=0.005)
    assert total.not_measured == pytest.approx(0)
    mean = weighted_mean(
        (float(row["acc_utilization_avg"]) / 100, one.measured) for row, one in zip(jobs, per_job, strict=True)
    )
    assert mean == pytest.approx(0.719, abs=0.0005)


def _hours(row: dict[str, str]):  # type: ignore[no-untyped-def]
    mean = float(row["acc_utilization_avg"]) / 100
    gpus = int(row["num_acc"])
    assert job_mean([mean] * gpus).value == pytest.approx(mean)
    one = [
        device_hours(float(row["duration_s"]), measured_share=1.0, mean=mean, idle=1.0 if mean == 0 else None)
        for _ in range(gpus)
    ]
    return total_hours(one)
