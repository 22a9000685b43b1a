"""A real Slurm's GPUs measured: series such as its nodes' exporters would have, written into a real Prometheus."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.services.prometheus import PrometheusServer, metric
from tests.services.slurm import SlurmCluster

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
GPUS = {"gpu01": 4, "gpu02": 4, "gpu03": 8, "gpu04": 8}
MODELS = {4: "NVIDIA A100-SXM4-80GB", 8: "NVIDIA H100 80GB HBM3"}
_SHARE = re.compile(r"^\s+Nodes=(\S+) CPU_IDs=\S+ Mem=\d+ GRES=(\S*)", re.MULTILINE)
INTERVAL, SCRAPES = 15, 40


def utilization_of(node: str, index: int) -> int:
    """What the test decides that a GPU does, in percent: every second GPU of gpu03 is idle."""
    return 0 if node == "gpu03" and index % 2 else 10 * (index + 1) if node == "gpu03" else 55 + index


def held(cluster: SlurmCluster) -> dict[tuple[str, int], int]:
    """(node, index) -> raw job id of the jobs that run, cut out of scontrol's text by expressions of this test."""
    found: dict[tuple[str, int], int] = {}
    for record in cluster.run("scontrol", "show", "job", "-d").split("\n\n"):
        number = re.match(r"\s*JobId=(\d+)", record)
        if number is None or "JobState=RUNNING" not in record:
            continue
        for nodes, gres in _SHARE.findall(record):
            for span in re.findall(r"IDX:([0-9,\-]+)", gres):
                for node in cluster.run("scontrol", "show", "hostnames", nodes).split():
                    for index in _indices(span):
                        found[(node, index)] = int(number[1])
    return found


def _indices(text: str) -> list[int]:
    spans = [part.split("-") for part in text.split(",")]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def measure(
    server: PrometheusServer, cluster: SlurmCluster, run: str, *, with_jobs: bool
) -> dict[tuple[str, int], int]:
    """Write ten minutes of dcgm-exporter up to now for every whole GPU, and give back who holds which."""
    holders = held(cluster)
    now = time.time()
    times = [now - INTERVAL * number for number in range(SCRAPES - 1, -1, -1)]
    series = []
    for node, count in GPUS.items():
        for index in range(count):
            labels = {
                "Hostname": node,
                "gpu": str(index),
                "UUID": f"GPU-{node}-{index}",
                "device": f"nvidia{index}",
                "modelName": MODELS[count],
                "instance": f"{node}:9400",
            }
            if with_jobs and (node, index) in holders:
                labels["hpc_job"] = str(holders[(node, index)])
            for name, value in _values(node, index).items():
                series.append((metric(name, **labels), times, [value] * SCRAPES))
    server.write(series, run=run)
    return holders


def _values(node: str, index: int) -> dict[str, float]:
    util = utilization_of(node, index)
    return {
        "DCGM_FI_DEV_GPU_UTIL": util,
        "DCGM_FI_DEV_FB_USED": 1000.0 + index,
        "DCGM_FI_DEV_FB_FREE": 79000.0 - index,
        "DCGM_FI_DEV_POWER_USAGE": 60.0 + 4 * util,
        "DCGM_FI_DEV_GPU_TEMP": 30.0,
    }


@dataclass(frozen=True)
class Answered:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@dataclass(frozen=True)
class Installed:
    """The command as a person runs it: a process of its own, with a settings file."""

    config: Path

    def __call__(self, *arguments: str) -> Answered:
        environment = {"PATH": os.environ["PATH"], "HOME": "/root", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            [FULLWARP, "--config", str(self.config), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            cwd=self.config.parent,
        )
        return Answered(done.returncode, done.stdout, done.stderr)


def installed(folder: Path, slurm: Mapping[str, object], metrics: Mapping[str, object]) -> Installed:
    """Write fullwarp.toml for root as staff."""
    tables: dict[str, Mapping[str, object]] = {
        "identity": {"kind": "unix", "staff_users": ["root"]},
        "cache": {"kind": "files", "directory": str(folder / "cache")},
        "slurm": slurm,
        "metrics": metrics,
    }
    lines = [f"[{name}]\n" + "".join(f"{k} = {_toml(v)}\n" for k, v in table.items()) for name, table in tables.items()]
    (folder / "fullwarp.toml").write_text("\n".join(lines))
    (folder / "cache").mkdir(mode=0o700)
    return Installed(folder / "fullwarp.toml")


def _toml(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value)
