"""The HTTP API: what the commands `query`, `related`, `show`, `list` and `info` answer, as JSON."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar, cast

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
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
from semsearch.maintenance import describe
from semsearch.provider import EncoderProvider
from semsearch.search import Answer, Searcher
from semsearch.server import answers
from semsearch.server.desk import Desk, Overloaded
from semsearch.server.guard import refusal
from semsearch.server.idle import IdleEncoding
from semsearch.server.parameters import Parameters, QueryParameters, RelatedParameters
from semsearch.server.shelf import OpenIndex, Shelf
from semsearch.version import own_version
from semsearch.writers.jsonl import json_line, paper_as_dict

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)
PAGE: Final = Path(__file__).resolve().parent / "page"
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                               "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""Papers come from anywhere: were there markup in them that the page let through, it could still load nothing."""
_STATUS: Final[dict[type[SemsearchError], int]] = {
    IndexNotFound: 404, PaperNotFound: 404, AmbiguousPaper: 409, QueryError: 400, UsageError: 400, ModelError: 503,
    Overloaded: 503,
}
_OF_THIS_MACHINE: Final = frozenset({"folder", "sources", "remembered"})
"""Paths are nobody's business who asks from elsewhere."""


class Json(Response):
    """A document as the command line would print it."""

    media_type = "application/json"

    def render(self, content: Mapping[str, object]) -> bytes:
        """Return the bytes of a document."""
        return json_line(content).encode()


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server works: where models run, whether they may bring code, whether it encodes while nobody asks.

    `hosts`: the names by which it may be called, so that a page from elsewhere cannot reach it by a name of its own;
    `*` for any.
    """

    device: str = "auto"
    trust_remote_code: bool = False
    encode_idle: bool = False
    hosts: tuple[str, ...] = ("*",)


class Service:
    """The indexes of a home and the one thread in which they are asked."""

    def __init__(self, home: Path, provider: EncoderProvider, options: ServerOptions, note: Callable[[str], None]
                 ) -> None:
        """Open the desk, and what is there."""
        self.home = home
        self.shelf = Shelf(home, provider, options.device, options.trust_remote_code)
        self.idle = IdleEncoding(self.shelf, note) if options.encode_idle else None
        self.desk = Desk(self.idle)
        self.desk.look(self.shelf.warm)

    def described(self, index: OpenIndex) -> dict[str, object]:
        """Return what lists of indexes say of one that is open."""
        return {**index.describe(), "encoded_when_idle": self.encodes_when_idle(index.name)}

    def encodes_when_idle(self, name: str) -> bool:
        """Return whether what an index lacks is encoded while nobody asks."""
        return self.idle is not None and self.desk.has_spare_work and self.idle.is_for(name)

    async def asked(self, work: Callable[[], T]) -> T:
        """Return the answer to a question."""
        return await asyncio.wrap_future(self.desk.ask(work))

    async def looked(self, work: Callable[[], T]) -> T:
        """Return the result of a look at the state of things."""
        return await asyncio.wrap_future(self.desk.look(work))

    def close(self) -> None:
        """Answer what was asked, and close all that is open."""
        self.desk.close(self.shelf.close)
        if self.idle is not None:
            self.idle.close()


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


There = Annotated[Service, Depends(_service)]
routes = APIRouter()


@routes.get("/health", summary="Whether the server answers, and its version", operation_id="health")
async def health() -> answers.Health:
    """Answer without touching an index."""
    return answers.Health(status="ok", version=own_version())


@routes.get("/api/indexes", summary="All indexes, with how much of each is encoded", operation_id="list_indexes",
            responses={200: {"model": answers.Indexes}})
async def list_indexes(there: There) -> Json:
    """Return the indexes by name; `coverage` is the share of papers that have a vector."""
    def look() -> dict[str, object]:
        listed = [{**each, "encoded_when_idle": there.encodes_when_idle(str(each["name"]))}
                  for each in there.shelf.listed()]
        return {"indexes": listed, "total": len(listed)}

    return Json(await there.looked(look))


@routes.get("/api/indexes/{name}", summary="What an index holds and what made it", operation_id="show_index",
            responses={200: {"model": answers.IndexInfo}})
async def show_index(name: str, there: There) -> Json:
    """Return what `semsearch info --json` prints but for paths, and how much is encoded at this moment."""
    def look() -> dict[str, object]:
        now = there.described(there.shelf.open(name))
        known = describe(there.home / name).as_dict()
        return {**{key: value for key, value in known.items() if key not in _OF_THIS_MACHINE}, **now}

    return Json(await there.looked(look))


@routes.get("/api/indexes/{name}/query", summary="The papers that answer a question in words", operation_id="query",
            responses={200: {"model": answers.Answer}})
async def query(name: str, asked: Annotated[QueryParameters, Query()], there: There) -> Json:
    """Return hits as `semsearch query --json` prints them."""
    return await _answer(there, name, asked, lambda searcher: searcher.query(asked.q, asked.depth, asked.options()))


@routes.post("/api/indexes/{name}/query", summary="The same, for long questions", operation_id="query_posted",
             responses={200: {"model": answers.Answer}})
async def query_posted(name: str, asked: QueryParameters, there: There) -> Json:
    """Return hits as `semsearch query --json` prints them."""
    return await query(name, asked, there)


@routes.get("/api/indexes/{name}/related", summary="The papers nearest to others", operation_id="related",
            responses={200: {"model": answers.Answer}})
async def related(name: str, asked: Annotated[RelatedParameters, Query()], there: There) -> Json:
    """Return hits as `semsearch related --json` prints them."""
    return await _answer(there, name, asked, lambda searcher: searcher.related(
        asked.id, asked.depth, asked.options(), titles=asked.title, texts=asked.text, unlike=asked.unlike,
        query=asked.query))


@routes.post("/api/indexes/{name}/related", summary="The same, for abstracts and many ids",
             operation_id="related_posted", responses={200: {"model": answers.Answer}})
async def related_posted(name: str, asked: RelatedParameters, there: There) -> Json:
    """Return hits as `semsearch related --json` prints them."""
    return await related(name, asked, there)


@routes.get("/api/indexes/{name}/papers/{paper:path}", summary="A paper by any of its identifiers",
            operation_id="show_paper", responses={200: {"model": answers.Paper}})
async def show_paper(name: str, paper: str, there: There) -> Json:
    """Return the paper as `semsearch show --json` prints it; an id may hold slashes."""
    def look() -> dict[str, object]:
        reader = there.shelf.open(name).searcher.reader
        return paper_as_dict(reader.papers.get([reader.find(paper)])[0])

    return Json(await there.looked(look))


async def _answer(there: Service, name: str, asked: Parameters, find: Callable[[Searcher], Answer]) -> Json:
    def answer() -> dict[str, object]:
        begun = time.perf_counter()
        index = there.shelf.ask(name)
        found = find(index.searcher)
        took = time.perf_counter() - begun
        now = index.describe()
        return {"index": name, "generation": now["generation"], "total": now["papers"], "coverage": now["coverage"],
                "offset": asked.offset, "limit": asked.limit, "took_ms": round(1000 * took, 1),
                "notes": list(found.notes), "hits": [hit.as_dict() for hit in found.hits[asked.offset:]]}

    return Json(await there.asked(answer))


def create_app(home: Path, provider: EncoderProvider, options: ServerOptions | None = None, *,
               note: Callable[[str], None] = _LOG.warning) -> FastAPI:
    """Return the application over the indexes of a folder. `note` hears of what a user should know."""
    options = options or ServerOptions()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = Service(home, provider, options, note)
        yield
        app.state.service.close()

    async def guarded(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        refused = refusal(request, options.hosts)
        response = await go_on(request) if refused is None else _error(*refused)
        response.headers.update(_HEADERS)
        return response

    app = FastAPI(title="semsearch", version=own_version(), lifespan=lifespan, docs_url=None, redoc_url=None,
                  openapi_url="/api/openapi.json", description="Scientific papers, found by meaning.",
                  responses=answers.ERRORS)
    app.middleware("http")(guarded)
    app.add_exception_handler(SemsearchError, _told)
    app.add_exception_handler(RequestValidationError, _told_invalid)
    app.add_exception_handler(HTTPException, _told_by_status)
    app.add_exception_handler(Exception, _told_fault)
    app.include_router(routes)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


async def _told(request: Request, error: Exception) -> Json:
    known = cast(SemsearchError, error)
    status = next((_STATUS[kind] for kind in type(known).__mro__ if kind in _STATUS), 500)
    return _error(status, type(known).__name__, known.message, known.way_out)


async def _told_invalid(request: Request, error: Exception) -> Json:
    wrong = cast(RequestValidationError, error).errors()
    messages = [f"{'.'.join(str(part) for part in each['loc'][1:]) or 'body'}: {each['msg']}" for each in wrong]
    return _error(422, "InvalidRequest", "; ".join(messages) + ".", "/api/openapi.json says what can be asked.")


async def _told_by_status(request: Request, error: Exception) -> Json:
    known = cast(HTTPException, error)
    return _error(known.status_code, "HTTPError", f"{request.url.path}: {known.detail}.",
                  "/api/openapi.json lists what there is.")


async def _told_fault(request: Request, error: Exception) -> Json:
    """Answer where this program is wrong; who runs it sees the traceback on standard error."""
    response = _error(500, "InternalError", f"The server met a fault of its own ({type(error).__name__}).",
                      "Its standard error says more; please report it.")
    response.headers.update(_HEADERS)
    return response


def _error(status: int, kind: str, message: str, way_out: str) -> Json:
    return Json({"error": {"type": kind, "message": message, "way_out": way_out}}, status)
