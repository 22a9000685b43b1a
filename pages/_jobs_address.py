"""The address of the list of jobs: which list, filters, order, place in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from components.jobs_list import FILTERS, RANGES
from data.model import JobFilter
from data.queries.finished import SORTS as FINISHED_SORTS
from data.queries.job_list import ListQuestion, Show
from data.queries.jobs import SORTS
from pages._address import choice_of, moment_of, number_of, text_of

PAGE_ROWS = 50
BUDGET_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class AskedJobs:
    """What the address asks for. `ignored` says in words what could not be used."""

    question: ListQuestion
    chosen: Mapping[str, str]
    ignored: tuple[str, ...] = ()

    def query(self) -> str:
        """The same question as a query string, without the place in the list."""
        asked = self.question
        values = {"show": asked.show.value, "days": str(asked.days), "sort": asked.sort, **self.chosen}
        if asked.at is not None:
            values["at"] = asked.at.isoformat()
        return urlencode({key: value for key, value in values.items() if value})


def parse_jobs_address(query: Mapping[str, str], now: datetime, zone: str) -> AskedJobs:
    """Read the query string; never fails."""
    ignored: list[str] = []
    show = Show(choice_of(query, "show", [one.value for one in Show], Show.RUNNING.value, ignored))
    days = int(choice_of(query, "days", [key for key, _ in RANGES], RANGES[0][0], ignored))
    known = FINISHED_SORTS if show is Show.FINISHED else SORTS
    sort = text_of(query, "sort")
    if sort and sort.removeprefix("-") not in known:
        ignored.append(f"sort = “{sort[:40]}” is none of {', '.join(known)}, with or without “-” before it.")
        sort = ""
    chosen = {key: text_of(query, key) for key in (*FILTERS, "q")}
    chosen["state"] = chosen["state"].upper()  # as Slurm writes it
    question = ListQuestion(
        show=show,
        filter=_filter(chosen),
        days=days,
        sort=sort,
        limit=PAGE_ROWS,
        offset=number_of(query, "offset", ignored),
        at=moment_of(query, now, zone, ignored),
        budget_seconds=BUDGET_SECONDS,
    )
    return AskedJobs(question, chosen, tuple(ignored))


def _filter(chosen: Mapping[str, str]) -> JobFilter:
    one = {key: frozenset({chosen[key]} if chosen[key] else ()) for key in FILTERS}
    return JobFilter(one["state"], one["user"], one["account"], one["partition"], chosen["q"])
