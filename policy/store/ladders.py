"""Episodes and since when rules act, kept between passes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, delete, insert, select, update

from data.enforcement.tables import ACTING_SINCE, EPISODES
from data.state.store import StateStore
from policy.ladder import Episode, Ladders
from policy.model import Attempt

ATTEMPT = ("cluster", "job_id", "submit_time", "start_time", "restart_count")
_AS_THEY_ARE = (
    "rule",
    "number",
    "opened_at",
    "low_at",
    "seen_at",
    "is_open",
    "is_held",
    "low_seconds",
    "frozen_since",
    "frozen_seconds",
    "fresh_at",
    "ok_since",
)


def read_ladders(store: StateStore, cluster: str) -> Ladders:
    """All that is known of a cluster. Raises SourceUnreachable."""
    with store.connection() as connection:
        return ladders_of(connection, cluster)


def ladders_of(connection: Connection, cluster: str) -> Ladders:
    rows = connection.execute(select(EPISODES).where(EPISODES.c.cluster == cluster))
    since = connection.execute(select(ACTING_SINCE).where(ACTING_SINCE.c.cluster == cluster))
    episodes = [_episode(row) for row in rows]
    found = since.all()
    forms = {row.rule: row.form for row in found if row.form is not None}
    return Ladders({one.key: one for one in episodes}, {row.rule: row.since for row in found}, forms)


def keep_episodes(connection: Connection, cluster: str, episodes: Iterable[Episode]) -> None:
    """Put these in the place of all episodes of the cluster."""
    connection.execute(delete(EPISODES).where(EPISODES.c.cluster == cluster))
    rows = [_values(one) for one in episodes]
    if rows:
        connection.execute(insert(EPISODES), rows)


def keep_taken(connection: Connection, episode: Episode) -> None:
    """Write down that the episode's newest step was taken."""
    changed = connection.execute(
        update(EPISODES)
        .where(is_attempt(EPISODES, episode.attempt), EPISODES.c.rule == episode.rule)
        .values(taken=_moments(episode.taken))
    )
    if changed.rowcount != 1:
        raise LookupError(f"{changed.rowcount} episodes of {episode.key}")


def keep_acting_since(connection: Connection, cluster: str, forms: Mapping[str, str], now: datetime) -> None:
    """Rules that act from now on, or in another form, begin now; those that no longer act are forgotten. `forms` by
    rule."""
    table = ACTING_SINCE
    mine = table.c.cluster == cluster
    connection.execute(delete(table).where(mine, table.c.rule.not_in(list(forms))))
    known = {row.rule: row.form for row in connection.execute(select(table).where(mine))}
    for rule, form in sorted(forms.items()):
        if rule not in known:
            connection.execute(insert(table).values(cluster=cluster, rule=rule, since=now, form=form))
        elif known[rule] is None:
            connection.execute(update(table).where(mine, table.c.rule == rule).values(form=form))
        elif known[rule] != form:
            connection.execute(update(table).where(mine, table.c.rule == rule).values(since=now, form=form))


def attempt_values(attempt: Attempt) -> dict[str, object]:
    return dict(zip(ATTEMPT, attempt, strict=True))


def attempt_of_row(row: Row[Any]) -> Attempt:
    return (row.cluster, row.job_id, row.submit_time, row.start_time, row.restart_count)


def is_attempt(table: Table, attempt: Attempt) -> ColumnElement[bool]:
    """Whether a row is of this attempt; a time that is not known is no time."""
    return and_(
        *(
            table.c[name].is_(None) if value is None else table.c[name] == value
            for name, value in zip(ATTEMPT, attempt, strict=True)
        )
    )


def _values(episode: Episode) -> dict[str, object]:
    plain = {name: getattr(episode, name) for name in _AS_THEY_ARE}
    return {**attempt_values(episode.attempt), **plain, "taken": _moments(episode.taken)}


def _episode(row: Row[Any]) -> Episode:
    taken = tuple(datetime.fromisoformat(text) for text in json.loads(row.taken))
    return Episode(attempt_of_row(row), **{name: getattr(row, name) for name in _AS_THEY_ARE}, taken=taken)


def _moments(taken: Iterable[datetime]) -> str:
    return json.dumps([moment.isoformat() for moment in taken])
