"""What Open OnDemand itself reads: the manifest, the widget, the links from Active Jobs, the layout."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import requests

from tests.conftest import service_missing
from tests.services.passenger import BASE, ROOT, Site

FOLDER = ROOT / "deploy" / "ondemand"
VIEWS = FOLDER / "dashboard" / "views"
RENDER = """
require "erb"; require "json"; require "ostruct"
def link_to(text, address, **more) = %(<a href="#{ERB::Util.html_escape(address)}">#{text}</a>)
def render(partial:, locals:) = "[#{partial} #{locals[:node]}]"
CurrentUser = Struct.new(:name).new("alice")
d = OpenStruct.new(JSON.parse(ARGV[1]))
puts ERB.new(File.read(ARGV[0])).result(binding)
"""


def ruby(*words: str) -> str:
    program = shutil.which("ruby")
    if program is None:
        service_missing("ruby is not installed")
    return subprocess.run([program, *words], check=True, capture_output=True, text=True, timeout=30).stdout


def rendered(name: str, /, **job: object) -> str:
    return ruby("-e", RENDER, str(VIEWS / name), json.dumps(job))


def details(**job: object) -> str:
    return rendered("active_jobs/_extended_layout.html.erb", **job)


@pytest.mark.parametrize("job", ["123", "123_7", "123+1", '1"><script>', "../../dashboard"])
def test_active_jobs_leads_to_the_page_of_the_job(job: str) -> None:
    html = details(pbsid=job, username="alice", nodes=["gpu01"])
    (address,) = re.findall('href="([^"]*)"', html)
    assert address.startswith(f"{BASE}jobs/") and unquote(address.removeprefix(f"{BASE}jobs/")) == job
    assert "/" not in address.removeprefix(f"{BASE}jobs/") and "<script" not in html
    assert "[active_jobs/job_details_node_view gpu01]" in html


def test_a_job_without_nodes_has_the_link_alone() -> None:
    html = details(pbsid="7", username="alice")
    assert "href=" in html and "job_details" not in html


def test_only_own_jobs_have_the_link_for_the_app_shows_no_others() -> None:
    html = details(pbsid="7", username="bob", nodes=["gpu01"])
    assert "href=" not in html and "[active_jobs/job_details_node_view gpu01]" in html


@pytest.mark.parametrize("job", [{"pbsid": "7", "username": "alice"}, {"pbsid": "7", "username": "bob"}, {"name": "7"}])
def test_open_ondemand_finds_the_box_into_which_it_writes_the_details(job: dict[str, str]) -> None:
    """4.1 does, also for a job that has left the queue, of which it knows the name alone."""
    html = details(**job)
    assert '<div class="job_data" data-jobid="7"></div>' in html
    assert ("href=" in html) == (job.get("username") == "alice")


def test_the_widget_shows_a_page_that_is_there(ondemand_site: Site) -> None:
    (address,) = re.findall('src="([^"]*)"', rendered("widgets/_fullwarp.html.erb"))
    found = requests.get(ondemand_site.url + address.removeprefix(BASE).replace("&amp;", "&"), timeout=30)
    assert found.status_code == 200 and "Efficiency of my last jobs" in found.text


def as_yaml(path: Path) -> dict[str, Any]:
    reads = 'require "yaml"; require "json"; puts JSON.generate(YAML.safe_load(File.read(ARGV[0])))'
    found: dict[str, Any] = json.loads(ruby("-e", reads, str(path)))
    return found


def test_the_manifest_has_what_open_ondemand_lists_an_app_by() -> None:
    """An app without a category is in no menu, and one with the role of another kind has no page of its own."""
    manifest = as_yaml(FOLDER / "manifest.yml")
    assert all(manifest[name] for name in ("name", "category", "description"))
    assert manifest["role"] not in ("batch_connect", "files", "shell") and "url" not in manifest
    assert Path(FOLDER / "icon.svg").read_text().startswith("<svg")


def test_the_layout_keeps_open_ondemands_own_widgets_and_names_ours_by_its_file() -> None:
    rows = as_yaml(FOLDER / "dashboard" / "ondemand.d" / "fullwarp.yml")["dashboard_layout"]["rows"]
    assert [sum(column["width"] for column in row["columns"]) for row in rows] == [12, 12]
    named = {name for row in rows for column in row["columns"] for name in column["widgets"]}
    ours = {path.name.removeprefix("_").removesuffix(".html.erb") for path in (VIEWS / "widgets").iterdir()}
    assert named == ours | {"recently_used_apps", "pinned_apps", "motd"}
