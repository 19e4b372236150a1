"""Notes of OpenReview, with and without `value`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semsearch.readers import Located, find_format, openreview
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.openreview import REPLY
from tests.readers.document_samples import count, paper, papers, read_all, rejects

CONTENT: dict[str, Any] = {
    "title": "On $\\alpha$-graphs",
    "abstract": "We \\emph{draw} 5\\% of graphs.",
    "authors": ["Ann Lee", "Bo Ek"],
    "keywords": ["graphs; edges"],
    "venue": "ICLR 2024 poster",
    "venueid": "ICLR.cc/2024/Conference",
}
MARCH = 1_709_510_400_000


def note(values: bool = True, content: dict[str, Any] | None = None, **changes: Any) -> str:
    whole = {**CONTENT, **(content or {})}
    written = {name: {"value": value} for name, value in whole.items()} if values else whole
    return json.dumps({"id": "abc", "forum": "abc", "cdate": MARCH, "content": written, **changes})


@pytest.mark.parametrize("values", [True, False])
def test_a_whole_note(values: bool) -> None:
    found = paper(openreview, note(values))
    assert (found.id, found.title, found.raw_title) == ("abc", "On α-graphs", "On $\\alpha$-graphs")
    assert (found.abstract, found.markup) == ("We draw 5% of graphs.", "latex")
    assert (found.authors, found.categories) == (("Ann Lee", "Bo Ek"), ("graphs", "edges"))
    assert (found.venue, found.date, found.year) == ("ICLR 2024 poster", "2024", 2024)
    assert (found.url, found.identifiers) == ("https://openreview.net/forum?id=abc", (("id:openreview", "abc"),))


@pytest.mark.parametrize(
    ("changes", "content", "date"),
    [
        ({"pdate": MARCH}, {}, "2024-03-04"),
        ({"pdate": MARCH - 10**11}, {}, "2024"),
        ({}, {"venue": "", "venueid": ""}, "2024-03-04"),
        ({"cdate": None}, {"venue": "", "venueid": ""}, ""),
        ({"cdate": 10**30}, {"venue": "", "venueid": ""}, ""),
    ],
)
def test_dates(changes: dict[str, Any], content: dict[str, Any], date: str) -> None:
    assert paper(openreview, note(content=content, **changes)).date == date


def test_a_venue_by_its_id() -> None:
    assert paper(openreview, note(content={"venue": None})).venue == "ICLR 2024"


def test_reviews_are_no_papers() -> None:
    review = json.dumps(
        {"id": "r1", "forum": "abc", "replyto": "abc", "content": {"title": "Official Review", "review": "Fine."}}
    )
    data = f'{{"notes": [{note()}, {review}], "count": 2}}'
    assert rejects(openreview, data) == [(1, REPLY)]
    assert count(openreview, data.encode()) == 2


def test_a_note_without_text() -> None:
    assert rejects(openreview, f"[{note(content={'title': '', 'abstract': ''})}]") == [(1, NO_TEXT)]


def test_notes_of_both_kinds() -> None:
    assert len(papers(openreview, f"[{note(True)},{note(False)}]")) == 2


def test_one_note_a_line() -> None:
    from semsearch.readers import jsonl

    lines = f"{note(True)}\n{note(False)}"
    assert find_format("x.jsonl", lines.encode()).name == "jsonl"
    assert [item.paper.title for item in read_all(jsonl, lines) if isinstance(item, Located)] == ["On α-graphs"] * 2


def test_the_real_notes(shared_data: Path) -> None:
    data = (shared_data / "wild/openreview-json/zhuanxv-iclr2026-notes-subset.json").read_bytes()
    items = read_all(openreview, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (count(openreview, data), len(items), len(found), sum(bool(p.abstract) for p in found)) == (250,) * 4
    assert [items[0].line, items[1].line] == [2, 88]
    assert (found[0].id, found[0].title, found[0].authors[0], found[0].date, found[0].venue) == (
        "FPLNSx1jmL",
        "Improving Developer Emotion Classification via LLM-Based Augmentation",
        "Fahmida Haque Fariha",
        "2026",
        "Submitted to ICLR 2026",
    )
    assert found[0].categories[:2] == ("Emotion Detection", "Commit Messages")
    assert found[-1].id == "gmmHn5nFvK"
    assert {p.year for p in found} == {2026}
