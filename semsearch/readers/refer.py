"""The `%`-tagged files of refer and EndNote (`.enw`), also lists that have nothing but `%X` lines.

Read by our own parser: no kept library reads the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.cleaning import clean_abstract, clean_title
from semsearch.identifiers import (
    normalise_acl,
    normalise_arxiv,
    normalise_doi,
    normalise_openalex,
    normalise_pmid,
)
from semsearch.paper import Paper, collapse_white_space, content_id, first_sentence
from semsearch.person_names import given_first
from semsearch.readers.base import VALUE_CHARACTERS, Format, Located, Reading, ReadItem, Rejected
from semsearch.readers.dates import date_of, year_of
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.plain_text import TOO_SHORT, is_fragment
from semsearch.readers.text import TextLines, sniff_text

TOO_LONG: Final = "record longer than 16 MiB"

_RECORD_LIMIT_CHARACTERS: Final = 16 * 1024 * 1024
_LETTER: Final = r"([0-9A-Z!@$&()*+,.:;<=>?\[\]^_#~|'\"/-])"
_TAG: Final = re.compile(rf"[ \t\ufeff]{{0,4}}%{_LETTER}(?:[ \t]+|$)")
_TAG_IN_BYTES: Final = re.compile(rf"[ \t\xef\xbb\xbf]{{0,4}}%{_LETTER}(?:[ \t]|$)".encode("latin-1"))
_TELLING_TAGS: Final = frozenset("0TXAJBD")
_LINES_LOOKED_AT: Final = 200
_TELLING_SHARE: Final = 0.5
_DOI_HOST: Final = re.compile(r"\bdoi\.org/", re.IGNORECASE)
_PUBMED: Final = re.compile(r"pubmed|medline|\bnlm\b", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\s*0*([1-9]\d{0,8})\s*", re.ASCII)
_VENUE_TAGS: Final = "JBS"
_SEPARATOR: Final = re.compile(r"\s*;\s*")


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that the lines of a file begin with tags such as `%T`."""
    text = sniff_text(head)
    if text is None:
        return 0
    named = name.endswith((".enw", ".refer", ".endnote"))
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()][:_LINES_LOOKED_AT]
    tags = [found.group(1) for found in map(_TAG.match, lines) if found]
    if not lines or not _TAG.match(lines[0]) or not _TELLING_TAGS & set(tags):
        return 50 if named else 0
    several = len(set(tags)) > 2
    if len(tags) >= _TELLING_SHARE * len(lines) or (tags[0] == "0" and several):
        return 95 if several or len(tags) > 1 or named else 70
    return 60 if named else 0


