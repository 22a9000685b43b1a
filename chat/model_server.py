"""The model server: one client per process, made at its first use, and the body of a request."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chat.model_bounds import Bounds
from data.errors import SettingsError
from settings import ChatSettings, ModelKind, secret_text

if TYPE_CHECKING:
    from openai import OpenAI, Stream

Message = dict[str, Any]
_NO_KEY = "none"  # the client wants one; servers without keys take any


@dataclass
class ModelServer:
    """What answers are asked of. Nothing is opened until the first question; the openai package costs half a second."""

    settings: ChatSettings
    _client: OpenAI | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def host(self) -> str:
        """The server's name without its port: where the text goes."""
        return urlsplit(self.settings.base_url).hostname or ""

    def key(self) -> str:
        """The key of the server, empty without one. Raises SettingsError."""
        try:
            return secret_text(self.settings.api_key, self.settings.api_key_file)
        except (OSError, UnicodeDecodeError) as err:
            raise SettingsError(
                f"chat.api_key_file {self.settings.api_key_file} cannot be read: {err}",
                hint="Let the account of the server read it.",
            ) from err

    def open(self, body: Mapping[str, Any]) -> Stream[object]:
        """Ask, and give the stream of chunks as plain objects. Raises openai.OpenAIError and SettingsError."""
        from openai import Stream

        return self._opened().post(
            "/chat/completions", body=dict(body), cast_to=object, stream=True, stream_cls=Stream[object]
        )

    def models(self) -> list[str] | None:
        """Names of the models there, None where the server does not list them. Raises openai.OpenAIError."""
        from openai import NotFoundError

        try:
            found = self._opened().get("/models", cast_to=object)
        except NotFoundError:
            return None
        rows = found.get("data") if isinstance(found, dict) else None
        return [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row] if rows else None

    def body(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], *, may_call: bool) -> Message:
        """A request in the form that OpenAI, vLLM, Ollama and llama.cpp share."""
        asked: Message = {"model": self.settings.model, "messages": list(messages), "stream": True}
        if tools:
            asked["tools"] = [self._schema(tool) for tool in tools]
            asked |= {} if may_call else {"tool_choice": "none"}
        if self.settings.asks_usage:
            asked["stream_options"] = {"include_usage": True}
        if self.settings.answer_tokens is not None:
            asked["max_completion_tokens"] = self.settings.answer_tokens
        if self.settings.temperature is not None:
            asked["temperature"] = self.settings.temperature
        return asked

    def _schema(self, tool: Mapping[str, Any]) -> Message:
        function = dict(tool["function"])
        if not self.settings.strict_schemas:
            function.pop("strict", None)
        return {**tool, "function": function}

    def _opened(self) -> OpenAI:
        with self._guard:
            key = self.key()
            if self._client is None or self._client.api_key != (key or _NO_KEY):
                self._client = self._made(key or _NO_KEY)
            return self._client

    def _made(self, key: str) -> OpenAI:
        """A client that does not retry by itself: whoever waits must be able to stop."""
        import httpx2
        from openai import AzureOpenAI, OpenAI

        kept = self.settings
        timeout = httpx2.Timeout(kept.silence_seconds, connect=kept.connect_seconds)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        http = httpx2.Client(
            timeout=timeout,
            limits=limits,
            verify=self._trusted(),
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [Bounds(kept.turn_seconds)]},
        )
        if kept.kind is ModelKind.AZURE:
            return AzureOpenAI(
                api_key=key,
                azure_endpoint=kept.base_url,
                azure_deployment=kept.model,
                api_version=kept.azure_api_version,
                max_retries=0,
                http_client=http,
            )
        return OpenAI(api_key=key, base_url=kept.base_url, max_retries=0, http_client=http)

    def _trusted(self) -> ssl.SSLContext:
        file = self.settings.ca_file
        try:
            return ssl.create_default_context(cafile=None if file is None else str(file))
        except (OSError, ssl.SSLError) as err:
            raise SettingsError(f"chat.ca_file {file} is no CA bundle: {err}") from err
