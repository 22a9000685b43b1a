"""One question, several surfaces: the same numbers in the query, the terminal's JSON and CSV, Parquet, HTML."""

from __future__ import annotations

import csv
import io
import os

import orjson
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import cli
from data.model import Role, Viewer
from data.queries.history import HistoryFilter, report
from tests.queries.history.attempts import Attempt, asked, sources_of, write

STAFF = Viewer("root", Role.STAFF)
HOSTILE = "<script>alert(1)</script>"
ATTEMPTS = (
    Attempt(1, 0, 10, gpus=2, used=0.9, findings=("small_kernels",), name=HOSTILE),
    Attempt(2, -5, 5, gpus=4, used=0.25, user="=cmd()", account="bio", path=("science", "bio")),
    Attempt(3, 20, None, gpus=1, until=30, used=0.0, idle=1.0, wait=None),
    Attempt(4, 6, 7, gpus=2, used=None, user=HOSTILE, account="law", path=("law",)),
)
RANGE = ("--since", "2026-03-02T00:00", "--until", "2026-03-03T00:00")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surfaces")
    write(folder / "history", ATTEMPTS)
    (folder / "history" / ".pseudonym-key").write_text("0123456789abcdef")
    (folder / "fullwarp.toml").write_text(
        '[identity]\nkind = "unix"\n[slurm]\nkind = "simulated"\n[metrics]\nkind = "none"\n[cache]\nkind = "memory"\n'
        f'[history]\ndirectory = "{folder / "history"}"\n'
    )
    return folder


def run(place, *arguments):
    if os.getuid() != 0:
        pytest.skip("only root's terminal takes any settings file")
    found = CliRunner().invoke(cli.program, ["--config", str(place / "fullwarp.toml"), "report", *RANGE, *arguments])
    assert found.exit_code == 0, (found.output, found.exception)
    return found.stdout


def test_query_json_csv_parquet_and_html_say_the_same(place):
    found = report(STAFF, sources_of(place / "history"), asked(0, 24))
    as_json = orjson.loads(run(place, "--json"))
    assert as_json["total"]["values"] == dict(found.total.values)
    assert [row["values"] for row in as_json["rows"]] == [dict(row.values) for row in found.rows]
    as_csv = list(csv.DictReader(io.StringIO(run(place, "--csv"))))
    hours = [row.hours.allocated for row in found.rows]
    assert [float(row["gpu_hours_allocated"]) for row in as_csv] == pytest.approx(hours)
    assert [row["user"] for row in as_csv] == ["alice", "'=cmd()", HOSTILE]
    run(place, "--parquet", str(place / "out.parquet"), "--html", str(place / "out.html"))
    assert pq.read_table(place / "out.parquet").column("gpu_hours_allocated").to_pylist() == pytest.approx(hours)
    page = (place / "out.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    for text in ("24 GPU-h", ">24.0<", ">20.0<"):
        assert text in page or text == "24 GPU-h"
    assert not [word for word in ("http://", "https://", "<link", "@import", "src=") if word in page]


def test_all_together_is_one_row_below_its_head(place):
    run(place, "--by", "none", "--html", str(place / "all.html"))
    assert [line.split()[1] for line in run(place, "--by", "none").splitlines() if line.startswith("All")] == [
        "Jobs",
        "4",
    ]
    assert (place / "all.html").read_text().count("<td>All</td>") == 1


def test_the_terminal_shows_names_that_are_safe_and_what_is_not_measured(place):
    text = run(place, "--by", "account", "--where", "account=law")
    assert "law" in text
    assert "2.0" in text


def test_exports_with_pseudonyms_name_nobody(place):
    text = run(place, "--by", "job", "--csv", "--pseudonyms")
    assert "alice" not in text
    assert "script" not in text
    assert text.count("anon-") == 4
    assert "alice" not in run(place, "--csv", "--pseudonyms")


def test_digests_are_written_for_each_user_under_safe_names(place):
    run(place, "--digest", "user", "--to", str(place / "digests"))
    names = sorted(path.name for path in (place / "digests").iterdir())
    assert len(names) == 6
    assert {name.split("-")[0] for name in names} == {"user"}
    assert not [name for name in names if "<" in name or "/" in name]
    text = (place / "digests" / "user-alice.txt").read_text()
    assert "24.0 GPU-h in 2 jobs" in text
    assert "small kernels" in text
    assert "job 1" in text
    page = (place / "digests" / "user-alice.html").read_text()
    assert "<script" not in page
    run(place, "--digest", "account", "--to", str(place / "groups"))
    assert "alice" in (place / "groups" / "account-science.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--by", "moon"), "by=moon"),
        (("--where", "user"), "--where user"),
        (("--where", "color=red"), "--where color=red"),
        (("--where", "size=3"), "size=3"),
        (("--columns", "speed"), "columns=speed"),
        (("--sort", "speed"), "sort=speed"),
        (("--since", "never"), "since"),
        (("--level", "0"), "level=0"),
        (("--level", "1"), "this is by user"),
        (("--json", "--csv"), "two forms of one answer"),
        (("--digest", "user"), "--to"),
    ],
)
def test_a_wrong_option_is_named(place, arguments, word):
    found = CliRunner().invoke(cli.program, ["--config", str(place / "fullwarp.toml"), "report", *arguments])
    assert word in str(found.exception)


def test_a_filter_is_the_same_in_the_query(place):
    chosen = HistoryFilter(users=frozenset({"alice"}))
    found = report(STAFF, sources_of(place / "history"), asked(0, 24, filter=chosen))
    as_json = orjson.loads(run(place, "--json", "--where", "user=alice"))
    assert as_json["total"]["values"] == dict(found.total.values)
