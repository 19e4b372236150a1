"""JSON documents with papers in them that follow no standard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semsearch.errors import UnknownFormat
from semsearch.readers import Located, find_format, json_papers
from tests.readers.document_samples import count, paper, papers, plain_record, read_all, rejects


def test_a_conference_list() -> None:
    data = json.dumps(
        {
            "conference": "EDGE",
            "papers": [
                {
                    "id": 12,
                    "title": "T",
                    "abstract": "A.",
                    "authors": [{"name": "Ann Lee"}],
                    "keywords": ["graphs"],
                    "year": "2024",
                    "doi": "10.1000/ABC",
                    "pdf": "https://example.org/t.pdf",
                }
            ],
        }
    )
    found = paper(json_papers, data, "/where/edge2024.json")
    assert (found.id, found.title, found.abstract, found.authors, found.year) == ("12", "T", "A.", ("Ann Lee",), 2024)
    assert found.identifiers == (("id:json:/where/edge2024.json", "12"), ("doi", "10.1000/abc"))


def test_papers_under_their_ids() -> None:
    found = papers(json_papers, json.dumps({"p1": {"title": "A"}, "p2": {"title": "B", "id": "own"}}))
    assert [p.id for p in found] == ["p1", "own"]


def test_an_envelope_with_a_title_of_its_own() -> None:
    data = json.dumps({"title": "My library", "papers": [plain_record(1), plain_record(2)]})
    assert [p.title for p in papers(json_papers, data)] == ["Graph number 1", "Graph number 2"]
    assert count(json_papers, data.encode()) == 2


def test_a_paper_with_lists_of_its_own() -> None:
    data = json.dumps(
        {"title": "T", "notes": [{"text": "n"}], "items": [], "data": ["x"], "references": [{"title": "Other"}]},
        indent=1,
    )
    assert [p.title for p in papers(json_papers, data)] == ["T"]
    assert count(json_papers, data.encode()) == 1


def test_records_of_other_shapes_are_known() -> None:
    work = {"id": "https://openalex.org/W12345", "title": "T", "abstract_inverted_index": {"A": [0]}}
    note = {"id": "n", "content": {"title": {"value": "T"}}}
    item = {"id": "c", "title": "T", "issued": {"date-parts": [[2020]]}}
    snapshot = {"id": "2001.00001", "title": "T", "authors_parsed": [["Lee", "Ann", ""]], "categories": "cs.DM math.CO"}
    found = papers(json_papers, json.dumps([plain_record(1), work, note, item, snapshot]), "x.json")
    assert [p.identifiers[0] for p in found] == [
        ("id:json:x.json", "1"),
        ("openalex", "W12345"),
        ("id:openreview", "n"),
        ("id:json:x.json", "c"),
        ("arxiv", "2001.00001"),
    ]


def test_a_wrong_type_is_rejected() -> None:
    assert rejects(json_papers, '[{"title": 5},\n {"title": "T"}]') == [(1, "`title` is not text")]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ('[{"title": "T"}]', "json"),
        ('[\n  {"title": "T"}\n]', "json"),
        ('{\n  "title": "T"\n}', "json"),
        ('{"meta": {}, "results": [{"title": "T"}]}', "json"),
        ('{"a": {"title": "T"}, "b": {"title": "U"}}', "json"),
        ('{"title": "T", "abstract": "A"}', "jsonl"),
        ('{"title": "T"}\n{"title": "U"}', "jsonl"),
        ('{"title": "T"}\n', "jsonl"),
        ('{"results": [{"title": "T"}]}\n{"results": [{"title": "U"}]}', "json"),
        ('[{"abstract": "T"}]', "json"),
    ],
)
def test_found_by_content(data: str, name: str) -> None:
    for file in ("x.json", "x.txt", "x.jsonl"):
        assert find_format(file, data.encode()).name == name


@pytest.mark.parametrize(
    "data", ['[{"a": 1}]', "[1, 2]", '{"a": [1]}', '{\n "a": 1\n}', '{"id": 1, "title": "T", oops\n', "[]"]
)
def test_json_without_papers_is_refused(data: str) -> None:
    with pytest.raises(UnknownFormat, match="JSON"):
        find_format("x.json", data.encode())


def test_a_real_list(shared_data: Path) -> None:
    data = (shared_data / "wild/csl-json/doddaersen-zotero.json").read_bytes()
    assert find_format("doddaersen-zotero.json", data[:65536]).name == "json"
    items = read_all(json_papers, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (count(json_papers, data), len(items), len(found), sum(bool(p.abstract) for p in found)) == (45,) * 4
    assert [items[0].line, items[1].line] == [2, 17]
    assert (found[0].title, found[0].url, found[-1].title) == (
        "MOKKA-ODR katalógus",
        "https://mokka.hu/web/guest",
        "Lens.org",
    )
    assert [p.year for p in found if p.title.startswith("Elektronikus Periodika")] == [2006]
