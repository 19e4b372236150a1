"""JSON Lines: fields, wrong types, nothing lost."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.paper import Paper, content_id
from semsearch.readers import Located, Rejected, SourceReader, expand_sources
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.jsonl import NOT_JSON, NOT_OBJECT, TOO_DEEP, read

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "id",
        "title",
        "abstract",
        "text",
        "authors",
        "year",
        "date",
        "venue",
        "categories",
        "url",
        "doi",
        "arxiv_id",
        "pmid",
        "language",
        "metadata",
        "externalIds",
    ]
)


def items_of(*lines: str | bytes) -> list[Located | Rejected]:
    data = b"\n".join(line.encode() if isinstance(line, str) else line for line in lines)
    return list(read(io.BytesIO(data), "papers.jsonl"))


def paper_of(**fields: Any) -> Paper:
    (item,) = items_of(json.dumps(fields))
    assert isinstance(item, Located), item
    return item.paper


def reject_of(line: str) -> tuple[str, str]:
    (item,) = items_of(line)
    assert isinstance(item, Rejected), item
    return item.reason, item.value


def test_a_whole_record() -> None:
    assert paper_of(
        id="P19-1001",
        title=" A  title ",
        abstract="An\nabstract.",
        authors=["Ann Lee", "Bo Ek"],
        year=2019,
        venue="ACL",
        categories=["cs.CL"],
        url="https://aclanthology.org/P19-1001",
        doi="10.18653/V1/P19-1001",
        language="eng",
    ) == Paper(
        id="P19-1001",
        title="A title",
        abstract="An abstract.",
        authors=("Ann Lee", "Bo Ek"),
        year=2019,
        date="2019",
        venue="ACL",
        categories=("cs.CL",),
        url="https://aclanthology.org/P19-1001",
        doi="10.18653/v1/p19-1001",
        language="eng",
        identifiers=(("id:jsonl", "P19-1001"), ("doi", "10.18653/v1/p19-1001"), ("acl", "P19-1001")),
    )


def test_a_beir_document() -> None:
    paper = paper_of(_id="4983", title="T", text="A.", metadata={"authors": "brenckman, m.", "year": "1958"})
    assert (paper.id, paper.abstract, paper.authors, paper.year) == ("4983", "A.", ("brenckman, m.",), 1958)
    assert paper.identifiers == (("id:jsonl", "4983"),)


def test_a_semantic_scholar_record() -> None:
    key = "2d5673caa9e6af3a7b82a43f19ee920992db07ad"
    paper = paper_of(
        paperId=key,
        title="T",
        externalIds={"DOI": "10.1/x", "ArXiv": "2106.01345", "PubMed": "123", "ACL": "P19-1001", "CorpusId": 5},
        year=1950,
        publicationDate="1950-10-01",
        fieldsOfStudy=["Computer Science"],
        authors=[{"authorId": "1", "name": "A. Turing"}],
    )
    assert paper.id == key
    assert dict(paper.identifiers) == {
        "id:jsonl": key,
        "arxiv": "2106.01345",
        "pmid": "123",
        "acl": "P19-1001",
        "s2": key,
    }
    assert (paper.date, paper.year, paper.authors) == ("1950-10-01", 1950, ("A. Turing",))


def test_an_arxiv_snapshot_record() -> None:
    paper = paper_of(
        id="0704.0001",
        authors="C. Bal\\'azs, E. L. Berger, P. M. Nadolsky, C.-P. Yuan",
        title="T",
        abstract="  A.\n",
        categories="hep-ph hep-th cs.LG",
        doi="10.1103/PhysRevD.76.013009",
    )
    assert paper.authors == ("C. Bal\\'azs", "E. L. Berger", "P. M. Nadolsky", "C.-P. Yuan")
    assert paper.categories == ("hep-ph", "hep-th", "cs.LG")
    assert paper.identifiers == (
        ("id:jsonl", "0704.0001"),
        ("doi", "10.1103/physrevd.76.013009"),
        ("arxiv", "0704.0001"),
    )


@pytest.mark.parametrize("name", ["id", "ID", "_id", "paper_id", "paperId", "Paper ID", "corpusid", "corpus_id"])
def test_names_of_the_id(name: str) -> None:
    assert paper_of(**{name: "x", "title": "T"}).id == "x"


@pytest.mark.parametrize("name", ["abstract", "Abstract", "text", "summary", "paper_abstract", "abstractText"])
def test_names_of_the_abstract(name: str) -> None:
    assert paper_of(**{name: "A."}).abstract == "A."


def test_the_first_name_that_is_filled_in_counts() -> None:
    assert paper_of(abstract=None, text="from text").abstract == "from text"
    assert paper_of(abstract=" ", summary="from summary").abstract == "from summary"
    assert paper_of(abstract="A.", text="B.").abstract == "A."


def test_numbers_as_ids_are_text() -> None:
    assert [paper_of(id=value, title="T").id for value in (1, "1", 1.0, " 1 ", 1.5)] == ["1", "1", "1", "1", "1.5"]


def test_without_an_own_id() -> None:
    named: dict[str, Any] = {"title": "T", "doi": "10.1000/X", "arxiv": "2106.01345", "pmid": 7}
    assert paper_of(**named).id == "10.1000/x"
    del named["doi"]
    assert paper_of(**named).id == "2106.01345"
    del named["arxiv"]
    assert paper_of(**named).id == "7"
    del named["pmid"]
    assert paper_of(**named).id == content_id("T", "", (), None)
    assert paper_of(**named).identifiers == ()


@pytest.mark.parametrize(
    ("value", "identifiers"),
    [
        ("https://openalex.org/W1995017064", {"openalex": "W1995017064"}),
        ("https://doi.org/10.1000/X", {"doi": "10.1000/x"}),
        ("arXiv:2106.01345v2", {"arxiv": "2106.01345"}),
        ("10.48550/arXiv.2106.01345", {"doi": "10.48550/arxiv.2106.01345", "arxiv": "2106.01345"}),
        ("https://aclanthology.org/2020.acl-main.1", {"acl": "2020.acl-main.1"}),
        ("https://pubmed.ncbi.nlm.nih.gov/30898391/", {"pmid": "30898391"}),
        ("https://dl.acm.org/doi/pdf/10.1145/1.pdf", {}),
        ("4983", {}),
    ],
)
def test_identifiers_by_their_shape(value: str, identifiers: dict[str, str]) -> None:
    assert dict(paper_of(id=value, title="T").identifiers) == {"id:jsonl": value} | identifiers
    assert dict(paper_of(url=value, title="T").identifiers) == identifiers


def test_a_field_counts_more_than_a_shape() -> None:
    assert dict(paper_of(url="https://doi.org/10.1000/b", doi="10.1000/a", title="T").identifiers) == {
        "doi": "10.1000/a"
    }


@pytest.mark.parametrize(
    ("authors", "names"),
    [
        (["Ann Lee", " Bo  Ek "], ("Ann Lee", "Bo Ek")),
        (
            [{"name": "Ann Lee"}, {"given": "Bo", "family": "Ek"}, {"first": "Cy", "middle": ["D."], "last": "Fox"}],
            ("Ann Lee", "Bo Ek", "Cy D. Fox"),
        ),
        ([{"author": {"display_name": "Ann Lee"}}], ("Ann Lee",)),
        ("Ann Lee; Bo Ek", ("Ann Lee", "Bo Ek")),
        ("Lee, Ann; Ek, Bo", ("Lee, Ann", "Ek, Bo")),
        ("Lee, Ann and Ek, Bo", ("Lee, Ann", "Ek, Bo")),
        ("Ann Lee, Bo Ek and Cy Fox", ("Ann Lee", "Bo Ek", "Cy Fox")),
        ("Ann Lee, Bo Ek, and Cy Fox", ("Ann Lee", "Bo Ek", "Cy Fox")),
        ("Liu R., Adler D.G.", ("Liu R.", "Adler D.G.")),
        ("Lee, A., Ek, B.-C.", ("Lee, A.", "Ek, B.-C.")),
        ("van der Berg, Jan", ("van der Berg, Jan",)),
        ("King, Martin Luther, Jr.", ("King, Martin Luther, Jr.",)),
        ("Anderson Sandberg", ("Anderson Sandberg",)),
        ("Liat Levita et al.", ("Liat Levita",)),
        ("['Marx, Karl', \"O'Neil, Ann\"]", ("Marx, Karl", "O'Neil, Ann")),
        ("Lee, A. (57197735070); Ek, B. (36135245200)", ("Lee, A.", "Ek, B.")),
        ("", ()),
        (None, ()),
        ([], ()),
        (7, ()),
        ([7, None, {}], ()),
        ({"name": "Ann Lee"}, ("Ann Lee",)),
    ],
)
def test_authors(authors: object, names: tuple[str, ...]) -> None:
    assert paper_of(title="T", authors=authors).authors == names


@pytest.mark.parametrize(
    ("fields", "date", "year"),
    [
        ({"year": 2020}, "2020", 2020),
        ({"year": "2020"}, "2020", 2020),
        ({"year": 2020.0}, "2020", 2020),
        ({"year": "soon"}, "", None),
        ({"year": True}, "", None),
        ({"year": 20}, "", None),
        ({"year": float("nan")}, "", None),
        ({"year": [2020]}, "2020", 2020),
        ({"year": "2014//"}, "2014", 2014),
        ({"date": "2020-05-31"}, "2020-05-31", 2020),
        ({"date": "2020-05-31T10:00:00Z"}, "2020-05-31", 2020),
        ({"date": "2020/5/3"}, "2020-05-03", 2020),
        ({"date": "20200531"}, "2020-05-31", 2020),
        ({"date": "2020-05"}, "2020-05", 2020),
        ({"date": "2020-13-01"}, "2020", 2020),
        ({"date": "2020-02-30"}, "2020-02", 2020),
        ({"date": "12 January 2021"}, "2021-01-12", 2021),
        ({"date": "Jan 12, 2021"}, "2021-01-12", 2021),
        ({"date": "2021 Jan 12"}, "2021-01-12", 2021),
        ({"date": "March 2021"}, "2021-03", 2021),
        ({"date": "Sept. 1st, 2021"}, "2021-09-01", 2021),
        ({"date": "03/04/2021"}, "2021", 2021),
        ({"date": "Summer 2021"}, "2021", 2021),
        ({"date": "1 May"}, "", None),
        ({"published": {"date-parts": [[2020, 5]]}}, "2020-05", 2020),
        ({"year": 2023, "date": "2022-12-05"}, "2022-12-05", 2023),
    ],
)
def test_dates(fields: dict[str, Any], date: str, year: int | None) -> None:
    paper = paper_of(title="T", **fields)
    assert (paper.date, paper.year) == (date, year)


@pytest.mark.parametrize(
    ("value", "categories"),
    [
        (["a b", "c"], ("a b", "c")),
        ("a; b", ("a", "b")),
        ("a, b (c, d), e", ("a", "b (c, d)", "e")),
        ("a|b", ("a", "b")),
        ("cs.LG stat.ML", ("cs.LG", "stat.ML")),
        (["cs.LG stat.ML"], ("cs.LG", "stat.ML")),
        ("machine learning", ("machine learning",)),
        ([{"display_name": "Biology", "score": 0.5}, {"category": "Physics"}], ("Biology", "Physics")),
        ("['Pippi', 'Nordwind']", ("Pippi", "Nordwind")),
        (["a", "a", ""], ("a",)),
        (None, ()),
        (5, ("5",)),
    ],
)
def test_categories(value: object, categories: tuple[str, ...]) -> None:
    assert paper_of(title="T", keywords=value).categories == categories


@pytest.mark.parametrize("words", ["[No abstract available]", "No abstract available.", "N/A", "nan", "Not available."])
def test_words_for_a_missing_abstract_are_none(words: str) -> None:
    assert paper_of(title="T", abstract=words).abstract == ""


@pytest.mark.parametrize(
    ("line", "reason", "value"),
    [
        ('{"title": "T", "abstract": 5}', "`abstract` is not text", "5"),
        ('{"title": [1, 2], "abstract": "A"}', "`title` is not text", "[1, 2]"),
        ('{"title": true}', "`title` is not text", "true"),
        ('{"title": "T", "abstract": {"a": "b"}}', "`abstract` is not text", '{"a": "b"}'),
        ('{"id": true, "title": "T"}', "`id` is neither text nor a number", "true"),
        ('{"id": [1], "title": "T"}', "`id` is neither text nor a number", "[1]"),
        ('{"id": NaN, "title": "T"}', "`id` is neither text nor a number", "NaN"),
        ('{"id": Infinity, "title": "T"}', "`id` is neither text nor a number", "Infinity"),
        ('{"id": "x", "title": " ", "abstract": null}', NO_TEXT, "x"),
        ("{}", NO_TEXT, ""),
        ('{"title": "T"', NOT_JSON, '{"title": "T"'),
        ("word", NOT_JSON, "word"),
        ('{"title": "T"} {"title": "U"}', NOT_JSON, '{"title": "T"} {"title": "U"}'),
        ('[{"title": "T"}]', NOT_OBJECT, '[{"title": "T"}]'),
        ("5", NOT_OBJECT, "5"),
        ("null", NOT_OBJECT, "null"),
        ('"T"', NOT_OBJECT, '"T"'),
        ('{"title": "T", "x": ' + "9" * 5000 + "}", NOT_JSON, ('{"title": "T", "x": ' + "9" * 5000)[:200]),
        ('{"x": ' + "[" * 100_000, TOO_DEEP, ('{"x": ' + "[" * 100_000)[:200]),
    ],
)
def test_rejects(line: str, reason: str, value: str) -> None:
    assert reject_of(line) == (reason, value)


def test_crossref_gives_titles_as_lists() -> None:
    assert paper_of(title=["A title"]).title == "A title"


def test_odd_numbers_do_no_harm() -> None:
    (item,) = items_of('{"title": "T", "year": NaN, "x": Infinity, "pmid": -1e400, "date": 1' + "0" * 400 + "}")
    assert isinstance(item, Located)
    assert (item.paper.year, item.paper.date) == (None, "")


def test_lone_surrogates_are_dropped() -> None:
    (item,) = items_of('{"id": "a\\ud800", "title": "T\\udfff", "authors": ["\\ud83d"]}')
    assert isinstance(item, Located)
    assert (item.paper.id, item.paper.title, item.paper.authors) == ("a", "T", ())


def test_of_a_key_given_twice_the_last_counts_and_case_does_not() -> None:
    (item,) = items_of('{"title": "A", "title": "B", "TITLE": "C"}')
    assert isinstance(item, Located)
    assert item.paper.title == "B"


def test_lines_are_numbered_and_blank_ones_ignored() -> None:
    items = items_of('{"title": "A"}', "", "  \t", "oops", '{"title": "B"}', "")
    assert [(type(item).__name__, item.line) for item in items] == [("Located", 1), ("Rejected", 4), ("Located", 5)]


def test_a_line_in_another_encoding_is_read() -> None:
    items = items_of('{"title": "é"}', '{"title": "é"}'.encode("latin-1"))
    assert [item.paper.title for item in items if isinstance(item, Located)] == ["é", "é"]


@given(st.lists(st.dictionaries(FIELDS, JSON_VALUES), max_size=4))
def test_any_records_give_one_item_each(records: list[dict[str, Any]]) -> None:
    items = items_of(*(json.dumps(record) for record in records))
    assert [item.line for item in items] == list(range(1, len(records) + 1))
    for item in items:
        if isinstance(item, Located):
            assert item.paper.title or item.paper.abstract
            repr(item.paper).encode("utf-8")


@pytest.mark.parametrize(
    ("path", "papers", "rejected"),
    [
        ("acl-anthology/acl-03.jsonl.gz", 4294, 0),
        ("collections/scifact/corpus.jsonl", 5183, 0),
        ("collections/cranfield/corpus.jsonl", 1398, 2),
        ("collections/csfcube/corpus.jsonl", 4205, 0),
        ("ml-papers/iclr2025.jsonl.gz", 2104, 0),
    ],
)
def test_real_files(shared_data: Path, path: str, papers: int, rejected: int) -> None:
    items = list(SourceReader(expand_sources([shared_data / path])[0]))
    assert sum(isinstance(item, Located) for item in items) == papers
    assert sum(isinstance(item, Rejected) for item in items) == rejected


def test_every_paper_of_the_anthology_keeps_what_it_says(shared_data: Path) -> None:
    path = shared_data / "acl-anthology/acl-03.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    items = list(SourceReader(expand_sources([path])[0]))
    for record, item in zip(records, items, strict=True):
        assert isinstance(item, Located)
        paper = item.paper
        assert paper.id == record["id"]
        assert (paper.year, list(paper.authors), paper.venue) == (record["year"], record["authors"], record["venue"])
        assert (paper.raw_title or paper.title).split() == record["title"].split()
        doi = record["doi"] or ""
        assert paper.doi == (
            f"1{doi}" if doi.startswith("0.26615/") else doi.lower()
        )  # six lack their 1; the URL has it
