"""Plain questions without a model: what they name (a job id, a node, a user known to the picture) says what to show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chat.commands import Wanted
from chat.model import Asker, OnScreen
from data.errors import FullwarpError
from data.model import ClusterSnapshot
from data.queries.live import snapshot

_JOB = re.compile(r"(?<![\w.\-/])\d{1,12}(?:_\d{1,9}|\+\d{1,4})?(?![\w\-]|\.\d|\s?%)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,99}")
_MOST_WANTED = 4
# The shortest number that is taken as a job id where no job of the picture has it: others are mostly amounts.
_LIKELY_JOB = 4
_WAITS = re.compile(r"\b(why.*(pending|wait|start|queue)|wait(s|ing)?|pending|queued?)\b", re.IGNORECASE)
_COMPARES = re.compile(r"\b(compare|compared|versus|vs|difference|between)\b", re.IGNORECASE)


def understood(asker: Asker, question: str, on_screen: OnScreen) -> tuple[Wanted, ...]:
    """The tools that answer what a plain question names, jobs first; () = it names nothing that is known."""
    try:
        seen = snapshot(asker.viewer, asker.sources)
    except FullwarpError:
        seen = None
    found = [*_jobs(question, seen), *_nodes(question, seen), *_users(question, seen, asker.viewer.user)]
    return tuple(found[:_MOST_WANTED]) or _of_screen(question, on_screen)


def _jobs(question: str, seen: ClusterSnapshot | None) -> Iterator[Wanted]:
    known = {name: job for job in (seen.jobs if seen else ()) for name in (job.display_id, str(job.job_id))}
    named = list(dict.fromkeys(_JOB.findall(question)))
    ids = [one for one in named if one in known or len(one) >= _LIKELY_JOB]
    if len(ids) == 2 and _COMPARES.search(question):
        yield Wanted("compare_jobs", {"job_id": ids[0], "other_job_id": ids[1]})
        return
    for one in ids:
        job = known.get(one)
        is_waiting = job is not None and job.state == "PENDING"
        asks_why = is_waiting and _WAITS.search(question) is not None
        yield Wanted("why_pending" if asks_why else "job_report", {"job_id": one})


def _nodes(question: str, seen: ClusterSnapshot | None) -> Iterator[Wanted]:
    known = {node.name.lower(): node.name for node in (seen.nodes if seen else ())}
    for word in dict.fromkeys(word.lower().rstrip(".") for word in _NAME.findall(question)):
        if word in known:
            yield Wanted("node", {"name": known[word]})


def _users(question: str, seen: ClusterSnapshot | None, asker: str) -> Iterator[Wanted]:
    """Names of users are taken as they are written: many of them are words, too."""
    known = {asker, *(job.user for job in (seen.jobs if seen else ()) if job.job_id and job.user)}
    for word in dict.fromkeys(word.rstrip(".") for word in _NAME.findall(question)):
        if word in known:
            yield Wanted("user_efficiency", {"user": word})


def _of_screen(question: str, on_screen: OnScreen) -> tuple[Wanted, ...]:
    """ "This job" of a question is the one that the page shows."""
    words = question.lower()
    if on_screen.job and re.search(r"\b(this|my|the) job\b|\bit\b", words):
        tool = "why_pending" if _WAITS.search(question) else "job_report"
        return (Wanted(tool, {"job_id": on_screen.job}),)
    if on_screen.node and re.search(r"\b(this|the) node\b|\bit\b", words):
        return (Wanted("node", {"name": on_screen.node}),)
    if on_screen.user and re.search(r"\b(this|the) user\b|\bthey\b", words):
        return (Wanted("user_efficiency", {"user": on_screen.user}),)
    return ()
