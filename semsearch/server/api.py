"""The HTTP API: what the commands `query`, `related`, `show`, `list` and `info` answer, as JSON."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Final, cast

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.staticfiles import StaticFiles

from semsearch.maintenance import describe
from semsearch.provider import EncoderProvider
from semsearch.search import Answer, Searcher
from semsearch.server import answers
from semsearch.server.guard import Guard
from semsearch.server.parameters import Parameters, QueryParameters, RelatedParameters
from semsearch.server.problems import Json, tell_problems
from semsearch.server.service import ServerOptions, Service
from semsearch.version import own_version
from semsearch.writers.jsonl import paper_as_dict

_LOG: Final = logging.getLogger(__name__)
PAGE: Final = Path(__file__).resolve().parent / "page"
_OF_THIS_MACHINE: Final = frozenset({"folder", "sources", "remembered"})
"""Paths are nobody's business who asks from elsewhere."""


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


There = Annotated[Service, Depends(_service)]
routes = APIRouter()


@routes.get("/health", summary="Whether the server answers, and its version", operation_id="health")
async def health() -> answers.Health:
    """Answer without touching an index."""
    return answers.Health(status="ok", version=own_version())


@routes.head("/health", include_in_schema=False)
async def health_head() -> Response:
    """Answer to probes that want no body."""
    return Response(media_type="application/json")


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
async def query(name: str, asked: Annotated[QueryParameters, Query()], there: There, request: Request) -> Json:
    """Return hits as `semsearch query --json` prints them."""
    return await _answer(there, request, name, asked,
                         lambda searcher: searcher.query(asked.q, asked.depth, asked.options()))


@routes.post("/api/indexes/{name}/query", summary="The same, for long questions", operation_id="query_posted",
             responses={200: {"model": answers.Answer}})
async def query_posted(name: str, asked: QueryParameters, there: There, request: Request) -> Json:
    """Return hits as `semsearch query --json` prints them."""
    return await query(name, asked, there, request)


@routes.get("/api/indexes/{name}/related", summary="The papers nearest to others", operation_id="related",
            responses={200: {"model": answers.Answer}})
async def related(name: str, asked: Annotated[RelatedParameters, Query()], there: There, request: Request) -> Json:
    """Return hits as `semsearch related --json` prints them."""
    return await _answer(there, request, name, asked, lambda searcher: searcher.related(
        asked.id, asked.depth, asked.options(), titles=asked.title, texts=asked.text, unlike=asked.unlike,
        query=asked.query))


@routes.post("/api/indexes/{name}/related", summary="The same, for abstracts and many ids",
             operation_id="related_posted", responses={200: {"model": answers.Answer}})
async def related_posted(name: str, asked: RelatedParameters, there: There, request: Request) -> Json:
    """Return hits as `semsearch related --json` prints them."""
    return await related(name, asked, there, request)


@routes.get("/api/indexes/{name}/papers/{paper:path}", summary="A paper by any of its identifiers",
            operation_id="show_paper", responses={200: {"model": answers.Paper}})
async def show_paper(name: str, paper: str, there: There) -> Json:
    """Return the paper as `semsearch show --json` prints it; an id may hold slashes."""
    def look() -> dict[str, object]:
        reader = there.shelf.open(name).searcher.reader
        return paper_as_dict(reader.papers.get([reader.find(paper)])[0])

    return Json(await there.looked(look))


async def _answer(there: Service, request: Request, name: str, asked: Parameters, find: Callable[[Searcher], Answer]
                  ) -> Json:
    def answer() -> dict[str, object]:
        begun = time.perf_counter()
        index = there.shelf.ask(name)
        found = find(index.searcher)
        took = time.perf_counter() - begun
        now = index.describe()
        return {"index": name, "generation": now["generation"], "total": now["papers"], "coverage": now["coverage"],
                "offset": asked.offset, "limit": asked.limit, "took_ms": round(1000 * took, 1),
                "notes": list(found.notes), "hits": [hit.as_dict() for hit in found.hits[asked.offset:]]}

    return Json(await there.asked(request, answer))


def create_app(home: Path, provider: EncoderProvider, options: ServerOptions | None = None, *,
               note: Callable[[str], None] = _LOG.warning) -> FastAPI:
    """Return the application over the indexes of a folder. `note` hears of what a user should know."""
    options = options or ServerOptions()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = Service(home, provider, options, note)
        yield
        app.state.service.close()

    app = FastAPI(title="semsearch", version=own_version(), lifespan=lifespan, docs_url=None, redoc_url=None,
                  openapi_url="/api/openapi.json", description="Scientific papers, found by meaning.",
                  responses=answers.ERRORS)
    app.add_middleware(Guard, hosts=options.hosts)
    tell_problems(app)
    app.include_router(routes)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app
