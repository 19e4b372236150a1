"""PubMed's "Abstract (text)" and "Summary (text)" exports."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from semsearch.readers import Located, find_format
from semsearch.readers.pubmed_text import ABSTRACTS, SUMMARIES
from semsearch.readers.text import HAS_NUL
from tests.readers.tagged_reading import counted_in, damaged, papers_of, read_bytes, read_file

ARTICLE = """\
1. J Graphs. 2025 Aug 7;39(8):1421-1430. doi: 10.1000/Abc.1. Epub 2024 Oct 19.

Graphs and what they hide: a study of graphs that were
found in three towns.

van der Berg HH(1)(2), Lee A(1), Maher LJ 3rd(1); The Graph Group.

Author information:
(1)Department of Graphs, Oslo, Norway.
(2)Department of Towns, Bergen, Norway.

Update of
    bioRxiv. 2025 May 21:2025.05.19. doi: 10.1101/2025.05.19.

BACKGROUND: Graphs are many, and on day
10. Of these we looked at ten.
METHODS: We looked.

Plain words: graphs hide things.

© 2025 The Author(s). Journal of Graphs.

DOI: 10.1000/Abc.1
PMCID: PMC12291009
PMID: 39425517 [Indexed for MEDLINE]

Conflict of interest statement: None.
1. None at all.


"""
CHAPTER = """\
2. A Disorder of Graphs.

Vega H(1), Jabs EW(3).

In: Adam MP, Feldman J, editors. GraphReviews [Internet]. Seattle (WA):
University of Washington; 1993-2025.
2006 Apr 18 [updated 2025 Aug 14].

Author information:
(1)Nursing Department

CLINICAL CHARACTERISTICS: It is rare.

PMID: 20301332


"""
LETTER = """\
3. Nature. 2019 Jan-Feb;1(2):3. doi: 10.1000/letter.

[Can a letter be short?]

[Article in German]

Yin M(1).

PMID: 7


"""
OLD = """\
4. Eur Graphs. 1999;12(3):4-5.

Old and plain.

Ek B.

Department of Graphs, University of Oslo, Norway. author@example.org

We looked, and there it was.

PMID: 8  [PubMed - indexed for MEDLINE]
"""
SUMMARY = """
1: Barras C. Ancient worm fossil rolls back origins of animal life. Nature. 2019
Sep 5;573(7772):15. doi: 10.1038/d41586-019-02556-x. PubMed PMID: 31485070.


2: Did they make these etchings? Nature. 2019 Aug;572(7770):419. PubMed PMID:
31427799; PubMed Central PMCID: PMC6716367.


3: O'Connell RM, van de Schoot R, Ker DFE; Graph Consortium. Vitamin D. A story of 2 days.
Cell. 2019 Jul 11-18;1. PMID: 5.


4: Vitamin D. Nature. 2019. PMID: 6.


