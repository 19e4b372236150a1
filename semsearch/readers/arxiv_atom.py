"""Atom feeds of the arXiv API. An answer that is an error message is rejected with the message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_arxiv, normalise_doi
from semsearch.paper import Paper
from semsearch.readers.base import Format, ReadItem, RecordCounter
from semsearch.readers.dates import date_of
from semsearch.readers.fields import WrongType
from semsearch.readers.parts import Parts
from semsearch.readers.text import sniff_text
from semsearch.readers.xml_counting import ElementCounter
from semsearch.readers.xml_records import Element, XmlLayout, child, children, read_xml, text_at

API_ERROR: Final = "an error message of the arXiv API"

_FEED: Final = re.compile(r"<(?:[\w.-]+:)?(?:feed|entry)\b")
_ATOM: Final = re.compile(r"http://www\.w3\.org/2005/Atom|https?://arxiv\.org/(?:abs|schemas|api)")


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds an Atom feed."""
    text = sniff_text(head)
    if text is None or not text.lstrip().startswith("<"):
        return 0
    return 96 if _FEED.search(text[:4096]) and _ATOM.search(text) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every entry."""
    return read_xml(stream, XmlLayout(("entry",), _paper_of))


def counter() -> RecordCounter:
    """Return a counter of the entries."""
    return ElementCounter(("entry",))


def _paper_of(entry: Element, gap: str) -> Paper:
    link = text_at(entry, "id")
    if "/api/errors" in link:
        raise WrongType(API_ERROR, text_at(entry, "summary") or text_at(entry, "title"))
    arxiv = normalise_arxiv(link)
    links = [part for part in children(entry, "link") if part.get("href")]
    primary = child(entry, "primary_category")
    terms = [
        part.get("term") or "" for part in [*([primary] if primary is not None else []), *children(entry, "category")]
    ]
    return Parts(
        title=text_at(entry, "title"),
        abstract=text_at(entry, "summary") or text_at(entry, "content"),
        markup="latex",
        authors=[text_at(author, "name") for author in children(entry, "author")],
        date=date_of(text_at(entry, "published")) or date_of(text_at(entry, "updated")),
        venue=text_at(entry, "journal_ref"),
        categories=terms,
        url=next((part.get("href") or "" for part in links if part.get("rel", "alternate") == "alternate"), link),
        own_id=arxiv,
        identifiers={"arxiv": arxiv, "doi": normalise_doi(text_at(entry, "doi"))},
    ).paper()


FORMAT: Final = Format(
    name="arxiv-atom", title="Atom feed (arXiv API)", looks_like=looks_like, read=read, version=1, counter=counter
)
