"""MEDLINE, as PubMed exports it (`.nbib`) and ERIC and Ovid imitate it: tags of up to four letters in four columns.

No library is used: nbib, the one that is kept, reads the whole file into memory and raises at the first faulty record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_doi
from semsearch.person_names import given_first, initials_first
from semsearch.readers.base import VALUE_CHARACTERS, Format, ReadItem
from semsearch.readers.parts import Parts
from semsearch.readers.tagged import (
    LineHeads,
    Record,
    date_in,
    head_lines,
    item_of,
    keywords,
    pmid_in,
    read_tagged,
)
from semsearch.readers.text import Line, sniff_text

_KNOWN: Final = frozenset(
    """PMID OWN STAT DA DCOM LR IS VI IP DP TI PG LID AB OAB OABL CI FAU AU AUID AD LA GR PT PL TA JT JID SB
    MH PMC PMCR MID OID UI EDAT MHDA CRDT PHST AID PST SO OT OTO COI COIS CN FIR IR FED ED BTI CTI CDAT CON
    CIN CRI CRF DEP EFR EIN ECF ECI GN GS IRAD ISBN ISSN JC LI MNM NI NM OCI OCO ORI PB PS PUBM RF RIN RN
    ROF RPF RPI SFM SI SPIN TT UIN UOF""".split())
_TELLING: Final = frozenset("PMID OWN STAT FAU DCOM JT JID MHDA EDAT CRDT LID AID UI".split())
_CITED: Final = frozenset("TI AB FAU AU BTI JT TA".split())
_TITLES: Final = ("TI", "BTI", "CTI", "TT")
_VENUES: Final = ("JT", "TA", "BTI", "CTI")
_ABSTRACTS: Final = ("AB", "OAB")

_TAG: Final = re.compile(r"([A-Z][A-Z0-9]{1,4})( {0,3})-(.*)", re.DOTALL)
_RECORD_NUMBER: Final = "PMID"
_INDENTED: Final = (" ", "\t")
_DOI_NAMED: Final = re.compile(r"\bdoi:\s*(10\.\d{4,9}/\S+)", re.IGNORECASE)


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds MEDLINE records."""
    text = sniff_text(head)
    if text is None:
        return 0
    tags = [tag for tag in map(_tag_of, head_lines(text)) if tag]
    names = {tag for tag, _ in tags}
    if len(tags) > 2 and "TY" not in names and names & _TELLING and names & _CITED:
        return 93
    return 55 if name.endswith((".nbib", ".medline")) else 0


def _tag_of(text: str) -> tuple[str, str] | None:
    """Return tag and value of a line, None where it has no tag: it and a hyphen fill five columns, or it is known."""
    found = _TAG.match(text)
    if not found:
        return None
    tag, blanks, value = found.groups()
    if tag not in _KNOWN and not (len(tag) + len(blanks) == 4 and (not value or value.startswith(" "))):
        return None
    return tag, value.strip()


class _Records:
    """Cuts lines into records: at a tag behind a blank line, and at a second `PMID`."""

    def __init__(self) -> None:
        self._open: Record | None = None
        self._after_blank = True

    def take(self, line: Line) -> Iterator[Record]:
        """Take the next line; yields the record that it ends."""
        text = line.text.lstrip("\ufeff")
        if not text.strip():
            self._after_blank = True
            return
        found = _tag_of(text)
        if found:
            tag, value = found
            if self._after_blank or (tag == _RECORD_NUMBER and self._open and tag in self._open.fields):
                yield from self.end()
                self._open = Record(line.number, text[:VALUE_CHARACTERS])
            if self._open is not None:
                self._open.begin(tag, value)
            self._after_blank = False
        elif self._open is not None and (text.startswith(_INDENTED) or not self._after_blank):
            self._open.go_on(text.strip())
            self._after_blank = False
        if line.problem and self._open is not None:
            self._open.problem = self._open.problem or line.problem

    def end(self) -> Iterator[Record]:
        """Yield the record that is open."""
        if self._open is not None:
            yield self._open
        self._open = None


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every record."""
    return read_tagged(stream, _Records(), _item)


def _item(record: Record) -> ReadItem:
    pmid = pmid_in(record.first(_RECORD_NUMBER))
    title_tag = next((tag for tag in _TITLES if record.first(tag)), "")
    return item_of(record, Parts(
        title=record.text(title_tag),
        abstract=record.text(*_ABSTRACTS),
        authors=_authors(record),
        date=next((date for value in record.values("DP", "DEP", "EDAT") if (date := date_in(value))), ""),
        venue=next((value for tag in _VENUES if tag != title_tag and (value := record.first(tag))), ""),
        categories=keywords(record.values("OT", "MH")),
        url=_url(record),
        language=record.first("LA"),
        own_id=pmid or record.first("UI"),
        identifiers={"doi": _doi(record), "pmid": pmid},
    ))


def _url(record: Record) -> str:
    links = (value for value in record.values("LID", "AID") if value.startswith("http"))
    return next((link for link in links if not normalise_doi(link)), "")


def _authors(record: Record) -> list[str]:
    """Return the authors with their groups in the order of the record, the editors where there are none."""
    for full, short in (("FAU", "AU"), ("FED", "ED")):
        names = [given_first(name) for name in record.values(full)]
        if not names:
            names = [given_first(name) if "," in name else initials_first(name) for name in record.values(short)]
        if full == "FAU":
            names += record.values("CN")
        if names:
            return names
    return []


def _doi(record: Record) -> str:
    values = record.values("LID", "AID")
    for value in (*(value for value in values if value.endswith("[doi]")), *values):
        if doi := normalise_doi(value):
            return doi
    found = next((found for value in record.values("SO") if (found := _DOI_NAMED.search(value))), None)
    return normalise_doi(found.group(1)) if found else ""


class _Counter(LineHeads):
    """Counts the tags that stand behind a blank line, and each `PMID` that is not the first since."""

    _tag: Final = re.compile(
        rb"(?:%s) {0,3}-|[A-Z][A-Z0-9]  -(?: |$)|[A-Z][A-Z0-9]{2} -(?: |$)|[A-Z][A-Z0-9]{3}-(?: |$)"
        % "|".join(sorted(_KNOWN, key=len, reverse=True)).encode())

    def __init__(self) -> None:
        super().__init__()
        self._after_blank = True
        self._has_number = False

    def _see(self, line: bytes) -> None:
        if not line.strip():
            self._after_blank = True
        elif self._tag.match(line):
            numbered = line.startswith(b"PMID")
            if self._after_blank or (numbered and self._has_number):
                self._count += 1
                self._has_number = False
            self._has_number = self._has_number or numbered
            self._after_blank = False
        elif self._count and (line.startswith((b" ", b"\t")) or not self._after_blank):
            self._after_blank = False


FORMAT: Final = Format(name="medline", title="MEDLINE (PubMed .nbib)", looks_like=looks_like, read=read, version=1,
                       counter=_Counter)
