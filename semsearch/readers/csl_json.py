"""CSL-JSON, as Zotero, Pandoc and citation processors write it: items in a list, alone or under their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_arxiv, normalise_doi
from semsearch.paper import Paper, collapse_white_space
from semsearch.readers.base import Format, ReadItem
from semsearch.readers.dates import date_of
from semsearch.readers.json_counting import JsonPaperCounter
from semsearch.readers.json_documents import json_head, part_of, read_json, text_in, texts_in
from semsearch.readers.parts import Parts

_TITLE: Final = re.compile(r'"title"\s*:\s*"')
_EVIDENT: Final = re.compile(
    r'"issued"\s*:\s*\{|"container-title"\s*:|"citation-key"\s*:|"event-title"\s*:|'
    r'"type"\s*:\s*"(?:article-journal|article-magazine|article-newspaper|paper-conference|post-weblog|entry-encyclopedia|'
    r'motion_picture|personal_communication|legal_case|journal-article|posted-content|proceedings-article|book-chapter)"'
)
_NO_CSL: Final = re.compile(r'"(?:message-type|paperId|abstract_inverted_index)"\s*:')
_DIGITS: Final = re.compile(r"^[1-9]\d{0,8}$", re.ASCII)
_ARXIV_IN_NUMBER: Final = re.compile(r"^\s*arxiv\s*:\s*(\S+)", re.IGNORECASE)


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds CSL-JSON."""
    text = json_head(head)
    return 95 if _EVIDENT.search(text) and _TITLE.search(text) and not _NO_CSL.search(text) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every item; an `id` is unique only in its file."""
    return read_json(stream, partial(paper_of, space=f"csl-json:{name}"))


def paper_of(item: dict[str, object], space: str) -> Paper:
    """Return the paper that an item describes; raises WrongType where there is neither title nor abstract."""
    own_id = collapse_white_space(text_in(item.get("id")))
    doi = normalise_doi(text_in(item.get("DOI")) or text_in(item.get("doi")))
    if doi and normalise_doi(own_id) == doi:
        own_id = doi
    parts = parts_of(item)
    parts.own_id, parts.space = own_id, space
    return parts.paper()


def parts_of(item: dict[str, object]) -> Parts:
    """Return the fields that CSL-JSON and Crossref have in common, lists or single values alike."""
    pmid = text_in(item.get("PMID"))
    url = text_in(item.get("URL"))
    number = _ARXIV_IN_NUMBER.match(text_in(item.get("number")))
    return Parts(
        title=_title(item),
        abstract=text_in(item.get("abstract")),
        authors=names_in(item.get("author")) or names_in(item.get("editor")),
        date=next(
            (
                date
                for name in ("issued", "published", "published-print", "published-online", "event-date")
                if (date := csl_date(item.get(name)))
            ),
            "",
        ),
        venue=next(
            (
                text
                for name in (
                    "container-title",
                    "event-title",
                    "event",
                    "collection-title",
                    "institution",
                    "group-title",
                )
                if (text := _venue(item.get(name)))
            ),
            "",
        ),
        categories=_keywords(item.get("keyword")) or _keywords(item.get("categories")) or texts_in(item.get("subject")),
        url=url,
        language=text_in(item.get("language")),
        identifiers={
            "doi": normalise_doi(text_in(item.get("DOI")) or text_in(item.get("doi"))),
            "arxiv": normalise_arxiv(number.group(1)) if number else normalise_arxiv(url),
            "pmid": pmid if _DIGITS.match(pmid) else "",
        },
    )


def _title(item: dict[str, object]) -> str:
    title, subtitle = text_in(item.get("title")), text_in(item.get("subtitle"))
    if title and subtitle and subtitle.casefold() not in title.casefold():
        return f"{title.rstrip(' :')}: {subtitle}"
    return title or subtitle


def names_in(value: object) -> list[str]:
    """Return the names of people and groups in order, given names first."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return []
    return [name for part in value if (name := _name(part))]


def _name(part: object) -> str:
    if isinstance(part, str):
        return part
    whole = text_in(part_of(part, "literal")) or text_in(part_of(part, "name"))
    order = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
    return " ".join(text for name in order if (text := text_in(part_of(part, name)).strip())) or whole


def csl_date(value: object) -> str:
    """Return the first date of a CSL date: its parts, which may be texts, or what is written in `raw` or `literal`."""
    if isinstance(value, dict):
        parts = value.get("date-parts")
        first = parts[0] if isinstance(parts, list) and parts else None
        if isinstance(first, list) and first and first[0]:
            return date_of("-".join(str(part) for part in first[:3] if isinstance(part, int | str) and part))
        return next(
            (
                date
                for name in ("raw", "literal", "date-time")
                if (date := date_of(text_in(value.get(name)).partition("/")[0]))
            ),
            "",
        )
    return date_of(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _venue(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    return text_in(part_of(value, "name")) if isinstance(value, dict) else text_in(value)


def _keywords(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split(";" if ";" in value else ",")
    return texts_in(value)


FORMAT: Final = Format(
    name="csl-json", title="CSL-JSON", looks_like=looks_like, read=read, version=1, counter=JsonPaperCounter
)
