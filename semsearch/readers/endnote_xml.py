"""EndNote XML: the `record` elements of an exported library; the text of every field may be wrapped in `style` tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_arxiv, normalise_doi, normalise_pmid
from semsearch.paper import Paper
from semsearch.person_names import given_first
from semsearch.readers.base import Format, ReadItem, RecordCounter
from semsearch.readers.dates import date_of, year_of
from semsearch.readers.parts import Parts
from semsearch.readers.text import sniff_text
from semsearch.readers.xml_counting import ElementCounter
from semsearch.readers.xml_records import Element, XmlLayout, child, children, markup_of, read_xml, text_at

_START: Final = re.compile(
    r"<xml>\s*<records\b|<record\b[^>]*>\s*<(?:database|source-app|rec-number|ref-type|contributors|titles)\b"
)
_DIGITS: Final = re.compile(r"^[1-9]\d{0,8}$", re.ASCII)
_STYLE: Final = frozenset({"style"})


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds an EndNote library."""
    text = sniff_text(head)
    if text is None or not text.lstrip().startswith("<"):
        return 0
    return 96 if _START.search(text) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every record."""
    return read_xml(stream, XmlLayout(("record",), _paper_of))


def counter() -> RecordCounter:
    """Return a counter of the records."""
    return ElementCounter(("record",))


def _paper_of(record: Element, gap: str) -> Paper:
    contributors = child(record, "contributors")
    roles = (("authors", "author"), ("secondary-authors", "author"), ("tertiary-authors", "author"))
    names = next((found for role, part in roles if (found := _texts(child(contributors, role), part))), [])
    titles = child(record, "titles")
    return Parts(
        title=markup_of(child(titles, "title"), unwrap=_STYLE),
        abstract=markup_of(child(record, "abstract"), unwrap=_STYLE),
        authors=map(given_first, names),
        date=_date(child(record, "dates")),
        venue=text_at(titles, "secondary-title")
        or text_at(record, "periodical", "full-title")
        or text_at(titles, "alt-title")
        or text_at(titles, "tertiary-title"),
        categories=_texts(child(record, "keywords"), "keyword"),
        url=_url(child(record, "urls")),
        language=text_at(record, "language"),
        identifiers=_identifiers(record),
    ).paper()


def _texts(element: Element | None, name: str) -> list[str]:
    return [text for part in children(element, name) if (text := text_at(part))]


def _date(dates: Element | None) -> str:
    """Return the date; the year stands in `year`, the rest (`Jan`, `Jan 12`, `2019/01/12`) in `pub-dates`."""
    year = year_of(text_at(dates, "year"))
    rest = text_at(dates, "pub-dates", "date")
    if year is None:
        return date_of(rest)
    written = year_of(rest)
    if written is not None:
        return date_of(rest) if written == year else f"{year:04d}"
    first = re.split(r"\s*[-\u2013/]\s*(?=[A-Za-z])", rest, maxsplit=1)[0]
    return date_of(f"{year:04d} {first}") if re.search(r"[A-Za-z]{3}", first) else f"{year:04d}"


def _url(urls: Element | None) -> str:
    for kind in ("related-urls", "web-urls", "text-urls"):
        for url in _texts(child(urls, kind), "url"):
            if url.lower().startswith(("http://", "https://")):
                return url
    return ""


def _identifiers(record: Element) -> dict[str, str]:
    doi = text_at(record, "electronic-resource-num")
    found = {"doi": normalise_doi(doi), "arxiv": normalise_arxiv(doi)}
    accession = text_at(record, "accession-num")
    database = text_at(record, "remote-database-name").casefold()
    found["pmid"] = normalise_pmid(accession)
    if (
        not found["pmid"]
        and _DIGITS.match(accession)
        and any(word in database for word in ("pubmed", "medline", "nlm"))
    ):
        found["pmid"] = accession
    for url in _texts(child(record, "urls", "related-urls"), "url"):
        found["arxiv"] = found["arxiv"] or normalise_arxiv(url)
        found["pmid"] = found["pmid"] or normalise_pmid(url)
        if "doi.org/" in url.lower():
            found["doi"] = found["doi"] or normalise_doi(url)
    return found


FORMAT: Final = Format(
    name="endnote-xml", title="EndNote XML", looks_like=looks_like, read=read, version=1, counter=counter
)
