"""Ovid's text exports: records numbered `<1>`, the name of a field on a line, its value indented below.

The names are words (`Accession Number`) or two letters (`AN`), the latter with the value below or behind ` - `. No
library is known that reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_doi
from semsearch.person_names import given_first, initials_first
from semsearch.readers.base import VALUE_CHARACTERS, Format, ReadItem
from semsearch.readers.dates import date_of
from semsearch.readers.fields import field_name
from semsearch.readers.parts import Parts
from semsearch.readers.tagged import (
    LineHeads,
    Record,
    head_lines,
    item_of,
    keywords,
    most_precise_date,
    pmid_in,
    read_tagged,
)
from semsearch.readers.text import Line, sniff_text

_NAMES: Final = {
    "id": ("accessionnumber", "an", "uniqueidentifier", "ui", "pmid"),
    "title": ("title", "ti", "originaltitle", "ot", "booktitle"),
    "abstract": ("abstract", "ab"),
    "authors": ("author", "authors", "au", "authorsfullname", "fa", "personalauthor", "editor", "editors", "ed"),
    "source": ("source", "so"),
    "journal": ("journalname", "journal", "jn", "publicationname", "nj", "ja"),
    "date": ("dateofpublication", "dp", "publicationdate", "yearofpublication", "yr", "publicationyear", "py", "year"),
    "keywords": ("authorkeywords", "keywords", "kw", "keywordheading", "kf", "meshsubjectheadings", "mh",
                 "subjectheadings", "sh", "hw", "de", "keyconcepts"),
    "doi": ("doinumber", "doi", "digitalobjectidentifier", "do"),
    "link": ("url", "ur", "linktotheovidfulltextorcitation", "linktotheexternallinkresolver"),
    "language": ("language", "lg", "la"),
    "database": ("database", "db"),
    "aside": ("score", "institution", "in", "authoraffiliation", "references", "documenttype", "pt", "journalsubset",
              "issn", "is", "publisher", "pb", "countryofpublication", "cp", "publicationtype", "volume", "issue",
              "page", "pg", "correspondenceaddress", "emailaddress", "em", "status", "st", "version", "copyright"),
}
_FIELD_OF: Final = {name: field for field, names in _NAMES.items() for name in names}

_START: Final = re.compile(r"\s*<\s*(\d{1,9})\s*>\s*(?:\.\s*)?$")
_INLINE: Final = re.compile(r"([A-Z][A-Z0-9])\s{1,4}-(?:\s+(.*)|$)", re.DOTALL)
_LABEL: Final = re.compile(r"[A-Z][A-Za-z/&(),' -]{0,50}:?\s*$")
_KIND: Final = re.compile(r"(?<=[.?!\])])\s*\[[A-Z][A-Za-z ,/&-]{2,40}\]\.?\s*$")
"""What Ovid puts behind a title: `[Article]`, `[Review]`, `[References]`."""
_DEGREES: Final = re.compile(
    r"(?<=[a-z.])(?:,?\s+(?:M\.?D|Ph\.?D|M\.?P\.?H|M\.?Sc|B\.?Sc|M\.?S|D\.?Sc|R\.?N|FRCP|FACP|FACS|MBBS|MBChB)\.?)+$")
_AUTHOR_MARK: Final = re.compile(r"\s{0,3}[\d*+][\d\s,*+]{0,40}[.,]?$")
_FULL_STOP: Final = re.compile(r"(?<=\w{3})\.$|(?<=[A-Z]{2})\.$")
_SOURCE_DATE: Final = re.compile(
    r"(?<![\d:(-])(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?(?:\s+\d{1,2})?,?\s+)?"
    r"(?:19|20)\d\d(?![\d-])"
    r"(?:\s+(?:[A-Z][a-z]{2,8}|\d{2})(?:\s+\d{1,2})?)?")
_SOURCE_END: Final = re.compile(r"\.(?:\s|$)|\s\d|[;,]\s")


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds Ovid's numbered records."""
    text = sniff_text(head)
    if text is None:
        return 0
    lines = list(head_lines(text))
    if not lines or not any(map(_START.match, lines[:20])):
        return 0
    known = sum(_field_of(line) is not None for line in lines)
    return 94 if known > 2 else 0


def _field_of(text: str) -> tuple[str, str] | None:
    """Return field and value of a line that names a known field, None where it names none."""
    inline = _INLINE.match(text)
    if inline:
        return _FIELD_OF.get(field_name(inline.group(1)), "aside"), (inline.group(2) or "").strip()
    if _LABEL.match(text):
        field = _FIELD_OF.get(field_name(text))
        return (field, "") if field else None
    return None


