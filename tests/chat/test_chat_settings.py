"""Settings of the assistant: what cannot work together is named, and a wrong value is refused with its field."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import SettingsError
from data.settings_file import load_settings
from settings import ChatSettings

MODEL = 'kind = "openai-compatible"\nbase_url = "http://llm:8000/v1"\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('kind = "openai"', "chat.kind = 'openai' is wrong"),
        ('kind = "openai-compatible"\nmodel = "m"', "base_url is missing"),
        ('kind = "openai-compatible"\nbase_url = "http://llm:8000/v1"', "model is missing"),
        (MODEL.replace("http:", "ftp:"), "chat.base_url = 'ftp://llm:8000/v1' is wrong"),
        (MODEL.replace("llm:8000", "me:secret@llm"), "must not hold a user name or password"),
        (MODEL.replace("openai-compatible", "azure"), "azure_api_version is missing"),
        (f'{MODEL}api_key = "a"\napi_key_file = "/b"', "either api_key or api_key_file"),
        ("steps = 0", "chat.steps = '0' is wrong"),
        ("question_bytes = 10", "chat.question_bytes = '10' is wrong"),
        ("silence_seconds = 0", "chat.silence_seconds = '0' is wrong"),
        ("price_prompt = 1.5", "price_prompt and price_completion come together"),
        ('azure_api_version = "latest"', "chat.azure_api_version = 'latest' is wrong"),
        ("stepz = 3", "did you mean chat.steps?"),
    ],
)
def test_a_wrong_setting_is_named(lines: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "fullwarp.toml"
    file.write_text(f"[chat]\n{lines}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(file)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_without_settings_there_is_no_model() -> None:
    assert not ChatSettings().has_model


def test_the_key_is_in_no_text_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "fullwarp.toml"
    file.write_text(f'[chat]\n{MODEL}api_key = "sk-4711"\n', encoding="utf-8")
    loaded = load_settings(file).settings
    assert loaded.chat.has_model
    assert "sk-4711" not in f"{loaded} {loaded!r} {loaded.model_dump_json()}"
