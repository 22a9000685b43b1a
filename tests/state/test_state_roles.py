"""With the very lines of the guide: the enforcer's role reads exemptions, and no token and no conversation."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from data.errors import SourceUnreachable
from data.state.exemptions import active_exemptions
from data.state.store import StateStore, open_store
from data.state.tables import METADATA
from settings import StateSettings

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "deploy.md"
ROLES = "enforcer_of_state", "web_of_state"


def store(port: int, user: str, database: str = "state_of_roles", *, writes: bool = False) -> StateStore:
    url = SecretStr(f"postgresql+psycopg://{user}@127.0.0.1:{port}/{database}")
    made = open_store(StateSettings(url=url), writes=writes)
    assert made is not None
    return made


def said(sql: str) -> list[str]:
    """Statements of the guide under names of this test's own: a server keeps roles for all its databases."""
    named = sql.replace("fullwarp_enforcer", ROLES[0]).replace("fullwarp_web", ROLES[1])
    return [line for line in named.replace("fullwarp_state", "state_of_roles").split(";") if line.strip()]


def test_the_enforcers_role_reads_exemptions_alone(postgres_port: int) -> None:
    before, after = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    first, second = before.split("\\connect fullwarp_state\n")
    root = store(postgres_port, "fullwarp", "fullwarp_state", writes=True)
    with root._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for line in (*(f"CREATE ROLE {name} LOGIN" for name in ROLES), *said(first)):
            connection.execute(text(line))
    admin = store(postgres_port, "fullwarp")
    with admin.connection() as connection:
        for line in said(second):
            connection.execute(text(line))
    web = store(postgres_port, ROLES[1], writes=True)
    with web.connection() as connection:
        for line in said(after):
            connection.execute(text(line))
    enforcer = store(postgres_port, ROLES[0])
    assert active_exemptions(enforcer, datetime.now(UTC)) == ()
    for table in METADATA.tables:
        refused = [f"delete from {table}"] + ([] if table == "exemptions" else [f"select * from {table}"])
        for statement in refused:
            with pytest.raises(SourceUnreachable, match="permission denied"), enforcer.connection() as connection:
                connection.execute(text(statement))
    for one in (root, admin, web, enforcer):
        one.close()
