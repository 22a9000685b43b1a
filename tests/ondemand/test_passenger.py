"""Behind real Apache and Passenger, as an unprivileged user: the sub-path, who one is, and what nobody can raise."""

from __future__ import annotations

import json
import re
import stat
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
import requests

from data.model import Role, Viewer
from data.queries.jobs import jobs
from tests.services.passenger import BASE, Site

PAGES = ("", "efficiency", "cluster", "jobs/{job}", "ask", "?embed=1")
MIB = 2**20
SPOOFED = {
    "X-Forwarded-User": "root",
    "X-Remote-User": "sam",
    "X_Remote_User": "sam",
    "Remote-User": "sam",
    "Authorization": "Basic c2FtOnNhbQ==",
    "Script-Name": "/elsewhere",
    "X-Script-Name": "/elsewhere",
    "X-Forwarded-Prefix": "/elsewhere",
    "X-Forwarded-Host": "evil.example.org",
    "X-Forwarded-Proto": "https",
    "Forwarded": "host=evil.example.org",
}


@pytest.fixture(autouse=True)
def site(ondemand_site: Site) -> Iterator[Site]:
    yield ondemand_site
    ondemand_site.central.is_down = False


def get(site: Site, path: str = "", **more: object) -> requests.Response:
    return requests.get(site.url + path.format(job=site.low_job), timeout=30, allow_redirects=False, **more)  # type: ignore[arg-type]


def names_of_others(site: Site) -> set[str]:
    everybody = jobs(Viewer("root", Role.STAFF), site.central.sources, limit=10_000).rows
    return {str(row.job.user) for row in everybody} - {site.user} | {"mallory", "secret-run"}


def test_a_cold_process_shows_a_usable_page_in_time_and_stays_small(site: Site) -> None:
    seconds = []
    while len(seconds) < 3 and min(seconds, default=9) >= 5:  # the machine of the tests has other work, too
        site.configure()
        found = get(site)
        assert found.status_code == 200 and site.low_job in found.text
        seconds.append(found.elapsed.total_seconds())
    assert min(seconds) < 5
    (process,) = site.processes()
    assert process.memory_info().rss < 150 * MIB


def test_every_page_shows_own_jobs_and_nobody_else_by_name(site: Site) -> None:
    for page in PAGES:
        found = get(site, page)
        assert found.status_code == 200, found.text
        words = set(re.findall(r"[\w-]+", re.sub(r"<[^>]*>", " ", found.text)))
        assert not words & names_of_others(site), page
    assert "newer" in get(site, "?embed=1").text
    assert "secret-run" not in get(site, "efficiency").text


def test_a_job_of_somebody_else_and_one_that_does_not_exist_give_the_same_answer(site: Site) -> None:
    everybody = jobs(Viewer("root", Role.STAFF), site.central.sources, limit=10_000).rows
    other = next(row.job.display_id for row in everybody if row.job.user != site.user and row.job.display_id.isdigit())
    theirs, none = get(site, f"jobs/{other}"), get(site, "jobs/99999999")
    assert theirs.status_code == none.status_code == 404
    assert theirs.text.replace(other, "N") == none.text.replace("99999999", "N")


def test_every_address_in_a_page_is_below_the_sub_path_and_answers(site: Site) -> None:
    seen: set[str] = set()
    for page in PAGES:
        seen |= set(re.findall(r'(?:href|src)="(?!data:|#)([^"]+)"', get(site, page).text))
    assert {urljoin(BASE, f"jobs/{site.low_job}"), BASE, f"{BASE}efficiency"} <= seen
    assert [link for link in seen if not link.startswith(BASE)] == []
    answers = {
        link: requests.get(urljoin(site.url, link), timeout=30).status_code for link in seen if "/jobs/" not in link
    }
    assert set(answers.values()) == {200}, answers
    assert get(site, "..").status_code == 404
    assert requests.get(site.url.rstrip("/"), timeout=30).status_code == 200


def test_spoofed_headers_change_nothing(site: Site) -> None:
    for page in PAGES:
        plain, spoofed = get(site, page), get(site, page, headers=SPOOFED)
        assert (spoofed.status_code, spoofed.text) == (plain.status_code, plain.text), page