class _Record:
    """The tagged fields of one record while they are gathered."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.fields: dict[str, list[str]] = {}
        self.tag = ""
        self.size = 0
        self.problem = ""
        self.beginning = ""

    def add(self, tag: str, text: str, problem: str, whole: str) -> None:
        """Take a line; one without a tag goes on with the field above it."""
        self.beginning = self.beginning or whole[:VALUE_CHARACTERS]
        self.size += len(text)
        if self.size > _RECORD_LIMIT_CHARACTERS:
            self.problem = self.problem or TOO_LONG
            return
        self.problem = self.problem or problem
        if tag:
            self.tag = tag
            self.fields.setdefault(tag, []).append(text)
        elif self.tag:
            self.fields[self.tag].append(text)

    def ends_before(self, tag: str, after_blank: bool, numbered: bool) -> bool:
        """Tell whether a tag begins another record; `numbered`: the records of the file begin with `%0`."""
        if tag == "0":
            return True
        if tag == "T":
            return "T" in self.fields
        if tag == "X" and self.fields.keys() == {"X"}:
            return True
        return after_blank and not numbered


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every record; what stands before the first tag is none."""
    lines = TextLines(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        for record in _records(lines):
            yield _item(record)
        reading.encoding = lines.encoding

    return Reading(items)


def _records(lines: TextLines) -> Iterator[_Record]:
    """Yield the records: they begin with `%0`, or behind a blank line, or where a title or a lone abstract repeats."""
    record: _Record | None = None
    after_blank, numbered = False, False
    for line in lines:
        if not line.problem and not line.text.strip(" \t\f\v\ufeff"):
            after_blank = True
            continue
        found = _TAG.match(line.text)
        tag = found.group(1) if found else ""
        if tag and (record is None or record.ends_before(tag, after_blank, numbered)):
            if record:
                yield record
            record = _Record(line.number)
            numbered = numbered or tag == "0"
        if record:
            record.add(tag, line.text[found.end():] if found else line.text, line.problem, line.text)
        after_blank = False
    if record and not lines.cut:
        yield record


def _item(record: _Record) -> ReadItem:
    if record.problem:
        return Rejected(record.line, record.problem, record.beginning)
    paper = _paper({tag: [text.strip() for text in texts if text.strip()] for tag, texts in record.fields.items()})
    if paper is None:
        return Rejected(record.line, NO_TEXT, record.beginning)
    if paper.title_stands_in and is_fragment(paper.abstract):
        return Rejected(record.line, TOO_SHORT, record.beginning)
    return Located(paper, record.line)


def _paper(fields: dict[str, list[str]]) -> Paper | None:
    def text(tag: str) -> str:
        return collapse_white_space(" ".join(fields.get(tag, ())))

    def first(tag: str) -> str:
        return next(iter(fields.get(tag, ())), "")

    title, abstract = clean_title(text("T")), clean_abstract("\n".join(fields.get("X", ())))
    if not title and not abstract:
        return None
    authors = _names(fields.get("A", [])) or _names(fields.get("Q", [])) or _names(fields.get("E", []))
    year = year_of(text("D")) or year_of(text("8"))
    date = _date(first("8"), year)
    url = collapse_white_space(first("U"))
    named = _identifiers(fields, url)
    return Paper(
        id=next((named[kind] for kind in ("doi", "arxiv", "pmid") if kind in named), "")
        or content_id(title, abstract, authors, year),
        title=title or first_sentence(abstract),
        abstract=abstract,
        authors=authors,
        year=year,
        date=date,
        venue=next((venue for venue in map(text, _VENUE_TAGS) if venue), ""),
        categories=_keywords(fields.get("K", [])),
        url=url,
        doi=named.get("doi", ""),
        language=text("G"),
        identifiers=tuple(named.items()),
        title_stands_in=not title,
    )


def _names(lines: list[str]) -> tuple[str, ...]:
    """Return the names, of which EndNote writes one a line; a comma at the end marks a group's name."""
    names = [part for line in lines for part in _SEPARATOR.split(line)]
    turned = (name.rstrip(" ,") if name.rstrip().endswith(",") else given_first(name) for name in names)
    return tuple(name for name in map(collapse_white_space, turned) if name)


def _date(written: str, year: int | None) -> str:
    """Return the date of `%8`, which may hold the year or the month and day alone, in the year of `%D`."""
    if year is None:
        return ""
    date = date_of(written) if str(year) in written else date_of(f"{year:04d} {written}")
    return date if date.startswith(f"{year:04d}") else f"{year:04d}"


def _keywords(lines: list[str]) -> tuple[str, ...]:
    """Return keywords: one a line, or separated by semicolons or, on one line, commas."""
    parts = [part for line in lines for part in line.split(";")]
    if len(parts) == 1:
        parts = parts[0].split(",")
    return tuple(dict.fromkeys(part for part in map(collapse_white_space, parts) if part))


def _identifiers(fields: dict[str, list[str]], url: str) -> dict[str, str]:
    numbers = [*fields.get("R", []), *(value for value in fields.get("U", []) if _DOI_HOST.search(value))]
    doi = next((found for found in map(normalise_doi, numbers) if found), "")
    pmid = normalise_pmid(url) or next(filter(None, map(normalise_pmid, fields.get("M", []))), "")
    database = " ".join([*fields.get("~", []), *fields.get("W", [])])
    digits = _DIGITS.fullmatch(next(iter(fields.get("M", [])), ""))
    if not pmid and digits and _PUBMED.search(database):
        pmid = digits.group(1)
    arxiv = next(filter(None, map(normalise_arxiv, [url, *fields.get("R", []), doi])), "")
    found = {"doi": doi, "arxiv": arxiv, "pmid": pmid, "acl": normalise_acl(url), "openalex": normalise_openalex(url)}
    return {kind: value for kind, value in found.items() if value}


class _Counter:
    """Counts records by their lines: `%0` or `%T`, whichever are more, or the groups of tags between blank lines."""

    def __init__(self) -> None:
        self._rest = b""
        self._tags: dict[bytes, int] = {}
        self._groups = 0
        self._begins_group = True

    def feed(self, block: bytes) -> None:
        """Count the whole lines so far."""
        lines = (self._rest + block).splitlines(keepends=True)
        self._rest = lines.pop() if lines else b""
        for line in lines:
            self._count(line)

    def _count(self, line: bytes) -> None:
        if not line.strip(b" \t\r\n\f\v\xef\xbb\xbf"):
            self._begins_group = True
            return
        found = _TAG_IN_BYTES.match(line.rstrip(b"\r\n"))
        if found:
            tag = found.group(1)
            self._tags[tag] = self._tags.get(tag, 0) + 1
            self._groups += self._begins_group
        self._begins_group = False

    def total(self) -> int:
        """Return the number of records."""
        if self._rest:
            self._count(self._rest)
            self._rest = b""
        starts = max(self._tags.get(b"0", 0), self._tags.get(b"T", 0))
        if self._tags.get(b"0"):
            return starts
        return max(self._groups, starts, self._tags.get(b"X", 0) if self._tags.keys() == {b"X"} else 0)


FORMAT: Final = Format(name="refer", title="refer/EndNote (%-tags)", looks_like=looks_like, read=read, version=1,
                       counter=_Counter)
