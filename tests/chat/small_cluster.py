"""The small cluster on which mallory has secrets, with a history and documents, for the tests of the tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chat.model import Asker
from data.model import Viewer
from data.sources import Sources
from settings import CacheSettings, ChatSettings, DemoSettings, HistorySettings, Settings
from tests.live.builders import FakeMetrics, FakeScheduler
from tests.queries.cluster import open_fakes
from tests.queries.history.attempts import COLLECTED, Attempt, write

RANGE = {"since": "2026-03-02T00:00", "until": "2026-03-03T00:00"}
ATTEMPTS = (
    Attempt(1, 0, 10, gpus=2, used=0.9, findings=("small_kernels",)),
    Attempt(90210, 0, 5, gpus=4, used=0.1, user="mallory", account="chemistry", name="secret-run", findings=("idle",)),
    Attempt(3, 20, None, gpus=1, until=24, used=0.0, idle=1.0, wait=None),
    Attempt(4, 6, 7, gpus=2, used=None, account="law", path=("law",)),
)
# Arguments with which each tool has an answer for alice, and mentions mallory's jobs to staff where it can.
ASKED: Mapping[str, Mapping[str, Any]] = {
    "cluster_status": {},
    "find_nodes": {},
    "node": {"name": "gpu01"},
    "find_jobs": {},
    "job_report": {"job_id": "7"},
    "job_series": {"job_id": "7"},
    "why_pending": {"job_id": "9"},
    "compare_jobs": {"job_id": "7", "other_job_id": "8"},
    "policy_verdict": {"job_id": "7"},
    "policy_verdicts": {},
    "user_efficiency": {"user": "alice", **RANGE},
    "efficiency_report": {"by": "user", **RANGE},
    "detailed_metrics": {"by": "user", **RANGE},
    "waste_ranking": {"by": "job", **RANGE},
    "wait_by_gpu_count": RANGE,
    "sbatch_advice": {"gpus": 1},
    "explain": {"term": "small kernels"},
    "site_documents": {"words": "quota"},
    "source_health": {},
}


def small_settings(folder: Path) -> Settings:
    """A history of one day and one document, below the folder."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "rules.md").write_text("# Rules\n\n## Quota\nThe quota of a project is 10 TiB.\n", encoding="utf-8")
    return Settings(
        site_timezone="UTC",
        cache=CacheSettings(kind="memory"),
        history=HistorySettings(directory=write(folder / "history", ATTEMPTS)),
        demo=DemoSettings(history_days=0),
        chat=ChatSettings(documents=documents),
    )


def small_sources(
    settings: Settings, scheduler: FakeScheduler | None = None, metrics: FakeMetrics | None = None
) -> Sources:
    return replace(open_fakes(scheduler, metrics), settings=settings, clock=lambda: COLLECTED)


def as_asker(viewer: Viewer, sources: Sources) -> Asker:
    return Asker(viewer, sources, COLLECTED)