class _Records:
    """Cuts lines into records at their numbers."""

    def __init__(self) -> None:
        self._open: Record | None = None
        self._doubtful = ""

    def take(self, line: Line) -> Iterator[Record]:
        """Take the next line; yields the record that it ends."""
        text = line.text.lstrip("\ufeff")
        if _START.match(text):
            yield from self.end()
            self._open = Record(line.number, text.strip()[:VALUE_CHARACTERS])
        elif self._open is not None and text.strip():
            self._add(self._open, text)
        if line.problem and self._open is not None:
            self._open.problem = self._open.problem or line.problem

    def _add(self, record: Record, text: str) -> None:
        """Add a line: a value if it is indented, else the name of a field; an unknown name shows by what follows."""
        if text[0].isspace():
            if self._doubtful:
                record.begin("aside", "")
                self._doubtful = ""
            record.go_on(text.strip())
            return
        self._settle(record)
        found = _field_of(text)
        if found:
            record.begin(*found)
        elif _LABEL.match(text):
            self._doubtful = text.strip()
        else:
            record.go_on(text.strip())

    def _settle(self, record: Record) -> None:
        if self._doubtful:
            record.go_on(self._doubtful)
            self._doubtful = ""

    def end(self) -> Iterator[Record]:
        """Yield the record that is open."""
        if self._open is not None:
            self._settle(self._open)
            yield self._open
        self._open = None


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every record."""
    return read_tagged(stream, _Records(), _item)


def _item(record: Record) -> ReadItem:
    own_id = record.first("id").rstrip(".")
    source = record.first("source")
    is_pubmed = "medline" in record.first("database").lower()
    title = next(("\n".join(lines) for lines in record.fields.get("title", ()) if any(lines)), "")
    links = [value for value in record.lists("link") if value.startswith("http")]
    doi = next((doi for value in (*record.values("doi"), *links) if (doi := normalise_doi(value))), "")
    return item_of(record, Parts(
        title=_KIND.sub("", title),
        abstract=record.text("abstract", between_lines="\n"),
        authors=_authors(record),
        date=most_precise_date(record.values("date")) or _source_date(source),
        venue=record.first("journal") or _SOURCE_END.split(source, maxsplit=1)[0],
        categories=keywords(value.rstrip(".") for value in _keyword_values(record)),
        url=next(iter(links), ""),
        language=record.first("language").rstrip("."),
        own_id=own_id,
        identifiers={"doi": doi, "pmid": pmid_in(own_id) if is_pubmed and own_id.isdigit() else ""},
    ))


def _keyword_values(record: Record) -> list[str]:
    """Return the values of keyword fields; without semicolons each line is a keyword."""
    return [part for lines in record.fields.get("keywords", ())
            for part in ([" ".join(lines)] if ";" in " ".join(lines) else lines)]


def _authors(record: Record) -> list[str]:
    """Return the names of the first field of authors: between semicolons, or one a line."""
    lines = next((lines for lines in record.fields.get("authors", ()) if any(lines)), [])
    text = " ".join(lines)
    names = [_AUTHOR_MARK.sub("", name.strip()) for name in (text.split(";") if ";" in text else lines)]
    return [_name(_FULL_STOP.sub("", name)) for name in names if name]


def _name(name: str) -> str:
    """Return a name without academic degrees, the given names first."""
    family, comma, given = name.partition(",")
    if comma:
        return given_first(f"{family}, {_DEGREES.sub('', given.strip())}")
    return initials_first(name.rstrip(".") if name.count(".") == 1 else name)


def _source_date(source: str) -> str:
    """Return the date in `Lancet. 395(10229):1054-1062, 2020 Mar 28` or `... 8(6):1-2, September 2015.`."""
    found = None
    for match in _SOURCE_DATE.finditer(source):
        found = match
    if found is None:
        return ""
    text = found.group().replace(",", " ")
    numbers = re.fullmatch(r"(\d{4})\s+(\d{2})(?:\s+(\d{1,2}))?", text.strip())
    return date_of("-".join(filter(None, numbers.groups()))) if numbers else date_of(text)


class _Counter(LineHeads):
    """Counts the lines that hold the number of a record."""

    _start: Final = re.compile(rb"\s*<\s*\d{1,9}\s*>\s*(?:\.\s*)?$")

    def _see(self, line: bytes) -> None:
        self._count += bool(self._start.match(line))


FORMAT: Final = Format(name="ovid", title="Ovid text", looks_like=looks_like, read=read, version=1, counter=_Counter)
