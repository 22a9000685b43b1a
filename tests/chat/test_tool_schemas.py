"""The schema of every tool is strict, arguments are checked by it, and what is wrong with them is said in words."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import Field

from chat.model import Asker
from chat.tools import TOOLS, call, schemas
from chat.tools.answer import Answer
from chat.tools.registry import make_tool
from data.sources import Sources
from tests.chat.small_cluster import ASKED, as_asker
from tests.queries.cluster import ALICE

# What servers with strict schemas take within a property.
ALLOWED = {"type", "enum", "items", "description"}


def example(
    asker: Asker,
    name: Annotated[str, Field(description="A name.", min_length=1)],
    kind: Annotated[Literal["a", "b"] | None, Field(description="A kind.")] = None,
    most: Annotated[int, Field(description="The most.", ge=1, le=5)] = 3,
    is_deep: Annotated[bool, Field(description="Deep.")] = False,
) -> Answer:
    """Give back what was asked,
    as it came."""
    return Answer({"name": name, "kind": kind, "most": most, "is_deep": is_deep})


def test_name_docstring_and_signature_are_the_tool() -> None:
    tool = make_tool(example)
    assert (tool.name, tool.description) == ("example", "Give back what was asked, as it came.")
    assert tool.schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A name."},
            "kind": {"type": ["string", "null"], "enum": ["a", "b", None], "description": "A kind."},
            "most": {"type": ["integer", "null"], "description": "The most. Null = 3."},
            "is_deep": {"type": ["boolean", "null"], "description": "Deep."},
        },
        "required": ["name", "kind", "most", "is_deep"],
        "additionalProperties": False,
    }


def test_null_and_absent_are_the_defaults(sources: Sources) -> None:
    tool, asker = make_tool(example), as_asker(ALICE, sources)
    whole = tool.run(asker, {"name": "x", "kind": None, "most": None, "is_deep": None})
    assert whole == tool.run(asker, {"name": "x"})
    assert whole.value == {"name": "x", "kind": None, "most": 3, "is_deep": False}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda one: one.name)
def test_every_schema_is_strict_and_every_argument_is_described(tool: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    assert tool.schema["additionalProperties"] is False
    assert tool.schema["required"] == list(tool.schema["properties"])
    for one in tool.schema["properties"].values():
        assert set(one) <= ALLOWED and one["description"]
    assert 30 < len(tool.description) < 400


@pytest.mark.parametrize("name", TOOLS)
def test_arguments_that_answer_fit_the_schema_with_null_for_the_rest(name: str) -> None:
    schema = TOOLS[name].schema
    whole = dict.fromkeys(schema["properties"]) | dict(ASKED[name])
    jsonschema.validate(whole, schema)


def test_the_form_for_servers_names_each_tool_once() -> None:
    found = [one["function"] for one in schemas()]
    assert [one["name"] for one in found] == list(TOOLS)
    assert all(one["strict"] is True and one["parameters"]["type"] == "object" for one in found)
    json.dumps(found)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("job_report", {}, "job_report: job_id is needed"),
        ("job_report", {"job_id": "7", "deep": True}, "there is no argument deep"),
        ("job_report", {"job_id": "7; drop"}, "'7; drop' is not a job id"),
        ("job_report", {"job_id": ["7"]}, "job_id = ['7']: input should be a valid string"),
        ("job_report", {"job_id": "9" * 200}, "job_id = "),
        ("find_jobs", {"limit": 0}, "limit = 0: input should be greater than or equal to 1"),
        ("find_jobs", {"state": "PENDING"}, "no running job is PENDING"),
        ("find_jobs", {"state": "timeout", "show": "pending"}, "no pending job is TIMEOUT"),
        ("find_jobs", {"sort": "-beauty"}, "running jobs cannot be sorted by -beauty"),
        ("find_jobs", {"state": "NAPPING"}, "there is no job state NAPPING"),
        ("find_jobs", {"partition": "gup"}, "there is no partition gup"),
        ("find_nodes", {"gpu_state": "tired"}, "gpu_state = 'tired'"),
        ("find_nodes", {"model": "H1000"}, "there is no GPU model H1000"),
        ("cluster_status", {"at": "tomorrow-ish"}, "'tomorrow-ish' is not a time"),
        ("efficiency_report", {"by": "user", "since": "soon"}, "since: 'soon' is not a time"),
        ("efficiency_report", {"by": "shoe"}, "by = 'shoe'"),
        ("detailed_metrics", {"finding": "lazy"}, "there is no finding lazy"),
        ("explain", {"term": "smm"}, "smm is no metric, column, finding or status"),
        ("node", {"name": "gpu99"}, "There is no node 'gpu99'"),
        ("jobreport", {"job_id": "7"}, "There is no tool jobreport"),
    ],
)
def test_what_is_wrong_is_a_failed_result_with_words(
    sources: Sources, tool: str, arguments: dict[str, Any], words: str
) -> None:
    found = call(as_asker(ALICE, sources), tool, arguments, "call_7")
    assert (found.is_failed, found.call_id, found.tool, found.arguments) == (True, "call_7", tool, arguments)
    assert words in found.error and found.hint


def test_a_fault_of_a_tool_is_told_without_its_insides_and_logged(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(asker: Asker) -> Answer:
        """Break."""
        raise RuntimeError("secret insides")

    monkeypatch.setitem(TOOLS, "broken", make_tool(broken))  # type: ignore[arg-type]
    found = call(as_asker(ALICE, sources), "broken", {}, "call_1")
    assert (found.error, found.value) == ("broken failed unexpectedly.", None)
    assert "secret insides" in caplog.text and "secret" not in found.error + found.hint
