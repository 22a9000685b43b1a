"""The jobs of an epoch as columns."""

from __future__ import annotations

from dataclasses import dataclass

from data.simulation.chance import Flags, Floats, Ints, Keys


@dataclass(slots=True)
class Columns:
    """One entry per attempt of a job. Times in seconds; `origin` is the row of the attempt before (-1 = none),
    `previous` the row that a chained job depends on (-1 = none); `cores`, `memory` (bytes) and what of them is used
    (share of cores, bytes) are per node."""

    lane: Ints
    archetype: Ints
    link: Ints
    campaign: Ints
    place: Ints
    count: Ints
    key: Keys
    owner: Keys
    state: Ints
    start: Floats
    end: Floats
    wait: Floats
    queued: Flags
    ceiling: Floats
    fate: Ints
    origin: Ints
    previous: Ints
    limit: Floats
    submit: Floats
    eligible: Floats
    job_id: Ints
    array_id: Ints
    task: Ints
    restarts: Ints
    suspend_from: Floats
    suspend_to: Floats
    cores: Ints
    memory: Ints
    cpu_use: Floats
    memory_used: Ints
