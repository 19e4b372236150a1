"""Web of Science's tagged text (`savedrecs.txt`, `.isi`, `.ciw`): two capitals, a space, continued behind three blanks.

No library is used: wosfile, the one that streams, raises where the `EF` at the end is missing, and gives no line
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_doi
from semsearch.person_names import given_first
from semsearch.readers.base import VALUE_CHARACTERS, Format, ReadItem
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

_TAG: Final = re.compile(r"([A-Z][A-Z0-9])(?: (.*)|\s*$)", re.DOTALL)
_FILE_TAGS: Final = frozenset(("FN", "VR", "EF"))
_TEXT_TAGS: Final = frozenset(("TI", "AB"))
_TELLING: Final = frozenset("PT AU TI SO AB PY UT DT".split())
_RECORD_START: Final = re.compile(r"PT [A-Z]\s*$")
_YEAR: Final = re.compile(r"\d{4}", re.ASCII)
_INSPEC: Final = "INSPEC:"


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds records of Web of Science's tagged text."""
    text = sniff_text(head)
    if text is None:
        return 0
    lines = list(head_lines(text.lstrip("\ufeff")))
    tags = [line[:2] for line in lines if _TAG.match(line)]
    if lines and (lines[0].startswith("FN ") or _RECORD_START.match(lines[0])) and len(_TELLING.intersection(tags)) > 2:
        return 94
    return 55 if name.endswith((".isi", ".ciw")) else 0


class _Records:
    """Cuts lines into records: from `PT` to `ER`, to the next `PT` or to the end.

    What stands between records is none, unless it has a title or an abstract: then its `PT` was lost.
    """

    def __init__(self) -> None:
        self._open: Record | None = None
        self._declared = False

    def take(self, line: Line) -> Iterator[Record]:
        """Take the next line; yields the record that it ends."""
        text = line.text.lstrip("\ufeff")
        found = _TAG.match(text)
        tag = found.group(1) if found else ""
        if tag in ("PT", "ER") or tag in _FILE_TAGS:
            yield from self.end()
            if tag == "PT":
                self._open, self._declared = Record(line.number, text[:VALUE_CHARACTERS]), True
        elif found:
            if self._open is None:
                self._open, self._declared = Record(line.number, text[:VALUE_CHARACTERS]), False
            self._open.begin(tag, (found.group(2) or "").strip())
        elif self._open is not None and text.strip():
            self._open.go_on(text.strip())
        if line.problem and self._open is not None:
            self._open.problem = self._open.problem or line.problem

    def end(self) -> Iterator[Record]:
        """Yield the record that is open, if it is one."""
        record, self._open = self._open, None
        if record is not None and (self._declared or record.problem or _TEXT_TAGS & record.fields.keys()):
            yield record


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every record."""
    return read_tagged(stream, _Records(), item_of_wos)


def item_of_wos(record: Record) -> ReadItem:
    """Return the paper of a record whose fields are tagged as Web of Science does.

    `UT`, the accession number, is its own id.
    """
    number = record.first("UT")
    years = record.values("PY")
    dates = [value if _YEAR.search(value) else f"{value} {year}" for year in years for value in record.values("PD")]
    return item_of(record, Parts(
        title=record.text("TI"),
        abstract=record.text("AB"),
        authors=_authors(record),
        date=most_precise_date((*years, *dates)) or most_precise_date(record.values("PD", "EA")),
        venue=next((" ".join(value.split()) for value in record.values("SO", "JI", "J9", "SE", "CT")), ""),
        categories=_keywords(record, number),
        language=record.first("LA"),
        own_id=number,
        space=_id_space(number),
        identifiers={"doi": next((doi for value in record.values("DI", "D2") if (doi := normalise_doi(value))), ""),
                     "pmid": pmid_in(record.first("PM"))},
    ))


def _id_space(number: str) -> str:
    """Return where an accession number is unique: in its database, of which one paper may be in several."""
    database, colon, _ = number.lower().partition(":")
    return f"wos-{database}" if colon and database != "wos" else "wos"


def _authors(record: Record) -> list[str]:
    """Return the authors by their full names, then the groups, the editors where there are none; one a line or `;`."""
    def names(*tags: str) -> list[str]:
        return next((found for tag in tags if (found := _split(record.lists(tag)))), [])

    return (names("AF", "AU") + names("CA", "GP")) or names("BF", "BA") or names("BE", "ED")


def _split(lines: Sequence[str]) -> list[str]:
    return [given_first(name) for line in lines for name in line.split(";") if name.strip()]


def _keywords(record: Record, number: str) -> list[str]:
    """Return the authors' keywords and those that were added; INSPEC puts codes in the place of the latter."""
    return keywords(record.values("DE", "AK") if number.startswith(_INSPEC) else record.values("DE", "AK", "ID"))


class _Counter(LineHeads):
    """Counts the lines that begin a record, and the stretches outside records that have a title or an abstract."""

    _text: Final = re.compile(rb"(?:TI|AB)(?: |\s*$)")
    _start: Final = re.compile(rb"PT(?: |\s*$)")
    _end: Final = re.compile(rb"(?:ER|EF|FN|VR)(?: |\s*$)")

    def __init__(self) -> None:
        super().__init__()
        self._inside = False

    def _see(self, line: bytes) -> None:
        if self._start.match(line) or (not self._inside and self._text.match(line)):
            self._inside = True
            self._count += 1
        elif self._end.match(line):
            self._inside = False


FORMAT: Final = Format(name="wos", title="Web of Science tagged text", looks_like=looks_like, read=read, version=1,
                       counter=_Counter)
