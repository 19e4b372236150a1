"""OpenAlex: answers of its API, lists of works and single works; abstracts come as inverted indexes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_arxiv, normalise_doi, normalise_openalex, normalise_pmid
from semsearch.paper import Paper
from semsearch.person_names import author_names
from semsearch.readers.base import Format, ReadItem
from semsearch.readers.dates import date_of, year_of
from semsearch.readers.json_counting import JsonPaperCounter
from semsearch.readers.json_documents import json_head, part_of, read_json, text_in, texts_in
from semsearch.readers.parts import Parts

_EVIDENT: Final = re.compile(
    r'"abstract_inverted_index"\s*:|"authorships"\s*:|"id"\s*:\s*"https?://openalex\.org/W\d|"openalex"\s*:\s*"https?:'
)


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds OpenAlex works."""
    return 96 if _EVIDENT.search(json_head(head)) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every work."""
    return read_json(stream, paper_of)


def paper_of(work: dict[str, object]) -> Paper:
    """Return the paper that a work describes; raises WrongType where there is neither title nor abstract."""
    openalex = normalise_openalex(text_in(work.get("id")) or text_in(part_of(work, "ids", "openalex")))
    location = work.get("primary_location") or work.get("host_venue")
    doi = normalise_doi(text_in(work.get("doi")) or text_in(part_of(work, "ids", "doi")))
    landing = text_in(part_of(location, "landing_page_url")) or text_in(part_of(location, "url"))
    return Parts(
        title=text_in(work.get("title")) or text_in(work.get("display_name")),
        abstract=text_of_index(work.get("abstract_inverted_index")) or text_in(work.get("abstract")),
        authors=_authors(work.get("authorships")) or author_names(work.get("authors")),
        date=_date(work),
        venue=text_in(part_of(location, "source", "display_name"))
        or text_in(part_of(location, "display_name"))
        or text_in(part_of(location, "raw_source_name")),
        categories=texts_in(work.get("keywords"), "display_name")
        or texts_in(work.get("topics"), "display_name")
        or texts_in(work.get("concepts"), "display_name"),
        url=landing or text_in(work.get("doi")) or text_in(work.get("id")),
        language=text_in(work.get("language")),
        own_id=openalex,
        identifiers={
            "doi": doi,
            "arxiv": _arxiv(work),
            "pmid": normalise_pmid(text_in(part_of(work, "ids", "pmid"))),
            "openalex": openalex,
        },
    ).paper()


def text_of_index(index: object) -> str:
    """Return the text of an inverted index: the words, each with the places where it stands."""
    if isinstance(index, str):
        try:
            index = json.loads(index)
        except (ValueError, RecursionError):
            return ""
    if isinstance(index, dict) and isinstance(index.get("InvertedIndex"), dict):
        index = index["InvertedIndex"]
    if not isinstance(index, dict):
        return ""
    placed = [
        (place, word)
        for word, places in index.items()
        if isinstance(places, list)
        for place in places
        if isinstance(place, int)
    ]
    return " ".join(word for _, word in sorted(placed))


def _authors(authorships: object) -> list[str]:
    if not isinstance(authorships, list):
        return []
    names = [
        text_in(part_of(part, "author", "display_name")) or text_in(part_of(part, "raw_author_name"))
        for part in authorships
    ]
    return [name for name in names if name]


def _date(work: dict[str, object]) -> str:
    """Return the date; OpenAlex writes the first of January where it knows the year only."""
    date = date_of(work.get("publication_date"))
    year = year_of(work.get("publication_year"))
    if year and not date.startswith(f"{year:04d}"):
        return f"{year:04d}"
    return date[:4] if date.endswith("-01-01") else date


def _arxiv(work: dict[str, object]) -> str:
    places = [work.get("primary_location"), *(value if isinstance(value := work.get("locations"), list) else [])]
    return next(
        (
            arxiv
            for place in places
            for name in ("landing_page_url", "pdf_url")
            if (arxiv := normalise_arxiv(text_in(part_of(place, name))))
        ),
        "",
    )


FORMAT: Final = Format(
    name="openalex", title="OpenAlex JSON", looks_like=looks_like, read=read, version=1, counter=JsonPaperCounter
)
