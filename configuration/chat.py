"""The assistant: which model server it asks, what may be sent there, how much one person may ask, what is kept."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from configuration.checks import Seconds, web_address
from configuration.section import Section


class ModelKind(StrEnum):
    OFF = "off"
    OPENAI = "openai-compatible"
    AZURE = "azure"


class EmptyContent(StrEnum):
    NULL = "null"
    TEXT = "empty"


class Delivery(StrEnum):
    AUTO = "auto"
    STREAM = "stream"
    POLL = "poll"


Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ChatSettings(Section):
    """Without a model the assistant still takes commands such as /job 123 and shows the same cards."""

    kind: ModelKind = Field(
        ModelKind.OFF,
        description="off = commands only; openai-compatible = OpenAI, vLLM, Ollama, llama.cpp, LiteLLM and the like; "
        "azure = Azure OpenAI with an API version.",
    )
    base_url: Annotated[str, AfterValidator(web_address("http", "https"))] = Field(
        "", description="Address of the model server, such as https://api.openai.com/v1 or http://gpu-llm:8000/v1."
    )
    model: str = Field("", max_length=200, description="Name of the model there (with azure: of the deployment).")
    api_key: SecretStr = Field(SecretStr(""), description="Key of the model server; better in api_key_file.")
    api_key_file: Path | None = Field(None, description="File that holds the key.")
    azure_api_version: str = Field(
        "", pattern=r"^(\d{4}-\d{2}-\d{2}(-preview)?)?$", description="API version for azure, such as 2024-10-21."
    )
    ca_file: Path | None = Field(None, description="CA bundle for https; empty = the system's.")
    connect_seconds: Seconds = Field(10.0, description="Longest wait for a connection, in seconds.")
    silence_seconds: Seconds = Field(60.0, description="Longest silence of the server within an answer, in seconds.")
    turn_seconds: Seconds = Field(300.0, description="Longest time for one question with all its tools, in seconds.")
    retries: int = Field(2, ge=0, le=10, description="How often a refusal for load (429) or a fault (5xx) is retried.")
    steps: int = Field(8, ge=1, le=50, description="The most rounds of tool calls for one question.")
    calls_per_step: int = Field(8, ge=1, le=50, description="The most tool calls of one round.")
    context_tokens: int = Field(
        24_000, ge=2_000, le=2_000_000, description="The most tokens sent at once; older turns are left out above it."
    )
    conversation_tokens: int = Field(
        400_000, ge=1_000, le=1_000_000_000, description="Token budget of one conversation, sent and received."
    )
    answer_tokens: int | None = Field(
        None, ge=64, le=200_000, description="The most tokens of an answer (max_completion_tokens); empty = not sent."
    )
    temperature: float | None = Field(
        None, ge=0, le=2, allow_inf_nan=False, description="Temperature of the model; empty = not sent."
    )
    empty_content: EmptyContent = Field(
        EmptyContent.NULL, description="What goes with tool calls as content: null, or the empty text for old servers."
    )
    asks_usage: bool = Field(
        True, description="Ask for token counts in the stream (stream_options); false for servers that refuse it."
    )
    strict_schemas: bool = Field(
        True, description="Mark tool schemas as strict; false for servers that refuse the mark."
    )
    model_follow_ups: bool = Field(
        False, description="Whether the model suggests what to ask next, by a second call; false = the tools do."
    )
    question_bytes: int = Field(
        20_000, ge=200, le=1_000_000, description="The longest question, in bytes; a longer one is refused."
    )
    send_job_names: bool = Field(True, description="Whether names of jobs go to the model server.")
    send_comments: bool = Field(False, description="Whether comments of jobs go to the model server.")
    send_scripts: bool = Field(False, description="Whether lines of job scripts go to the model server.")
    documents: Path | None = Field(
        None, description="Folder with the site's documents (.md, .txt) that answers may quote; empty = none."
    )
    history_days: int = Field(
        90, ge=0, le=3660, description="How long a person's conversations are kept, in days; 0 = they are not kept."
    )
    questions_per_day: int = Field(
        200, ge=0, le=1_000_000, description="The most questions of one person in a day; 0 = no limit."
    )
    tokens_per_day: int = Field(
        0, ge=0, le=1_000_000_000, description="The most tokens of one person in a day; 0 = no limit."
    )
    streams: int = Field(16, ge=1, le=512, description="The most answers under way at once in one worker process.")
    delivery: Delivery = Field(
        Delivery.AUTO,
        description="How answers reach the browser: stream, poll (servers of one request at a time, such as "
        "Passenger), or auto = what the server can do.",
    )
    price_prompt: Price | None = Field(
        None, description="Price of a million tokens sent, in history.currency; empty = costs are not counted."
    )
    price_completion: Price | None = Field(
        None, description="Price of a million tokens received, in history.currency; empty = costs are not counted."
    )

    @property
    def has_model(self) -> bool:
        return self.kind is not ModelKind.OFF

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if not self.has_model:
            return self
        if not self.base_url:
            raise ValueError("base_url is missing: the address of the model server, such as http://gpu-llm:8000/v1")
        if not self.model.strip():
            raise ValueError("model is missing: the name of the model at base_url")
        if self.kind is ModelKind.AZURE and not self.azure_api_version:
            raise ValueError('azure_api_version is missing, such as "2024-10-21"')
        return self

    @model_validator(mode="after")
    def _prices_come_together(self) -> Self:
        if (self.price_prompt is None) != (self.price_completion is None):
            raise ValueError("price_prompt and price_completion come together")
        return self