def test_headers_keep_scripts_and_frames_of_others_out(site: Site) -> None:
    for page in (*PAGES, "jobs/1", "nothing", "jobs/%3Cscript%3E"):
        found = get(site, page)
        policy = found.headers["Content-Security-Policy"]
        assert "script-src 'self';" in policy and policy.endswith("frame-ancestors 'self'")
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Cache-Control"] == "no-store"
        assert "<script>" not in found.text


@pytest.mark.parametrize(
    "path",
    ["%2e%2e/%2e%2e/etc/passwd", "jobs/%2e%2e%2f%2e%2e%2fstatus", "ondemand.toml", "bin/python", "jobs/1%0d%0aX: 1"],
)
def test_no_path_leads_out(site: Site, path: str) -> None:
    found = get(site, path)
    assert found.status_code in (400, 404), found.text
    assert "X" not in found.headers and "token_folder" not in found.text and "root:" not in found.text


def test_nothing_can_be_sent_to_it(site: Site) -> None:
    assert {requests.request(one, site.url, timeout=30).status_code for one in ("POST", "PUT", "DELETE")} == {405}


def test_however_often_it_is_asked_the_server_is_asked_once_a_minute(site: Site) -> None:
    looked_at = ("", "?part=1", "?embed=1", "?embed=1&part=1", "cluster")
    site.forget()
    for page in PAGES:
        get(site, page)
    before, began = Counter(site.central.asked), time.monotonic()
    for _ in range(60):
        for page in looked_at:
            assert get(site, page).status_code == 200
    minutes = int((time.monotonic() - began) / 60)  # a machine with other work may need more than one
    assert max((Counter(site.central.asked) - before).values(), default=0) <= minutes


def test_what_the_server_asks_does_not_grow_with_those_who_look(site: Site) -> None:
    """A first page costs the server some reads; after that, one more user costs its sources nothing."""
    sources = site.central.sources
    site.forget()
    get(site)
    before = sources.requests
    site.forget()
    assert get(site).status_code == 200
    assert sources.requests == before


def test_what_is_kept_lies_in_a_folder_of_the_users_own(site: Site) -> None:
    get(site)
    kept = list(site.kept.iterdir())
    assert kept and stat.S_IMODE(site.kept.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}
    token = site.token_file.read_text().strip()
    assert [file for file in kept if token in file.read_text()] == []


def test_the_next_process_goes_on_with_what_the_last_one_knew(site: Site) -> None:
    get(site)
    before = len(site.central.asked)
    site.restart()
    assert site.low_job in get(site).text
    assert len(site.central.asked) == before


def test_without_the_server_old_answers_say_so_and_it_recovers_by_itself(site: Site) -> None:
    site.configure()
    get(site)
    for file in site.kept.iterdir():  # as it is two minutes later
        found = json.loads(file.read_text())
        file.write_text(json.dumps({**found, "asked_at": found["asked_at"] - 120}))
    site.restart()
    site.central.is_down = True
    stale = get(site)
    assert stale.status_code == 200 and site.low_job in stale.text and "Nothing newer" in stale.text
    site.forget()
    none = get(site)
    assert none.status_code == 503 and "502" in none.text
    site.central.is_down = False
    site.restart()
    assert get(site).status_code == 200 and "Nothing newer" not in get(site).text


def test_a_settings_file_that_the_user_can_write_does_not_count(site: Site) -> None:
    try:
        site.settings.chmod(0o666)
        site.restart()
        found = get(site)
        assert found.status_code == 503 and "nobody but root" in found.text
    finally:
        site.settings.chmod(0o644)
        site.restart()
    assert get(site).status_code == 200


def test_without_a_token_the_page_says_what_to_do(site: Site) -> None:
    kept = site.token_file.with_suffix(".away")
    site.token_file.rename(kept)
    try:
        site.forget()
        found = get(site)
        assert found.status_code == 503 and "There is no token" in found.text and "Help menu" in found.text
    finally:
        kept.rename(site.token_file)
    assert get(site).status_code == 200
