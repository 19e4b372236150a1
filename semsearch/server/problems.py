"""Whatever goes wrong with a request -> JSON that says what was wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from semsearch.errors import (
    AmbiguousPaper,
    IndexNotFound,
    ModelError,
    PaperNotFound,
    QueryError,
    SemsearchError,
    UsageError,
)
from semsearch.server.desk import Overloaded, ShuttingDown
from semsearch.server.service import AskerGone
from semsearch.writers.jsonl import json_line

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                               "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""Papers come from anywhere: were there markup in them that the page let through, it could still load nothing."""
_STATUS: Final[dict[type[SemsearchError], int]] = {
    IndexNotFound: 404, PaperNotFound: 404, AmbiguousPaper: 409, QueryError: 400, UsageError: 400, ModelError: 503,
    Overloaded: 503, ShuttingDown: 503, AskerGone: 499,
}
_MOST_ERRORS: Final = 5
_MOST_CHARACTERS: Final = 500


class Json(Response):
    """A document as the command line would print it."""

    media_type = "application/json"

    def render(self, content: Mapping[str, object]) -> bytes:
        """Return the bytes of a document."""
        return json_line(content).encode()


def tell_problems(app: FastAPI) -> None:
    """Have an application answer so, whatever it meets."""
    app.add_exception_handler(SemsearchError, _told)
    app.add_exception_handler(RequestValidationError, _told_invalid)
    app.add_exception_handler(HTTPException, _told_by_status)
    app.add_exception_handler(Exception, _told_fault)


def problem(status: int, kind: str, message: str, way_out: str) -> Json:
    """Return the answer to a request that cannot be answered."""
    return Json({"error": {"type": kind, "message": message, "way_out": way_out}}, status)


async def _told(request: Request, error: Exception) -> Json:
    known = cast(SemsearchError, error)
    status = next((_STATUS[kind] for kind in type(known).__mro__ if kind in _STATUS), 500)
    return problem(status, type(known).__name__, known.message, known.way_out)


async def _told_invalid(request: Request, error: Exception) -> Json:
    wrong = cast(RequestValidationError, error).errors()
    messages = [_spelt(each) for each in wrong[:_MOST_ERRORS]]
    if len(wrong) > _MOST_ERRORS:
        messages.append(f"and {len(wrong) - _MOST_ERRORS:,} more")
    way_out = "/api/openapi.json says what can be asked."
    if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
        way_out = "Send a JSON object, with Content-Type: application/json."
    return problem(422, "InvalidRequest", "; ".join(messages) + ".", way_out)


def _spelt(wrong: Mapping[str, Any]) -> str:
    """Return one thing that is wrong with a request: its name, and what was expected."""
    if wrong["type"] == "json_invalid":
        return f"body: no JSON: {wrong['ctx']['error']} at character {wrong['loc'][-1]}"
    name = ".".join(str(part) for part in wrong["loc"][1:]) or "body"
    return f"{name[:_MOST_CHARACTERS]}: {wrong['msg'][:_MOST_CHARACTERS]}"


async def _told_by_status(request: Request, error: Exception) -> Json:
    known = cast(HTTPException, error)
    response = problem(known.status_code, "HTTPError", f"{request.url.path[:_MOST_CHARACTERS]}: {known.detail}.",
                      "/api/openapi.json lists what there is.")
    response.headers.update(known.headers or {})
    return response


async def _told_fault(request: Request, error: Exception) -> Json:
    """Answer where this program is wrong; who runs it sees the traceback on standard error."""
    response = problem(500, "InternalError", f"The server met a fault of its own ({type(error).__name__}).",
                      "Its standard error says more; please report it.")
    response.headers.update(HEADERS)
    return response
