"""XML of the ACL Anthology: collections of volumes of papers. What all papers of a volume share stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_acl, normalise_doi
from semsearch.paper import Paper
from semsearch.readers.base import Format, ReadItem, RecordCounter
from semsearch.readers.dates import date_of
from semsearch.readers.parts import Parts
from semsearch.readers.text import sniff_text
from semsearch.readers.xml_counting import ElementCounter
from semsearch.readers.xml_records import (
    Element,
    XmlLayout,
    child,
    children,
    markup_of,
    parse_element,
    read_xml,
    text_at,
)

_START: Final = re.compile(r"<collection\s[^>]*\bid\s*=|<volume\s[^>]*\bid\s*=[^>]*>\s*<(?:meta|paper|frontmatter)\b")
_COLLECTION: Final = re.compile(r"<collection\s[^>]*?\bid\s*=\s*[\"']([^\"']*)")
_VOLUME: Final = re.compile(r"<volume\s[^>]*?\bid\s*=\s*[\"']([^\"']*)")
_META: Final = re.compile(r"<meta>.*?</meta>", re.DOTALL)
_TWO_DIGIT_VOLUMES: Final = ("C69",)
_FIRST_D19_WORKSHOP: Final = 5
_LEFT_OUT: Final = frozenset({"fixed-case"})


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds a collection of the ACL Anthology."""
    text = sniff_text(head)
    if text is None or not text.lstrip().startswith("<"):
        return 0
    return 96 if _START.search(text) and re.search(r"<(?:volume|paper)\b", text) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every paper; the front matter of a volume is none."""
    return read_xml(stream, XmlLayout(("paper",), _Reader().paper_of))


def counter() -> RecordCounter:
    """Return a counter of the papers."""
    return ElementCounter(("paper",))


@dataclass(slots=True)
class _Reader:
    """The papers of one file; it remembers the collection and the volume that they stand in."""

    collection: str = ""
    volume: str = ""
    meta: Element | None = None

    def paper_of(self, paper: Element, gap: str) -> Paper:
        self._enter(gap)
        own_id = anthology_id(self.collection, self.volume, paper.get("id") or "")
        url = text_at(paper, "url")
        own_id = normalise_acl(own_id) or normalise_acl(url)
        authors = _names(paper, "author") or _names(paper, "editor")
        written = [text_at(self.meta, part) for part in ("year", "month")]
        return Parts(
            title=markup_of(child(paper, "title"), unwrap=_LEFT_OUT),
            abstract=markup_of(child(paper, "abstract"), unwrap=_LEFT_OUT),
            authors=authors,
            date=_date(*written),
            venue=text_at(self.meta, "booktitle") or text_at(self.meta, "journal-title"),
            url=f"https://aclanthology.org/{own_id}" if own_id else url,
            language=text_at(paper, "language"),
            own_id=own_id,
            identifiers={"acl": own_id, "doi": normalise_doi(text_at(paper, "doi"))},
        ).paper()

    def _enter(self, gap: str) -> None:
        """Take up the collection and the volume that begin before a paper."""
        if "<" not in gap:
            return
        for found in _COLLECTION.finditer(gap):
            self.collection, self.volume, self.meta = found.group(1), "", None
        volumes = list(_VOLUME.finditer(gap))
        if volumes:
            self.volume = volumes[-1].group(1)
            meta = _META.search(gap, volumes[-1].end())
            self.meta = parse_element(meta.group()) if meta else None


def anthology_id(collection: str, volume: str, paper: str) -> str:
    """Return the id of a paper as the Anthology writes it: `2020.acl-main.1` or, before 2020, `P19-1001`."""
    if not (collection and volume and paper):
        return ""
    if "." in collection:
        return f"{collection}-{volume}.{paper}"
    if not (volume.isdigit() and paper.isdigit()):
        return ""
    wide = (
        collection.startswith("W")
        or collection in _TWO_DIGIT_VOLUMES
        or (collection == "D19" and int(volume) >= _FIRST_D19_WORKSHOP)
    )
    return f"{collection}-{int(volume):02d}{int(paper):02d}" if wide else f"{collection}-{int(volume)}{int(paper):03d}"


def _names(paper: Element, role: str) -> list[str]:
    names = []
    for person in children(paper, role):
        parts = (text_at(person, "first"), text_at(person, "last"))
        names.append(" ".join(part for part in parts if part) or (text_at(person) if not len(person) else ""))
    return [name for name in names if name]


def _date(year: str, month: str) -> str:
    """Return the date of a volume; its month may be a range (`July 5 - 10`, `June-July`), whose first counts."""
    first = re.split(r"\s*(?:[-\u2013/,]|\bto\b)\s*", month, maxsplit=1)[0]
    word = re.search(r"[A-Za-z]{3,}", first)
    return date_of(f"{year} {word.group()}") if word else date_of(year)


FORMAT: Final = Format(
    name="acl-xml", title="ACL Anthology XML", looks_like=looks_like, read=read, version=1, counter=counter
)
