"""RIS, as reference managers and databases write it and as users have edited it.

No library is used: rispy, the one that is kept, reads the whole file into memory, takes only tags of two spaces, and
loses a record without a word where its `TY` or the `ER` before it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_arxiv, normalise_doi, normalise_pmid
from semsearch.person_names import given_first, initials_first, split_names
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

_KNOWN: Final = frozenset(
    """TY ER ID TI T1 T2 T3 T4 CT BT ST TT AB N1 N2 AU A1 A2 A3 A4 ED AD PY Y1 Y2 DA YR JO JF JA JI J1 J2 J9 VL IS SP EP
    SN PB CY PP KW DO DI UR LK L1 L2 L3 L4 LA AN DB DP M1 M2 M3 C1 C2 C3 C4 C5 C6 C7 C8 U1 U2 U3 U4 U5 AV CN ET NV OP
    RI RN RP SE TA CA LB PU PA PI WE NL AI""".split())
_TITLES: Final = ("TI", "T1", "CT", "BT", "ST", "TT")
_ABSTRACTS: Final = ("AB", "N2")
_TEXT_TAGS: Final = frozenset((*_TITLES, *_ABSTRACTS))
_VENUES: Final = ("JF", "T2", "BT", "C3", "JO", "J2", "JA", "J1", "JI", "J9", "T3")
_FREE_TEXT: Final = frozenset(("AB", "N2", "N1"))
_LINKS: Final = ("UR", "L2", "L1", "L3", "LK")

_TAG: Final = re.compile(r"\s{0,4}([A-Za-z][A-Za-z0-9])(\s{1,4})-(\s|$)?")
_BARE_END: Final = re.compile(r"\s*ER\s*$")
_STRAY: Final = re.compile(r"\s*Link to the (?:Ovid|Full|External)")
_HOST: Final = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:[/:?#]\S*)?$")
_DOI_NAMED: Final = re.compile(r"\bdoi(?:\.org/|\s{0,5}[:=]\s{0,5})(10\.\d{4,9}/\S+)", re.IGNORECASE)
_BARE_DOI: Final = re.compile(r"\s*10\.\d{4,9}/\S+\s*$")
_PMID_NAMED: Final = re.compile(
    r"\W{0,5}(?:PMID|(?:PubMed|Medline)\s{1,5}(?:PM)?ID)\s{0,5}:?\s{0,5}(\d{1,9})\b", re.IGNORECASE)
_PUBMED: Final = re.compile(r"pubmed|medline", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d{4,8}$", re.ASCII)
_FOUR_DIGITS: Final = re.compile(r"\d{4}", re.ASCII)
_WOS_NUMBER: Final = re.compile(r"WOS:[A-Z0-9]{10,20}$")


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds RIS records."""
    text = sniff_text(head)
    if text is None:
        return 0
    tags = [found for found in map(_tag_of, head_lines(text)) if found]
    if len(tags) > 1 and any(tag == "TY" for tag, _ in tags):
        return 95
    named = name.endswith(".ris")
    known = sum(tag in _KNOWN for tag, _ in tags)
    if known > 1 and any(tag in _TEXT_TAGS for tag, _ in tags) and (named or any(tag == "ER" for tag, _ in tags)):
        return 80
    return 55 if named else 0


def _tag_of(text: str) -> tuple[str, str] | None:
    """Return tag and value of a line, None where it has no tag.

    Two spaces before the hyphen make a tag of any two capitals; with another number of them, in small letters, or
    indented only a known one counts, and a space must follow.
    """
    if text[2:6] == "  - " and text[:2].isalnum() and text[:2].isupper():
        return text[:2], text[6:].strip()
    found = _TAG.match(text)
    if not found:
        return ("ER", "") if _BARE_END.match(text) else None
    tag = found.group(1)
    canonical = text.startswith(tag) and found.group(2) == "  " and tag.isupper()
    if not canonical and (tag.upper() not in _KNOWN or found.group(3) is None):
        return None
    return tag.upper(), text[found.end():].strip()


