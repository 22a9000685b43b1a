"""The names that the one who asks can see on the cluster now."""

from __future__ import annotations

from chat.model import Asker
from data.errors import FullwarpError
from data.queries.live import snapshot


def names_seen(asker: Asker) -> dict[str, frozenset[str]]:
    """Names of nodes, users and accounts by kind; nothing while the live picture cannot be had."""
    try:
        seen = snapshot(asker.viewer, asker.sources)
    except FullwarpError:
        return {}
    return {
        "node": frozenset(node.name for node in seen.nodes),
        "user": frozenset(job.user for job in seen.jobs if job.user),
        "account": frozenset(job.account for job in seen.jobs if job.account),
    }
