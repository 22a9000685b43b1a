"""Cases of jobstats that are a report over many jobs: our report gives the same users the same numbers."""

from __future__ import annotations

import json

import pytest

from data.model import Role, Viewer
from data.queries.history import ranking, report
from tests.queries.history.attempts import Attempt, asked, sources_of, write

STAFF = Viewer("root", Role.STAFF)


def case(reference, name):
    found = json.loads((reference / "cases" / "jobstats.json").read_text())["cases"]
    return next(one for one in found if one["id"] == name)


def test_the_users_of_low_gpu_use_have_hours_share_efficiency_and_coverage(reference, tmp_path):
    given = case(reference, "alert-low-gpu")
    attempts = [
        Attempt(
            number,
            0,
            job["hours"],
            gpus=job["gpus"],
            user=job["user"],
            idle=None,
            name=job["jobname"],
            used=None if job["gpu_util"] is None else sum(job["gpu_util"]) / len(job["gpu_util"]) / 100,
        )
        for number, job in enumerate(given["input"]["jobs"], 1)
    ]
    found = report(STAFF, sources_of(write(tmp_path, attempts)), asked(-1, 200))
    rows = {row.label: row.values for row in found.rows}
    for user in given["expect"]["all_users"]:
        values = rows[user["user"]]
        assert values["gpu_hours_measured"] == pytest.approx(user["gpu_hours"])
        assert values["share"] * 100 == pytest.approx(user["proportion_pct"], abs=0.51)
        assert values["utilization"] * 100 == pytest.approx(user["eff_pct"], abs=0.51)
        assert values["coverage"] == pytest.approx(user["coverage"])


def test_the_first_users_of_a_ranking_are_those_with_most(reference, tmp_path):
    given = case(reference, "serial-top-users")
    attempts = [
        Attempt(number, 0, hours / 10, gpus=10, used=0.0, user=user)
        for number, (user, hours) in enumerate(given["input"]["wasted_core_hours"].items(), 1)
    ]
    sources = sources_of(write(tmp_path, attempts))
    found = ranking(STAFF, sources, asked(-1, 400), most=given["input"]["num_top_users"])
    assert [row.label for row in found] == given["expect"]["top"]