class _Records:
    """Cuts lines into records: from `TY` to `ER`, to the next `TY` or to the end.

    What stands between records is none, unless it has a title or an abstract: then its `TY` was lost.
    """

    def __init__(self) -> None:
        self._open: Record | None = None
        self._declared = False
        self._narrow = False
        self._waiting: list[str] = []
        self._after_blank = False

    def take(self, line: Line) -> Iterator[Record]:
        """Take the next line; yields the record that it ends."""
        text = line.text.lstrip("\ufeff")
        if not text.strip():
            self._after_blank = True
            return
        found = _tag_of(text)
        if found and self._is_free_text(text, found[0]):
            found = None
        if found and found[0] == "TY":
            self._waiting.clear()
            yield from self.end()
            self._open, self._declared = Record(line.number, text[:VALUE_CHARACTERS]), True
            self._narrow = not text.lstrip().upper().startswith("TY  ")
        elif found and found[0] == "ER":
            yield from self.end()
        elif found:
            self._settle()
            if self._open is None:
                self._open, self._declared = Record(line.number, text[:VALUE_CHARACTERS]), False
            self._open.begin(*found)
        elif self._open is not None and not _STRAY.match(text):
            self._waiting.append(text.strip())
            if not self._after_blank and len(self._waiting) == 1:
                self._settle()
        if line.problem and self._open is not None:
            self._open.problem = self._open.problem or line.problem
        self._after_blank = self._after_blank and found is None

    def _is_free_text(self, text: str, tag: str) -> bool:
        """Tell whether a line such as `T1 - weighted images` goes on with an abstract and is no field."""
        record = self._open
        return (record is not None and record.tag in _FREE_TEXT and not self._narrow and tag not in ("TY", "ER")
                and text[2:4] != "  ")

    def _settle(self) -> None:
        """Give the untagged lines that were held back to the field that they go on with."""
        if self._open is not None:
            for text in self._waiting:
                if self._open.tag == "KW":
                    self._open.again(text)
                else:
                    self._open.go_on(text)
        self._waiting.clear()

    def end(self) -> Iterator[Record]:
        """Yield the record that is open, if it is one."""
        self._settle()
        record, self._open, self._after_blank = self._open, None, False
        if record is not None and (self._declared or record.problem or _TEXT_TAGS & record.fields.keys()):
            yield record


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every record."""
    return read_tagged(stream, _Records(), _item)


def _item(record: Record) -> ReadItem:
    """Return the paper of a record.

    `ID` is its own id, as the program that wrote it numbers its records: two numbers in one library may well be one
    paper, so it is no identifier.
    """
    title_tag = next((tag for tag in _TITLES if record.first(tag)), "")
    links = [part for value in record.values(*_LINKS) for part in value.split() if part.lower().startswith("http")]
    return item_of(record, Parts(
        title=record.text(title_tag, between_lines="\n") if title_tag != "TI" else _first_title(record),
        abstract=record.text(*_ABSTRACTS, between_lines="\n"),
        authors=_authors(record),
        date=_date(record),
        venue=next((value for tag in _VENUES if tag != title_tag and (value := record.first(tag))), ""),
        categories=keywords(record.values("KW")),
        url=next(iter(links), "") or _bare_address(record.first("UR")),
        language=record.first("LA"),
        own_id=record.first("ID"),
        identifiers={"doi": _doi(record, links), "arxiv": _arxiv(record, links), "pmid": _pmid(record, links)},
        also=tuple(("id:wos", value) for value in record.values("AN")[:1] if _WOS_NUMBER.match(value)),
    ))


def _bare_address(text: str) -> str:
    """Return a web address without its `http://`, `""` where a text is none."""
    return text if _HOST.match(text) else ""


def _first_title(record: Record) -> str:
    return next(("\n".join(lines) for lines in record.fields["TI"] if any(lines)), "")


def _authors(record: Record) -> list[str]:
    """Return the authors in the order of the record, the editors where there are none."""
    for tag in ("AU", "A1", "ED", "A2", "A3", "A4"):
        names: list[str] = []
        for value in record.values(tag):
            many = ";" in value or value.count(",") > 2
            names += [given_first(name) if "," in name else initials_first(name) if "." in name else name.strip()
                      for name in (split_names(value) if many else (value,))]
        if names:
            return names
    return []


def _date(record: Record) -> str:
    years = record.values("PY", "Y1", "YR")
    named = record.values("DA")
    with_year = [value if _FOUR_DIGITS.search(value) or not years else f"{value} {years[0][:4]}" for value in named]
    return most_precise_date((*years, *with_year))


def _doi(record: Record, links: list[str]) -> str:
    for value in record.values("DO", "DI"):
        if doi := normalise_doi(value):
            return doi
    for value in record.values("M3", "AN", "ID"):
        if _BARE_DOI.match(value):
            return normalise_doi(value)
    for value in (*links, *record.values("N1", "M3", "M1")):
        if found := _DOI_NAMED.search(value):
            return normalise_doi(found.group(1))
    return ""


def _arxiv(record: Record, links: list[str]) -> str:
    values = record.values("AN", "N1", "M1", "C7", "ID", "JO", "T2", "VL")
    named = [value for value in values if value[:6].lower() == "arxiv:"]
    return next((arxiv for value in (*named, *links) if (arxiv := normalise_arxiv(value))), "")


def _pmid(record: Record, links: list[str]) -> str:
    """Return the PubMed id: named as such, in a link, or as the record's number in PubMed, MEDLINE and Embase (C5)."""
    for value in record.values("AN", "ID", "N1", "C5", "M1", "M2", "U2"):
        if found := _PMID_NAMED.match(value):
            return found.group(1).lstrip("0")
    for link in links:
        if pmid := normalise_pmid(link):
            return pmid
    numbers = []
    if any(_PUBMED.search(value) for value in record.values("DB", "DP")):
        numbers += record.values("AN", "ID")
    if record.first("DB").lower() == "embase" or record.first("U2"):
        numbers += record.values("C5")
    return next((pmid_in(number) for number in numbers if _DIGITS.match(number)), "")


class _Counter(LineHeads):
    """Counts the lines that begin a record, and the stretches outside records that have a title or an abstract."""

    _type: Final = re.compile(rb"TY  -|\s{0,4}(?i:TY)\s{1,4}-(?:\s|$)")
    _end: Final = re.compile(rb"ER  -|\s{0,4}(?i:ER)\s{1,4}-(?:\s|$)|\s*ER\s*$")
    _text: Final = re.compile(rb"(?:TI|T1|CT|BT|ST|TT|AB|N2)  -|\s{0,4}(?i:TI|T1|CT|BT|ST|TT|AB|N2)\s{1,4}-(?:\s|$)")

    def __init__(self) -> None:
        super().__init__()
        self._inside = False

    def _see(self, line: bytes) -> None:
        if self._type.match(line):
            self._inside = True
            self._count += 1
        elif self._end.match(line):
            self._inside = False
        elif not self._inside and self._text.match(line):
            self._inside = True
            self._count += 1


FORMAT: Final = Format(name="ris", title="RIS", looks_like=looks_like, read=read, version=1, counter=_Counter)
