"""Once a night: parts of past days become one file, what is old gets pseudonyms, and goes."""

from __future__ import annotations

from data.history.datasets import DATASETS
from data.history.privacy import Privacy
from data.history.store import HistoryStore
from data.history.tables import day_of

_PSEUDONYMS = "pseudonyms"


def tidy(store: HistoryStore, privacy: Privacy) -> None:
    """Remove days that are kept no longer, make one file of the parts of each day that is over, and take names away.

    Can be cut off anywhere and repeated.
    """
    settings, today = privacy.settings, day_of(privacy.now)
    for name in DATASETS:
        kept = getattr(settings, f"{name}_days")
        for day in store.days(name):
            age = (today - day).days
            if kept is not None and age > kept:
                store.remove_day(name, day)
                continue
            if age > settings.compact_after_days:
                store.compact(name, day)
            named = settings.pseudonyms_after_days
            if privacy.pseudonyms is not None and named is not None and age > named:
                store.change(name, day, privacy.pseudonyms.applied, _PSEUDONYMS)
