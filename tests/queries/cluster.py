"""A small cluster with jobs of several people, as sources for the queries."""

from __future__ import annotations

import re
from datetime import timedelta

from data.cache import MemoryCache
from data.live import LiveCluster
from data.model import PendingDetail, Reservation, Role, Rows, Tres, Viewer, Visibility
from data.sources import Sources
from settings import Settings
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node, measure, measure_slice

STAFF = Viewer("root", Role.STAFF)
ALICE = Viewer("alice", Role.USER, frozenset({"physics"}))
HEAD = Viewer("head", Role.USER, frozenset({"physics"}), coordinated_accounts=frozenset({"physics"}))
STRANGER = Viewer("stranger", Role.USER)
COLLEAGUE = Viewer("colleague", Role.USER, frozenset({"chemistry"}), visibility=Visibility.ACCOUNT)

SECRETS = ("mallory", "secret-run", "90210", "90211", "90212", "/home/mallory", "chemistry", "90199")
"""What belongs to mallory: user, job name, raw and written ids, folder, account, a dependency."""


def secrets_in(text: str) -> list[str]:
    """The secrets that stand in a text, not merely as digits of a longer number such as a latency."""
    return [word for word in SECRETS if re.search(rf"(?<![\d.]){re.escape(word)}(?!\d)", text)]


def nodes():
    return [
        make_node("gpu01", gpus_allocated=4, features=("ib",), partitions=("gpu", "all")),
        make_node("gpu02", "DRAINED", reason="gres/gpu count too low (7 < 8)", reason_user="admin"),
        make_node("gpu03", "DOWN", partitions=("gpu",)),
        make_node("gpu04", "ALLOCATED", gpus_allocated=8),
        make_node("mig01", pools={"1g.10gb": 7}, gpus_allocated=1, partitions=("mig",)),
        make_node("cpu01", pools={}, partitions=("cpu",)),
    ]


def jobs():
    hers = {
        "user": "mallory",
        "account": "chemistry",
        "name": "secret-run",
        "command": "/home/mallory/run.sh",
        "working_directory": "/home/mallory",
        "comment": "secret-run",
        "dependency": "afterok:90199",
        "cancelled_by": "mallory",
    }
    return [
        make_job(7, "gpu01", 2, (0, 1)),
        make_job(90210, "gpu01", 2, (2, 3), **hers),
        make_job(90211, "gpu04", 8, tuple(range(8)), **hers),
        make_job(8, "mig01", 1, (0,), partition="mig"),
        make_job(9, None, 4, None, "PENDING", reason="Resources", requested=Tres(cpus=8, gpus=4, nodes=1)),
        make_job(
            90212,
            None,
            16,
            None,
            "PENDING",
            reason="Priority",
            array_job_id=90212,
            display_id="90212_[1-10]",
            array_task_count=10,
            **hers,
        ),
    ]


def readings():
    values = {"power_watts": 100.0, "temperature_celsius": 40.0, "xid": 0.0}
    return [
        measure("gpu01", 0, 0.8, values=values),
        measure("gpu01", 1, 0.0, values=values),
        measure("gpu01", 2, 0.0, ["90210"], values=values),
        measure("gpu01", 3, 0.0, ["90210"], values={**values, "xid": 79.0, "temperature_celsius": 91.0}),
        *(measure("gpu01", index, 0.0, values=values) for index in range(4, 8)),
        *(measure_slice("mig01", 0, str(number), values={"power_watts": 210.0}) for number in range(1, 8)),
    ]


def scheduler() -> FakeScheduler:
    found = FakeScheduler(nodes(), jobs())
    found.details = [PendingDetail(9, "9", NOW + timedelta(hours=1), 120.0, (("age", 20.0), ("fairshare", 100.0)))]
    found.reservations = lambda: Rows(  # type: ignore[method-assign]
        (Reservation("demo", "maint", ("gpu02",), NOW, NOW, users=("mallory", "alice"), accounts=("chemistry",)),)
    )
    return found


def open_fakes(asked: FakeScheduler | None = None, measured: FakeMetrics | None = None) -> Sources:
    asked = asked or scheduler()
    measured = measured or FakeMetrics(readings())
    live = LiveCluster(asked, measured, MemoryCache(), lambda: NOW, limits=(5.0, 5.0))
    return Sources(Settings(), asked, measured, live, lambda: NOW)
