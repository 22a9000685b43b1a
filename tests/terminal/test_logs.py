"""A line of the log says what happened and whose request it was, stays one line, and holds no secret."""

from __future__ import annotations

import json
import logging
import logging.config
from pathlib import Path

import pytest
from pydantic import SecretStr

from data import tracing
from data.settings_file import setting_fields
from settings import (
    CacheSettings,
    IdentitySettings,
    MailSettings,
    MetricsSettings,
    Settings,
    SlurmSettings,
    StateSettings,
)
from terminal.log_forms import FORMS, JsonForm, LogfmtForm, TextForm
from terminal.logs import hiding, log_config, secrets_of

TOKEN = "fullwarp_0123456789ab_" + "x" * 43


def record(message: str, *arguments: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("data.live", logging.WARNING, "", 0, message, arguments, None)
    made.created = 0.25
    made.fields = fields
    return made


def plain(text: str) -> str:
    return text


def test_a_json_line_has_the_request_and_the_viewer() -> None:
    token = tracing.begin("id-00000001")
    tracing.asked_by("alice")
    try:
        line = JsonForm(plain).format(record("slow: %s", "Slurm", status=200, path='/a"b\n'))
    finally:
        tracing.end(token)
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "data.live",
        "message": "slow: Slurm",
        "request": "id-00000001",
        "viewer": "alice",
        "status": 200,
        "path": '/a"b\n',
    }


def test_outside_of_a_request_nobody_is_named() -> None:
    assert tracing.trace() is None
    assert set(json.loads(JsonForm(plain).format(record("x")))) == {"time", "level", "logger", "message"}


@pytest.mark.parametrize("form", [TextForm, LogfmtForm])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\x0b", "\x85", "\u2028", "\x1b[2J"])
def test_nobody_begins_a_line_of_their_own(form: type[logging.Formatter], end: str) -> None:
    line = form(plain).format(record("GET /%s", f"x{end}level=error forged", path=f"/x{end}y"))  # type: ignore[call-arg]
    assert len(line.splitlines()) == 1 and "\x1b" not in line and "forged" in line


def test_logfmt_quotes_what_is_no_plain_word() -> None:
    line = LogfmtForm(plain).format(record("two words", path='/a="b"\\', status=None, count=3))
    assert line.endswith(r'message="two words" path="/a=\"b\"\\" status="" count=3')


def test_a_nested_request_gives_the_outer_one_back() -> None:
    outer = tracing.begin("outer-id")
    tracing.end(tracing.begin("inner-id"))
    assert tracing.trace() == tracing.Trace("outer-id")
    tracing.end(outer)


@pytest.fixture
def secretive(tmp_path: Path) -> Settings:
    (tmp_path / "proxy").write_text("from-a-file-1\n")
    (tmp_path / "headers").write_text("X-Other: a-header-of-a-file-22\n")
    return Settings(
        slurm=SlurmSettings(token=SecretStr("jwt-of-slurm")),
        metrics=MetricsSettings(
            url="http://prometheus",
            password=SecretStr("metrics-pass"),
            headers={"X-Key": "a-header-that-is-a-key"},
            headers_file=tmp_path / "headers",
        ),
        identity=IdentitySettings(secret_file=tmp_path / "proxy"),
        cache=CacheSettings(redis_url=SecretStr("redis://:redis-pass@host:6379/0")),
        state=StateSettings(url=SecretStr("postgresql+psycopg://fullwarp:pg-pass@host/db")),
        mail=MailSettings(user="fullwarp", password=SecretStr("mail-pass")),
    )


SECRETS = (
    "jwt-of-slurm",
    "metrics-pass",
    "a-header-that-is-a-key",
    "a-header-of-a-file-22",
    "from-a-file-1",
    "redis-pass",
    "pg-pass",
    "mail-pass",
)


@pytest.mark.parametrize("form", FORMS.values())
def test_no_secret_of_the_settings_reaches_a_line(secretive: Settings, form: type[logging.Formatter]) -> None:
    made = form(hiding(secretive))  # type: ignore[call-arg]
    try:
        raise ValueError(f"refused: {SECRETS}")
    except ValueError as err:
        failure = (ValueError, err, err.__traceback__)
    line = record("asked with %s", SECRETS, path="/" + "/".join(SECRETS))
    line.exc_info = failure
    written = made.format(line)
    assert [secret for secret in SECRETS if secret in written] == []
    assert "***" in written and "refused" in written


def test_every_secret_of_the_settings_is_known(secretive: Settings) -> None:
    assert set(SECRETS) <= set(secrets_of(secretive))


@pytest.mark.parametrize("name", [name for name, field in setting_fields() if field.annotation is SecretStr])
def test_no_secret_is_forgotten_when_a_setting_is_added(name: str) -> None:
    section, field = name.split(".")
    user = {"user": "fullwarp"} if "user" in type(getattr(Settings(), section)).model_fields else {}
    settings = Settings.model_validate({section: {field: "redis://canary-word", **user}})
    assert "canary" not in hiding(settings)("sent redis://canary-word")


def test_a_secret_that_was_changed_is_hidden_at_once(secretive: Settings) -> None:
    hide, file = hiding(secretive), secretive.identity.secret_file
    assert file is not None and hide("from-a-file-1") == "***"
    file.write_text("another-one-22")
    assert hide("another-one-22") == "***"
    file.unlink()
    assert hide("still written") == "still written"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (f"sent {TOKEN}.", "sent ***."),
        ("redis://:pw@host/0 and http://u:p@h/x", "redis://***@host/0 and http://***@h/x"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("user alice at http://host/path@x", "user alice at http://host/path@x"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_whosever_it_is(text: str, written: str) -> None:
    assert hiding(Settings())(text) == written


def test_the_servers_own_words_have_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    config = log_config(Settings.model_validate({"logs": {"format": "json", "level": "info"}}))
    root, before = logging.getLogger(), (list(logging.root.handlers), logging.root.level)
    try:
        logging.config.dictConfig(config)
        logging.getLogger("gunicorn.error").warning("a worker was ended")
        logging.getLogger("gunicorn.error").info("booting")
        logging.getLogger("fullwarp.requests").info("request")
    finally:
        root.handlers, root.level = before
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["message"] for line in lines] == ["a worker was ended", "request"]
