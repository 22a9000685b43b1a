"""Many threads of several processes ask at once, and the sources are asked once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def ask_from_processes(place: str, processes: int = 4, threads: int = 16) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "tests.live.asking_process", place, str(threads)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    try:
        for process in running:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [json.loads(process.communicate(timeout=30)[0]) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.parametrize("kind", ["files", "redis"])
def test_four_processes_of_sixteen_threads_cost_one_refresh(kind, tmp_path, request):
    place = str(tmp_path / "cache") if kind == "files" else request.getfixturevalue("redis_url")
    answers = ask_from_processes(place)
    assert sum(int(answer["requests"]) for answer in answers) == 1  # type: ignore[call-overload]
    assert {answer["count"] for answer in answers} == {16}
    assert len({version for answer in answers for version in answer["versions"]}) == 1  # type: ignore[attr-defined]


def test_a_new_process_starts_with_the_picture_of_the_others(tmp_path):
    first = ask_from_processes(str(tmp_path / "cache"), processes=1)
    second = ask_from_processes(str(tmp_path / "cache"), processes=1)
    assert Path(tmp_path / "cache").is_dir()
    assert second[0]["requests"] == 0
    assert second[0]["versions"] == first[0]["versions"]
