"""Unknown addresses answer 404: Dash itself gives its index with 200 to everything, and fails at unknown files."""

from __future__ import annotations

import re
from collections.abc import Iterable

import dash
from dash.exceptions import DependencyException
from flask import Flask, Response, request


def set_not_found_status(server: Flask, prefix: str) -> None:
    """Give the index 404 where no page is registered; the app then draws its "not found" page."""
    catch_all = f"{prefix}<path:path>"

    @server.after_request
    def _status(response: Response) -> Response:
        rule = request.url_rule.rule if request.url_rule else ""
        if response.status_code == 200 and rule == catch_all and not is_page(request.path.removeprefix(prefix)):
            response.status_code = 404
        return response


def explain_unknown_files(server: Flask) -> None:
    """Dash raises an error of its own where a file of its packages does not exist: anybody may ask for one."""

    @server.errorhandler(DependencyException)
    def _unknown(_: Exception) -> Response:
        return Response("There is no such file.", status=404, mimetype="text/plain")


def is_page(path: str) -> bool:
    """Whether a path below the prefix is one of the registered pages."""
    wanted = "/" + path.strip("/")
    return any(_matches(wanted, page) for page in dash.page_registry.values())


def _matches(path: str, page: dict[str, object]) -> bool:
    template = page.get("path_template")
    if not template:
        return path == page["path"] and not str(page["module"]).endswith("not_found_404")
    parts: Iterable[str] = str(template).strip("/").split("/")
    pattern = "/".join("[^/]+" if part.startswith("<") else re.escape(part) for part in parts)
    return re.fullmatch(f"/{pattern}", path) is not None
