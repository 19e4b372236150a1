"""Looking papers up by every name they have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from semsearch.errors import AmbiguousPaper, IndexDamaged, PaperNotFound
from semsearch.index.paper_table import PaperTable
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.staged_records import SourceEntry
from semsearch.paper import Paper

PAPERS = [
    Paper(
        "2106.01345",
        "Attention is all",
        "One.",
        identifiers=(("arxiv", "2106.01345"), ("doi", "10.48550/arxiv.2106.01345")),
    ),
    Paper(
        "math/0207249",
        "Über Gräben: a study",
        "Two.",
        ("Ada Lovelace", "Grace Hopper"),
        2020,
        "2020-05",
        "ACL",
        ("cs.CL",),
        "https://example.org",
        "10.1000/ABC",
        "en",
        (("arxiv", "math/0207249"), ("doi", "10.1000/abc")),
    ),
    Paper("pm1", "Über Gräben", "", identifiers=(("pmid", "12345"), ("id:pubmed", "12345"))),
    Paper("P19-1001", "Nets of nets", "Four.", identifiers=(("acl", "P19-1001"), ("openalex", "W2741809807"))),
    Paper("pm2", "Nets and nets", "Five.", identifiers=(("id:jsonl", "pm2"), ("s2", "ABC123"))),
    Paper("a%b_c", "Percent", "Six."),
    Paper("x" * 12, "Percent", "Seven."),
]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[PaperTable]:
    staged = StagedPapers(tmp_path / "papers.sqlite", None)
    source = staged.begin_source("/a", "a")
    for line, paper in enumerate(PAPERS, 1):
        staged.put(source, paper, line)
    staged.reject(source, 9, "a reason", "a value")
    staged.end_source(source, SourceEntry("/a", "a", "jsonl@1", "jsonl", "utf-8", "", "0" * 64))
    staged.merge([])
    staged.compact()
    staged.close()
    with PaperTable(tmp_path / "papers.sqlite", len(PAPERS)) as opened:
        yield opened


def test_papers_are_read_as_they_were_written(table):
    wanted = [
        Paper(**{**{f: getattr(p, f) for f in Paper.__dataclass_fields__}, "identifiers": tuple(sorted(p.identifiers))})
        for p in PAPERS
    ]
    assert table.get(range(len(PAPERS))) == wanted == [paper for _, paper in table]
    assert table.get([3, 0, 3]) == [wanted[3], wanted[0], wanted[3]]
    assert [bytes(key) for key in table.text_keys()] == [p.text_key.rstrip(b"\0") for p in PAPERS]
    assert (table.tallies.without_abstract, table.tallies.waiting, table.check()) == (1, 0, [])
    assert [(c.records, c.papers, c.merged, c.rejected) for c in table.source_counts()] == [(8, 7, 0, 1)]
    assert [r.to_json() for r in table.rejects()] == [
        '{"file": "a", "line": 9, "reason": "a reason", "value": "a value"}'
    ]
    with pytest.raises(IndexDamaged, match="lacks row 99"):
        table.get([0, 99])


@pytest.mark.parametrize(
    "name, row",
    [
        ("2106.01345", 0),
        (" 2106.01345 ", 0),
        ("2106.01345v3", 0),
        ("arXiv:2106.01345", 0),
        ("ARXIV:2106.01345v2", 0),
        ("https://arxiv.org/abs/2106.01345v1", 0),
        ("http://arxiv.org/pdf/2106.01345.pdf", 0),
        ("10.48550/arXiv.2106.01345", 0),
        ("https://doi.org/10.48550/ARXIV.2106.01345", 0),
        ("2106", 0),
        ("math/0207249", 1),
        ("MATH/0207249v1", 1),
        ("https://arxiv.org/abs/math/0207249", 1),
        ("10.1000/abc", 1),
        ("doi:10.1000/ABC", 1),
        ("https://doi.org/10.1000/aBc", 1),
        ("http://dx.doi.org/10.1000%2Fabc", 1),
        ("ma", 1),
        ("pm1", 2),
        ("PM1", 2),
        ("12345", 2),
        ("PMID:12345", 2),
        ("pmid: 12345", 2),
        ("https://pubmed.ncbi.nlm.nih.gov/12345/", 2),
        ("P19-1001", 3),
        ("p19-1001", 3),
        ("https://aclanthology.org/P19-1001.pdf", 3),
        ("W2741809807", 3),
        ("https://openalex.org/w2741809807", 3),
        ("pm2", 4),
        ("s2:abc123", 4),
        ("id:pm2", 4),
        ("a%b_c", 5),
        ("a%", 5),
        ("xxxx", 6),
    ],
)
def test_a_paper_is_found_by_every_name(table, name, row):
    assert table.find(name) == row


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "nobody",
        "%",
        "a_b",
        "10.1000/abcd",
        "99999",
        "2106.01346",
        "XXXX",
        "\0",
        "'",
        "x" * 100_000,
        "\U0010ffff",
        "id:",
        "doi:",
    ],
)
def test_what_is_no_name_finds_nothing(table, name):
    with pytest.raises(PaperNotFound):
        table.find(name)


def test_several_are_listed_and_hidden_ones_are_not_found(table):
    with pytest.raises(AmbiguousPaper, match="2 ids begin with 'pm'") as caught:
        table.find("pm")
    assert caught.value.candidates == (("pm1", "Über Gräben"), ("pm2", "Nets and nets"))
    assert table.find("pm", hidden={2}) == 4
    for name in ("pm1", "12345", "pmid:12345"):
        with pytest.raises(PaperNotFound):
            table.find(name, hidden={2})


def test_titles_are_found_without_case_accents_and_punctuation(table):
    assert table.find_title("attention IS all") == 0
    assert table.find_title("all attention") == 0
    assert table.find_title("uber graben") == 2
    assert table.find_title("study, GRÄBEN!") == 1
    assert table.find_title("uber graben", hidden={2}) == 1
    with pytest.raises(AmbiguousPaper, match="2 titles are 'percent'"):
        table.find_title("percent")
    with pytest.raises(AmbiguousPaper, match="2 titles hold all the words of 'nets nets'"):
        table.find_title("nets nets")
    for words in ("", "...", "att", "nobody wrote this"):
        with pytest.raises(PaperNotFound):
            table.find_title(words)


def test_rows_of_ids_takes_exact_ids_and_many(table):
    assert table.rows_of_ids(["pm2", "PM1", "pm1", *[f"none{n}" for n in range(5000)]]) == [2, 4]


@pytest.mark.parametrize("content", [b"", b"no database at all " * 100, b"SQLite format 3\0" + bytes(200)])
def test_what_is_no_table_is_damage(tmp_path, content):
    (tmp_path / "papers.sqlite").write_bytes(content)
    with pytest.raises(IndexDamaged, match=r"papers\.sqlite"):
        PaperTable(tmp_path / "papers.sqlite", 1)


def test_missing_rows_are_told(tmp_path, table):
    with PaperTable(tmp_path / "papers.sqlite", 8) as wrong:
        assert wrong.check() == ["7 papers in rows 0 to 6 where 8 were written"]
