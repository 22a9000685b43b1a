"""What a server has: which exporters, and how often they are scraped. Asked rarely, kept for ten minutes."""

from __future__ import annotations

import re
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from data.errors import SourceError
from data.metrics.dialects import BoundDialect, bind
from data.metrics.prometheus_answers import Labels, matrix, vector
from data.metrics.prometheus_http import Connection
from data.metrics.prometheus_selectors import series_of
from data.metrics.prometheus_site import INSTANCE, Site
from data.metrics.promql import equal, quoted, selector

KEPT_SECONDS = 600.0
# A server without known series is asked again sooner: exporters may be on their way.
KEPT_EMPTY_SECONDS = 30.0
_HOUR = 3600.0
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MOST_KEPT = 64
_ROUND_MOMENT = 1_500_000_000.0

T = TypeVar("T")


class Found:
    """Finds exporters and scrape intervals for now and for past spans."""

    def __init__(self, connection: Connection, site: Site, interval_seconds: float | None) -> None:
        self._connection = connection
        self._site = site
        self._given_interval = interval_seconds
        self._lock = threading.Lock()
        self._kept: dict[object, tuple[float, object]] = {}

    def dialects(self, start: float | None, end: float | None) -> tuple[BoundDialect, ...]:
        """Exporters with series in this span (None = now), best first."""
        key = ("dialects", start and start // _HOUR, end and end // _HOUR)
        return self._keep(key, lambda: self._find_dialects(start, end))

    def interval(self, bound: BoundDialect, at: float | None) -> float | None:
        """Seconds between two samples: as set, else the target's scrape interval, else the median spacing."""
        if self._given_interval:
            return self._given_interval
        return self._keep(("interval", bound.id, at and at // _HOUR), lambda: self._find_interval(bound, at))

    def ranges_are_open(self) -> bool:
        """Whether a range leaves its first moment out (Prometheus 3 and others) or holds both ends (Prometheus 2)."""
        return self._keep("ranges", self._find_range) == 2

    def forget(self) -> bool:
        """Ask anew next time, unless it was asked just now; whether anything was forgotten."""
        now = time.monotonic()
        with self._lock:
            old = [key for key, (asked, _) in self._kept.items() if now - asked > KEPT_EMPTY_SECONDS]
            for key in old:
                del self._kept[key]
        return bool(old)

    def _keep(self, key: object, find: Callable[[], T]) -> T:
        now = time.monotonic()
        with self._lock:
            asked, value = self._kept.get(key, (-KEPT_SECONDS, None))
        if now - asked < (KEPT_SECONDS if value else KEPT_EMPTY_SECONDS):
            return value  # type: ignore[return-value]
        fresh = find()
        with self._lock:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (now, fresh)
        return fresh

    def _find_range(self) -> int:
        """How many steps of 30 s the server sees in a minute that begins and ends with one: 2 or 3."""
        answer = self._connection.query("count_over_time(vector(1)[60s:30s])", _ROUND_MOMENT)
        return next((int(count) for _, _, count in vector(answer.data, Counter())), 0)

    def _find_dialects(self, start: float | None, end: float | None) -> tuple[BoundDialect, ...]:
        names = self.names(start, end)
        if self._bind(names) and end is not None:  # of the past, an index may name a part only (late samples)
            with suppress(SourceError):
                names = [*names, *self._names_by_query(end)]
        bound = self._bind(names) or self._bind(self._names_by_query(end))
        return tuple(replace(each, present=self._labels(each, start, end)) for each in bound)

    def _bind(self, names: Iterable[str]) -> list[BoundDialect]:
        listed = list(names)
        found = {name.lower(): name for name in listed} | {name: name for name in listed}
        each = (bind(dialect, rank, found, self._site.names) for rank, dialect in enumerate(self._site.dialects))
        return [bound for bound in each if bound]

    def _names_by_query(self, end: float | None) -> list[str]:
        """Names of known series by their samples: some servers' look-up of names lacks what their queries find."""
        known = {name for dialect in self._site.dialects for name in dialect.names()} | set(self._site.names.values())
        pattern = f"(?i)({'|'.join(sorted(known))})"
        series = selector([f"__name__=~{quoted(pattern)}", *self._site.matchers])
        answer = self._connection.query(f"group by (__name__) (last_over_time({series}[1h]))", end, tries=1)
        return [labels["__name__"] for labels, _, _ in vector(answer.data, Counter()) if "__name__" in labels]

    def names(self, start: float | None, end: float | None) -> list[str]:
        """Names of all series of the span that fit the site's matchers (an index look-up on the server)."""
        parameters = _span(start, end)
        if self._site.matchers:
            parameters["match[]"] = selector(self._site.matchers)
        answer = self._connection.ask("/api/v1/label/__name__/values", parameters, tries=2)
        return [name for name in answer.data or [] if isinstance(name, str)]

    def _labels(self, bound: BoundDialect, start: float | None, end: float | None) -> frozenset[str]:
        """Label names of the exporter's series; empty where the server does not tell."""
        parameters = {**_span(start, end), "match[]": series_of(bound, self._site, [bound.inventory])}
        try:
            names = self._connection.ask("/api/v1/labels", parameters, tries=1).data
        except SourceError:
            return frozenset()
        return frozenset(names) if isinstance(names, list) else frozenset()

    def _find_interval(self, bound: BoundDialect, at: float | None) -> float | None:
        example = self._example(bound, at)
        if example is None:
            return None
        if at is None and (seconds := self._target_interval(example)):
            return seconds
        return self._spacing(bound, example, at)

    def _example(self, bound: BoundDialect, at: float | None) -> Labels | None:
        """One series of the exporter; those of all exporters of now come with one request."""
        if at is None:
            known = self._keep("examples", lambda: self._examples(self.dialects(None, None), None))
            if bound.inventory in known:
                return known[bound.inventory]
        return next(iter(self._examples([bound], at).values()), None)

    def _examples(self, dialects: Iterable[BoundDialect], at: float | None) -> dict[str, Labels]:
        """By the name of the series."""
        query = " or ".join(f"topk(1, {series_of(bound, self._site, [bound.inventory])})" for bound in dialects)
        answer = self._connection.query(query, at, tries=1) if query else None
        return {labels.get("__name__", ""): labels for labels, _, _ in vector(answer.data, Counter())} if answer else {}

    def _target_interval(self, example: Labels) -> float | None:
        """The scrape interval that the server tells of the example's target; None where it tells none."""
        texts = [interval for labels, interval in self._keep("targets", self._targets) if _is_target(labels, example)]
        return duration_seconds(texts[0]) if texts else None

    def _targets(self) -> list[tuple[Labels, str]]:
        """Labels and scrape interval of every target; empty where the server tells of none."""
        try:
            answer = self._connection.ask("/api/v1/targets", {"state": "active"}, tries=1).data
        except SourceError:
            return []
        active = answer.get("activeTargets", []) if isinstance(answer, dict) else []
        every = [target for target in active if isinstance(target, dict)]
        return [(target.get("labels") or {}, str(target.get("scrapeInterval", ""))) for target in every]

    def _spacing(self, bound: BoundDialect, example: Labels, at: float | None) -> float | None:
        device = [equal(label, str(value)) for label, value in example.items() if label != "__name__"]
        query = f"{series_of(bound, self._site, [bound.inventory], device)}[{int(_HOUR)}s]"
        series = list(matrix(self._connection.query(query, at, tries=1).data, Counter()))
        gaps = [gap for _, times, _ in series for gap in (times[1:] - times[:-1]).tolist()]
        return round(statistics.median(gaps), 3) if gaps else None


def _span(start: float | None, end: float | None) -> dict[str, str]:
    if start is None or end is None:
        now = time.time()
        start, end = now - _HOUR, now
    return {"start": f"{start:.3f}", "end": f"{end:.3f}"}


def _is_target(labels: Mapping[str, str], example: Labels) -> bool:
    return all(labels.get(name) == example.get(name) for name in ("job", INSTANCE))


def duration_seconds(text: str) -> float | None:
    """Seconds of a Prometheus duration such as 30s or 1m30s; None for anything else."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts) or None
