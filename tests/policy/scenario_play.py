"""Plays a scenario through the real join, verdicts and ladder, minute by minute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from data.errors import SourceUnreachable
from data.inventory import Inventory
from data.join import join
from data.model import (
    ClusterSnapshot,
    Device,
    DeviceReading,
    Reading,
    Scope,
    Series,
    SourceCondition,
    SourceState,
    SumAsk,
    SumsReading,
    Window,
)
from policy.decide import Act, Cancelled, Decision, Situation, decide
from policy.ladder import Episode, EpisodeKey, take
from policy.model import JobVerdict, attempt_of
from policy.queries import judge_all
from policy.raw import RawSums
from policy.rules import Exemption, rules_of
from settings import PolicySettings, Settings, StepAction
from tests.live.builders import make_node
from tests.policy.scenario_form import T0, Expected, Scenario, Track


@dataclass
class ScenarioMetrics:
    """A metrics source of the scenario's samples, one a minute at the whole minute."""

    scenario: Scenario
    minute: int = 0
    is_down: bool = False
    restarts: dict[str, int] = field(default_factory=dict)
    kind: str = "scenario"
    requests: int = 0

    def devices(self) -> Iterator[tuple[str, Device]]:
        for name in self.scenario.tracks:
            node, index, *piece = name.split("/")
            yield (
                name,
                Device(
                    node,
                    int(index),
                    f"gpu-{node}-{index}" + "".join(piece),
                    model=self.scenario.model,
                    slice_id=piece[0] if piece else None,
                    slice_profile="1g.10gb" if piece else None,
                ),
            )

    def label(self, device: str, minute: int) -> str | None:
        listed = self.scenario.labels.get(device, [])
        return listed[minute] or None if 0 <= minute < len(listed) else None

    def reading(self, minute: int) -> Reading:
        found = []
        for name, device in self.devices():
            tracks = self.scenario.tracks[name]
            values = {metric: value for metric, track in tracks.items() if (value := track.at(minute - 1)) is not None}
            if values:
                labels = (self.label(name, minute - 1) or "").split("&")
                found.append(DeviceReading(device, values, tuple(label for label in labels if label)))
        at = T0 + timedelta(minutes=minute)
        return Reading(at, tuple(found), sample_time=at - timedelta(seconds=60), interval_seconds=60.0)

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        first = max(0, round((window.start - T0).total_seconds() / 60))
        last = min(self.minute, round((window.end - T0).total_seconds() / 60))
        for name, device in self.devices():
            if scope.nodes is not None and device.node not in scope.nodes:
                continue
            for metric in metrics:
                track = self.scenario.tracks[name].get(metric)
                if track is not None:
                    yield from self._series(name, device, metric, track, range(first, min(last, len(track.values))))

    def _series(self, name: str, device: Device, metric: str, track: Track, minutes: range) -> Iterator[Series]:
        by_label: dict[str | None, list[tuple[float, float]]] = {}
        for minute in minutes:
            value = track.at(minute)
            for label in (self.label(name, minute) or "").split("&"):
                if value is not None:
                    time = (T0 + timedelta(minutes=minute)).timestamp()
                    by_label.setdefault(label or None, []).append((time, value))
        for label, points in by_label.items():
            times, values = zip(*points, strict=True)
            yield Series(metric, device.node, device, label, times, values)

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        self.requests += 1
        if self.is_down:
            raise SourceUnreachable("no answer")
        if asks:
            return RawSums(self).sums(asks, at, nodes, restarts)  # type: ignore[arg-type]
        minute = (at - T0).total_seconds() / 60
        seen = {
            node: window
            for node, when in self.restarts.items()
            for window in sorted(restarts, reverse=True)
            if 0 <= minute - when <= window / 60
        }
        return SumsReading(at, (), 60.0, seen)


@dataclass
class Played:
    """What happened at one pass."""

    minute: int
    verdicts: Mapping[str, JobVerdict]
    decision: Decision
    done: tuple[Act, ...]


