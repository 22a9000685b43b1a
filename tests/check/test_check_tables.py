"""What `fullwarp check` says about each kind of trouble, and the lines that mend it."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

from data.check import Check, Verdict, ask, join, look, metrics, safety, slurm
from data.metrics.registry import METRICS
from data.model import (
    Device,
    DeviceReading,
    GpuPool,
    Job,
    Node,
    NodeDevices,
    NodeState,
    Reading,
    Rows,
    SourceHealth,
    Tres,
)
from data.protocols import MetricsSource, SchedulerSource
from data.settings_file import setting_fields
from settings import IdentitySettings, MetricsSettings, ServeSettings, Settings
from tests.live.builders import make_job, make_node

NOW = datetime(2026, 3, 1, tzinfo=UTC)

UP = NodeState("IDLE", (), "IDLE", "idle", True)


def node(name: str, gpus: int = 8, allocated: int | None = 0, cluster: str = "c") -> Node:
    pools = (GpuPool("h100", gpus, None),) if gpus else ()
    return Node(cluster, name, UP, gpu_pools=pools, gpus_allocated=allocated)


def running(display_id: str, gpus: int | None) -> Job:
    return Job("c", 1, display_id, "RUNNING", allocated=Tres(gpus=gpus), devices=(NodeDevices("gpu01", gpu_count=2),))


def reading(
    *hosts: str, count: int = 8, labels: tuple[str, ...] = (), dropped: dict[str, int] | None = None
) -> Reading:
    devices = tuple(DeviceReading(Device(host, index=n), {}, labels) for host in hosts for n in range(count))
    return Reading(NOW, devices, dropped=dropped or {})


def said(checks: Iterable[Check]) -> tuple[list[Verdict], str]:
    rows = list(checks)
    return [row.verdict for row in rows], " | ".join([row.text + " " + " ".join(row.fix) for row in rows])


@pytest.mark.parametrize(
    ("health", "verdict", "parts"),
    [
        (SourceHealth(True, "24.11.1", 0.123), Verdict.OK, ["24.11.1", "0.12 s", "rest"]),
        (SourceHealth(True), Verdict.OK, ["version not told"]),
        (SourceHealth(False, error="401 Unauthorized", hint="Renew token_file."), Verdict.PROBLEM, ["401", "Renew"]),
        (SourceHealth(False), Verdict.PROBLEM, ["unknown"]),
    ],
)
def test_slurm_answers_or_says_why_not(health: SourceHealth, verdict: Verdict, parts: list[str]) -> None:
    verdicts, text = said([slurm.answers("rest", health)])
    assert verdicts == [verdict]
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize(
    ("nodes", "jobs", "verdict", "parts"),
    [
        ([node("gpu01"), node("cpu01", 0)], [running("7", 2)], Verdict.OK, ["8 GPUs", "1 of 2 nodes", "tracked"]),
        ([node("gpu01", allocated=None)], [], Verdict.PROBLEM, ["AccountingStorageTRES=gres/gpu"]),
        ([node("gpu01")], [running("7_1", None)], Verdict.PROBLEM, ["job 7_1", "AccountingStorageTRES=gres/gpu"]),
        ([node("cpu01", 0)], [], Verdict.PROBLEM, ["none of 1 nodes", "GresTypes=gpu"]),
        ([], [], Verdict.PROBLEM, ["none of 0 nodes"]),
    ],
)
def test_slurm_counts_gpus_or_is_told_how(
    nodes: list[Node], jobs: list[Job], verdict: Verdict, parts: list[str]
) -> None:
    verdicts, text = said([slurm.counts_gpus(nodes, jobs)])
    assert verdicts == [verdict]
    assert [part for part in parts if part not in text] == []


def test_broken_rows_are_counted_and_named() -> None:
    assert list(slurm.broken_rows("nodes", Rows((node("a"),)))) == []
    _, text = said(slurm.broken_rows("nodes", Rows((node("a"),), broken=2, broken_examples=("gpu07: no state",))))
    assert "2 of 3 nodes" in text
    assert "gpu07: no state" in text


def test_jobs_that_slurmctld_hides_are_named_with_what_shows_them() -> None:
    told = make_job(7, node="gpu01")
    assert list(slurm.hidden_jobs([told], [make_node("gpu01")], [])) == []
    verdicts, text = said(slurm.hidden_jobs([told], [make_node("gpu01", allocated_cpus=8)], []))
    assert verdicts == [Verdict.PROBLEM]
    assert "hides jobs" in text and "7" in text and "AdminLevel=Operator" in text


def test_a_cluster_of_another_name_is_a_problem() -> None:
    assert list(slurm.cluster_name("", [node("a")])) == []
    assert list(slurm.cluster_name("c", [node("a")])) == []
    assert 'cluster = "c"' in said(slurm.cluster_name("ours", [node("a")]))[1]


@pytest.mark.parametrize(
    ("health", "settings", "parts"),
    [
        (SourceHealth(True, dialects=("dcgm",), interval_seconds=30), {}, ["found dcgm", "every 30 s"]),
        (SourceHealth(True), {}, ["no series of a known GPU exporter", "scrape_configs"]),
        (
            SourceHealth(True, cluster_labels=("ica100",)),
            {"cluster_label": "cluster"},
            ["no series for cluster slurm", "ica100", 'cluster_value = "ica100"', 'cluster_label = ""'],
        ),
        (SourceHealth(True), {"cluster_label": "cluster"}, ["no series has the label cluster", 'cluster_label = ""']),
        (
            SourceHealth(True, dialects=("dcgm",), cluster_labels=("ica100",)),
            {"cluster_label": "cluster", "cluster_value": "ica100"},
            ["found dcgm"],
        ),
        (
            SourceHealth(True, dialects=("dcgm",), cluster_labels=("a", "slurm")),
            {},
            ["several clusters", 'cluster_value = "slurm"', "found dcgm"],
        ),
    ],
)
def test_exporters_and_the_cluster_label(health: SourceHealth, settings: dict[str, str], parts: list[str]) -> None:
    _, text = said(metrics.exporters(health, "slurm", MetricsSettings.model_validate(settings)))
    assert [part for part in parts if part not in text] == []


def test_a_wrong_cluster_label_is_not_called_an_absent_exporter() -> None:
    settings = MetricsSettings(cluster_label="cluster")
    assert "exporter" not in said(metrics.exporters(SourceHealth(True), "slurm", settings))[1]


def test_absent_profiling_fields_come_with_the_counter_lines() -> None:
    verdicts, text = said(metrics.fields(["sm_activity", "fp64_activity"], ["dcgm"]))
    assert verdicts == [Verdict.NOTE]
    assert "DCGM_FI_PROF_SM_ACTIVE, gauge, " in text
    assert "DCGM_FI_PROF_PIPE_FP64_ACTIVE, gauge, " in text


def test_absent_utilization_is_a_problem_and_absent_host_metrics_a_note() -> None:
    verdicts, text = said(metrics.fields(["gpu_utilization", "cpu_seconds", "not_a_metric"], ["dcgm"]))
    assert verdicts == [Verdict.PROBLEM, Verdict.NOTE]
    assert "cgroup" in text
    assert list(metrics.fields([], ["dcgm"])) == []


def test_another_exporter_is_not_told_to_edit_the_counters_of_dcgm() -> None:
    _, text = said(metrics.fields(["sm_activity"], ["nvidia_gpu_exporter"]))
    assert "DCGM_FI" not in text


def test_counter_lines_have_three_columns_and_belong_to_known_metrics() -> None:
    columns = [[part.strip() for part in line.split(",")] for line in metrics.COUNTERS.values()]
    assert [row for row in columns if len(row) != 3 or row[1] not in {"gauge", "counter"}] == []
    assert set(metrics.COUNTERS) - set(METRICS) == set()


@pytest.mark.parametrize(
    ("labels", "gpu_jobs", "verdicts"),
    [(("7",), 1, [Verdict.OK]), ((), 1, [Verdict.NOTE]), ((), 0, [])],
)
def test_job_labels_are_missed_only_while_jobs_run(
    labels: tuple[str, ...], gpu_jobs: int, verdicts: list[Verdict]
) -> None:
    found, text = said(metrics.job_labels(reading("gpu01", labels=labels), gpu_jobs))
    assert found == verdicts
    assert ("--hpc-job-mapping-dir" in text) is (Verdict.NOTE in verdicts)


def test_a_label_that_a_setting_names_and_no_series_has_is_told_as_such() -> None:
    verdicts, text = said(metrics.job_labels(reading("gpu01"), 1, "slurmjob"))
    assert verdicts == [Verdict.NOTE]
    assert "metrics.job_label" in text and "slurmjob" in text and "--hpc-job-mapping-dir" not in text
    verdicts, text = said(join.hosts([node("gpu01")], reading(), "nodename"))
    assert verdicts == [Verdict.PROBLEM]
    assert "metrics.host_label" in text and "nodename" in text and "are they up?" not in text
    assert "metrics.host_label" not in said(join.hosts([node("gpu01"), node("gpu02")], reading("gpu01"), "nodename"))[1]


def test_dropped_values_are_counted_by_reason() -> None:
    assert "blank: 3" in said(metrics.dropped(reading("gpu01", dropped={"blank": 3})))[1]
    assert list(metrics.dropped(reading("gpu01"))) == []


@pytest.mark.parametrize(
    ("nodes", "hosts", "verdicts", "parts"),
    [
        (["gpu01", "gpu02"], ["gpu01", "gpu02"], [Verdict.OK], ["all 2 GPU nodes"]),
        (["gpu01", "gpu02"], ["gpu01"], [Verdict.PROBLEM], ["1 of 2 GPU nodes", "gpu02", "are they up?"]),
        (["gpu01"], ["gpu01.example"], [Verdict.PROBLEM, Verdict.PROBLEM], ["gpu01", "gpu01.example", "host_label"]),
        (["gpu01"], ["gpu01", "login"], [Verdict.NOTE], ["login", "no Slurm nodes"]),
        (["gpu01"], [], [Verdict.PROBLEM], ["1 of 1"]),
    ],
)
def test_hosts_join_or_are_named_on_both_sides(
    nodes: list[str], hosts: list[str], verdicts: list[Verdict], parts: list[str]
) -> None:
    found, text = said(join.hosts([node(name) for name in nodes], reading(*hosts)))
    assert found == verdicts
    assert [part for part in parts if part not in text] == []


def test_gpu_counts_that_differ_are_named_by_node() -> None:
    nodes = [node("gpu01"), node("gpu02", 4), node("gpu03")]
    verdicts, text = said(join.gpu_counts(nodes, reading("gpu01", "gpu02")))
    assert verdicts == [Verdict.PROBLEM]
    assert "1 of 2 nodes: gpu02 (Slurm 4, metrics 8)" in text
    assert said(join.gpu_counts(nodes, reading("gpu01")))[0] == [Verdict.OK]


def test_slices_count_in_place_of_their_gpu() -> None:
    slices = [Device("mig01", index=0, uuid=f"mig-{n}", slice_id=str(n)) for n in range(7)]
    devices = [Device("mig01", index=0, uuid="gpu-a"), *slices, Device("mig01", index=1, uuid="gpu-b")]
    seen = Reading(NOW, tuple(DeviceReading(device, {}) for device in devices))
    assert said(join.gpu_counts([node("mig01", 8)], seen))[0] == [Verdict.OK]


@pytest.mark.parametrize(
    ("settings", "serve", "secret", "users", "verdicts", "parts"),
    [
        ({}, {}, 0, [], [Verdict.PROBLEM], ["401", "openssl rand", "secret_file", "X-Fullwarp-Secret"]),
        ({}, {}, 64, [], [Verdict.OK], ["shared secret"]),
        ({}, {}, 5, [], [Verdict.PROBLEM], ["only 5 characters"]),
        ({"trust_loopback": True}, {}, 0, [], [Verdict.NOTE], ["every process"]),
        ({"trust_loopback": True}, {}, 0, ["bob"], [Verdict.PROBLEM], ["bob", "anybody"]),
        ({}, {"bind": "unix:/run/f.sock"}, 0, [], [Verdict.OK], ["Unix socket"]),
        ({}, {"bind": "unix:/run/f.sock", "socket_mode": "666"}, 0, [], [Verdict.OK, Verdict.PROBLEM], ["666"]),
        ({"kind": "unix"}, {}, 0, [], [Verdict.OK], ["`serve` refuses"]),
    ],
)
def test_identity_is_safe_or_told_how(
    settings: dict[str, object],
    serve: dict[str, str],
    secret: int,
    users: list[str],
    verdicts: list[Verdict],
    parts: list[str],
) -> None:
    checks = safety.identity(
        IdentitySettings.model_validate(settings), ServeSettings.model_validate(serve), secret, users
    )
    found, text = said(checks)
    assert found == verdicts
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize(
    ("listed", "settings", "serve", "secret", "parts"),
    [
        ([], {}, {}, 0, []),
        (["10.0.0.7"], {}, {}, 0, []),
        (["127.0.0.1"], {}, {}, 64, []),
        (["127.0.0.1"], {"kind": "demo"}, {}, 0, []),
        (["127.0.0.0/8", "10.0.0.7", "::1"], {}, {}, 0, ["passed on", "127.0.0.0/8", "::1", "--role scrape"]),
        (["10.0.0.7"], {}, {"bind": "unix:/run/f.sock"}, 64, ["no address", "--role scrape"]),
    ],
)
def test_who_is_listed_to_watch_can_or_is_told(
    listed: list[str], settings: dict[str, object], serve: dict[str, str], secret: int, parts: list[str]
) -> None:
    checks = safety.watching(
        listed, IdentitySettings.model_validate(settings), ServeSettings.model_validate(serve), secret
    )
    found, text = said(checks)
    assert found == [Verdict.NOTE] * bool(parts)
    assert [part for part in parts if part not in text] == [] and "10.0.0.7" not in text


@pytest.mark.parametrize(
    ("token", "part"),
    [("", ""), ("x" * 64, ""), ("short", "only 5 characters"), ("fullwarp_0123456789ab_" + "x" * 43, "for nobody")],
)
def test_a_scrape_token_that_can_be_guessed_or_counts_for_nobody_is_a_problem(token: str, part: str) -> None:
    found, text = said(safety.watching([], IdentitySettings(), ServeSettings(), 64, token))
    assert found == [Verdict.PROBLEM] * bool(part) and part in text


@pytest.mark.parametrize(
    ("mode", "holds_secret", "part"),
    [
        (0o600, True, ""),
        (0o640, True, ""),
        (0o644, True, "chmod 640"),
        (0o604, True, "chmod 640"),
        (0o644, False, ""),
        (0o664, False, "chmod go-w"),
        (None, True, "absent"),
    ],
)
def test_file_modes(mode: int | None, holds_secret: bool, part: str) -> None:
    verdicts, text = said(safety.files([safety.FileFacts("x.token_file", Path("/etc/t"), mode, holds_secret)]))
    assert bool(verdicts) is bool(part)
    assert part in text


def test_a_secret_that_the_account_cannot_read_is_named_with_the_way_to_it(tmp_path: Path) -> None:
    """Every request would be refused, and the server would look well."""
    file = tmp_path / "proxy-secret"
    file.write_text("x" * 32)
    file.chmod(0o600)
    settings = Settings(identity=IdentitySettings(secret_file=file))
    assert [fact.reader for fact in ask.named_files(settings, None)] == [""]
    fact = safety.FileFacts("identity.secret_file", file, 0o600, reader="fullwarp")
    verdicts, text = said(safety.files([fact]))
    assert verdicts == [Verdict.PROBLEM] and f"chgrp fullwarp {file}" in text


@pytest.mark.skipif(os.getuid() != 0, reason="root alone can be another account")
def test_what_another_account_cannot_read_is_found(tmp_path: Path) -> None:
    file = tmp_path / "proxy-secret"
    file.write_text("x" * 32)
    file.chmod(0o600)
    settings = Settings(identity=IdentitySettings(secret_file=file))
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        found = [fact.reader for fact in ask.named_files(settings, None)]
    finally:
        os.seteuid(0)
    assert found == ["nobody"]


SECRETS = [name for name, field in setting_fields() if field.annotation is SecretStr]


@pytest.mark.parametrize("name", SECRETS)
def test_every_secret_counts_as_one_and_so_does_its_file(name: str) -> None:
    section, field = name.split(".")
    fields = type(getattr(Settings(), section)).model_fields
    user = {"user": "fullwarp"} if "user" in fields else {}  # a password goes with a name
    written = Settings.model_validate({section: {field: "redis://canary", **user}})
    assert ask.holds_secret(written) and not ask.holds_secret(Settings())
    kept = Settings.model_validate({section: {f"{field}_file": "/etc/shadow", **user}})
    assert [facts.field for facts in ask.named_files(kept, None)] == [f"{name}_file"]


def test_a_file_of_headers_holds_secrets() -> None:
    settings = Settings.model_validate({"metrics": {"headers_file": "/etc/shadow"}})
    assert [(one.field, one.holds_secret) for one in ask.named_files(settings, None)] == [
        ("metrics.headers_file", True)
    ]


def test_nobody_who_can_be_staff_is_said() -> None:
    settings = IdentitySettings(staff_admin_levels=[])
    assert said(safety.staff(settings))[0] == [Verdict.NOTE]
    assert list(safety.staff(IdentitySettings())) == []


class Silent:
    """An exporter that is known by its names, and of which nothing answers now."""

    kind = "prometheus"

    def health(self) -> SourceHealth:
        return SourceHealth(True, "2.42.0", 0.01, dialects=("dcgm_exporter",))

    def latest(self, metrics: Sequence[str], at: datetime | None = None) -> Reading:
        return reading()


class Scheduler:
    kind = "commands"

    def health(self) -> SourceHealth:
        return SourceHealth(True, "24.11.1", 0.01)

    def nodes(self, at: datetime | None = None) -> Rows[Node]:
        return Rows((node("gpu01"), node("cpu01", gpus=0)))

    def jobs(self, at: datetime | None = None) -> Rows[Job]:
        return Rows(())

    def accounted_running(self) -> Rows[Job]:
        return Rows(())


@pytest.mark.parametrize(
    ("given", "is_asked"),
    [
        ({}, True),
        ({"policy": {"enforce": True}}, False),
        ({"policy": {"enforce": True}, "identity": {}}, True),
        ({"policy": {"enforce": True}, "serve": {"bind": "127.0.0.1:8051"}}, True),
    ],
)
def test_who_asks_is_no_question_to_the_settings_of_an_enforcer_alone(given: dict[str, Any], is_asked: bool) -> None:
    settings = Settings.model_validate({"metrics": {"kind": "none"}} | given)
    found = [one.text for one in look(settings, None, cast(SchedulerSource, Scheduler()), cast(MetricsSource, None))]
    assert any("a TCP port without a shared secret" in text for text in found) is is_asked


def test_an_exporter_that_fell_silent_everywhere_is_a_problem() -> None:
    settings = Settings(metrics=MetricsSettings(url="http://prometheus:9090"))
    found = look(settings, None, cast(SchedulerSource, Scheduler()), cast(MetricsSource, Silent()), is_demo=True)
    problems = [item.text for item in found if item.verdict is Verdict.PROBLEM]
    assert problems == ["1 of 1 GPU nodes have no series: gpu01"]


@pytest.mark.parametrize(
    ("recorded", "verdict", "part"),
    [
        ((), Verdict.NOTE, "no recording rules of ours are loaded"),
        (("a", "b"), Verdict.OK, "loaded, 2 names"),
        (("a",), Verdict.NOTE, "not there: b"),
        (("a", "b", "old"), Verdict.NOTE, "of other settings: old"),
    ],
)
def test_recording_rules_are_loaded_absent_or_those_of_other_settings(
    recorded: tuple[str, ...], verdict: Verdict, part: str
) -> None:
    verdicts, text = said(metrics.recording(recorded, {"a", "b"}))
    assert verdicts == [verdict] and part in text
    assert ("fullwarp rules >" in text) is (verdict is Verdict.NOTE)


def test_of_a_server_that_does_not_tell_nothing_is_said_of_recording_rules() -> None:
    assert list(metrics.recording(None, {"a"})) == []
