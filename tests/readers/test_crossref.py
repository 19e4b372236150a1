"""Crossref works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semsearch.readers import Located, crossref, find_format
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import count, crossref_record, paper, read_all, rejects

WORK: dict[str, Any] = {
    "DOI": "10.1000/ABC",
    "URL": "https://doi.org/10.1000/ABC",
    "title": ["Growth of <i>E. coli</i> &amp; others"],
    "subtitle": ["A trial"],
    "abstract": "<jats:title>Abstract</jats:title><jats:sec>"
    "<jats:title>Aims</jats:title>\n  <jats:p>We count CO<jats:sub>2</jats:sub>.</jats:p>"
    "</jats:sec><jats:sec><jats:title>Results</jats:title><jats:p>p &lt; 0.05</jats:p></jats:sec>",
    "author": [
        {"given": "Jan", "family": "van der Berg", "suffix": "Jr."},
        {"name": "Edge Group"},
        {"family": "Plato"},
        {},
    ],
    "issued": {"date-parts": [[2020, 3]]},
    "published-online": {"date-parts": [[2020, 3, 4]]},
    "container-title": ["Annals of Edges", "Ann. Edges"],
    "subject": ["Graphs"],
    "language": "en",
}


def work(**changes: Any) -> str:
    return json.dumps({"status": "ok", "message-type": "work", "message": {**WORK, **changes}})


def test_a_whole_work() -> None:
    found = paper(crossref, work())
    assert (found.id, found.doi, found.identifiers) == ("10.1000/abc", "10.1000/abc", (("doi", "10.1000/abc"),))
    assert found.title == "Growth of E. coli & others: A trial"
    assert found.abstract == "Aims: We count CO2. Results: p < 0.05"
    assert (found.raw_abstract, found.markup) == (WORK["abstract"], "html")
    assert found.authors == ("Jan van der Berg Jr.", "Edge Group", "Plato")
    assert (found.date, found.venue, found.categories) == ("2020-03", "Annals of Edges", ("Graphs",))


@pytest.mark.parametrize(
    ("changes", "date"),
    [
        ({"issued": {"date-parts": [[None]]}}, "2020-03-04"),
        ({"issued": {"date-parts": [[2020]]}}, "2020"),
        ({"issued": None, "published-online": None}, ""),
        ({"issued": {"date-parts": []}, "published-online": {}}, ""),
    ],
)
def test_dates(changes: dict[str, Any], date: str) -> None:
    assert paper(crossref, work(**changes)).date == date


def test_preprints_name_their_server() -> None:
    assert paper(crossref, work(**{"container-title": [], "institution": [{"name": "bioRxiv"}]})).venue == "bioRxiv"


def test_editors_only_without_authors() -> None:
    assert paper(crossref, work(author=[], editor=[{"given": "Bo", "family": "Ek"}])).authors == ("Bo Ek",)


def test_works_without_text() -> None:
    assert rejects(crossref, work(title=[], subtitle=[], abstract=None)) == [(1, NO_TEXT)]


def test_an_empty_answer_is_found_and_has_nothing() -> None:
    data = '{"status":"ok","message-type":"work-list","message":{"items":[]}}'
    assert find_format("x.json", data.encode()).name == "crossref"
    assert read_all(crossref, data) == []


def test_the_real_answer(shared_data: Path) -> None:
    data = (shared_data / "wild/crossref-json/habanero-crossref-jats.json").read_bytes()
    items = read_all(crossref, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (count(crossref, data), len(items), len(found), sum(bool(p.abstract) for p in found)) == (20, 20, 20, 15)
    assert {item.line for item in items} == {1}
    assert (found[0].id, found[0].title, found[0].authors, found[0].date, found[0].venue) == (
        "10.1111/ele.14024",
        "The forecast trap",
        ("Carl Boettiger",),
        "2022-05-30",
        "Ecology Letters",
    )
    assert found[0].abstract.startswith("Encouraged by decision makers’")
    assert (found[-1].doi, found[-1].authors[0]) == ("10.1111/ele.13828", "Vadim A. Karatayev")
    assert not any("jats" in p.abstract or "&amp;" in p.abstract or "&lt;" in p.abstract for p in found)


def test_one_work_a_line() -> None:
    from semsearch.readers import jsonl

    lines = "\n".join(json.dumps(crossref_record(n)) for n in range(1, 4))
    assert find_format("works.txt", lines.encode()).name == "jsonl"
    assert [item.paper.id for item in read_all(jsonl, lines) if isinstance(item, Located)] == [
        f"10.1000/{n}" for n in (1, 2, 3)
    ]
