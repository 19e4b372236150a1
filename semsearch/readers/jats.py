"""JATS XML: one article or a set of them, as PubMed Central and publishers give them; only the front is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.identifiers import normalise_arxiv, normalise_doi
from semsearch.paper import Paper
from semsearch.readers.base import Format, ReadItem, RecordCounter
from semsearch.readers.dates import date_of
from semsearch.readers.parts import Parts
from semsearch.readers.text import sniff_text
from semsearch.readers.xml_counting import ElementCounter
from semsearch.readers.xml_records import Element, XmlLayout, child, children, local_name, markup_of, read_xml, text_at

_START: Final = re.compile(r"<(?:[\w.-]+:)?(?:pmc-articleset|article)[\s>]")
_EVIDENT: Final = re.compile(
    r"<(?:[\w.-]+:)?(?:article-meta|journal-meta|pmc-articleset|front)\b|\barticle-type\s*=|\bdtd-version\s*=|//NLM//DTD"
)
_FRONT_END: Final = re.compile(r"</((?:[\w.-]+:)?)front\s*>", re.ASCII)
_ARTICLE: Final = re.compile(r"<((?:[\w.-]+:)?article)[\s>]", re.ASCII)
_NOT_READ: Final = frozenset({"object-id"})
_NOT_READ_IN_TITLE: Final = frozenset({"fn", "xref"})
_NO_SUMMARIES: Final = frozenset(
    {
        "graphical",
        "teaser",
        "toc",
        "web-summary",
        "editor-summary",
        "key-points",
        "precis",
        "executive-summary",
        "plain-language-summary",
        "highlights",
        "video",
    }
)


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds JATS XML."""
    text = sniff_text(head)
    if text is None or not text.lstrip().startswith("<"):
        return 0
    return 95 if _START.search(text) and _EVIDENT.search(text) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every article."""
    return read_xml(stream, XmlLayout(("article",), _paper_of, cut=_front_only))


def counter() -> RecordCounter:
    """Return a counter of the articles."""
    return ElementCounter(("article",))


def _front_only(text: str) -> str:
    """Return an article without its body, references and all that comes after the front."""
    end, start = _FRONT_END.search(text), _ARTICLE.match(text)
    return f"{text[: end.end()]}</{start.group(1)}>" if end and start else text


def _paper_of(article: Element, gap: str) -> Paper:
    front = child(article, "front")
    meta = child(front, "article-meta")
    journal = child(front, "journal-meta")
    group = child(meta, "title-group")
    named, pmc = _identifiers(meta)
    title, subtitle = (markup_of(child(group, part), _NOT_READ_IN_TITLE) for part in ("article-title", "subtitle"))
    language = next((value for key, value in article.attrib.items() if key.endswith("lang")), "")
    return Parts(
        title=f"{title}: {subtitle}" if title and subtitle else title or subtitle,
        abstract=_abstract(meta),
        authors=_authors(meta),
        date=_date(meta),
        venue=text_at(journal, "journal-title-group", "journal-title")
        or text_at(journal, "journal-title")
        or text_at(journal, "journal-id"),
        categories=[text_at(word) for words in children(meta, "kwd-group") for word in _words(words)],
        language=language,
        identifiers=named,
        also=(("id:pmc", pmc),) if pmc else (),
    ).paper()


def _identifiers(meta: Element | None) -> tuple[dict[str, str], str]:
    written = {place.get("pub-id-type", ""): text_at(place) for place in reversed(children(meta, "article-id"))}
    pmid = written.get("pmid", "")
    pmc = written.get("pmcid", "") or written.get("pmc", "")
    return (
        {
            "doi": normalise_doi(written.get("doi", "")),
            "arxiv": normalise_arxiv(written.get("arxiv", "")),
            "pmid": pmid if pmid.isascii() and pmid.isdigit() else "",
        },
        f"PMC{pmc}" if pmc.isdigit() else pmc,
    )


def _abstract(meta: Element | None) -> str:
    """Return the abstract, or a translated one where there is no other; what only advertises the article is none."""
    found = [part for part in children(meta, "abstract") if part.get("abstract-type") not in _NO_SUMMARIES]
    for part in found or children(meta, "trans-abstract"):
        text = markup_of(part, _NOT_READ)
        if text:
            return text
    return ""


def _authors(meta: Element | None) -> list[str]:
    people = [person for group in children(meta, "contrib-group") for person in children(group, "contrib")]
    authors = [person for person in people if person.get("contrib-type", "author") == "author"]
    editors = [person for person in people if person.get("contrib-type") == "editor"]
    return [name for person in authors or editors if (name := _name(person))]


def _name(person: Element) -> str:
    name = child(person, "name")
    if name is None:
        name = child(person, "name-alternatives", "name")
    if name is None:
        return text_at(person, "string-name") or text_at(person, "collab", "institution") or _collab(person)
    parts = ("given-names", "surname", "suffix")
    return " ".join(text for part in parts if (text := text_at(name, part)))


def _collab(person: Element) -> str:
    """Return the name of a group without the members that may be listed inside of it."""
    group = child(person, "collab")
    return (
        ""
        if group is None
        else " ".join(
            markup_of(
                group, frozenset({"contrib-group", "xref", "fn"}), frozenset({"institution", "named-content"})
            ).split()
        )
    )


def _date(meta: Element | None) -> str:
    """Return the earliest known date of publication, the most precise one of its year."""
    dates = [date for place in children(meta, "pub-date") if (date := _written_date(place))]
    if not dates:
        return ""
    year = min(dates)[:4]
    return min((date for date in dates if date.startswith(year)), key=lambda date: (-len(date), date))


def _written_date(place: Element) -> str:
    parts = [text_at(place, part) for part in ("year", "month", "day")]
    if parts[1] and not parts[1].isdigit():
        return date_of(" ".join(part for part in parts if part))
    return date_of("-".join(part for part in parts if part)) or date_of(place.get("iso-8601-date", ""))


def _words(group: Element) -> Iterator[Element]:
    for part in group:
        if local_name(part) == "kwd":
            yield part
        elif local_name(part) == "compound-kwd":
            yield from children(part, "compound-kwd-part")[:1]


FORMAT: Final = Format(name="jats", title="JATS XML", looks_like=looks_like, read=read, version=1, counter=counter)
