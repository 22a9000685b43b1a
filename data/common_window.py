"""One window for the findings about several running jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from data.model import Job, Window

LONGEST = timedelta(hours=4)
_USUAL = timedelta(hours=1)
_YOUNGEST = timedelta(minutes=10)


def common_window(jobs: Iterable[Job], moment: datetime) -> Window | None:
    """The span up to `moment` in which every job that ran an hour was running, at most four hours long; of jobs that
    are all younger, those that ran ten minutes. None = none did."""
    ages = [moment - job.start_time for job in jobs if job.start_time is not None]
    for least in (_USUAL, _YOUNGEST):
        old = [age for age in ages if age >= least]
        if old:
            return Window(moment - min(*old, LONGEST), moment)
    return None


def title_of_window(title: str) -> str:
    """A finding's title without "never" and "ever": before the window it may have been otherwise."""
    return title.replace("was ever used", "was used").replace("never used", "not used")
