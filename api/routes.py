"""The routes below /api/v1/: who asks was settled before they are reached."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_origin
from urllib.parse import urlencode

from flask import Flask, Response, g, request
from pydantic import ValidationError
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException

from api.answers import answered, failed, marked
from api.document import make_document
from api.failures import failure, failure_of, status_of
from api.operations import OPERATIONS, Operation
from api.paging import Page, Paged, Part
from api.parameters import Parameters
from api.rates import Rates
from data.errors import BadRequest, FullwarpError
from data.model import Viewer
from data.queries.asked import Asked
from data.sources import Sources
from terminal.form import ZONE_HEADER

BASE = "api/v1"
FOLDER = "api/"
BY_TOKEN = "fullwarp_by_token"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the routes stand on. `sources` raises SourceUnreachable while they are closed."""

    prefix: str
    version: str
    rates: Rates
    sources: Callable[[], Sources]


def add_api(server: Flask, standing: Standing) -> None:
    """Register all routes; once per app. `g.fullwarp_viewer` must be set before they are reached, and `g` must say in
    BY_TOKEN whether a token named the viewer: no page of another site can send one, so it alone may change things."""
    base = f"{standing.prefix}{BASE}"
    for one in OPERATIONS:
        server.add_url_rule(f"{base}/{one.rule}", f"api_{one.name}", _route(one, standing), methods=[one.method])
    server.add_url_rule(f"{base}/openapi.json", "api_document", _document(standing))
    for rule in (FOLDER, FOLDER.rstrip("/"), f"{FOLDER}<path:path>"):
        server.add_url_rule(f"{standing.prefix}{rule}", f"api_{rule}", lambda path="": _unknown(base))
    server.register_error_handler(405, _not_allowed(standing.prefix))
    server.register_error_handler(FullwarpError, _unsettled(standing.prefix))


def _route(operation: Operation, standing: Standing) -> Callable[..., Response]:
    def answer(**in_path: str) -> Response:
        viewer: Viewer = g.fullwarp_viewer
        if wait := standing.rates.wait_seconds(viewer.user):
            problem = failure("too_many_requests", "Too many requests in a minute.", f"Try again in {wait} s.")
            return failed(429, problem, {"Retry-After": str(wait)})
        try:
            if operation.changes and not (g.get(BY_TOKEN) and viewer.is_staff):
                problem = failure("forbidden", "This takes a token of cluster staff.", "See `fullwarp token create`.")
                return failed(403, problem)
            sources = standing.sources()
            response = answered(_answer(operation, viewer, sources, in_path))
            response.headers[ZONE_HEADER] = sources.settings.site_timezone
            return response
        except FullwarpError as err:
            if status_of(err) >= 500:
                log.warning("%s: %s", request.path, err)
            return failed(status_of(err), failure_of(err, viewer))
        except Exception:
            log.exception("%s failed", request.path)
            return failed(500, failure("internal", "Fullwarp failed at this.", "Tell the cluster staff."))

    return answer


def _answer(operation: Operation, viewer: Viewer, sources: Sources, in_path: Mapping[str, str]) -> object:
    wanted = _wanted(operation, in_path)
    found = operation.ask(Asked(viewer, sources, sources.clock()), wanted)
    return _paged(found, wanted) if isinstance(found, Part) else found


def _wanted(operation: Operation, in_path: Mapping[str, str]) -> Parameters:
    """From the address, or from the body of what changes something."""
    if not operation.changes:
        return read_parameters(operation.parameters, request.args, in_path)
    if request.args:
        raise BadRequest("nothing may be asked in the address here", hint="Send a JSON object as the body.")
    body = request.get_json(silent=True) if operation.has_body else {}
    if not isinstance(body, dict):
        raise BadRequest("the body is no JSON object", hint="Send one with Content-Type: application/json.")
    return _checked(operation.parameters, {**body, **in_path})


def _paged(found: Part[Any], wanted: Any) -> Paged[Any]:
    end = wanted.offset + wanted.limit
    return Paged(
        found.answer, Page(wanted.limit, wanted.offset, found.total, _next(end) if end < found.total else None)
    )


def _next(offset: int) -> str:
    """The address of this request with another offset."""
    kept = [(name, value) for name, value in request.args.items(multi=True) if name != "offset"]
    return f"{request.path}?{urlencode([*kept, ('offset', offset)])}"


def read_parameters(form: type[Parameters], given: MultiDict[str, str], in_path: Mapping[str, str]) -> Parameters:
    """The parameters of an address. Raises BadRequest that names the first that is wrong."""
    values: dict[str, Any] = {}
    for name, found in given.lists():
        field = form.model_fields.get(name)
        if name in in_path or field is None:
            raise BadRequest(f"{name[:60]} is not a parameter here", hint=f"Use {_names(form, in_path)}.")
        if get_origin(field.annotation) is not list and len(found) > 1:
            raise BadRequest(f"{name} is given {len(found)} times, and one is wanted")
        values[name] = found if get_origin(field.annotation) is list else found[0]
    return _checked(form, {**values, **in_path})


def _checked(form: type[Parameters], values: Mapping[str, Any]) -> Parameters:
    try:
        return form.model_validate(values)
    except ValidationError as err:
        first = err.errors()[0]
        raise BadRequest(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", hint="See openapi.json.") from err


def _names(form: type[Parameters], in_path: Mapping[str, str]) -> str:
    return ", ".join(name for name in form.model_fields if name not in in_path) or "none"


def _document(standing: Standing) -> Callable[[], Response]:
    """Made at the first request, and kept."""
    kept: list[bytes] = []

    def answer() -> Response:
        if not kept:
            kept.append(json.dumps(make_document(f"{standing.prefix}{BASE}", standing.version)).encode())
        return marked(kept[0])

    return answer


def _unknown(base: str) -> Response:
    return failed(404, failure("not_found", "There is no such address.", f"See {base}/openapi.json."))


def _not_allowed(prefix: str) -> Callable[[HTTPException], Response | HTTPException]:
    """The API's own form for a method that it does not know; other addresses keep the usual one."""

    def answer(err: HTTPException) -> Response | HTTPException:
        if not request.path.startswith(f"{prefix}{FOLDER}"):
            return err
        allowed = ", ".join(sorted(getattr(err, "valid_methods", None) or ["GET"]))
        problem = failure("method_not_allowed", f"{request.method} is not known here.", f"Use {allowed}.")
        return failed(405, problem, {"Allow": allowed})

    return answer


def _unsettled(prefix: str) -> Callable[[FullwarpError], Response]:
    """What went wrong before a route was reached: who asks could not be settled."""

    def answer(err: FullwarpError) -> Response:
        if not request.path.startswith(f"{prefix}{FOLDER}"):
            raise err
        log.warning("%s: %s", request.path, err)
        return failed(503, failure(err.code, "Tokens cannot be looked up now.", "Try again later."))

    return answer
