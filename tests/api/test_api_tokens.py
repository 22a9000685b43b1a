"""Tokens: whose they are, how much they give, when they end, and what is kept of them."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from flask.testing import FlaskClient
from pydantic import SecretStr
from sqlalchemy import text
from typer.testing import CliRunner

import cli
from data.errors import NotFound, SettingsError, SourceUnreachable
from data.model import Role
from data.state.store import APPLICATION, StateStore, newest, open_store, upgrade_store
from data.state.tables import METADATA, TOKENS
from data.state.tokens import create_token, find_token, list_tokens, revoke_token
from settings import StateSettings
from tests.api.conftest import BASE, STAFF, USER, named, server_of, settings_for
from tests.queries.cluster import open_fakes

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=30)


def opened(settings: StateSettings) -> StateStore:
    store = open_store(settings, writes=True)
    assert store is not None
    return store


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    if request.param == "sqlite":
        made = opened(StateSettings(directory=tmp_path / "state"))
    else:
        port = request.getfixturevalue("postgres_port")
        made = opened(StateSettings(url=SecretStr(f"postgresql+psycopg://fullwarp@127.0.0.1:{port}/fullwarp_state")))
    yield made
    with made.connection() as connection:
        connection.execute(TOKENS.delete())
    made.close()


def test_a_token_lives_from_its_making_to_its_end(store: StateStore) -> None:
    made, sent = create_token(store, "alice", Role.USER, NOW, LATER, note="grafana", by="root")
    assert sent.startswith(f"fullwarp_{made.id}_")
    found = find_token(store, sent, NOW)
    assert found == made
    assert list_tokens(store) == (replace(made, last_used_day=NOW.date()),)
    assert find_token(store, sent, LATER - timedelta(seconds=1)) is not None
    assert find_token(store, sent, LATER) is None


def test_a_revoked_token_is_none_and_stays_listed(store: StateStore) -> None:
    made, sent = create_token(store, "alice", Role.USER, NOW, LATER)
    create_token(store, "bob", Role.USER, NOW, LATER)
    assert revoke_token(store, made.id, NOW).revoked_at == NOW
    assert revoke_token(store, made.id, LATER).revoked_at == NOW
    assert find_token(store, sent, NOW) is None
    assert [one.user for one in list_tokens(store, ["alice"])] == ["alice"]
    with pytest.raises(NotFound):
        revoke_token(store, "nope", NOW)


def test_no_other_text_is_a_token(store: StateStore) -> None:
    made, sent = create_token(store, "alice", Role.USER, NOW, LATER)
    _, other = create_token(store, "bob", Role.STAFF, NOW, LATER)
    wrong = [
        "",
        "fullwarp_",
        sent[:-1],
        sent + "x",
        sent.upper(),
        f"fullwarp_{made.id}_{other.rsplit('_', 1)[-1].zfill(43)[-43:]}",
        sent.replace(made.id, "0" * 12),
        sent.replace(made.id, "%" * 12),
        "fullwarp_\x00_" + "a" * 43,
        "fullwarp_' OR 1=1 --_" + "a" * 43,
        "x" * 100_000,
    ]
    assert [one for one in wrong if find_token(store, one, NOW)] == []


def test_the_tables_are_those_that_the_migrations_leave(store: StateStore) -> None:
    with store.connection() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_the_secret_is_kept_nowhere_and_the_file_is_ours_alone(tmp_path: Path) -> None:
    settings = StateSettings(directory=tmp_path / "state")
    store = opened(settings)
    _, sent = create_token(store, "alice", Role.USER, NOW, LATER)
    store.close()
    file = tmp_path / "state" / APPLICATION.file
    assert b"alice" in file.read_bytes() and sent.rsplit("_", 1)[-1].encode() not in file.read_bytes()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_secrets_are_compared_in_constant_time_known_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, seen = opened(StateSettings(directory=tmp_path)), []
    _, sent = create_token(store, "alice", Role.USER, NOW, LATER)
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda one, two: seen.append((len(one), len(two))) or compare(one, two))
    for one in (sent, "fullwarp_" + "0" * 12 + "_" + "a" * 43):
        find_token(store, one, NOW)
    assert seen == [(64, 64), (64, 64)]


def test_a_store_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    settings = StateSettings(directory=tmp_path)
    assert upgrade_store(settings) == (None, newest())
    store = opened(settings)
    with store.connection() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    serve = partial(cli._serve, settings_for(state=tmp_path))
    for refused in (partial(open_store, settings), partial(upgrade_store, settings), serve):
        with pytest.raises(SettingsError, match="9999, which a newer version"):
            refused()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "no address of a database"),
        ("postgresql+psycopg://u:hunter2@127.0.0.1:1/x", "does not answer"),
        ("mongo://u:hunter2@h/x", "cannot be used"),
    ],
)
def test_a_wrong_address_is_named_without_its_password(url: str, words: str) -> None:
    with pytest.raises((SettingsError, SourceUnreachable), match=words) as caught:
        open_store(StateSettings(url=SecretStr(url)))
    assert "hunter2" not in str(caught.value)


def test_pages_are_served_while_the_store_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / APPLICATION.file).write_bytes(b"this is no database " * 100)
    served: list[object] = []
    monkeypatch.setattr("terminal.serving.run", lambda *asked: served.append(asked))
    cli._serve(settings_for(state=tmp_path))
    assert len(served) == 1 and "store does not answer" in capsys.readouterr().err


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    assert open_store(StateSettings(directory=tmp_path / "none")) is None
    assert open_store(StateSettings()) is None
    assert not (tmp_path / "none").exists()


@pytest.fixture
def served(tmp_path: Path) -> tuple[FlaskClient, StateStore]:
    settings = settings_for(state=tmp_path / "state")
    store = opened(settings.state)
    return server_of(settings, replace(open_fakes(), settings=settings)).test_client(), store


def sent_by(store: StateStore, user: str, role: Role) -> dict[str, str]:
    now = datetime.now(UTC)
    return {"Authorization": f"Bearer {create_token(store, user, role, now, now + timedelta(days=1))[1]}"}


@pytest.mark.parametrize(
    ("user", "role", "jobs"),
    [
        (STAFF, Role.STAFF, {7, 8, 9, 90210, 90211, 90212}),
        (STAFF, Role.USER, set()),
        (USER, Role.STAFF, {7, 8, 9}),
        (USER, Role.USER, {7, 8, 9}),
    ],
)
def test_a_token_gives_the_less_of_its_role_and_its_user(
    served: tuple[FlaskClient, StateStore], user: str, role: Role, jobs: set[int]
) -> None:
    client, store = served
    found = client.get(f"{BASE}jobs", headers=sent_by(store, user, role)).json
    assert {row["job"]["job_id"] for row in found["answer"]["rows"]} == jobs


@pytest.mark.parametrize("header", ["Bearer fullwarp_x", "bearer fullwarp_" + "0" * 12 + "_" + "a" * 43])
def test_a_wrong_token_is_refused_even_where_the_proxy_names_somebody(
    served: tuple[FlaskClient, StateStore], header: str
) -> None:
    client, _ = served
    answer = client.get(f"{BASE}jobs", headers={"Authorization": header} | named(STAFF))
    assert (answer.status_code, answer.json["error"]["code"]) == (401, "unauthorized")


def test_a_token_opens_the_api_and_nothing_else(served: tuple[FlaskClient, StateStore]) -> None:
    client, store = served
    token = sent_by(store, STAFF, Role.STAFF)
    assert client.get(f"{BASE}status", headers=token).status_code == 200
    for path in ("/warp/readyz", "/warp/apix", "/warp/"):
        assert client.get(path, headers=token).status_code == 401
    assert client.get(f"{BASE}status", headers={"Authorization": "Basic x"} | named(USER)).status_code == 200


def test_a_token_ends_at_once_when_it_is_revoked(served: tuple[FlaskClient, StateStore]) -> None:
    client, store = served
    token = sent_by(store, USER, Role.USER)
    assert client.get(f"{BASE}status", headers=token).status_code == 200
    revoke_token(store, list_tokens(store)[0].id, datetime.now(UTC))
    assert client.get(f"{BASE}status", headers=token).status_code == 401


def test_a_store_that_fails_is_said_without_its_cause(tmp_path: Path) -> None:
    (tmp_path / APPLICATION.file).write_bytes(b"this is no database " * 100)
    settings = settings_for(state=tmp_path)
    client = server_of(settings, replace(open_fakes(), settings=settings)).test_client()
    token = {"Authorization": "Bearer fullwarp_" + "0" * 12 + "_" + "a" * 43}
    for path in ("status", "self/metrics"):
        answer = client.get(f"{BASE}{path}", headers=token)
        assert (answer.status_code, answer.json["error"]["message"]) == (503, "Tokens cannot be looked up now.")
    ready = client.get("/warp/readyz", headers=token)
    assert (ready.status_code, ready.text) == (503, "tokens cannot be looked up now")


def test_the_commands_make_list_and_revoke(tmp_path: Path) -> None:
    file = tmp_path / "fullwarp.toml"
    file.write_text(f'[state]\ndirectory = "{tmp_path / "state"}"\n[slurm]\nkind = "simulated"\n')

    def run(*words: str, is_refused: bool = False) -> str:
        found = CliRunner().invoke(cli.program, ["--config", str(file), *words])
        assert (found.exit_code != 0) == is_refused, (found.output, found.exception)
        return found.stdout

    made = json.loads(run("token", "create", "--user", "alice", "--days", "7", "--json"))
    settings = settings_for(state=tmp_path / "state")
    client = server_of(settings, replace(open_fakes(), settings=settings)).test_client()
    header = {"Authorization": f"Bearer {made['token']}"}
    assert client.get(f"{BASE}status", headers=header).status_code == 200
    listed = run("token", "list")
    assert made["about"]["id"] in listed and made["token"] not in listed and "valid" in listed
    run("token", "revoke", made["about"]["id"])
    assert client.get(f"{BASE}status", headers=header).status_code == 401
    assert json.loads(run("token", "list", "--json"))[0]["revoked_at"] is not None
    for wrong in (["--user", "a b"], ["--user", "bob", "--role", "root"], ["--user", "bob", "--days", "9999"], []):
        run("token", "create", *wrong, is_refused=True)
    assert len(json.loads(run("token", "list", "--json"))) == 1
