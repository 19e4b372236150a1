"""Atom feeds, read back by a parser of XML that knows nothing of ours, against the rules of RFC 4287."""

from __future__ import annotations

import io
import re
from datetime import datetime
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semsearch.paper import Paper
from semsearch.writers.atom import Entry, Feed, write_feed

ATOM = "{http://www.w3.org/2005/Atom}"
THEN, NOW = "2025-01-02T03:04:05+00:00", "2025-02-03T04:05:06+00:00"
BIRDS = Paper("birds1", "Birds & <stars>", 'They "watch" stars.', ("Ada Byron", "Li, Wei"), 2001, "2001-02-03",
              url="https://b.org/1?a=1&b=2", doi="10.1000/birds")


def written(*entries: Entry, **changes: str) -> str:
    stream = io.StringIO()
    write_feed(Feed(**{"key": "k", "title": "News", "updated": NOW, "entries": entries, **changes}), stream)  # type: ignore[arg-type]
    return stream.getvalue()


def parsed(*entries: Entry, **changes: str) -> ElementTree.Element:
    return ElementTree.fromstring(written(*entries, **changes).encode())


def check_rfc_4287(feed: ElementTree.Element) -> None:
    """Check what sections 4.1.1 and 4.1.2 demand of a feed and of each of its entries."""
    assert feed.tag == f"{ATOM}feed"
    for element in (feed, *feed.iter(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1, name
        assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", element.findtext(f"{ATOM}id") or "")
        for name in ("updated", "published"):
            for date in element.findall(f"{ATOM}{name}"):
                assert datetime.fromisoformat(date.text or "").utcoffset() is not None
    assert feed.find(f"{ATOM}author/{ATOM}name") is not None  # so entries need none
    ids = [entry.findtext(f"{ATOM}id") for entry in feed.iter(f"{ATOM}entry")]
    assert len(set(ids)) == len(ids)
    for entry in feed.iter(f"{ATOM}entry"):
        assert len(entry.findall(f"{ATOM}content")) <= 1
        if entry.find(f"{ATOM}content") is None:
            assert [link.get("rel") for link in entry.findall(f"{ATOM}link")] == ["alternate"]
        assert all(name.text for name in entry.findall(f"{ATOM}author/{ATOM}name"))


def test_an_entry_says_what_the_paper_says() -> None:
    feed = parsed(Entry(BIRDS, THEN, "birds", "s"))
    check_rfc_4287(feed)
    assert feed.findtext(f"{ATOM}title") == "News" and feed.findtext(f"{ATOM}updated") == NOW
    [entry] = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "Birds & <stars>"
    assert entry.findtext(f"{ATOM}summary") == 'They "watch" stars.'
    assert entry.findtext(f"{ATOM}updated") == THEN
    assert entry.findtext(f"{ATOM}published") == "2001-02-03T00:00:00Z"
    assert [name.text for name in entry.findall(f"{ATOM}author/{ATOM}name")] == ["Ada Byron", "Li, Wei"]
    assert [link.attrib for link in entry.findall(f"{ATOM}link")] == [
        {"rel": "alternate", "href": "https://b.org/1?a=1&b=2"}]
    assert [category.get("term") for category in entry.findall(f"{ATOM}category")] == ["birds"]


@pytest.mark.parametrize("paper, link", [
    (Paper("a", doi="10.1000/a<b> c"), "https://doi.org/10.1000/a%3Cb%3E%20c"),
    (Paper("a", url="javascript:alert(1)"), None),
    (Paper("a", url="www.b.org", doi="10.1/x"), "https://doi.org/10.1/x"),
    (Paper("a", url="https://b.org/a b"), None),
    (Paper("a"), None),
])
def test_a_link_leads_to_the_paper_or_is_not_there(paper: Paper, link: str | None) -> None:
    feed = parsed(Entry(paper, THEN, "birds", "s"))
    check_rfc_4287(feed)
    found = feed.find(f"{ATOM}entry/{ATOM}link")
    assert (None if found is None else found.get("href")) == link


def test_a_feed_without_entries_is_one() -> None:
    feed = parsed()
    check_rfc_4287(feed)
    assert feed.findall(f"{ATOM}entry") == []
    assert written().startswith('<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n')


def test_ids_are_the_same_each_time_and_differ_between_papers_searches_and_feeds() -> None:
    def ids(*entries: Entry, **changes: str) -> list[str | None]:
        return [element.text for element in parsed(*entries, **changes).iter(f"{ATOM}id")]

    first = Entry(BIRDS, THEN, "birds", "s")
    assert ids(first) == ids(Entry(Paper("birds1", "Renamed"), NOW, "birds", "s"))
    everything = [*ids(first), *ids(Entry(BIRDS, THEN, "birds", "t"), key="other"),
                  *ids(Entry(Paper("birds2"), THEN, "birds", "s"), key="third")]
    assert len(set(everything)) == 6


@settings(max_examples=60)
@given(st.text(alphabet=st.characters(codec=None)), st.text(alphabet=st.characters(codec=None)))
def test_any_text_gives_well_formed_xml(one: str, other: str) -> None:
    paper = Paper(one, other, one, (other, "\x00", "\ufffe"), url=f"https://{other}", doi=one)
    document = written(Entry(paper, THEN, other, one), title=one, key=other)
    check_rfc_4287(ElementTree.fromstring(document.encode("utf-8")))


def test_characters_that_xml_cannot_hold_are_left_out() -> None:
    entry = parsed(Entry(Paper("a", "A\x00B\x1b[31mC\ud800D\uffffE\U0001f600"), THEN, "x", "s")).find(f"{ATOM}entry")
    assert entry is not None and entry.findtext(f"{ATOM}title") == "AB[31mCDE\U0001f600"
