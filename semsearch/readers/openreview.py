"""OpenReview: notes of its API, with `content.title.value` or the older plain `content.title`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_doi
from semsearch.paper import Paper
from semsearch.readers.base import Format, ReadItem
from semsearch.readers.dates import year_of
from semsearch.readers.fields import WrongType
from semsearch.readers.json_counting import JsonPaperCounter
from semsearch.readers.json_documents import json_head, read_json, text_in, texts_in
from semsearch.readers.parts import Parts

REPLY: Final = "a review, comment or decision, no paper"

_CONTENT: Final = re.compile(r'"content"\s*:\s*\{')
_EVIDENT: Final = re.compile(r'"(?:forum|invitations?|signatures|tcdate|venueid)"\s*:|"title"\s*:\s*\{\s*"value"')
_SITE: Final = "https://openreview.net"


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds notes of OpenReview."""
    text = json_head(head)
    return 96 if _CONTENT.search(text) and _EVIDENT.search(text) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every note."""
    return read_json(stream, paper_of)


def paper_of(note: dict[str, object]) -> Paper:
    """Return the paper that a note submits; raises WrongType where it is a reply or has neither title nor abstract."""
    written = note.get("content")
    content = {str(name): _bare(value) for name, value in written.items()} if isinstance(written, dict) else note
    own_id = text_in(note.get("id")) or text_in(note.get("forum"))
    forum = text_in(note.get("forum")) or own_id
    if "abstract" not in content and (note.get("replyto") or forum != own_id):
        raise WrongType(REPLY, text_in(content.get("title")) or own_id)
    keywords = texts_in(content.get("keywords")) or texts_in([content.get("keywords")])
    venue = text_in(content.get("venue"))
    return Parts(
        title=text_in(content.get("title")),
        abstract=text_in(content.get("abstract")),
        markup="latex",
        authors=texts_in(content.get("authors")) or _split(text_in(content.get("authors"))),
        date=_date(note, f"{venue} {text_in(content.get('venueid'))} {text_in(note.get('domain'))}"),
        venue=venue or _venue(text_in(content.get("venueid"))),
        categories=_split(keywords[0]) if len(keywords) == 1 else keywords,
        url=f"{_SITE}/forum?id={forum}" if forum else "",
        own_id=own_id,
        space="openreview",
        identifiers={"doi": normalise_doi(text_in(content.get("doi")) or text_in(content.get("DOI")))},
    ).paper()


def _bare(value: object) -> object:
    return value["value"] if isinstance(value, dict) and "value" in value else value


def _split(text: str) -> list[str]:
    separator = ";" if ";" in text else ","
    return [part for part in (piece.strip() for piece in text.split(separator)) if part]


def _venue(venue_id: str) -> str:
    """Return what a venue's id speaks of: `ICLR.cc/2024/Conference` is ICLR 2024."""
    parts = venue_id.split("/")
    year = next((part for part in parts if year_of(part)), "")
    return f"{parts[0].split('.')[0]} {year}".strip()


def _date(note: dict[str, object], venue: str) -> str:
    """Return the day of publication, else the year of the venue, else the day of submission."""
    year = year_of(venue)
    published = _day(note.get("pdate"))
    if published and (year is None or published.startswith(f"{year:04d}")):
        return published
    return f"{year:04d}" if year else _day(note.get("odate")) or _day(note.get("cdate")) or _day(note.get("tcdate"))


def _day(milliseconds: object) -> str:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return ""
    try:
        day = datetime.fromtimestamp(milliseconds / 1000, UTC).date()
    except (ValueError, OverflowError, OSError):
        return ""
    return day.isoformat() if year_of(day.year) else ""


FORMAT: Final = Format(
    name="openreview", title="OpenReview JSON", looks_like=looks_like, read=read, version=1, counter=JsonPaperCounter
)
