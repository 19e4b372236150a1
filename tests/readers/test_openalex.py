"""OpenAlex works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semsearch.readers import Located, find_format, jsonl, openalex
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.openalex import text_of_index
from tests.readers.document_samples import count, openalex_record, paper, read_all, rejects

WORK: dict[str, Any] = {
    "id": "https://openalex.org/W2741809807",
    "doi": "https://doi.org/10.1000/ABC",
    "title": "R&amp;D of <i>graphs</i>",
    "publication_year": 2019,
    "publication_date": "2019-03-04",
    "ids": {"pmid": "https://pubmed.ncbi.nlm.nih.gov/123"},
    "language": "en",
    "primary_location": {
        "landing_page_url": "https://doi.org/10.1000/ABC",
        "source": {"display_name": "Annals of Edges"},
    },
    "locations": [{"landing_page_url": None}, {"landing_page_url": "https://arxiv.org/abs/1901.00001v2"}],
    "authorships": [{"author": {"display_name": "Ann Lee"}}, {"author": {}, "raw_author_name": "Bo Ek"}, None],
    "keywords": [{"display_name": "graphs"}],
    "concepts": [{"display_name": "Mathematics"}],
    "abstract_inverted_index": {"of": [1, 4], "Number": [0], "edges": [2, 5], "and": [3], "\u003c": [6]},
}


def work(**changes: Any) -> str:
    return json.dumps({**WORK, **changes})


def test_a_whole_work() -> None:
    found = paper(openalex, work())
    assert (found.id, found.title, found.raw_title) == ("W2741809807", "R&D of graphs", "R&amp;D of <i>graphs</i>")
    assert found.abstract == "Number of edges and of edges <"
    assert found.authors == ("Ann Lee", "Bo Ek")
    assert (found.date, found.year, found.venue, found.language) == ("2019-03-04", 2019, "Annals of Edges", "en")
    assert (found.categories, found.url) == (("graphs",), "https://doi.org/10.1000/ABC")
    assert found.identifiers == (
        ("doi", "10.1000/abc"),
        ("arxiv", "1901.00001"),
        ("pmid", "123"),
        ("openalex", "W2741809807"),
    )


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ({"a": [1], "b": [0]}, "b a"),
        ('{"a": [0]}', "a"),
        ({"IndexLength": 1, "InvertedIndex": {"a": [0]}}, "a"),
        (None, ""),
        ({}, ""),
        ("{", ""),
        ([1], ""),
        ({"a": None, "b": ["x", 0]}, "b"),
        ({"a": [10**12], "b": [3]}, "b a"),
        ({"a": [0, 0]}, "a a"),
    ],
)
def test_inverted_indexes(index: object, text: str) -> None:
    assert text_of_index(index) == text


@pytest.mark.parametrize(
    ("date", "year", "expected"),
    [
        ("2019-01-01", 2019, "2019"),
        ("2019-05-01", 2019, "2019-05-01"),
        (None, 2019, "2019"),
        ("2018-05-01", 2019, "2019"),
        ("2019-05-01", None, "2019-05-01"),
        (None, None, ""),
    ],
)
def test_dates(date: str | None, year: int | None, expected: str) -> None:
    assert paper(openalex, work(publication_date=date, publication_year=year)).date == expected


def test_a_work_without_text() -> None:
    data = work(title=None, display_name=None, abstract_inverted_index=None)
    assert rejects(openalex, f"[{data},{work()}]") == [(1, NO_TEXT)]


def test_one_work_a_line() -> None:
    lines = "\n".join(json.dumps(openalex_record(n)) for n in range(1, 4))
    assert find_format("works.txt", lines.encode()).name == "jsonl"
    assert [item.paper for item in read_all(jsonl, lines) if isinstance(item, Located)] == [
        item.paper for item in read_all(openalex, lines) if isinstance(item, Located)
    ]
    assert find_format("works.json", json.dumps(openalex_record(1)).encode()).name == "openalex"


@pytest.mark.parametrize(
    ("name", "records", "papers", "abstracts", "second_line"),
    [("backtopure-works.json", 25, 24, 22, 1), ("fmuro-openalex-subset.json", 30, 30, 18, 595)],
)
def test_the_real_answers(
    shared_data: Path, name: str, records: int, papers: int, abstracts: int, second_line: int
) -> None:
    data = (shared_data / "wild/openalex-json" / name).read_bytes()
    items = read_all(openalex, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (count(openalex, data), len(items), len(found)) == (records, records, papers)
    assert sum(bool(p.abstract) for p in found) == abstracts
    assert items[1].line == second_line
    if records == 25:
        assert rejects(openalex, data) == [(1, NO_TEXT)]
        first = found[0]
        assert (
            first.title
            == "Crystallography & NMR System: A New Software Suite for Macromolecular Structure Determination"
        )
        assert (first.id, first.authors[0], first.date, first.doi) == (
            "W1995017064",
            "A.T. Brünger",
            "1998-09-01",
            "10.1107/s0907444998003254",
        )
        assert dict(first.identifiers)["pmid"] == "9757107"
    else:
        assert [(p.id, p.title, p.date) for p in found[:2]] == [
            ("W3122893125", "Homotopy theory of non-symmetric operads", "2011"),
            ("W2156296681", "Triangulated categories without models", "2007-05-30"),
        ]
