"""Records of the arXiv metadata snapshot among JSON Lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from semsearch.readers import Rejected, find_format, jsonl
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import paper, read_all

RECORD: dict[str, Any] = {
    "id": "0704.0001",
    "submitter": "X",
    "authors": "C. Bal\\'azs, Jan van der Berg",
    "title": "On $\\alpha$-graphs of\n  Erd\\H{o}s",
    "comments": "5 pages",
    "journal-ref": "Ann.Edges 5 (2007)",
    "doi": "10.1000/ABC",
    "report-no": None,
    "categories": "hep-ph cs.LG",
    "license": None,
    "abstract": "  We draw 5\\% of\ngraphs.\n",
    "versions": [
        {"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"},
        {"version": "v2", "created": "Tue, 24 Jul 2008 20:10:27 GMT"},
    ],
    "update_date": "2008-11-26",
    "authors_parsed": [["Bal\\'azs", "C.", ""], ["van der Berg", "Jan", "Jr.", "Edge Lab"], ["Group", "", ""]],
}


def record(**changes: Any) -> str:
    return json.dumps({**RECORD, **changes})


def test_a_whole_record() -> None:
    found = paper(jsonl, record())
    assert (found.id, found.title, found.abstract) == ("0704.0001", "On α-graphs of Erdős", "We draw 5% of graphs.")
    assert (found.raw_title, found.markup) == (RECORD["title"], "latex")
    assert found.authors == ("C. Balázs", "Jan van der Berg Jr.", "Group")
    assert (found.date, found.year, found.venue) == ("2007-04-02", 2007, "Ann.Edges 5 (2007)")
    assert (found.categories, found.url) == (("hep-ph", "cs.LG"), "https://arxiv.org/abs/0704.0001")
    assert found.identifiers == (("doi", "10.1000/abc"), ("arxiv", "0704.0001"))


@pytest.mark.parametrize(
    ("changes", "date"),
    [
        ({"versions": []}, "2008-11-26"),
        ({"versions": None, "update_date": None}, ""),
        ({"versions": [{"created": "2007-04-02"}]}, "2007-04-02"),
    ],
)
def test_dates(changes: dict[str, Any], date: str) -> None:
    assert paper(jsonl, record(**changes)).date == date


def test_names_without_parsed_ones() -> None:
    assert paper(jsonl, record(authors_parsed=[])).authors == ("C. Balázs", "Jan van der Berg")


def test_old_ids_and_lists_of_categories() -> None:
    found = paper(jsonl, record(id="math/0207249", categories=["math.CO", "cs.DM"]))
    assert (found.id, found.categories) == ("math/0207249", ("math.CO", "cs.DM"))


def test_a_record_without_text() -> None:
    assert read_all(jsonl, record(title=None, abstract=" ")) == [Rejected(1, NO_TEXT, "0704.0001")]


def test_found_by_content() -> None:
    lines = (record() + "\n").encode() * 3
    assert find_format("arxiv-metadata-oai-snapshot.json", lines).name == "jsonl"
