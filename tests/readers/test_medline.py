"""MEDLINE: records, tags and the quirks of those who write it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from semsearch.paper import content_id
from semsearch.readers import Located, Rejected, find_format
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.medline import FORMAT
from semsearch.readers.text import HAS_NUL
from tests.readers.tagged_reading import counted_in, damaged, papers_of, read_bytes, read_file

RECORD = """
PMID- 12345678
OWN - NLM
STAT- MEDLINE
DP  - 2019 May
TI  - Graphs and what they hide: a study of graphs that were found in
      three towns.
LID - S0090-8258(19)30133-7 [pii]
LID - 10.1000/Abc.1 [doi]
AB  - BACKGROUND: Graphs are many.
      METHODS: We looked.
FAU - van der Berg, Jan
AU  - van der Berg J
AD  - Department of Graphs, Oslo, Norway.
FAU - Lee, Ada M Jr
AU  - Lee AM Jr
CN  - The Graph Group
LA  - eng
JT  - Journal of graphs
TA  - J Graphs
OT  - hiding
MH  - Graphs/*methods
MH  - *Towns
SO  - J Graphs. 2019 May;1(1):1-2.
"""


def record(*lines: str) -> str:
    return "\n".join(["", "PMID- 1", "OWN - NLM", *lines, ""])


def test_a_whole_record() -> None:
    (item,) = read_bytes(FORMAT, RECORD.encode())
    assert isinstance(item, Located)
    paper = item.paper
    assert item.line == 2
    assert paper.id == "12345678"
    assert paper.title == "Graphs and what they hide: a study of graphs that were found in three towns."
    assert paper.abstract == "BACKGROUND: Graphs are many. METHODS: We looked."
    assert paper.authors == ("Jan van der Berg", "Ada M Lee Jr", "The Graph Group")
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-05", "Journal of graphs")
    assert paper.categories == ("hiding", "Graphs/methods", "Towns")
    assert (paper.doi, paper.language, paper.markup) == ("10.1000/abc.1", "eng", "")
    assert paper.identifiers == (("doi", "10.1000/abc.1"), ("pmid", "12345678"))


@pytest.mark.parametrize(
    ("lines", "field", "value"),
    [
        (["BTI - The book", "AB  - X."], "title", "The book"),
        (["TI  - A chapter", "BTI - The book"], "venue", "The book"),
        (["TI  - [Not in English].", "TT  - Original"], "title", "[Not in English]."),
        (["TT  - Original"], "title", "Original"),
        (["TI  - One", "TI  - Two"], "title", "One Two"),
        (["TI  - T", "OAB - X."], "abstract", "X."),
        (["TI  - T", "AU  - van der Berg HH", "AU  - Maher LJ 3rd"], "authors", ("HH van der Berg", "LJ Maher 3rd")),
        (["TI  - T", "AU  - Smith, Tom"], "authors", ("Tom Smith",)),
        (["TI  - T", "CN  - The Group"], "authors", ("The Group",)),
        (["TI  - T", "FED - Some Editor"], "authors", ("Some Editor",)),
        (["TI  - T", "DP  - 2013 06 10"], "date", "2013-06-10"),
        (["TI  - T", "DP  - 2010   06"], "date", "2010-06"),
        (["TI  - T", "DP  - 2019 Jan-Feb"], "date", "2019-01"),
        (["TI  - T", "DP  - 2018 Dec 15-2019 Jan"], "date", "2018-12-15"),
        (["TI  - T", "DP  - 2019 Spring"], "date", "2019"),
        (["TI  - T", "DEP - 20190301"], "date", "2019-03-01"),
        (["TI  - T", "TA  - J T"], "venue", "J T"),
        (["TI  - T", "AID - 10.1000/x [doi]"], "doi", "10.1000/x"),
        (["TI  - T", "AID - http://dx.doi.org/10.1000/123456789"], "doi", "10.1000/123456789"),
        (["TI  - T", "SO  - J. 2019. doi: 10.1000/y. Epub 2018."], "doi", "10.1000/y"),
        (["TI  - T", "LID - http://eric.ed.gov/?id=EJ1"], "url", "http://eric.ed.gov/?id=EJ1"),
        (["TI-No blanks"], "title", "No blanks"),
        (
            ["TI  - T", "AB  - IL-6 was", "HER2-positive, as was said.", "      More."],
            "abstract",
            "IL-6 was HER2-positive, as was said. More.",
        ),
    ],
)
def test_tags(lines: list[str], field: str, value: object) -> None:
    (paper,) = papers_of(read_bytes(FORMAT, record(*lines).encode()))
    assert getattr(paper, field) == value


@pytest.mark.parametrize(
    "text",
    [
        RECORD + RECORD.replace("12345678", "2"),
        (RECORD + RECORD.replace("12345678", "2")).replace("\n", "\r\n"),
        (RECORD + RECORD.replace("12345678", "2")).replace("\n", "\r"),
        RECORD + RECORD.replace("12345678", "2").lstrip(),
        "\ufeff" + RECORD.lstrip() + "\nThis line belongs to nothing.\n" + RECORD.replace("12345678", "2"),
    ],
)
def test_two_records_however_they_are_set_off(text: str) -> None:
    items = read_bytes(FORMAT, text.encode())
    assert [paper.id for paper in papers_of(items)] == ["12345678", "2"]
    assert (len(items), counted_in(FORMAT, text.encode())) == (2, 2)
    assert all(paper.language == "eng" for paper in papers_of(items))


def test_without_a_pubmed_id() -> None:
    text = "OWN - ERIC\nTI  - T\nAID - http://dx.doi.org/10.1000/1\n\nOWN - ERIC\nTI  - U\n"
    papers = papers_of(read_bytes(FORMAT, text.encode()))
    assert [paper.id for paper in papers] == ["10.1000/1", content_id("U", "", (), None)]


def test_what_cannot_be_used_is_rejected_with_its_line() -> None:
    text = record("TI  -", "AB  -") + record("TI  - T") + record("TI  - Bro\0ken")
    assert [item if isinstance(item, Rejected) else item.line for item in read_bytes(FORMAT, text.encode())] == [
        Rejected(2, NO_TEXT, "PMID- 1"),
        7,
        Rejected(11, HAS_NUL, "PMID- 1"),
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "cp1252"])
def test_encodings(encoding: str) -> None:
    data = RECORD.replace("Jan", "Søren").encode(encoding)
    assert papers_of(read_bytes(FORMAT, data))[0].authors[0] == "Søren van der Berg"
    assert find_format("x.txt", data).name == "medline"


@pytest.mark.parametrize(
    ("name", "head", "found"),
    [
        ("x.txt", RECORD, True),
        ("x", "PMID- 1\nTI  - T\nAB  - A\n", True),
        ("x", "UI  - 1\nTI  - T\nAU  - Lee A\n", True),
        ("x.nbib", "", True),
        ("x.txt", "TY  - JOUR\nTI  - T\nAB  - A\nER  - \n", False),
        ("x.txt", "We study DNA-binding.\nAB- is a blood group.\nTI- too.\n", False),
    ],
)
def test_detection(name: str, head: str, found: bool) -> None:
    assert (FORMAT.looks_like(name, head.encode()) > 0) is found
    assert (find_format(name, head.encode()).name == "medline") is found


def test_real_files(shared_data: Path) -> None:
    """Counted by eye: the files are short."""
    folder = shared_data / "wild" / "nbib"
    reader, items = read_file(folder / "colrev-nbib_data.nbib")
    (paper,) = papers_of(items)
    assert (reader.format.name, reader.counted, len(items)) == ("medline", 1, 1)
    assert (paper.title, paper.authors, paper.date, paper.doi) == (
        "Paper title",
        ("Tom Smith", "Shawn Hunter"),
        "2000",
        "10.1000/123456789",
    )
    assert paper.abstract == ""  # it says "Abstract ...", and no more

    reader, items = read_file(folder / "dennishazelett-citations.nbib")
    (paper,) = papers_of(items)
    assert (reader.counted, len(items), len(paper.authors)) == (1, 1, 53)
    assert (paper.id, paper.authors[0], paper.authors[-1], paper.date, paper.doi) == (
        "30898391",
        "Kate Lawrenson",
        "Australian Ovarian Cancer Study Group",
        "2019-05",
        "10.1016/j.ygyno.2019.02.023",
    )
    assert paper.abstract.startswith("OBJECTIVE: Genome-wide") and paper.abstract.endswith("European ancestry.")

    reader, items = read_file(folder / "jabref-MedlinePlainMultipleEntries.txt")
    assert (reader.counted, len(items)) == (7, 7)
    assert [(item.line, item.reason) for item in items if isinstance(item, Rejected)] == [
        (line, NO_TEXT) for line in (87, 91, 95, 99)
    ]
    long, untitled, book = papers_of(items)
    assert (long.id, long.authors, long.venue) == (
        "20481061",
        ("Vicky Long", "Hilary Marland"),
        "20 century British history",
    )
    assert (untitled.title, untitled.abstract, untitled.date) == ("", "Old Abstract new abstract", "2013-06-10")
    assert (book.title[:45], book.venue, book.date) == (
        "This is a Testtitle This title should be appe",
        "TestBookTitle",
        "2010-06",
    )


def test_damage() -> None:
    chance = random.Random(7)
    good = (RECORD + RECORD.replace("12345678", "2") + record("BTI - Book")).encode()
    for _ in range(1000):
        read_bytes(FORMAT, damaged(good, chance))


@pytest.mark.parametrize("filler", [" ", "A", "; ", "PMID ", "doi:", "doi: ", "1 ", "-", "Lee A, "])
def test_long_values_take_linear_time(filler: str) -> None:
    text = record(
        *(f"{tag.ljust(4)}- {filler * 60_000}x" for tag in ("TI", "FAU", "AU", "AB", "MH", "SO", "DP", "LID"))
    )
    assert len(read_bytes(FORMAT, text.encode())) == 1
