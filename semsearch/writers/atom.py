"""Atom feeds (RFC 4287), which feed readers follow."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TextIO
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from semsearch.paper import Paper

_NAMESPACE: Final = "http://www.w3.org/2005/Atom"
_OWN_IDS: Final = uuid.UUID("6f0d7b1e-3c55-4d0a-9f0e-8a1b1f6f2c11")
"""The name space in which the ids of feeds and entries are made (RFC 4122, section 4.3); any, but always this one."""
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold, in whatever spelling (XML 1.0, section 2.2)."""
_DAY: Final = len("2017-06-12")
_WEB: Final = re.compile(r"https?://[^\s<>\"{}|\\^`]+\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper in a feed: when it was reported (RFC 3339), and by which search, named and told apart by `search_id`."""

    paper: Paper
    updated: str
    search: str
    search_id: str


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed: `key` is what its id is made of, so that a reader knows it again; `updated` is in RFC 3339."""

    key: str
    title: str
    updated: str
    entries: Sequence[Entry]


def write_feed(feed: Feed, stream: TextIO) -> None:
    """Write a feed, its entries in the order in which they are given."""
    root = Element("feed", {"xmlns": _NAMESPACE})
    _add(root, "id", _urn(feed.key))
    _add(root, "title", feed.title or "semsearch")
    _add(root, "updated", feed.updated)
    _add(SubElement(root, "author"), "name", "semsearch")  # whoever wrote an entry that names nobody
    _add(root, "generator", "semsearch")
    for entry in feed.entries:
        _add_entry(SubElement(root, "entry"), entry)
    indent(root)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
    ElementTree(root).write(stream, encoding="unicode", xml_declaration=False)
    stream.write("\n")


def _add_entry(parent: Element, entry: Entry) -> None:
    paper = entry.paper
    _add(parent, "id", _urn(f"{entry.search_id}\n{paper.id}"))
    _add(parent, "title", paper.title or "(no title)")
    _add(parent, "updated", entry.updated)
    if len(paper.date) == _DAY:
        _add(parent, "published", f"{paper.date}T00:00:00Z")
    for author in paper.authors:
        if name := _clean(author).strip():
            _add(SubElement(parent, "author"), "name", name)
    if link := _link(paper):
        SubElement(parent, "link", {"rel": "alternate", "href": link})
    SubElement(parent, "category", {"term": _clean(entry.search)})
    # An entry without a link has to have content, and the abstract is all the content that there is.
    _add(parent, "content" if not link else "summary", paper.abstract or paper.title or "(no abstract)")


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _clean(text)


def _clean(text: str) -> str:
    return _NOT_XML.sub("", text)


def _urn(key: str) -> str:
    return uuid.uuid5(_OWN_IDS, key.encode("utf-8", "replace").decode("utf-8")).urn


def _link(paper: Paper) -> str:
    """Return where the paper is on the web: its own URL, else that of its DOI, `""` where neither is known."""
    from urllib.parse import quote

    if _WEB.match(paper.url) and paper.url.isprintable():
        return paper.url
    return f"https://doi.org/{quote(paper.doi, safe='/:;().-_', errors='replace')}" if paper.doi else ""
