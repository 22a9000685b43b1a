"""What the collector remembers between passes: how far it came, what it found. One small file per cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from data.errors import FullwarpError


@dataclass(frozen=True, slots=True)
class Suspension:
    """A time in which an attempt was seen suspended; `end` None = it is still."""

    cluster: str
    job_id: int
    submit_time: datetime | None
    start_time: datetime | None
    begin: datetime
    end: datetime | None = None

    @property
    def key(self) -> tuple[str, int, datetime | None, datetime | None]:
        """The same as `Job.key`."""
        return (self.cluster, self.job_id, self.submit_time, self.start_time)


@dataclass(frozen=True, slots=True)
class PassNumbers:
    """What one pass did. `dropped` counts blank and implausible samples, `flagged` rows with a flag, by reason.

    `unmeasured` are GPU attempts without usage, `apportioned` those whose hours are spread evenly, `runaway` jobs that
    only accounting believes to run: they are counted nowhere.
    """

    ended: int = 0
    written: int = 0
    running: int = 0
    runaway: int = 0
    unmeasured: int = 0
    apportioned: int = 0
    moved: int = 0
    broken: int = 0
    broken_examples: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    flagged: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Import:
    """Records from `first` to `last` are being read for the first time, oldest first; `day` is the next."""

    first: date
    day: date
    last: date


@dataclass(frozen=True, slots=True)
class CollectorState:
    """`collected_until`: Slurm's records are in up to here. `measured_until`: so are the hours of running jobs.

    `wide_at` and `deep_at` are when the overlap and the nightly span were last read again, `first_at` when this
    collector first ran, `tidied_at` when it last tidied up. `importing` is where a long pass is, or was when it was
    cut off. `suspensions` are of the last weeks: Slurm keeps only their sum.
    """

    first_at: datetime | None = None
    collected_until: datetime | None = None
    measured_until: datetime | None = None
    wide_at: datetime | None = None
    deep_at: datetime | None = None
    tidied_at: datetime | None = None
    snapshot_at: datetime | None = None
    passed_at: datetime | None = None
    importing: Import | None = None
    suspensions: tuple[Suspension, ...] = ()
    last: PassNumbers = field(default_factory=PassNumbers)


_FORM = TypeAdapter(CollectorState)


def state_path(directory: Path, cluster: str) -> Path:
    return directory / f"collector-{quote(cluster, safe='')}.json"


def read_state(path: Path) -> CollectorState:
    """The remembered state; a new one where there is none. Raises FullwarpError for a file that cannot be read."""
    try:
        return _FORM.validate_json(path.read_bytes())
    except FileNotFoundError:
        return CollectorState()
    except (ValidationError, OSError) as err:
        raise FullwarpError(
            f"{path} cannot be read", hint="Remove it: the last days are then collected again, which changes nothing."
        ) from err


def state_text(state: CollectorState) -> str:
    return _FORM.dump_json(state, indent=1).decode() + "\n"


def read_states(directory: Path) -> tuple[CollectorState, ...]:
    """The states of all clusters in a folder; unreadable ones are left out."""
    found = []
    for path in sorted(directory.glob("collector-*.json")):
        try:
            found.append(read_state(path))
        except FullwarpError:
            continue
    return tuple(found)
