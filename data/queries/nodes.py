"""Nodes: the list, and one node with its devices and jobs."""

from __future__ import annotations

from datetime import datetime

from data.model import NodeFilter, Viewer
from data.node_rows import NodeDetail, NodeList, node_of, nodes_of
from data.queries.live import snapshot
from data.sources import Sources


def nodes(viewer: Viewer, sources: Sources, filter: NodeFilter | None = None, at: datetime | None = None) -> NodeList:
    """Answer with the nodes that fit the filter."""
    return nodes_of(snapshot(viewer, sources, at=at), filter)


def node(viewer: Viewer, sources: Sources, name: str, at: datetime | None = None) -> NodeDetail:
    """Answer with one node; NotFound with the nearest names when there is none of that name."""
    return node_of(snapshot(viewer, sources, at=at), name)
