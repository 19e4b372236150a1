"""Semantic Scholar: answers of its API (`data`, `recommendedPapers`), lists of papers and single papers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_acl, normalise_arxiv, normalise_doi
from semsearch.paper import Paper
from semsearch.readers.base import Format, ReadItem
from semsearch.readers.dates import date_of, year_of
from semsearch.readers.fields import field_name
from semsearch.readers.json_counting import JsonPaperCounter
from semsearch.readers.json_documents import json_head, part_of, read_json, text_in, texts_in
from semsearch.readers.parts import Parts

_EVIDENT: Final = re.compile(
    r'"paperId"\s*:\s*"[0-9a-f]{40}"'
    r'|"(?:corpus[iI]d|recommendedPapers|citedPaper|citingPaper)"\s*:'
)
_WRAPPED: Final = ("citedPaper", "citingPaper", "paper")
_HASH: Final = re.compile(r"^[0-9a-f]{40}$")
_DIGITS: Final = re.compile(r"^[1-9]\d{0,8}$", re.ASCII)


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds papers of Semantic Scholar."""
    return 95 if _EVIDENT.search(json_head(head)) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every paper."""
    return read_json(stream, paper_of)


def paper_of(record: dict[str, object]) -> Paper:
    """Return the paper that a record describes; raises WrongType where there is neither title nor abstract."""
    for name in _WRAPPED:
        inner = record.get(name)
        if isinstance(inner, dict):
            record = inner
    key = text_in(record.get("paperId")) or text_in(record.get("paperid"))
    corpus_id = text_in(record.get("corpusId")) or text_in(record.get("corpusid"))
    date = date_of(record.get("publicationDate") or record.get("publicationdate"))
    year = year_of(record.get("year"))
    return Parts(
        title=text_in(record.get("title")),
        abstract=text_in(record.get("abstract")),
        markup="plain",
        authors=texts_in(record.get("authors"), "name"),
        date=date if date and (year is None or date.startswith(f"{year:04d}")) else f"{year:04d}" if year else "",
        venue=text_in(record.get("venue"))
        or text_in(part_of(record, "journal", "name"))
        or text_in(part_of(record, "publicationVenue", "name")),
        categories=texts_in(record.get("fieldsOfStudy"))
        or texts_in(record.get("s2FieldsOfStudy"), "category")
        or texts_in(record.get("s2fieldsofstudy"), "category"),
        url=text_in(record.get("url")),
        own_id=key or corpus_id,
        space="" if key else "s2-corpus",
        identifiers={**_identifiers(record), "s2": key if _HASH.match(key) else ""},
        also=(("id:s2-corpus", corpus_id),) if key and corpus_id else (),
    ).paper()


def _identifiers(record: dict[str, object]) -> dict[str, str]:
    value = record.get("externalIds") or record.get("externalids")
    named = {field_name(str(name)): text_in(part) for name, part in value.items()} if isinstance(value, dict) else {}
    pmid = named.get("pubmed", "")
    return {
        "doi": normalise_doi(named.get("doi", "")),
        "arxiv": normalise_arxiv(named.get("arxiv", "")),
        "pmid": pmid if _DIGITS.match(pmid) else "",
        "acl": normalise_acl(named.get("acl", "")),
    }


FORMAT: Final = Format(
    name="semantic-scholar",
    title="Semantic Scholar JSON",
    looks_like=looks_like,
    read=read,
    version=1,
    counter=JsonPaperCounter,
)
