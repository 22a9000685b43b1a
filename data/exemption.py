"""One time-limited exemption from the rules for low use, as it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

SUBJECTS = ("user", "account", "qos", "partition")
"""What a job has by a name, and can be exempt by; they are fields of a Job."""
KINDS = (*SUBJECTS, "job")


@dataclass(frozen=True, slots=True)
class KeptExemption:
    """`kind` is one of KINDS; `rule` "" means every rule. One that is taken back stays, with
    who did it and when."""

    id: str
    kind: str
    name: str
    rule: str
    reason: str
    created_by: str
    created_at: datetime
    until: datetime
    ended_by: str | None = None
    ended_at: datetime | None = None

    def is_active(self, now: datetime) -> bool:
        return self.ended_at is None and now < self.until
