"""One picture for all threads and processes: refreshed by one of them at a time, behind everyone's back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from data.cache import Cache
from data.errors import FullwarpError, SourceTimeout
from data.live.asking import Asking
from data.live.coding import read_picture, write_picture
from data.live.past import PastPictures
from data.live.picture import Origin, Picture, next_picture
from data.live.recorded import Recorder, nothing_recorded
from data.model import Association, ClusterSnapshot, SourceCondition
from data.protocols import MetricsSource, SchedulerSource

SLOW_EVERY = timedelta(minutes=10)
SLOW_RETRY = timedelta(minutes=1)
_STALE_FACTOR = 3
_POLL_SECONDS = 0.05
_SLOW_PATIENCE_SECONDS = 1.5
_ACCOUNTS_PATIENCE_SECONDS = 5.0


Told = Callable[[float, bool], None]


def tell_nobody(seconds: float, made: bool) -> None:
    """Nobody is told of a refresh."""


class LiveCluster:
    """Keeps the decoded picture of this process, shares it through `cache`, and asks the sources at most once per
    `refresh_seconds` however many threads and processes ask.

    While a new picture loads, the last good one is served; only the very first load, and one after a long silence
    (three times the refresh time, then at most `patience_seconds`), waits. `clock` gives the present as aware UTC.
    `limits` are the most seconds that one refresh waits for Slurm and for the metrics; `recorder` gives what the
    history holds of a past moment; `refreshed` is told of each refresh: its seconds, and whether it made a picture.
    """

    def __init__(
        self,
        scheduler: SchedulerSource,
        metrics: MetricsSource,
        cache: Cache,
        clock: Callable[[], datetime],
        *,
        refresh_seconds: float = 30.0,
        limits: tuple[float, float] = (40.0, 40.0),
        origin: Origin | None = None,
        key: str = "live",
        patience_seconds: float = 3.0,
        recorder: Recorder = nothing_recorded,
        refreshed: Told = tell_nobody,
    ) -> None:
        self._scheduler, self._metrics, self._cache, self._clock = scheduler, metrics, cache, clock
        self._refresh, self._limits, self._patience = timedelta(seconds=refresh_seconds), limits, patience_seconds
        self._origin = origin or Origin(scheduler_kind=scheduler.kind, metrics_kind=metrics.kind)
        self._key, self._refreshed = key, refreshed
        self._held: Picture | None = None
        self._skipped = ""
        self._guard = threading.Lock()
        self._worker: threading.Thread | None = None
        self._failure: Exception | None = None
        self._past = PastPictures(scheduler, metrics, self.picture, clock, self._origin, recorder)

    @property
    def lapse_seconds(self) -> float:
        """How long a refresh may hold the lock before another may begin: both of its time limits."""
        return sum(self._limits)

    def snapshot(self) -> ClusterSnapshot:
        """The newest picture; never older than the last refresh, with the state and age of each source in it."""
        return self.picture().snapshot

    @property
    def is_ready(self) -> bool:
        """Whether `snapshot` answers at once: there is a picture, and not one from before a long silence."""
        held = self._newest()
        return held is not None and abs(self._clock() - held.snapshot.made_at) <= self._refresh * _STALE_FACTOR

    @property
    def known(self) -> Picture | None:
        """The newest picture that is there, however old; asks no source."""
        return self._newest()

    def begin(self) -> None:
        """Start the first refresh behind everyone's back, where there is no picture yet."""
        if self._newest() is None:
            self._refresh_behind()

    def at(self, moment: datetime) -> ClusterSnapshot:
        """The picture of a past moment, as far as the sources know it; what they cannot know is in `unknown`.

        Raises BadRequest for a moment in the future, SourceError when no source can say anything of it.
        """
        return self._past.at(moment)

    def associations(self) -> tuple[Association, ...]:
        """Slurm's account tree, at most ten minutes old; waits for the first, empty while Slurm gives none."""
        held = self._newest()
        if held is not None and held.slow_tried is not None and self._clock() - held.slow_tried < SLOW_EVERY:
            return held.associations
        picture = self.picture()
        if picture.slow_tried is None and not _is_slurm_down(picture):
            picture = self._await(picture, min(self.lapse_seconds, _ACCOUNTS_PATIENCE_SECONDS))
        return picture.associations

    def picture(self) -> Picture:
        held = self._newest()
        if held is not None and self._is_fresh(held):
            return held
        self._refresh_behind()
        if held is None:
            return self._await(None, self.lapse_seconds * 2)
        age = abs(self._clock() - held.snapshot.made_at)
        return self._await(held, self._patience) if age > self._refresh * _STALE_FACTOR else held

    def _is_fresh(self, picture: Picture) -> bool:
        """A picture from the future (the clock was set back) is not fresh."""
        return timedelta(0) <= self._clock() - picture.snapshot.made_at < self._refresh

    def _newest(self) -> Picture | None:
        """This process's picture, or the one that another process has made since."""
        held = self._held
        found = self._cache.get(f"{self._key}-version")
        version = None if found is None else found.decode(errors="replace")
        if version is None or version == self._skipped or (held is not None and version == held.snapshot.version):
            return held
        with self._guard:
            if self._held is held:
                shared = read_picture(self._cache.get(f"{self._key}-picture"))
                if shared is not None and (held is None or not self._is_newer(held, shared)):
                    self._held = shared
                else:
                    self._skipped = version
            return self._held

    def _is_newer(self, held: Picture, shared: Picture) -> bool:
        """Whether ours is better than the shared one (which the cache could not replace)."""
        return self._is_fresh(held) and shared.snapshot.made_at < held.snapshot.made_at

    def _await(self, held: Picture | None, seconds: float) -> Picture:
        """Wait for a picture other than `held`; give `held` back when none came in time."""
        until = time.monotonic() + seconds
        while True:
            newest = self._newest()
            if newest is not None and newest is not held:
                return newest
            if time.monotonic() >= until or self._failure is not None:
                break
            worker = self._refresh_behind()
            worker.join(_POLL_SECONDS)
            if not worker.is_alive() and self._held is held:
                time.sleep(_POLL_SECONDS)
        if held is not None:
            return held
        if self._failure is not None:
            raise FullwarpError(f"The first picture could not be made: {self._failure}") from self._failure
        raise SourceTimeout("The first picture is not there yet", hint="Try again in a moment.")

    def _refresh_behind(self) -> threading.Thread:
        with self._guard:
            worker = self._worker
            if worker is None or not worker.is_alive():
                worker = threading.Thread(target=self._refresh_once, name="refresh-picture", daemon=True)
                self._worker = worker
                worker.start()
            return worker

    def _refresh_once(self) -> None:
        """Refresh if nobody else does; a failure here leaves the last good picture."""
        release = self._cache.try_lock(f"{self._key}-refresh", self.lapse_seconds)
        if release is None:
            return
        try:
            newest = self._newest()
            if newest is None or not self._is_fresh(newest):
                self._load_timed(newest)
                self._failure = None
        except Exception as err:  # a mistake of ours must not end the thread without a word
            self._failure = err
            logging.getLogger(__name__).exception("the picture could not be refreshed")
        finally:
            release()

    def _load_timed(self, last: Picture | None) -> None:
        begun, made = time.monotonic(), False
        try:
            self._load(last)
            made = True
        finally:
            self._refreshed(time.monotonic() - begun, made)

    def _load(self, last: Picture | None) -> None:
        """Ask, and publish as soon as the main answers are there; once more when the rare ones took longer."""
        now = self._clock()
        asking = Asking(self._scheduler, self._metrics, with_slow=_is_slow_due(last, now))
        asked = asking.answers(self._limits, slow_seconds=_SLOW_PATIENCE_SECONDS)
        self._publish(next_picture(last, asked, self._origin, now, self._cache.fault))
        if not asked.is_complete:
            asked = asking.answers(self._limits)
            self._publish(next_picture(last, asked, self._origin, now, self._cache.fault))

    def _publish(self, picture: Picture) -> None:
        """Share the picture, unless another process has made a newer one meanwhile (this lock had lapsed)."""
        newest = self._newest()
        if newest is not None and picture.snapshot.made_at < newest.snapshot.made_at <= self._clock():
            return
        data = write_picture(picture)
        with self._guard:
            self._held = picture
        self._cache.set(f"{self._key}-picture", data)
        self._cache.set(f"{self._key}-version", picture.snapshot.version.encode())


def _is_slurm_down(picture: Picture) -> bool:
    """Whether waiting would gain nothing: what Slurm is asked rarely is not asked at all while it does not answer."""
    down = SourceCondition.DOWN
    return any(source.name == "slurm" and source.condition is down for source in picture.snapshot.sources)


def _is_slow_due(last: Picture | None, now: datetime) -> bool:
    if last is None or last.slow_tried is None:
        return True
    wait = SLOW_RETRY if last.slow_failed else SLOW_EVERY
    return not timedelta(0) <= now - last.slow_tried < wait
