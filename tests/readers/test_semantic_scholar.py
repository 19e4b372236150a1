"""Papers of Semantic Scholar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semsearch.readers import Located, find_format, semantic_scholar
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import count, paper, papers, read_all, rejects, s2_record

KEY = "2d5673caa9e6af3a7b82a43f19ee920992db07ad"
RECORD: dict[str, Any] = {
    "paperId": KEY,
    "corpusId": 77,
    "title": "T",
    "abstract": "A & B < C.",
    "venue": {},
    "journal": {"name": "Annals of Edges"},
    "year": 2019,
    "publicationDate": "2019-03-04",
    "fieldsOfStudy": None,
    "s2FieldsOfStudy": [{"category": "Mathematics"}],
    "externalIds": {"DOI": "10.1000/ABC", "ArXiv": "1901.00001", "PubMed": "123", "ACL": "P19-1001", "CorpusId": 77},
    "authors": [{"name": "Ann Lee"}, {"name": None}],
    "url": "https://example.org",
    "references": [{"paperId": "1" * 40, "title": "Other"}],
    "citations": [{"paperId": "2" * 40, "title": "Third"}],
}


def record(**changes: Any) -> str:
    return json.dumps({**RECORD, **changes})


def test_a_whole_record() -> None:
    found = paper(semantic_scholar, record())
    assert (found.id, found.title, found.abstract, found.raw_abstract) == (KEY, "T", "A & B < C.", "")
    assert (found.authors, found.date, found.venue, found.categories) == (
        ("Ann Lee",),
        "2019-03-04",
        "Annals of Edges",
        ("Mathematics",),
    )
    assert found.identifiers == (
        ("doi", "10.1000/abc"),
        ("arxiv", "1901.00001"),
        ("pmid", "123"),
        ("acl", "P19-1001"),
        ("s2", KEY),
        ("id:s2-corpus", "77"),
    )


def test_a_single_paper_is_not_its_references() -> None:
    for data in (record(), json.dumps(RECORD, indent=2)):
        assert len(papers(semantic_scholar, data)) == count(semantic_scholar, data.encode()) == 1


def test_cited_papers() -> None:
    data = json.dumps({"offset": 0, "data": [{"contexts": [], "citedPaper": s2_record(n)} for n in (1, 2)]})
    assert [p.title for p in papers(semantic_scholar, data)] == ["Graph number 1", "Graph number 2"]
    assert count(semantic_scholar, data.encode()) == 2


def test_records_of_the_dumps() -> None:
    found = paper(
        semantic_scholar,
        '[{"corpusid": 5, "externalids": {"DOI": "10.1000/x"}, "title": "T", "publicationdate": "2020-01-02"}]',
    )
    assert (found.id, found.identifiers, found.date) == (
        "5",
        (("id:s2-corpus", "5"), ("doi", "10.1000/x")),
        "2020-01-02",
    )


@pytest.mark.parametrize(
    ("date", "year", "expected"),
    [(None, 2019, "2019"), ("2018-03-04", 2019, "2019"), ("2019-03-04", None, "2019-03-04"), (None, None, "")],
)
def test_dates(date: str | None, year: int | None, expected: str) -> None:
    assert paper(semantic_scholar, record(publicationDate=date, year=year)).date == expected


def test_a_record_without_text() -> None:
    assert rejects(semantic_scholar, f"[{record(title=None, abstract=None)}]") == [(1, NO_TEXT)]


@pytest.mark.parametrize(
    ("name", "number", "abstracts", "first", "title"),
    [
        ("semanticscholar-json/s2-paper-single.json", 1, 1, KEY, "Computing Machinery and Intelligence"),
        (
            "semanticscholar-json/s2-recommended.json",
            100,
            0,
            "3e9bc879e8ba944d3e830e4b8565dfe6f2ec4bd8",
            "Report shows slight improvement on grantmaker diversity, but compensation lagging behind inflation",
        ),
        (
            "other-json/yueyuel-scholar-example.json",
            42,
            42,
            "0391b898d78e92c740c6925c4919fff05ed8c0f8",
            "A behavioral notion of robustness for software systems",
        ),
    ],
)
def test_the_real_answers(shared_data: Path, name: str, number: int, abstracts: int, first: str, title: str) -> None:
    data = (shared_data / "wild" / name).read_bytes()
    assert find_format(name, data[:65536]).name == "semantic-scholar"
    items = read_all(semantic_scholar, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (count(semantic_scholar, data), len(items), len(found)) == (number,) * 3
    assert sum(bool(p.abstract) for p in found) == abstracts
    assert (found[0].id, found[0].title) == (first, title)
    if number == 42:
        assert [item.line for item in items[:2]] == [2, 46]
        assert (found[0].doi, found[0].date, found[0].authors[0]) == (
            "10.1145/3368089.3409753",
            "2020",
            "Changjian Zhang",
        )
