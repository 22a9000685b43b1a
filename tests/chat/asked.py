"""Asks the model loop in a test: a scripted server, tools that note how they were called, the events as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from chat.assistant import answer
from chat.assistant_turn import Toolbox
from chat.model import Asker, CallEnded, Ended, Event, Failed, OnScreen, TextDelta, ToolResult, Turn
from chat.model_server import ModelServer
from chat.tools.answer import Answer
from chat.tools.registry import Tool, make_tool, openai_form
from data.errors import FullwarpError
from data.model import Role, Viewer
from settings import ChatSettings
from tests.chat.small_cluster import as_asker
from tests.services.scripted_llm import Reply, Script, ScriptedModel, scripted_model

STAFF = Viewer("sam", Role.STAFF)


def add(
    asker: Asker, n1: Annotated[int, Field(description="One.")], n2: Annotated[int, Field(description="Two.")]
) -> Answer:
    """Add two numbers."""
    return Answer({"total": n1 + n2})


def multiply(
    asker: Asker, a: Annotated[int, Field(description="a")], b: Annotated[int, Field(description="b")]
) -> Answer:
    """Multiply two numbers."""
    return Answer({"product": a * b})


def glob(
    asker: Asker,
    path: Annotated[str, Field(description="Folder.")],
    pattern: Annotated[str, Field(description="Pattern.")],
) -> Answer:
    """Find files."""
    return Answer({"found": [f"{path}/{pattern}"]})


def file_write(
    asker: Asker,
    filePath: Annotated[str, Field(description="File.")],
    content: Annotated[str, Field(description="Text.")],
) -> Answer:
    """Write a file."""
    return Answer({"written": filePath})


def read(
    asker: Asker,
    path: Annotated[str, Field(description="File.")],
    offset: Annotated[int, Field(description="From.")] = 1,
    limit: Annotated[int, Field(description="Lines.")] = 100,
) -> Answer:
    """Read a file."""
    return Answer({"path": path, "lines": limit})


def search(asker: Asker, query: Annotated[str, Field(description="Words.")]) -> Answer:
    """Search."""
    return Answer({"query": query})


def get_weather(asker: Asker, city: Annotated[str, Field(description="City.")]) -> Answer:
    """Tell the weather."""
    return Answer({"city": city, "temperature_celsius": 21.0})


def llm_version(asker: Asker) -> Answer:
    """Tell the version."""
    return Answer({"version": "0.26"})


def lookup_population(asker: Asker, country: Annotated[str, Field(description="Country.")]) -> Answer:
    """Tell how many people live there."""
    return Answer({"people": 123124})


def can_have_dragons(asker: Asker, population: Annotated[int, Field(description="People.")]) -> Answer:
    """Tell whether there can be dragons."""
    return Answer({"dragons": population > 10000})


FUNCTIONS = (
    add, multiply, glob, file_write, read, search, get_weather, llm_version, lookup_population, can_have_dragons,
)  # fmt: skip


@dataclass
class Recording:
    """Tools, and with which arguments they were run."""

    tools: Mapping[str, Tool]
    run: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def call(self, asker: Asker, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolResult:
        try:
            found = self.tools[name].run(asker, arguments)
        except FullwarpError as err:
            return ToolResult(call_id, name, arguments, 0.0, error=str(err), hint=err.hint)
        self.run.append((name, dict(arguments)))
        return ToolResult(call_id, name, arguments, 0.0, found.value)

    @property
    def toolbox(self) -> Toolbox:
        return Toolbox(openai_form(self.tools.values()), self.call)


def recording(**renamed: str) -> Recording:
    """The tools; a keyword gives one of them the name that a case calls it by."""
    made = {function.__name__: make_tool(function) for function in FUNCTIONS}
    named = [(renamed.get(name, name), tool) for name, tool in made.items()]
    return Recording(
        {name: Tool(name, tool.description, tool.schema, tool.arguments, tool.function) for name, tool in named}
    )


@dataclass
class Told:
    """What came of a question."""

    events: list[Event]
    model: ScriptedModel
    tools: Recording

    @property
    def end(self) -> Ended | Failed:
        last = self.events[-1]
        assert isinstance(last, Ended | Failed), last
        return last

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def results(self) -> list[ToolResult]:
        return [event.result for event in self.events if isinstance(event, CallEnded)]


def chat_settings(server: ScriptedModel, **changes: Any) -> ChatSettings:
    values = {"kind": "openai-compatible", "base_url": server.base_url, "model": "scripted", "retries": 0} | changes
    return ChatSettings(**values)


def ask(
    script: Script | Iterable[Reply],
    sources: Any,
    *,
    question: str = "How is it?",
    tools: Recording | None = None,
    history: Sequence[Turn] = (),
    viewer: Viewer = STAFF,
    stop: Callable[[], bool] = lambda: False,
    on_screen: OnScreen | None = None,
    key: str = "",
    **settings: Any,
) -> Told:
    """Ask the scripted server a question, and wait for the end."""
    used = tools or recording()
    with scripted_model(script, key=key) as model:
        server = ModelServer(chat_settings(model, **settings))
        asker = as_asker(viewer, sources)
        events = list(answer(asker, question, on_screen or OnScreen(), history, server, stop, used.toolbox))
        return Told(events, model, used)
