"""Runs a job_submit.lua with a stand-in for what slurmctld gives it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy.submission import job_submit_lua, lua
from settings import SubmissionSettings
from tests.conftest import service_missing

_DRIVER = """
local told = {}
slurm = { SUCCESS = 0, ERROR = -1 }
function slurm.log_user(form, ...) told[#told + 1] = string.format(form, ...) end
function slurm.log_info(form, ...) string.format(form, ...) end
function slurm.log_error(form, ...) told[#told + 1] = "FAULT " .. string.format(form, ...) end
dofile(arg[1])
local parts = { gpu = { flag_default = 1 }, long = { flag_default = 0 } }
for _, job in ipairs(dofile(arg[2])) do
  told = {}
  local code = slurm_job_submit(job, parts, 6001.0)
  io.write(code, "\\1", table.concat(told, "\\2"), "\\0")
end
"""


@dataclass(frozen=True)
class Said:
    """What became of a request: slurmctld's code (0 = let through) and what the user reads."""

    code: int
    text: str


def submitted(folder: Path, settings: SubmissionSettings, jobs: Iterable[Mapping[str, Any]]) -> list[Said]:
    """Each request (fields of Slurm's job_desc) through the script, in one run of Lua."""
    program = shutil.which("lua5.4")
    if program is None:
        service_missing("the script of submission needs lua5.4")
    script, asked, driver = (folder / name for name in ("job_submit.lua", "asked.lua", "driver.lua"))
    script.write_text(job_submit_lua(settings))
    driver.write_text(_DRIVER)
    rows = ("{ " + ", ".join(f"{name} = {lua(value)}" for name, value in job.items()) + " }" for job in jobs)
    asked.write_text("return {\n" + ",\n".join(rows) + "\n}\n")
    argv = [program, str(driver), str(script), str(asked)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    found = [part.partition("\1") for part in done.stdout.split("\0")[:-1]]
    return [Said(int(code), text) for code, _, text in found]
