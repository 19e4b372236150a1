"""PubMed XML: articles, books and bare citations, in sets, alone or one after another."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_doi
from semsearch.paper import Paper
from semsearch.readers.base import Format, ReadItem, RecordCounter
from semsearch.readers.dates import date_of
from semsearch.readers.parts import Parts
from semsearch.readers.text import sniff_text
from semsearch.readers.xml_counting import ElementCounter
from semsearch.readers.xml_records import Element, XmlLayout, child, children, local_name, markup_of, read_xml, text_at

_START: Final = re.compile(
    r"(?:<|&lt;)(?:[\w.-]+:)?(?:Pubmed(?:Book)?Article(?:Set)?|MedlineCitation(?:Set)?)(?:[\s>]|&gt;)"
)
_PAGE_BYTES: Final = 64 * 1024
_CUT_ENTITY: Final = re.compile(rb"&[a-z]{0,4}\Z")
_NOT_AVAILABLE: Final = re.compile(r"^\[?\s*not available\s*\.?\s*\]?\.?$", re.IGNORECASE)
_UNLABELLED: Final = frozenset({"", "UNLABELLED"})


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds PubMed XML."""
    text = sniff_text(head)
    return 97 if text is not None and text.lstrip().startswith("<") and _START.search(text) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every article and book."""
    buffered = io.BufferedReader(_Page(stream), _PAGE_BYTES)
    return read_xml(buffered, XmlLayout(("PubmedArticle", "PubmedBookArticle"), _paper_of, inner=("MedlineCitation",)))


class _Page(io.RawIOBase):
    """The XML in a stream, also where PubMed shows it on a web page, with its tags escaped, between `pre` tags."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._is_escaped: bool | None = None
        self._ready = b""
        self._held = b""

    def readable(self) -> bool:
        """Return True: it is read from."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill `buffer` with the next bytes."""
        while not self._ready:
            block = self._stream.read(_PAGE_BYTES)
            if self._is_escaped is None:
                self._is_escaped = b"&lt;PubmedArticle" in block and b"<PubmedArticle" not in block
            if not block:
                self._ready, self._held = self._held, b""
                break
            self._ready = self._unescaped(block) if self._is_escaped else block
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _unescaped(self, block: bytes) -> bytes:
        block = self._held + block
        cut = _CUT_ENTITY.search(block)
        end = cut.start() if cut else len(block)
        block, self._held = block[:end], block[end:]
        for entity, character in ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&amp;", b"&")):
            block = block.replace(entity, character)
        return block


def counter() -> RecordCounter:
    """Return a counter of the articles and books, or of the citations where they stand alone."""
    return ElementCounter(("PubmedArticle", "PubmedBookArticle"), inner=("MedlineCitation",))


def _paper_of(record: Element, gap: str) -> Paper | None:
    return _book(record) if local_name(record) == "PubmedBookArticle" else _article(record)


def _article(record: Element) -> Paper:
    citation = record if local_name(record) == "MedlineCitation" else child(record, "MedlineCitation")
    article = child(citation, "Article")
    title = child(article, "ArticleTitle")
    if _NOT_AVAILABLE.match(text_at(title)) or not text_at(title):
        title = child(article, "VernacularTitle")
    journal = child(article, "Journal")
    authors = _names(child(article, "AuthorList"))
    doi = next((text_at(place) for place in children(article, "ELocationID") if place.get("EIdType") == "doi"), "")
    return Parts(
        title=markup_of(title),
        abstract=_abstract(child(article, "Abstract")) or _abstract(child(citation, "OtherAbstract")),
        authors=authors,
        date=_date(child(journal, "JournalIssue", "PubDate")) or _date(child(article, "ArticleDate")),
        venue=text_at(journal, "Title") or text_at(citation, "MedlineJournalInfo", "MedlineTA"),
        categories=_keywords(citation) or _headings(citation),
        language=text_at(article, "Language"),
        own_id=text_at(citation, "PMID"),
        identifiers=_identifiers(record, text_at(citation, "PMID"), doi),
    ).paper()


def _book(record: Element) -> Paper:
    document = child(record, "BookDocument")
    book = child(document, "Book")
    title = child(document, "ArticleTitle")
    is_chapter = bool(text_at(title))
    lists = children(document, "AuthorList") + children(book, "AuthorList")
    authors = next((names for place in lists if place.get("Type") != "editors" and (names := _names(place))), [])
    editors = next((names for place in lists if (names := _names(place))), [])
    pmid = text_at(document, "PMID")
    return Parts(
        title=markup_of(title if is_chapter else child(book, "BookTitle")),
        abstract=_abstract(child(document, "Abstract")),
        authors=authors or editors,
        date=_date(child(book, "PubDate")) or _date(child(document, "ContributionDate")),
        venue=text_at(book, "BookTitle") if is_chapter else text_at(book, "CollectionTitle"),
        categories=_keywords(document),
        language=text_at(document, "Language"),
        own_id=pmid,
        identifiers=_identifiers(record, pmid, ""),
    ).paper()


def _abstract(element: Element | None) -> str:
    """Return the sections of an abstract, each with its label."""
    sections = []
    for section in children(element, "AbstractText"):
        markup = markup_of(section)
        label = (section.get("Label") or "").strip()
        if label.upper() in _UNLABELLED:
            sections.append(markup)
        elif markup:
            sections.append(f"{label.rstrip(':')}: {markup}")
    return " ".join(section for section in sections if section)


def _names(authors: Element | None) -> list[str]:
    names = []
    for author in children(authors, "Author"):
        collective = text_at(author, "CollectiveName")
        given = text_at(author, "ForeName") or text_at(author, "FirstName") or text_at(author, "Initials")
        parts = (given, text_at(author, "LastName"), text_at(author, "Suffix"))
        names.append(collective or " ".join(part for part in parts if part))
    return [name for name in names if name]


def _date(element: Element | None) -> str:
    if element is None:
        return ""
    parts = [text_at(element, part) for part in ("Year", "Month", "Day")]
    if not parts[0]:
        return date_of(_first_of_range(text_at(element, "MedlineDate")))
    if parts[1].isdigit():
        return date_of("-".join(part for part in parts if part))
    return date_of(" ".join(part for part in parts if part))


def _first_of_range(text: str) -> str:
    """Return the first date of a range such as `2010 Nov-Dec` or `1998 Dec-1999 Jan`."""
    return re.split(r"[-\u2013/]", text, maxsplit=1)[0]


def _keywords(element: Element | None) -> list[str]:
    return [text_at(word) for words in children(element, "KeywordList") for word in children(words, "Keyword")]


def _headings(citation: Element | None) -> list[str]:
    return [
        text_at(heading, "DescriptorName") for heading in children(child(citation, "MeshHeadingList"), "MeshHeading")
    ]


def _identifiers(record: Element, pmid: str, doi: str) -> dict[str, str]:
    found = {"doi": normalise_doi(doi), "pmid": pmid if pmid.isascii() and pmid.isdigit() else ""}
    data = child(record, "PubmedData")
    if data is None:
        data = child(record, "PubmedBookData")
    for place in children(child(data, "ArticleIdList"), "ArticleId"):
        if place.get("IdType") == "doi" and not found["doi"]:
            found["doi"] = normalise_doi(text_at(place))
    return found


FORMAT: Final = Format(
    name="pubmed-xml", title="PubMed XML", looks_like=looks_like, read=read, version=1, counter=counter
)
