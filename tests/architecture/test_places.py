"""The four top-level modules, and the rules that import-linter cannot hold, keep their places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "api",
    "chat",
    "commands",
    "configuration",
    "pages",
    "ondemand",
    "components",
    "terminal",
    "policy",
    "data",
)
MODULES = ("app", "cli", "settings", "identity")
OURS = {*PACKAGES, *MODULES}
MAY_IMPORT = {
    "settings": {"configuration"},
    "identity": {"data.model", "settings"},
    "app": OURS - {"cli", "terminal", "ondemand"},
    "cli": OURS - {"pages", "components", "ondemand"},
}
SOURCES = [
    *(ROOT / f"{name}.py" for name in MODULES),
    *(path for name in PACKAGES for path in (ROOT / name).rglob("*.py")),
]


def imports_of(tree: ast.AST) -> Iterator[str]:
    for item in ast.walk(tree):
        if isinstance(item, ast.Import):
            yield from (alias.name for alias in item.names)
        elif isinstance(item, ast.ImportFrom) and item.module:
            yield item.module


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES)
def test_a_top_level_module_imports_only_what_stands_below_it(module: str) -> None:
    ours = {name for name in imports_of(parsed(ROOT / f"{module}.py")) if name.split(".")[0] in OURS}
    allowed = MAY_IMPORT[module]
    assert [name for name in sorted(ours) if name not in allowed and name.split(".")[0] not in allowed] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_imports_the_top(package: str) -> None:
    found = [
        (named(path), name)
        for path in (ROOT / package).rglob("*.py")
        for name in imports_of(parsed(path))
        if name.split(".")[0] in {"app", "cli"} or (package in {"data", "policy"} and name == "identity")
    ]
    assert found == []


@pytest.mark.parametrize("package", ["chat", "data", "policy", "terminal"])
def test_no_web_framework_below_the_pages(package: str) -> None:
    web = ("dash", "plotly", "flask", "dash_ag_grid", "dash_bootstrap_components", "flask_caching", "werkzeug")
    found = [
        (named(path), name)
        for path in (ROOT / package).rglob("*.py")
        for name in imports_of(parsed(path))
        if name.split(".")[0] in web
    ]
    assert found == []


def test_only_commands_may_act() -> None:
    found = [
        (named(path), name)
        for path in SOURCES
        for name in imports_of(parsed(path))
        if name.startswith("policy.actions") and name != "policy.actions.outcome"
        if path.parent.name not in {"commands", "actions"}
    ]
    assert found == []
    assert [named(path) for path in SOURCES if "from policy import actions" in path.read_text(encoding="utf-8")] == []


def calls_of(path: Path) -> Iterator[str]:
    for item in ast.walk(parsed(path)):
        if isinstance(item, ast.Call):
            yield ast.unparse(item.func)


def test_only_the_command_line_prints_or_exits() -> None:
    ends = {"print", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"}
    found = [
        (named(path), call) for path in SOURCES if path.name != "cli.py" for call in calls_of(path) if call in ends
    ]
    assert found == []


def test_no_shell_and_no_eval() -> None:
    found = [
        (named(path), ast.unparse(item)[:60])
        for path in SOURCES
        for item in ast.walk(parsed(path))
        if isinstance(item, ast.Call)
        and (
            ast.unparse(item.func) in {"eval", "exec", "os.system", "os.popen"}
            or any(word.arg == "shell" and ast.unparse(word.value) != "False" for word in item.keywords)
        )
    ]
    assert found == []


def test_files_and_functions_stay_short() -> None:
    long = [named(path) for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > 350]
    for path in SOURCES:
        for item in ast.walk(parsed(path)):
            if isinstance(item, ast.FunctionDef) and (item.end_lineno or 0) - item.lineno >= 50:
                long.append(f"{named(path)}:{item.name}")
    assert long == []


def test_no_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "core", "common", "manager", "service", "misc"}
    assert [named(path) for path in SOURCES if path.stem in empty or path.parent.name in empty] == []


def test_every_module_says_what_it_is_for() -> None:
    without = [named(path) for path in SOURCES if path.stat().st_size and not ast.get_docstring(parsed(path))]
    assert without == []


def test_no_code_waits_to_be_written() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
    assert [named(path) for path in SOURCES if marks.search(path.read_text(encoding="utf-8"))] == []
