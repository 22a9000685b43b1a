"""What Open OnDemand itself reads: the manifest, the widget, the links from Active Jobs, the layout."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
import requests

from tests.conftest import service_missing
from tests.services.passenger import BASE, ROOT, Site

FOLDER = ROOT / "deploy" / "ondemand"
VIEWS = FOLDER / "dashboard" / "views"
RENDER = """
require "erb"
def link_to(text, address, **more) = %(<a href="#{ERB::Util.html_escape(address)}">#{text}</a>)
def render(partial:, locals:) = "[#{partial} #{locals[:node]}]"
d = Struct.new(:pbsid, :nodes).new(ARGV[1], ARGV[2] && [ARGV[2]])
puts ERB.new(File.read(ARGV[0])).result(binding)
"""


def ruby(*words: str) -> str:
    program = shutil.which("ruby")
    if program is None:
        service_missing("ruby is not installed")
    return subprocess.run([program, *words], check=True, capture_output=True, text=True, timeout=30).stdout


def rendered(name: str, *words: str) -> str:
    return ruby("-e", RENDER, str(VIEWS / name), *words)


@pytest.mark.parametrize("job", ["123", "123_7", "123+1", '1"><script>', "../../dashboard"])
def test_active_jobs_leads_to_the_page_of_the_job(job: str) -> None:
    html = rendered("active_jobs/_extended_layout.html.erb", job, "gpu01")
    (address,) = re.findall('href="([^"]*)"', html)
    assert address.startswith(f"{BASE}jobs/") and unquote(address.removeprefix(f"{BASE}jobs/")) == job
    assert "/" not in address.removeprefix(f"{BASE}jobs/") and "<script" not in html
    assert "[active_jobs/job_details_node_view gpu01]" in html


def test_a_job_without_nodes_has_the_link_alone() -> None:
    assert "job_details" not in rendered("active_jobs/_extended_layout.html.erb", "7")


def test_the_widget_shows_a_page_that_is_there(ondemand_site: Site) -> None:
    (address,) = re.findall('src="([^"]*)"', rendered("widgets/_fullwarp.html.erb"))
    found = requests.get(ondemand_site.url + address.removeprefix(BASE).replace("&amp;", "&"), timeout=30)
    assert found.status_code == 200 and "Efficiency of my last jobs" in found.text


def test_manifest_and_layout_are_yaml_with_what_open_ondemand_looks_for() -> None:
    reads = 'require "yaml"; require "json"; puts JSON.generate(YAML.safe_load(File.read(ARGV[0])))'
    manifest = ruby("-e", reads, str(FOLDER / "manifest.yml"))
    assert all(f'"{name}":' in manifest for name in ("name", "category", "description", "role"))
    layout = ruby("-e", reads, str(FOLDER / "dashboard" / "ondemand.d" / "fullwarp.yml"))
    assert '"fullwarp"' in layout and layout.startswith('{"dashboard_layout":{"rows":')
    assert Path(FOLDER / "icon.svg").read_text().startswith("<svg")


def test_the_script_says_what_it_cannot_do(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "install", tmp_path)
    for words, said in (
        (["--python", "bin/python"], "whole path"),
        (["--python", "/no/such/python"], "install Fullwarp first"),
        (["--python", "/usr/bin/env"], "no Fullwarp"),
        (["--server", "https://x/$(id)"], "not an address"),
        (["--what"], "not known"),
        (["--python"], "needs a path"),
    ):
        found = subprocess.run([tmp_path / "install", *words], capture_output=True, text=True, check=False, timeout=30)
        assert found.returncode == 2 and said in found.stderr, words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["install"]


def test_a_loader_that_wants_the_old_imp_runs_on_a_python_without_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("VALUE = 42")
    loader = tmp_path / "loader.py"
    loader.write_text("import imp, sys; sys.stdout.write(str(imp.load_source('app', sys.argv[1]).VALUE))")
    start = FOLDER / "bin" / "start.py"
    newer = f"""
import runpy, sys
sys.version_info = (3, 12, 0)
sys.argv = [{str(start)!r}, {str(loader)!r}, {str(tmp_path / "app.py")!r}]
sys.modules.pop("imp", None)
runpy.run_path(sys.argv[0], run_name="__main__")
assert not hasattr(sys.modules["imp"], "reload"), "the shim was not used"
"""
    words = [sys.executable, "-I", "-c", newer]
    found = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert (found.returncode, found.stdout) == (0, "42"), found.stderr
