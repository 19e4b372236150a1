"""What the API answers, told to programs: the answers themselves are written as the command line writes them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Health(_Told):
    """The server answers."""

    status: str
    version: str


class Highlight(_Told):
    """The sentence nearest to the question; offsets in Unicode characters of `field`."""

    field: str
    text: str
    start: int
    end: int
    cosine: float | None
    words: list[tuple[int, int]]


class Hit(_Told):
    """A paper and why it stands where it stands."""

    rank: int
    score: float
    score_kind: str
    id: str
    title: str
    abstract: str
    authors: list[str]
    year: int | None
    date: str
    venue: str
    categories: list[str]
    url: str
    doi: str
    signals: dict[str, float | int | str | bool]
    highlight: Highlight | None


class Answer(_Told):
    """Hits, best first, of `total` papers."""

    index: str
    generation: int
    total: int
    coverage: float
    offset: int
    limit: int
    took_ms: float
    notes: list[str]
    hits: list[Hit]


class Index(_Told):
    """An index; `state` is `ok` or says why it cannot be asked, and then what is not known is null."""

    name: str
    state: str
    papers: int | None
    vectors: int | None
    coverage: float | None
    generation: int | None
    created: str | None
    model: str | None
    precision: str | None
    building: bool
    encoded_when_idle: bool


class Indexes(_Told):
    """All indexes, by name."""

    indexes: list[Index]
    total: int


class IndexInfo(Index):
    """An index with all that is known of it."""

    semsearch_version: str
    revision: str | None
    dimension: int
    max_tokens: int
    fingerprint: str
    deleted: int
    without_abstract: int
    truncated: int
    factory: str
    search_parameters: dict[str, int]
    recall_at_10: float | None
    language: str
    distinct_texts: int
    size_bytes: int
    waiting_vectors: int


class Paper(BaseModel):
    """A paper; further identifiers, and what the source wrote, where it has them."""

    model_config = ConfigDict(extra="allow")

    id: str
    title: str
    abstract: str
    authors: list[str]
    year: int | None
    date: str
    venue: str
    categories: list[str]
    url: str
    doi: str


class Problem(_Told):
    """What went wrong, and what to do."""

    type: str
    message: str
    way_out: str


class Error(_Told):
    """The answer to every request that cannot be answered."""

    error: Problem


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Error, "description": "The request makes no sense, or is not addressed to this server"},
    403: {"model": Error, "description": "Asked by a page of another site"},
    404: {"model": Error, "description": "There is no such index or paper"},
    409: {"model": Error, "description": "Several papers fit"},
    411: {"model": Error, "description": "The length of the body is not told"},
    413: {"model": Error, "description": "The body is too large"},
    422: {"model": Error, "description": "A name or a value is none that can be asked"},
    500: {"model": Error, "description": "The index is damaged, or this program is wrong"},
    503: {"model": Error, "description": "Too many questions wait, or the model of the index is not there"},
}
