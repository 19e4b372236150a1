"""The counters of XML and JSON documents, which know nothing of the parsers."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from semsearch.readers import json_papers
from tests.readers.document_samples import JSON_SAMPLES, XML_SAMPLES, Sample, count, read_all

RECORDS: list[dict[str, Any]] = [
    {"title": 'a\\"b{[', "abstract": "x"},
    {"id": 1},
    {"title": "t", "refs": [{"title": "u"}, {"title": "v"}]},
    {"x": [1, 2, {"title": "z"}], "title": None},
]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("document", "number"),
    [
        (RECORDS, 4),
        ({"results": RECORDS}, 4),
        ({"meta": {"a": 1}, "message": {"items": RECORDS}}, 4),
        ({"a": RECORDS[0], "b": RECORDS[2]}, 2),
        (RECORDS[2], 1),
        ({"title": "list", "papers": RECORDS}, 4),
        ({"notes": [{"id": "1", "content": {"title": {"value": "q"}}}] * 3}, 3),
        ([[RECORDS[0]], [RECORDS[2]]], 2),
        ([], 0),
        ([{"a": 1}], 0),
    ],
)
def test_json_documents_in_blocks_of_all_sizes(document: object, number: int, indent: int | None) -> None:
    data = json.dumps(document, indent=indent).encode()
    assert {count(json_papers, data, block) for block in [*range(1, 40), 1 << 16]} == {number}


@pytest.mark.parametrize("sample", XML_SAMPLES, ids=lambda sample: sample.name)
def test_a_record_that_lost_its_start_tag_is_counted(sample: Sample) -> None:
    data = sample.document(range(1, 6))
    second = data.index(sample.record(2))
    data = data[:second] + data[second + 7 :]
    read = len(list(sample.module.read(BytesIO(data.encode()), "x")))
    assert read == (5 if sample.name == "pubmed-xml" else 4)  # there the citation inside of it is one by itself
    assert count(sample.module, data.encode()) == 5


@pytest.mark.parametrize("sample", JSON_SAMPLES, ids=lambda sample: sample.name)
def test_a_mark_too_few_costs_the_count_of_one_line(sample: Sample) -> None:
    data = sample.document(range(1, 6), indent=1).replace('Graph number 2"', "Graph number 2")
    assert count(sample.module, data.encode()) == 5
    assert len(read_all(sample.module, data)) >= 5


def test_two_records_run_together_are_counted_as_two() -> None:
    data = json.dumps([RECORDS[0], RECORDS[2]]).replace("}, {", ", ", 1)
    assert len(read_all_items(data)) == 1
    assert count(json_papers, data.encode()) == 2


def read_all_items(data: str) -> list[object]:
    return list(json_papers.read(BytesIO(data.encode()), "x"))
