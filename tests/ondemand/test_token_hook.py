"""The hook that Open OnDemand runs as root: it leaves each user a token that nobody else can read, or nothing."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time

import pytest
import requests

from tests.services.passenger import ROOT, Site


@pytest.fixture
def site(ondemand_site: Site) -> Site:
    return ondemand_site


def status_of(site: Site, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return requests.get(f"{site.central.url}/api/v1/status", headers=headers, timeout=30).status_code


def test_the_token_is_the_users_alone_in_a_folder_of_roots(site: Site) -> None:
    found, folder = site.token_file.stat(), site.token_file.parent.stat()
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (0, 0o711)
    assert site.as_user("cat", str(site.token_file)).stdout == site.token_file.read_text()
    assert site.as_user("ls", str(site.token_file.parent)).returncode != 0
    assert site.as_user("ln", "-s", "/etc/shadow", str(site.token_file.parent / "bob")).returncode != 0


def test_a_token_gives_no_more_than_the_role_user_and_only_this_user(site: Site) -> None:
    token = site.token_file.read_text().strip()
    assert status_of(site, token) == 200
    url = f"{site.central.url}/api/v1/jobs?limit=1000"
    rows = requests.get(url, headers={"Authorization": f"Bearer {token}"}, timeout=30).json()["answer"]["rows"]
    assert {row["job"]["user"] for row in rows} == {site.user}


def test_a_young_token_stays_and_an_old_one_is_replaced_and_ended(site: Site) -> None:
    first = site.token_file.read_text().strip()
    assert site.hook().returncode == 0
    assert site.token_file.read_text().strip() == first
    month_ago = time.time() - 30 * 86400
    os.utime(site.token_file, (month_ago, month_ago))
    found = site.hook()
    assert found.returncode == 0, found.stderr
    second = site.token_file.read_text().strip()
    assert second != first and (status_of(site, second), status_of(site, first)) == (200, 401)
    assert stat.S_IMODE(site.token_file.stat().st_mode) == 0o600
    assert requests.get(site.url + "cluster", timeout=30).status_code == 200


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--user", "../../etc/cron.d/x"), "not the name of a user"),
        (("--user", "-u0"), "not the name of a user"),
        (("--user", "a b"), "not the name of a user"),
        (("--user", "$(id)"), "not the name of a user"),
        (("--user", ""), "not the name of a user"),
        (("--user", "nobodyknowsthem"), "there is no user"),
        (("--user", "root"), "below 1000"),
        (("--user",), "usage"),
        (("somebody",), "usage"),
    ],
)
def test_what_is_no_user_gets_none_and_is_told_so(site: Site, words: tuple[str, ...], said: str) -> None:
    before = sorted(site.token_file.parent.iterdir())
    found = site.hook(*words)
    assert found.returncode == 1 and said in found.stderr and found.stdout == ""
    assert sorted(site.token_file.parent.iterdir()) == before


def test_a_configuration_that_others_can_write_is_not_run(site: Site) -> None:
    site.hook_conf.chmod(0o666)
    try:
        found = site.hook()
        assert found.returncode == 1 and "others than root" in found.stderr
    finally:
        site.hook_conf.chmod(0o600)


def test_when_no_token_can_be_made_the_old_one_stays(site: Site) -> None:
    first, conf = site.token_file.read_text(), site.hook_conf.read_text()
    month_ago = time.time() - 30 * 86400
    os.utime(site.token_file, (month_ago, month_ago))
    try:
        for command, said in (("false", "no token could be made"), ("echo fullwarp_short", "no token was printed")):
            site.hook_conf.write_text(f'{conf}CREATE="{command}"\n')
            found = site.hook()
            assert found.returncode == 1 and said in found.stderr
            assert site.token_file.read_text() == first
        assert [path.name for path in site.token_file.parent.glob(".part-*")] == []
    finally:
        site.hook_conf.write_text(conf)
        os.utime(site.token_file)


def test_what_a_user_writes_into_the_own_token_ends_nobody_elses(site: Site) -> None:
    """The user owns the file: the id in it may be that of another's token, and the file as large as a disk."""
    made = site.hook_conf.read_text().split('CREATE="')[1].split('"')[0].split()
    others = subprocess.run([*made, "--user", "mallory"], capture_output=True, text=True, check=True).stdout.strip()
    first = site.token_file.read_text().strip()
    site.token_file.write_text(f"{others}\n")
    month_ago = time.time() - 30 * 86400
    os.truncate(site.token_file, 2**40)
    os.utime(site.token_file, (month_ago, month_ago))
    found = site.hook()
    assert found.returncode == 0, found.stderr
    second = site.token_file.read_text().strip()
    assert [status_of(site, token) for token in (others, first, second)] == [200, 401, 200]


def test_a_folder_below_one_of_somebody_else_is_not_used(site: Site) -> None:
    """Who can write the folder above could put a link in its place."""
    conf = site.hook_conf.read_text()
    site.hook_conf.write_text(f"{conf}TOKEN_FOLDER={site.home}/tokens\n")
    try:
        found = site.hook()
        assert found.returncode == 1 and "others than root" in found.stderr
        assert not (site.home / "tokens").exists()
    finally:
        site.hook_conf.write_text(conf)


def test_its_words_survive_the_shell_at_the_other_end_of_ssh(site: Site) -> None:
    """ssh joins them with spaces for the shell there."""
    conf = site.hook_conf.read_text()
    there = conf.replace('CREATE="', f'CREATE="{site.folder}/ssh ')
    (site.folder / "ssh").write_text('#!/bin/sh\nexec sh -c "$*"\n')
    (site.folder / "ssh").chmod(0o755)
    site.hook_conf.write_text(there)
    month_ago = time.time() - 30 * 86400
    os.utime(site.token_file, (month_ago, month_ago))
    try:
        found = site.hook()
        assert found.returncode == 0, found.stderr
        assert status_of(site, site.token_file.read_text().strip()) == 200
    finally:
        site.hook_conf.write_text(conf)


def test_without_a_file_of_its_own_it_asks_the_servers_settings(site: Site) -> None:
    """Those of the terminal would call the server's account a plain user, who makes tokens of its own only."""
    unit = (ROOT / "deploy" / "systemd" / "fullwarp.service").read_text()
    program = re.findall(r"^ExecStart=(.*) serve$", unit, re.M)
    hook = (site.app / "bin" / "token-hook").read_text()
    assert program and f'FULLWARP="runuser -u fullwarp -- {program[0]}"' in hook


def test_the_users_themselves_cannot_run_it(site: Site) -> None:
    hook = site.app / "bin" / "token-hook"
    found = site.as_user(str(hook), "--user", site.user)
    assert found.returncode == 1 and "as root" in found.stderr
