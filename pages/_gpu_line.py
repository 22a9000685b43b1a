"""The route behind the line in the map's card."""

from __future__ import annotations

from dataclasses import asdict
from zoneinfo import ZoneInfo

import orjson
from flask import Flask, Response, request

from data.errors import BadRequest
from data.moment import parse_moment
from data.queries.gpu_line import GpuLine, gpu_line
from pages._request import backing, now, viewer

MAX_TEXT = 300


def add_gpu_line(server: Flask, prefix: str) -> None:
    """Add the route: `?node=&gpu=&at=` as JSON with label, values and why."""

    @server.get(f"{prefix}_gpu-line")
    def _gpu_line() -> Response:
        return Response(orjson.dumps(asdict(_asked())), mimetype="application/json")


def _asked() -> GpuLine:
    own, given = backing(), request.args
    try:
        at = parse_moment(given.get("at", ""), now(), ZoneInfo(own.settings.site_timezone))
    except BadRequest:
        at = None
    node, gpu = given.get("node", "")[:MAX_TEXT], given.get("gpu", "")[:MAX_TEXT]
    return gpu_line(viewer(), own.sources, node, gpu, at)