class Player:
    """Plays a scenario; `crash_at` and the like are for the property tests, which drive it by hand."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        policy = PolicySettings(
            rules={"low-mean": {"mode": "off"}, "idle": {"mode": "off"}, **scenario.rules},
            **{"warn_only_days": 0, **scenario.policy},
        )
        self.settings = Settings(policy=policy, site_timezone=scenario.zone)
        self.rules = rules_of(policy)
        self.metrics = ScenarioMetrics(scenario)
        self.jobs = dict(scenario.jobs)
        self.episodes: dict[EpisodeKey, Episode] = {}
        self.acting_since: dict[str, datetime] = {}
        self.cancelled: list[Cancelled] = []
        self.exemptions: list[Exemption] = []
        self.skew = timedelta()
        self.is_stopped = False
        self.is_slurm_down = False
        self.inventory = Inventory()
        self._changes = list(scenario.changes)

    def play(self) -> Iterator[Played]:
        for minute in self.scenario.passes:
            while self._changes and self._changes[0].minute <= minute:
                change = self._changes.pop(0)
                self._change(change.minute, change.words)
            yield self.step(minute)

    def step(self, minute: int) -> Played:
        now = T0 + timedelta(minutes=minute) + self.skew
        self.metrics.minute = minute
        verdicts = self.verdicts(minute)
        running = sum(job.is_running for job in self.jobs.values())
        situation = Situation(
            tuple(verdicts.values()),
            running,
            self.episodes,
            self.acting_since,
            tuple(self.cancelled),
            None if self.is_slurm_down else frozenset(attempt_of(job) for job in self.jobs.values()),
            self.is_stopped,
        )
        decision = decide(situation, self.rules, self.settings.policy, ZoneInfo(self.scenario.zone), now)
        self.episodes = dict(decision.episodes)
        for act in decision.acts:
            self.carry_out(act, now)
        return Played(minute, verdicts, decision, decision.acts)

    def verdicts(self, minute: int) -> dict[str, JobVerdict]:
        found = judge_all(self.settings, self.metrics, self.snapshot(minute), tuple(self.exemptions))
        return {one.job.display_id: one for one in found.verdicts}

    def carry_out(self, act: Act, now: datetime) -> None:
        key = (attempt_of(act.job), act.rule)
        self.episodes[key] = take(self.episodes[key], now)
        if act.action is StepAction.CANCEL:
            self.cancelled.append(Cancelled(act.job.user or "", now))
            for name, job in list(self.jobs.items()):
                if attempt_of(job) == attempt_of(act.job):
                    del self.jobs[name]

    def snapshot(self, minute: int) -> ClusterSnapshot:
        now = T0 + timedelta(minutes=minute) + self.skew
        started = [job for job in self.jobs.values() if job.start_time is not None and job.start_time <= now]
        devices = [device for _, device in self.metrics.devices()]
        names = sorted({device.node for device in devices} | {node for job in started for node in job.nodes})
        slices = {device.node for device in devices if device.is_slice}
        nodes = [
            make_node(
                name,
                pools={"1g.10gb" if name in slices else "h100": max(8, 1 + _highest(self.scenario, name))},
                gpus_allocated=sum(part.gpu_count or 0 for job in started for part in job.devices if part.node == name),
            )
            for name in names
        ]
        reading = None if self.metrics.is_down else self.metrics.reading(minute)
        joined = join(nodes, started, reading, self.inventory, now)
        self.inventory = joined.inventory
        down = SourceState("slurm", "fake", SourceCondition.STALE if self.is_slurm_down else SourceCondition.OK)
        return ClusterSnapshot(
            "demo",
            now,
            now,
            tuple(nodes),
            joined.gpus,
            tuple(started),
            sources=(down,),
            metrics_time=T0 + timedelta(minutes=minute - 1),
            notes=joined.notes,
            version=str(minute),
        )

    def _change(self, minute: int, words: list[str]) -> None:
        now = T0 + timedelta(minutes=minute)
        match words:
            case ["prometheus", state]:
                self.metrics.is_down = state == "down"
            case ["slurm", state]:
                self.is_slurm_down = state == "down"
            case ["kill-switch", state]:
                self.is_stopped = state == "on"
            case ["clock", minutes]:
                self.skew = timedelta(minutes=float(minutes))
            case ["exporter", "restart", node]:
                self.metrics.restarts[node] = minute
            case ["rule", name, "acts"]:
                self.acting_since[name] = now
            case ["exempt", kind, name, "until", until, *reason]:
                end = T0 + timedelta(minutes=int(until))
                self.exemptions.append(Exemption(kind, name, end, " ".join(reason)))
            case [what, name, *more]:
                self._change_job(now, what, name, more)
            case _:
                raise ValueError(f"{words} is no change")

    def _change_job(self, now: datetime, what: str, name: str, more: list[str]) -> None:
        job = self.jobs.get(name) or self.scenario.jobs[name]
        if what == "suspend":
            job = replace(job, state="SUSPENDED", suspend_time=now, resumed_time=None)
        elif what == "resume":
            paused = (now - (job.suspend_time or now)).total_seconds()
            job = replace(job, state="RUNNING", suspend_time=None, resumed_time=now)
            job = replace(job, suspended_seconds=job.suspended_seconds + paused)
        elif what == "requeue":
            job = replace(job, start_time=now, restart_count=job.restart_count + 1)
        elif what == "reuse":
            job = replace(job, submit_time=now, start_time=now, user=more[0])
        elif what == "end":
            self.jobs.pop(name)
            return
        else:
            raise ValueError(f"{what} is no change")
        self.jobs[name] = job


def _highest(scenario: Scenario, node: str) -> int:
    return max((int(name.split("/")[1]) for name in scenario.tracks if name.split("/")[0] == node), default=0)


def complaints(scenario: Scenario) -> list[str]:
    """What went otherwise than the file says: statuses at the minutes named, and every step taken."""
    player = Player(scenario)
    wanted: dict[int, list[Expected]] = {}
    for one in scenario.expected:
        wanted.setdefault(one.minute, []).append(one)
    wrong = [f"there is no pass at minute {minute}" for minute in wanted if minute not in scenario.passes]
    for played in player.play():
        steps = {act.job.display_id: act for act in played.done}
        for one in wanted.get(played.minute, []):
            name = one.job or next(iter(scenario.jobs))
            wrong += _compare(one, name, played.verdicts.get(name), steps.pop(name, None), scenario.name)
        wrong += [f"minute {played.minute}: {act.action} of {name} was not expected" for name, act in steps.items()]
    return wrong


def _compare(one: Expected, name: str, verdict: JobVerdict | None, act: Act | None, file: str) -> list[str]:
    status = "none" if verdict is None else verdict.status.value
    reason = "" if verdict is None else verdict.verdict.reason
    taken = "" if act is None else act.action.value if act.cancel_id in (None, name) else f"cancel as {act.cancel_id}"
    step, place = one.step, f"{file} line {one.line}, minute {one.minute}"
    found = []
    if status != one.status or (one.reason and reason != one.reason):
        said = "" if verdict is None else verdict.verdict.sentence
        found.append(f"{place}: {name} is {status}({reason}), {said}")
    if taken != step:
        found.append(f"{place}: step is {taken or 'none'!r}, not {step or 'none'!r}")
    return found
