"""CSL-JSON items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semsearch.readers import Located, csl_json, find_format
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import count, csl_record, paper, papers, read_all, rejects

ITEM: dict[str, Any] = {
    "id": "berg2020",
    "type": "article-journal",
    "title": "Growth of <i>E. coli</i>",
    "abstract": "We count.",
    "author": [
        {"given": "Jan", "non-dropping-particle": "van der", "family": "Berg", "suffix": "Jr."},
        {"literal": "Edge Group"},
    ],
    "issued": {"date-parts": [["2020", 3, 4]]},
    "container-title": "Annals of Edges",
    "keyword": "graphs, edges",
    "DOI": "10.1000/ABC",
    "PMID": "123",
    "URL": "https://example.org",
    "language": "en",
}


def item(**changes: Any) -> str:
    return json.dumps([{**ITEM, **changes}])


def test_a_whole_item() -> None:
    found = paper(csl_json, item(), "/some/where/library.json")
    assert (found.id, found.title, found.raw_title) == ("berg2020", "Growth of E. coli", "Growth of <i>E. coli</i>")
    assert found.authors == ("Jan van der Berg Jr.", "Edge Group")
    assert (found.date, found.venue, found.categories) == ("2020-03-04", "Annals of Edges", ("graphs", "edges"))
    assert found.identifiers == (
        ("id:csl-json:/some/where/library.json", "berg2020"),
        ("doi", "10.1000/abc"),
        ("pmid", "123"),
    )


@pytest.mark.parametrize(
    ("issued", "date"),
    [
        ({"date-parts": [[2020]]}, "2020"),
        ({"date-parts": [[2020, 3], [2021, 1]]}, "2020-03"),
        ({"raw": "2020-03-04"}, "2020-03-04"),
        ({"raw": "March 2020"}, "2020-03"),
        ({"literal": "spring 2020"}, "2020"),
        ({"date-parts": [[]], "raw": "2020/2021"}, "2020"),
        ("2020-03", "2020-03"),
        (2020, "2020"),
        ({}, ""),
        (None, ""),
        ([], ""),
        ({"date-parts": [[2020, 13]]}, "2020"),
    ],
)
def test_dates(issued: object, date: str) -> None:
    assert paper(csl_json, item(issued=issued)).date == date


def test_ids() -> None:
    assert paper(csl_json, item(id=5)).id == "5"
    assert paper(csl_json, item(id=None)).id == "10.1000/abc"
    assert paper(csl_json, item(id="https://doi.org/10.1000/abc")).id == "10.1000/abc"
    assert paper(csl_json, item(number="arXiv:2001.00001")).identifiers[2] == ("arxiv", "2001.00001")


def test_editors_only_without_authors() -> None:
    assert paper(csl_json, item(author=None, editor=[{"given": "Bo", "family": "Ek"}])).authors == ("Bo Ek",)


def test_items_under_their_keys() -> None:
    found = papers(csl_json, json.dumps({"a": {"type": "book", "title": "A", "issued": {}}, "b": {"title": "B"}}))
    assert [p.id for p in found] == ["a", "b"]


def test_a_list_under_references() -> None:
    assert [p.id for p in papers(csl_json, json.dumps({"references": [csl_record(1), csl_record(2)]}))] == [
        "lee1",
        "lee2",
    ]


def test_an_item_without_text() -> None:
    assert rejects(csl_json, item(title=None, abstract="")) == [(1, NO_TEXT)]


def test_found_by_content() -> None:
    assert find_format("x", b'[{"id": "a", "type": "paper-conference", "title": "T"}]').name == "csl-json"
    assert find_format("x.json", b'[{"id": "a", "type": "dataset", "title": "T"}]').name == "json"


def test_real_items_under_their_dois(shared_data: Path) -> None:
    data = (shared_data / "wild/csl-json/citationjs-doi.json").read_bytes()
    items = read_all(csl_json, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (count(csl_json, data), len(items), len(found), sum(bool(p.abstract) for p in found)) == (4, 4, 4, 3)
    assert [item.line for item in items][:2] == [3, 141]
    assert [p.id for p in found] == [
        "10.1021/ja01577a030",
        "10.1101/2021.08.15.21262067",
        "10.5281/zenodo.8242099",
        "10.59350/hhtcn-zah03",
    ]
    assert (found[0].title, found[0].authors, found[0].date) == (
        "Correlation of the Base Strengths of Amines¹",
        ("H. K. Hall Jr.",),
        "1957-10",
    )
    assert found[1].venue == "medRxiv"