5: Graph Study Group. Electronic address: author@example.org; Graph Study Group. Low
frequency. Cell. 2019 Jun 27. PMID: 9.
"""


def test_an_article() -> None:
    (item,) = read_bytes(ABSTRACTS, ARTICLE.encode())
    assert isinstance(item, Located)
    paper = item.paper
    assert (item.line, paper.id) == (1, "39425517")
    assert paper.title == "Graphs and what they hide: a study of graphs that were found in three towns."
    assert paper.abstract == (
        "BACKGROUND: Graphs are many, and on day 10. Of these we looked at ten. METHODS: We looked. "
        "Plain words: graphs hide things."
    )
    assert paper.authors == ("HH van der Berg", "A Lee", "LJ Maher 3rd", "The Graph Group")
    assert (paper.year, paper.date, paper.venue) == (2025, "2025-08-07", "J Graphs")
    assert paper.identifiers == (("doi", "10.1000/abc.1"), ("pmid", "39425517"))


def test_a_chapter_a_letter_an_old_article() -> None:
    items = read_bytes(ABSTRACTS, (ARTICLE + CHAPTER + LETTER + OLD).encode())
    assert [item.line for item in items] == [1, 31, 47, 58]
    _, chapter, letter, old = papers_of(items)
    assert (chapter.id, chapter.title, chapter.venue, chapter.date) == (
        "20301332",
        "A Disorder of Graphs.",
        "GraphReviews",
        "2006-04-18",
    )
    assert (chapter.authors, chapter.abstract, chapter.doi) == (
        ("H Vega", "EW Jabs"),
        "CLINICAL CHARACTERISTICS: It is rare.",
        "",
    )
    assert (letter.title, letter.abstract, letter.authors, letter.language) == (
        "[Can a letter be short?]",
        "",
        ("M Yin",),
        "German",
    )
    assert (letter.date, letter.doi) == ("2019-01", "10.1000/letter")
    assert (old.title, old.abstract, old.date) == ("Old and plain.", "We looked, and there it was.", "1999")


def test_summaries() -> None:
    items = read_bytes(SUMMARIES, SUMMARY.encode())
    assert [
        (item.line, item.paper.id, item.paper.title, item.paper.authors, item.paper.venue, item.paper.date)
        for item in items
        if isinstance(item, Located)
    ] == [
        (
            2,
            "31485070",
            "Ancient worm fossil rolls back origins of animal life.",
            ("C Barras",),
            "Nature",
            "2019-09-05",
        ),
        (6, "31427799", "Did they make these etchings?", (), "Nature", "2019-08"),
        (
            10,
            "5",
            "Vitamin D. A story of 2 days.",
            ("RM O'Connell", "R van de Schoot", "DFE Ker", "Graph Consortium"),
            "Cell",
            "2019-07",
        ),
        (14, "6", "Vitamin D.", (), "Nature", "2019"),
        (17, "9", "Low frequency.", ("Graph Study Group",), "Cell", "2019-06-27"),
    ]
    assert papers_of(items)[0].doi == "10.1038/d41586-019-02556-x"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff\n" + text,
        lambda text: text.replace("\n\n\n", "\n\n"),
    ],
)
def test_records_however_they_are_set_off(change: object) -> None:
    assert callable(change)
    for known, text, count in ((ABSTRACTS, ARTICLE + CHAPTER + LETTER + OLD, 4), (SUMMARIES, SUMMARY, 5)):
        data = change(text).encode()
        assert len(papers_of(read_bytes(known, data))) == count
        assert counted_in(known, data) == count
        assert find_format("x.txt", data).name == known.name


def test_a_citation_that_lost_its_number_is_none_the_less_one() -> None:
    text = (ARTICLE + CHAPTER + LETTER).replace("2. A Dis", "A Dis")
    assert [paper.id for paper in papers_of(read_bytes(ABSTRACTS, text.encode()))] == ["39425517", "20301332", "7"]


def test_what_cannot_be_used_is_rejected_with_its_line() -> None:
    items = read_bytes(ABSTRACTS, (ARTICLE + CHAPTER.replace("rare", "ra\0re") + LETTER).encode())
    assert [(item.line, "" if isinstance(item, Located) else item.reason) for item in items] == [
        (1, ""),
        (31, HAS_NUL),
        (47, ""),
    ]


@pytest.mark.parametrize(
    "head",
    [
        "1. First point.\n2. Second point.\n",
        "1: one\n2: two\n",
        "1. We study graphs. PMID: 1 was found in 2019.\n",
        "We study 10. 2019 Nature.\n\nPMID: 1\n",
    ],
)
def test_other_things_are_not_taken_for_them(head: str) -> None:
    assert ABSTRACTS.looks_like("x.txt", head.encode()) == SUMMARIES.looks_like("x.txt", head.encode()) == 0


def test_real_abstracts(shared_data: Path) -> None:
    """100 numbers in turn behind two blank lines, 100 lines `PMID: `; the 19 without an abstract were read by eye."""
    (path,) = (shared_data / "wild" / "pubmed-abstract-txt").glob("*.txt")
    reader, items = read_file(path)
    papers = papers_of(items)
    assert (reader.format.name, reader.encoding, reader.counted) == ("pubmed-abstract", "utf-8", 100)
    assert len(items) == len(papers) == len({paper.id for paper in papers}) == 100
    assert sum(bool(paper.abstract) for paper in papers) == 81
    assert all(paper.authors and paper.venue and len(paper.date) > 4 for paper in papers)
    assert [paper.id for paper in papers if not paper.doi] == ["20301332"]
    chapter = papers[77]
    assert (chapter.title, chapter.venue, chapter.date) == ("ESCO2 Spectrum Disorder.", "GeneReviews(®)", "2006-04-18")
    assert (papers[0].authors[0], papers[0].doi, papers[0].date, len(papers[0].authors)) == (
        "CC Zouboulis",
        "10.1111/jdv.20369",
        "2025-08",
        16,
    )
    assert (items[-1].line, papers[-1].id, papers[-1].authors[0]) == (5719, "40813519", "HTT Tran")
    assert papers[19].authors[:2] == ("ASGE Technology Committee", "J Yang")
    assert not any("Author information" in paper.abstract or "©" in paper.abstract for paper in papers)


def test_real_summaries(shared_data: Path) -> None:
    """1,394 lines begin with their number, all in turn; the 124 without authors were read by eye: none names any."""
    (path,) = (shared_data / "wild" / "pubmed-summary-txt").glob("*.txt")
    reader, items = read_file(path)
    papers = papers_of(items)
    assert (reader.format.name, reader.encoding, reader.counted) == ("pubmed-summary", "utf-8", 1394)
    assert len(items) == len(papers) == len({paper.id for paper in papers}) == 1394
    assert sum(not paper.authors for paper in papers) == 124
    assert {paper.venue for paper in papers} == {"Nature", "Science", "Cell"}
    assert all(paper.doi and paper.year == 2019 and len(paper.date) > 4 and paper.title for paper in papers)
    assert (papers[0].id, papers[0].authors, papers[0].title) == (
        "31485070",
        ("C Barras",),
        "Ancient worm fossil rolls back origins of animal life.",
    )
    assert (papers[-1].id, papers[-1].authors[0], papers[-1].doi, items[-1].line) == (
        "30655447",
        "L Iess",
        "10.1126/science.aat2965",
        7753,
    )


def test_damage() -> None:
    chance = random.Random(7)
    for _ in range(1000):
        read_bytes(ABSTRACTS, damaged((ARTICLE + CHAPTER + LETTER + OLD).encode(), chance), complete=False)
        read_bytes(SUMMARIES, damaged(SUMMARY.encode(), chance), complete=False)


@pytest.mark.parametrize(
    "filler",
    [
        " ",
        "A",
        "; ",
        "1 ",
        "a@",
        ". ",
        ". 2019",
        "PMID: ",
        "doi: ",
        "Lee A, ",
        "In: ",
        "(1)",
        "A. Electronic address: a",
        "[",
        "\n",
        "Lee A\n",
    ],
)
def test_long_values_take_linear_time(filler: str) -> None:
    long = filler * 60_000
    article = f"1. J {long}. 2019;1.\n\n{long}\n\n{long}\n\n{long}\n\nPMID: 1\n"
    assert read_bytes(ABSTRACTS, article.encode(), complete=False)
    assert read_bytes(SUMMARIES, f"1: A {long}. {long}. J. 2019;1. PMID: 1\n".encode(), complete=False)
