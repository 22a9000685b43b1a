"""All tools by name, and one call of one of them, which never raises."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from chat.model import Asker, ToolResult
from chat.tools import cluster, documents, explaining, history, jobs, metrics, sbatch, verdicts
from chat.tools.answer import bounded
from chat.tools.registry import Tool, make_tool, openai_form
from data.errors import BadRequest, FullwarpError
from data.telling import told

log = logging.getLogger(__name__)

_FUNCTIONS = (
    cluster.cluster_status,
    cluster.find_nodes,
    cluster.node,
    jobs.find_jobs,
    jobs.job_report,
    jobs.job_series,
    jobs.why_pending,
    jobs.compare_jobs,
    verdicts.policy_verdict,
    verdicts.policy_verdicts,
    history.user_efficiency,
    history.efficiency_report,
    metrics.detailed_metrics,
    history.waste_ranking,
    history.wait_by_gpu_count,
    sbatch.sbatch_advice,
    explaining.explain,
    documents.site_documents,
    cluster.source_health,
)
TOOLS: Mapping[str, Tool] = {function.__name__: make_tool(function) for function in _FUNCTIONS}


def schemas() -> list[dict[str, Any]]:
    """The tools as a server with the OpenAI API wants them."""
    return openai_form(TOOLS.values())


def call(asker: Asker, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolResult:
    """Run one tool as the asker. What goes wrong is a failed result that says so in words."""
    began = time.perf_counter()
    try:
        found = _tool(name).run(asker, arguments)
        value = bounded(found.value)
    except FullwarpError as err:
        error, hint = told(err, asker.viewer)
        return ToolResult(call_id, name, arguments, time.perf_counter() - began, error=error, hint=hint)
    except Exception:
        log.exception("tool %s failed", name)
        error, hint = f"{name} failed unexpectedly.", "This is a fault of Fullwarp; its log says more."
        return ToolResult(call_id, name, arguments, time.perf_counter() - began, error=error, hint=hint)
    return ToolResult(call_id, name, arguments, time.perf_counter() - began, value, found.answer, found.link)


def _tool(name: str) -> Tool:
    found = TOOLS.get(name)
    if found is None:
        near = get_close_matches(name, TOOLS, 3) or list(TOOLS)
        raise BadRequest(f"There is no tool {name[:60]}", hint=f"Such as {', '.join(near)}.")
    return found
