"""What a settings file and the environment may hold, and what a person is told when they are wrong."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from data import settings_file
from data.errors import SettingsError
from data.settings_file import demo_settings, is_protected, load_settings, setting_fields
from settings import IdentityKind, MetricsKind, Settings, SlurmKind, secret_text

CANARY = "canary-4711"
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to others")


@pytest.fixture(autouse=True)
def clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.upper().startswith("FULLWARP_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(settings_file, "SYSTEM_FILE", tmp_path / "etc" / "fullwarp.toml")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def complaint(path: Path | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    return f"{caught.value} {caught.value.hint}"


def test_without_file_and_variables_the_defaults_hold() -> None:
    loaded = load_settings()
    assert (loaded.settings, loaded.path, loaded.ignored) == (Settings(), None, ())


def test_the_first_file_that_exists_counts_and_only_that_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(settings_file.SYSTEM_FILE, "cluster = 'system'")
    assert load_settings().settings.cluster == "system"
    write(tmp_path / "fullwarp.toml", "refresh_seconds = 60")
    assert (load_settings().settings.cluster, load_settings().settings.refresh_seconds) == ("", 60)
    monkeypatch.setenv("FULLWARP_CONFIG", str(write(tmp_path / "named.toml", "cluster = 'named'")))
    assert load_settings().settings.cluster == "named"
    assert load_settings(write(tmp_path / "given.toml", "cluster = 'given'")).settings.cluster == "given"


def test_a_variable_wins_over_the_file_field_by_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "fullwarp.toml", "[metrics]\nkind = 'none'\nretries = 5\n")
    monkeypatch.setenv("FULLWARP_METRICS__RETRIES", "1")
    monkeypatch.setenv("FULLWARP_METRICS__DIALECTS", "dcgm, nvml")
    monkeypatch.setenv("FULLWARP_METRICS__NAMES", '{"power_watts": "my_power"}')
    metrics = load_settings().settings.metrics
    assert (metrics.kind, metrics.retries, metrics.dialects) == (MetricsKind.NONE, 1, ["dcgm", "nvml"])
    assert metrics.names == {"power_watts": "my_power"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "[slurm]\ntimeout_seconds = 'abc'",
            ["slurm.timeout_seconds", "'abc'", "number", "in seconds", "fullwarp.toml"],
        ),
        ("[slurm]\ntimeout_seconds = 0", ["slurm.timeout_seconds", "'0'", "greater than 0"]),
        ("refresh_seconds = nan", ["refresh_seconds", "finite"]),
        ("[slurm]\nurll = 'x'", ["unknown setting slurm.urll", "did you mean slurm.url?"]),
        ("clustr = 'x'", ["unknown setting clustr", "did you mean cluster?"]),
        ("[identity]\nkind = 'nobody'", ["identity.kind", "'nobody'", "'header', 'unix' or 'demo'"]),
        ("[identity]\nproxy_addresses = ['10.0.0.0/99']", ["identity.proxy_addresses", "10.0.0.0/99"]),
        ("[serve]\nbind = '127.0.0.1:99999'", ["serve.bind", "127.0.0.1:99999", "host:port"]),
        ("[serve]\nworkers = 2.5", ["serve.workers", "2.5"]),
        ("site_timezone = 'Mars/Olympus'", ["site_timezone", "Mars/Olympus", "Europe/Berlin"]),
        ("[metrics]\nurl = 'prom:9090'", ["metrics.url", "http://"]),
        ("[slurm]\nurl = 'http://h:99999'", ["slurm.url", "port from 1 to 65535"]),
        ("[metrics]\nurl = 'http://h:x'", ["metrics.url", "port from 1 to 65535"]),
        ("[slurm]\nuser = 'a b'", ["slurm.user"]),
        (f"[cache]\nredis_url = 'http://:{CANARY}@h'", ["cache.redis_url", "redis://"]),
        (f"[cache]\nredis_url = 'redis://:{CANARY}@h'\nredis_url_file = '/x'", ["either redis_url or redis_url_file"]),
        ("slurm = 3", ["slurm", "fullwarp.toml"]),
        ("x = [", ["is not TOML"]),
        (f"[metrics]\nurl = 'http://me:{CANARY}@prom'", ["metrics.url", "user name or password"]),
        (f"[slurm]\ntoken = ['{CANARY}']", ["slurm.token", "string"]),
        (f"[slurm]\ntoken = '{CANARY}'\ntoken_file = '/x'", ["slurm", "either token or token_file"]),
        (f"[metrics]\nheaders = {{ Authorization = ['{CANARY}'] }}", ["metrics.headers.Authorization"]),
        (f"slurm = '{CANARY}'", ["slurm is wrong"]),
    ],
)
def test_a_wrong_value_is_named_with_its_wanted_form(tmp_path: Path, text: str, wanted: list[str]) -> None:
    write(tmp_path / "fullwarp.toml", text)
    told = complaint()
    assert [part for part in wanted if part not in told] == []


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("FULLWARP_REFRESH_SECONDS", "soon", ["refresh_seconds", "'soon'", "variable FULLWARP_REFRESH_SECONDS"]),
        ("FULLWARP_CLUSTR", "x", ["unknown variable FULLWARP_CLUSTR", "did you mean cluster?"]),
        ("FULLWARP_METRICS__HEADERS", f'{{"A": "{CANARY}', ["metrics.headers", "variable FULLWARP_METRICS__HEADERS"]),
        ("FULLWARP_SLURM", CANARY, ["slurm is wrong", "variable FULLWARP_SLURM"]),
        ("FULLWARP_SLURM__TOKN", CANARY, ["slurm.tokn", "did you mean slurm.token?"]),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, wanted: list[str]
) -> None:
    monkeypatch.setenv(variable, value)
    told = complaint()
    assert [part for part in wanted if part not in told] == []


@pytest.mark.parametrize("damage", ["absent", "folder", "binary"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "odd.toml"
    actions: dict[str, Callable[[], object]] = {
        "absent": lambda: None,
        "folder": path.mkdir,
        "binary": lambda: path.write_bytes(b"\xff\xfe\x00"),
    }
    actions[damage]()
    assert str(path) in complaint(path)


def test_secrets_never_show(tmp_path: Path) -> None:
    text = (
        f"[slurm]\ntoken = '{CANARY}'\n[metrics]\npassword = '{CANARY}'\nheaders = {{ Authorization = '{CANARY}' }}\n"
    )
    text += f"[identity]\nsecret = '{CANARY}'\n[cache]\nredis_url = 'redis://:{CANARY}@h'\n"
    settings = load_settings(write(tmp_path / "s.toml", text)).settings
    assert settings.metrics.headers["Authorization"] == CANARY
    shown = f"{settings!r} {settings} {settings.metrics!r} {settings.slurm.model_dump_json()}"
    assert CANARY not in shown


@pytest.mark.parametrize(
    "header",
    [
        f'X = "{CANARY}\\n"',
        f'X = " {CANARY}"',
        f'X = "{CANARY}\\r\\nY: 1"',
        f'X = "{CANARY}\u4e2d"',
        f'"X Y" = "{CANARY}"',
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_by_its_name_alone(tmp_path: Path, header: str) -> None:
    said = complaint(write(tmp_path / "s.toml", f"[metrics]\nheaders = {{ {header} }}\n"))
    assert "metrics.headers" in said and "X" in said
    assert CANARY not in said


def test_a_secret_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "token", "first\n")
    secret = Settings().slurm.token
    assert secret_text(secret, path) == "first"
    write(path, "second, longer\n")
    assert secret_text(secret, path) == "second, longer"


def test_a_secret_is_the_text_of_its_file_without_what_editors_put_around_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"\xef\xbb\xbfword\r\n")
    assert secret_text(Settings().slurm.token, path) == "word"


def test_an_empty_text_means_no_value_where_none_is_the_default(tmp_path: Path) -> None:
    text = "[slurm]\ntoken_file = ''\n[metrics]\nscrape_interval_seconds = ''\n"
    settings = load_settings(write(tmp_path / "s.toml", text)).settings
    assert (settings.slurm.token_file, settings.metrics.scrape_interval_seconds) == (None, None)


@needs_root
def test_unix_identity_counts_only_from_a_file_that_root_owns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    mine = write(tmp_path / "mine.toml", "[identity]\nkind = 'unix'\nstaff_users = ['me']\n")
    os.chown(mine, 1234, 1234)
    assert "root owns" in complaint(mine)

    trusted = write(settings_file.SYSTEM_FILE, "cluster = 'real'\n[identity]\nkind = 'unix'\n")
    monkeypatch.setenv("FULLWARP_IDENTITY__STAFF_USERS", "me")
    monkeypatch.setenv("FULLWARP_CLUSTER", "fake")
    loaded = load_settings(mine)
    assert (loaded.path, loaded.settings.cluster, loaded.settings.identity.staff_users) == (trusted, "real", [])
    assert [name for name in ("mine.toml", "FULLWARP_CLUSTER", "STAFF_USERS") if name not in str(loaded.ignored)] == []


def test_a_variable_cannot_bring_unix_identity_to_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    monkeypatch.setenv("FULLWARP_IDENTITY__KIND", "unix")
    assert "root owns" in complaint()


@needs_root
@pytest.mark.parametrize(
    ("mode", "owner", "protected"), [(0o644, 0, True), (0o666, 0, False), (0o664, 0, False), (0o600, 1234, False)]
)
def test_a_protected_file_has_no_writer_but_root(tmp_path: Path, mode: int, owner: int, protected: bool) -> None:
    path = write(tmp_path / "f.toml", "")
    path.chmod(mode)
    os.chown(path, owner, owner)
    assert is_protected(path) is protected


@needs_root
def test_a_file_in_a_folder_of_someone_else_is_not_protected(tmp_path: Path) -> None:
    path = write(tmp_path / "theirs" / "f.toml", "")
    os.chown(path.parent, 1234, 1234)
    assert not is_protected(path)


def test_every_field_has_a_description() -> None:
    assert [name for name, field in setting_fields() if not (field.description or "").endswith((".", ")"))] == []


def test_the_default_identity_trusts_nobody_without_a_secret() -> None:
    assert Settings().identity.kind is IdentityKind.HEADER
    assert not Settings().identity.trust_loopback


def test_neither_a_file_nor_a_variable_makes_everybody_staff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "only with --demo" in complaint(write(tmp_path / "x.toml", "[identity]\nkind = 'demo'\n"))
    monkeypatch.setenv("FULLWARP_IDENTITY__KIND", "demo")
    assert "only with --demo" in complaint()


def test_the_demo_takes_variables_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "fullwarp.toml", "cluster = 'real'")
    monkeypatch.setenv("FULLWARP_DEMO__SEED", "9")
    monkeypatch.setenv("FULLWARP_IDENTITY__KIND", "header")
    monkeypatch.setenv("FULLWARP_SLURM__KIND", "rest")
    settings = demo_settings("127.0.0.1:9999")
    assert (settings.cluster, settings.demo.seed, settings.serve.bind) == ("", 9, "127.0.0.1:9999")
    assert (settings.identity.kind, settings.slurm.kind) == (IdentityKind.DEMO, SlurmKind.SIMULATED)
    with pytest.raises(SettingsError, match=r"serve\.bind"):
        demo_settings("nowhere")
