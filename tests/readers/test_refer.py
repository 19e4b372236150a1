"""The `%`-tagged files of refer and EndNote."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from semsearch.paper import Paper, content_id
from semsearch.readers import Located, Rejected, SourceReader, expand_sources, find_format
from semsearch.readers.base import Reading, ReadItem
from semsearch.readers.counting import CountedStream
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.plain_text import TOO_SHORT
from semsearch.readers.refer import FORMAT, TOO_LONG, looks_like, read
from semsearch.readers.text import HAS_NUL

ABSTRACT = "We study graphs, and we find that they are larger than was thought before."


def reading_of(text: str | bytes) -> tuple[list[ReadItem], Reading, int]:
    """Return the items of a file, what was found about it, and the independent count of its records."""
    assert FORMAT.counter is not None
    stream = CountedStream(io.BytesIO(text.encode() if isinstance(text, str) else text), FORMAT.counter())
    reading = read(stream.as_binary(), "x.enw")
    assert isinstance(reading, Reading)
    items = list(reading)
    stream.drain()
    return items, reading, stream.total() or 0


def papers_of(text: str | bytes) -> list[Paper]:
    items, _, count = reading_of(text)
    assert all(isinstance(item, Located) for item in items), items
    assert count == len(items)
    return [item.paper for item in items if isinstance(item, Located)]


def test_a_record_of_endnote() -> None:
    (paper,) = papers_of(
        "%0 Journal Article\n%A Lee, Ann\n%A van der Berg, Jan\n%A The Graph Group,\n"
        "%T On  graphs\n%J J. Graphs\n%V 3\n%D 2020\n"
        "%8 2020/05/01\n%K graphs\nnets\n%R doi:10.1000/X\n%U https://x.org/1\n%G English\n%@ 1234-5678\n"
        "%X Abstract: We study graphs.\n\nThey are large.\n%~ Scopus\n"
    )
    assert paper == Paper(
        id="10.1000/x",
        title="On graphs",
        abstract="We study graphs. They are large.",
        authors=("Ann Lee", "Jan van der Berg", "The Graph Group"),
        year=2020,
        date="2020-05-01",
        venue="J. Graphs",
        categories=("graphs", "nets"),
        url="https://x.org/1",
        doi="10.1000/x",
        language="English",
        identifiers=(("doi", "10.1000/x"),),
    )


def test_records_without_an_identifier_are_known_by_their_content() -> None:
    (paper,) = papers_of("%0 Book\n%T T\n%E Ek, Bo\n%D 1999\n%B Series of Books\n")
    assert paper.id == content_id("T", "", ("Bo Ek",), 1999)
    assert (paper.authors, paper.venue, paper.identifiers) == (("Bo Ek",), "Series of Books", ())


@pytest.mark.parametrize(
    "text",
    [
        "%0 Book\n%T A\n%X x\n%0 Book\n%T B\n",
        "%0 Book\n%T A\n\n\n%0 Book\n%T B\n",
        "%T A\n%A Lee\n\n%A Ek\n%T B\n",
        "%T A\n%D 1999\n%T B\n%D 2000\n",
        "\n\nA list of papers\n%T A\n\n%T B",
        "%0 Book\n%T A\n\n%D 1999\n%0 Book\n%T B\n",
        "%0 Book\n%T A\n\n%T B\n",
        "%T A\n%X One.\n%X Two.\n\n%T B\n",
        "  %T A\n\n  %T B\n",
        "%0 Book\n%T A\n%A\n%0 Book\n%T B\n%X",
    ],
)
def test_where_records_end(text: str) -> None:
    assert [paper.title for paper in papers_of(text)] == ["A", "B"]


def test_a_list_of_abstracts_alone() -> None:
    text = f"%X {ABSTRACT} Once.\n%X {ABSTRACT}\nTwice.\n\n%X {ABSTRACT} Thrice.\n%X xxx\n"
    items, reading, count = reading_of(text)
    assert [(item.line, item.paper.abstract) for item in items if isinstance(item, Located)] == [
        (1, f"{ABSTRACT} Once."),
        (2, f"{ABSTRACT} Twice."),
        (5, f"{ABSTRACT} Thrice."),
    ]
    assert [item for item in items if isinstance(item, Rejected)] == [Rejected(6, TOO_SHORT, "%X xxx")]
    assert isinstance(items[0], Located)
    assert (items[0].paper.title, items[0].paper.title_stands_in) == (ABSTRACT, True)
    assert (count, reading.encoding) == (4, "utf-8")


def test_what_cannot_be_used_is_rejected_with_its_line() -> None:
    items, _, count = reading_of("%0 Book\n%A Lee\n%0 Book\n%T A\0B\n%0 Book\n%T T\n")
    assert [(item.line, item.reason) for item in items if isinstance(item, Rejected)] == [(1, NO_TEXT), (3, HAS_NUL)]
    assert (len(items), count) == (3, 3)


def test_a_record_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.readers.refer._RECORD_LIMIT_CHARACTERS", 1000)
    items, _, _ = reading_of("%0 Book\n%T A\n%X " + "word word\n" * 200 + "%0 Book\n%T B\n")
    assert [item.reason if isinstance(item, Rejected) else item.paper.title for item in items] == [TOO_LONG, "B"]


@pytest.mark.parametrize(
    ("tags", "date"),
    [
        ("%D 2020", "2020"),
        ("%D 2020\n%8 May 3", "2020-05-03"),
        ("%D 2020\n%8 June 2020", "2020-06"),
        ("%8 2019-02", "2019-02"),
        ("%D in press", ""),
        ("%D 2020\n%8 2019-12-30", "2020"),
        ("%D May 2020", "2020"),
        ("%D 2020\n%8 03/04/2020", "2020"),
    ],
)
def test_dates(tags: str, date: str) -> None:
    (paper,) = papers_of(f"%0 Book\n%T T\n{tags}\n")
    assert (paper.date, paper.year) == (date, int(date[:4]) if date else None)


@pytest.mark.parametrize(
    ("tags", "identifiers"),
    [
        ("%R 10.1000/X", {"doi": "10.1000/x"}),
        ("%U https://doi.org/10.1000/x", {"doi": "10.1000/x"}),
        ("%R 12", {}),
        ("%U http://arxiv.org/abs/2001.00001v2", {"arxiv": "2001.00001"}),
        ("%M 123\n%~ PubMed", {"pmid": "123"}),
        ("%M 123", {}),
        ("%U https://pubmed.ncbi.nlm.nih.gov/123/", {"pmid": "123"}),
        ("%M WOS:123\n%W Medline", {}),
        ("%R 10.48550/arXiv.2001.00001", {"doi": "10.48550/arxiv.2001.00001", "arxiv": "2001.00001"}),
    ],
)
def test_identifiers(tags: str, identifiers: dict[str, str]) -> None:
    (paper,) = papers_of(f"%0 Book\n%T T\n{tags}\n")
    assert dict(paper.identifiers) == identifiers


def test_keywords_on_one_line() -> None:
    assert papers_of("%T T\n%K a, b\n")[0].categories == ("a", "b")
    assert papers_of("%T T\n%K a, b; c\n")[0].categories == ("a, b", "c")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(encoding: str, line_end: str) -> None:
    text = "%0 Book\n%T Größe\n\n%0 Book\n%T “B”\n".replace("\n", line_end)
    items, reading, count = reading_of(text.encode(encoding))
    assert [item.paper.title for item in items if isinstance(item, Located)] == ["Größe", "“B”"]
    assert [item.line for item in items] == [1, 4]
    assert (reading.encoding, count) == (encoding.removesuffix("-sig"), 2)


@pytest.mark.parametrize(
    ("name", "head", "sure"),
    [
        ("x.txt", "%0 Journal Article\n%T T\n%X A\n", 95),
        ("x.txt", "%X One.\n%X Two.\n", 95),
        ("x.enw", "%T T\n", 95),
        ("x.txt", "%T T\n", 70),
        ("x.txt", "%0 Book\n%T T\n%A L\n" + "%X " + "A.\nB.\n" * 300, 95),
        ("x.enw", "", 50),
        ("x.txt", "", 0),
        ("x.bib", "% This file was made with JabRef\n@article{k, title={T}}\n", 0),
        ("x.tex", "% A comment\n\\begin{document}\n", 0),
        ("x.txt", "%PDF-1.7\n%X\n", 0),
        ("x.txt", "%!PS\n%%Title: A\n", 0),
        ("x.txt", "5 % of patients\n% x\n", 0),
    ],
)
def test_how_sure_it_is(name: str, head: str, sure: int) -> None:
    assert looks_like(name, head.encode()) == sure


def test_it_is_found() -> None:
    assert find_format("x.txt", b"%0 Journal Article\n%T T\n%X A\n").name == "refer"
    assert find_format("x.txt", "%0 Book\r\n%T T\r\n".encode("utf-16")).name == "refer"
    assert find_format("x", b"a", "enw").name == "refer"


def test_the_real_list_of_abstracts(shared_data: Path) -> None:
    path = shared_data / "wild" / "refer-enw" / "jfellus-abstracts-percentX.txt"
    reader = SourceReader(expand_sources([path])[0])
    items = list(reader)
    papers = [item.paper for item in items if isinstance(item, Located)]
    rejected = [item for item in items if isinstance(item, Rejected)]
    assert (reader.format.name, reader.encoding, reader.counted, len(items)) == ("refer", "utf-8", 499, 499)
    assert (len(papers), len(rejected)) == (492, 7)
    assert {(item.reason, item.value) for item in rejected} == {(TOO_SHORT, "%X xxx")}
    assert all(paper.title_stands_in and paper.abstract for paper in papers)
    assert papers[0].title.startswith("Morphological Component Analysis (MCA) is a new method")
    lines = path.read_text("utf-8").splitlines()
    assert [item.line for item in rejected] == [number for number, line in enumerate(lines, 1) if line == "%X xxx"]


FRAGMENTS = [
    b"%",
    b"%0",
    b"%T ",
    b"%X\n",
    b"\n\n",
    b"\r",
    b"\0",
    b"\xff\xfe",
    b"\xe2\x80",
    b"%%",
    b"{",
    b"<i>",
    b"\x81\x40",
    b"%A ,",
]
FILE = (f"%0 Book\n%A Lee, Ann\n%T Größe\n%D 2020\n%R 10.1000/x\n%X {ABSTRACT}\n\n" * 4).encode()


@pytest.mark.parametrize("seed", range(10))
def test_damaged_files_lose_nothing_without_a_word(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        data = bytearray(FILE)
        for _ in range(chance.randint(1, 8)):
            at, size = chance.randrange(len(data) + 1), chance.randint(0, 60)
            match chance.randrange(5):
                case 0:
                    data[at : at + 1] = bytes([chance.randrange(256)])
                case 1:
                    del data[at : at + size]
                case 2:
                    data[at:at] = data[at : at + size]
                case 3:
                    data[at:at] = chance.choice(FRAGMENTS)
                case _:
                    del data[at:]
        if chance.random() < 0.1:
            data = bytearray(data.decode("cp1252", "replace").encode("utf-16"))
        items, _, count = reading_of(bytes(data))
        assert count <= len(items), data
        assert all(item.line >= 1 for item in items)
