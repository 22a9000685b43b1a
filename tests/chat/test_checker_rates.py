"""How often the check of figures is right, over real results of the simulated cluster: honest sentences that it marks,
and wrong ones that it lets through. The limits are those that the product promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from chat.checker import grounds
from chat.model import Asker, ToolResult
from chat.tools import call
from data.history.demo.keeper import demo_folder
from data.sources import Sources, open_sources
from settings import CacheSettings, DemoSettings, HistorySettings, Settings
from tests.chat.asked import STAFF
from tests.chat.claims import Sentence, changed, claims, honest

SEEDS = (2026,)
MOST_FALSE, LEAST_CAUGHT = 0.02, 0.95


@pytest.fixture(scope="module", params=SEEDS)
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """The simulated cluster with a history of nine days."""
    seed: int = request.param
    folder = tmp_path_factory.mktemp("rates")
    opened = open_sources(
        Settings(
            slurm={"kind": "simulated"},
            metrics={"kind": "simulated"},
            cache=CacheSettings(kind="memory"),
            demo=DemoSettings(seed=seed, history_days=9),
            history=HistorySettings(directory=demo_folder(folder, seed)),
        )
    )
    assert opened.demo_history is not None
    opened.demo_history.is_patient = True
    return opened


def conversation(sources: Sources) -> list[ToolResult]:
    """What a long conversation has seen: the cluster, its nodes, jobs, people, and waits."""
    asker = Asker(STAFF, sources, sources.clock())

    def asked(name: str, **arguments: object) -> ToolResult:
        return call(asker, name, arguments, f"{name}-{len(arguments)}-{arguments.get('job_id', '')}")

    jobs = asked("find_jobs", limit=15)
    assert jobs.value is not None
    ids = [row["job"] for row in jobs.value["jobs"]["rows"] if row["gpus"]][:6]
    waste = asked("waste_ranking", since="7d", limit=15)
    assert waste.value is not None
    users = [row["user"] for row in waste.value["groups"]["rows"][:3]]
    return [
        asked("cluster_status"),
        asked("find_nodes", limit=15),
        jobs,
        *(asked("job_report", job_id=one) for one in ids),
        waste,
        *(asked("user_efficiency", user=one, since="7d") for one in users),
    ]


def test_honest_sentences_pass_and_wrong_ones_are_marked(demo: Sources) -> None:
    results = conversation(demo)
    said, chance = claims(results), Random(demo.settings.demo.seed)
    assert [result.error for result in results if result.is_failed] == []
    assert len(said) > 150
    right = [honest(chance.choice(said), chance) for _ in range(400)]
    wrong = [one for how in ("value", "unit", "subject", "period") for one in some(how, said, chance)]
    check = grounds(results).check
    report = Counter({one.how: 0 for one in wrong})
    report.update(one.how for one in wrong if not check(one.text).untraced)
    false = [one.text for one in right if check(one.text).untraced]
    missed = [f"{one.how}: {one.text}" for one in wrong if not check(one.text).untraced]
    print("missed by kind:", dict(report), "of", dict(Counter(one.how for one in wrong)), "false:", len(false))
    assert len(false) / len(right) < MOST_FALSE, false
    assert len(missed) / len(wrong) <= 1 - LEAST_CAUGHT, missed


def some(how: str, said: Sequence, chance: Random) -> list[Sentence]:  # type: ignore[type-arg]
    made = [changed(chance.choice(said), said, how, chance) for _ in range(200)]
    return [one for one in made if one is not None]
