"""The tables of the enforcement store, as the newest migration leaves them. Times are UTC, in microseconds since
1970: a notice must not end a second early because of how its beginning was kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Moment(TypeDecorator[datetime]):
    """An aware time as microseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - EPOCH) // _MICROSECOND

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else EPOCH + int(value) * _MICROSECOND


METADATA = MetaData()
Number = BigInteger().with_variant(Integer, "sqlite")


def attempt_columns() -> list[Column[Any]]:
    """What makes an attempt of a job unique."""
    return [
        Column("cluster", String(128), nullable=False),
        Column("job_id", BigInteger, nullable=False),
        Column("submit_time", Moment),
        Column("start_time", Moment),
        Column("restart_count", Integer, nullable=False),
    ]


EPISODES = Table(
    "episodes",
    METADATA,
    Column("id", Number, primary_key=True),
    *attempt_columns(),
    Column("rule", String(40), nullable=False),
    Column("number", Integer, nullable=False),
    Column("opened_at", Moment, nullable=False),
    Column("low_at", Moment, nullable=False),
    Column("seen_at", Moment, nullable=False),
    Column("is_open", Boolean, nullable=False),
    Column("is_held", Boolean, nullable=False),
    Column("low_seconds", Float, nullable=False),
    Column("frozen_since", Moment),
    Column("frozen_seconds", Float, nullable=False),
    Column("fresh_at", Moment),
    Column("ok_since", Moment),
    Column("taken", Text, nullable=False),
    Index("ix_episodes_job", "cluster", "job_id"),
)

ACTING_SINCE = Table(
    "acting_since",
    METADATA,
    Column("cluster", String(128), primary_key=True),
    Column("rule", String(40), primary_key=True),
    Column("since", Moment, nullable=False),
    Column("form", String(64)),
)

MAILS = Table(
    "mails",
    METADATA,
    Column("reference", String(120), primary_key=True),
    Column("user", String(128), nullable=False),
    Column("rule", String(40), nullable=False),
    Column("step", Integer, nullable=False),
    Column("planned_at", Moment, nullable=False),
    Column("message", LargeBinary),
    Column("accepted_at", Moment),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Number, primary_key=True),
    Column("intended_at", Moment, nullable=False, index=True),
    *attempt_columns(),
    Column("display_id", String(64), nullable=False),
    Column("user", String(128), nullable=False, index=True),
    Column("account", String(128)),
    Column("partition", String(128), nullable=False),
    Column("gpus", Integer),
    Column("rule", String(40), nullable=False),
    Column("number", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("action", String(16), nullable=False),
    Column("low_since", Moment, nullable=False),
    Column("cancel_id", String(64)),
    Column("sentence", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("mail", String(120), ForeignKey("mails.reference")),
    Column("outcome", String(16)),
    Column("why", Text, nullable=False),
    Column("settled_at", Moment),
    Index("ix_audit_job", "cluster", "job_id"),
)

TOLD = Table(
    "told",
    METADATA,
    Column("kind", String(64), primary_key=True),
    Column("subject", String(256), primary_key=True),
    Column("told_at", Moment, nullable=False),
)
