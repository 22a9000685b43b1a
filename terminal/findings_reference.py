"""The page about findings, made from their tables."""

from __future__ import annotations

from inspect import getdoc

from data.findings import FINDINGS
from data.findings.advice import advice
from settings import FindingLimits


def findings_page() -> str:
    """docs/reference/findings.md: those of the tables, with the shipped limits, and the rest of a job's report."""
    known = advice(FindingLimits())
    lines = [
        "# Findings\n",
        "What a job's report, the tables and the mails can say of a job. The limits are those shipped; a site sets its "
        "own in [findings](settings.md#findings).\n",
        "| id | on screen | holds when | what to do |\n|---|---|---|---|",
    ]
    lines += [f"| `{row.id}` | {row.name} | {row.when} | {row.advice} |" for row in known.values()]
    lines.append("\nA job's report alone also says these, with the `#SBATCH` lines to change:\n")
    lines.append("| id | says |\n|---|---|")
    lines += [f"| `{name}` | {_said(name)} |" for name in FINDINGS if name not in known]
    return "\n".join(lines) + "\n"


def _said(name: str) -> str:
    return " ".join((getdoc(FINDINGS[name]) or "").split())
