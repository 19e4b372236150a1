"""Ovid's text exports."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from semsearch.paper import Paper
from semsearch.readers import Located, Rejected, find_format
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.ovid import FORMAT
from semsearch.readers.text import HAS_NUL
from tests.readers.tagged_reading import counted_in, damaged, papers_of, read_bytes, read_file

NAMED = """\
<1>
Accession Number
  01445406-201509000-00006.
Author
  Lee, Ada M. MD, PhD 1;  van der Berg, Jan 1, 2;  Ek, Bo 3.
Institution
  (1) Department of Graphs
Title
  Graphs and what they
  hide.[Article]
Source
  Journal of Graphs.   8(6):1048-1064, September 2015.
Local Field
  Something
Abstract
  We look at graphs.

  And again.
Author Keywords
  graphs;  hiding;  three towns.
References
  Ek B. 2001. Trees.

  Title
Language
  English.
DOI Number
  10.1000/Abc.1

"""
LETTERS = """\
<2>
UI
  30898391
DB
  Ovid MEDLINE(R)
AU
  Maher LJ.
  Ek B.
TI
  Trees.
SO
  Lancet. 395(10229):1054-1062, 2020 Mar 28.
AB
  We look at trees.
MH
  *Trees
  Towns

"""
INLINE = "<3>\nAN  - 7\nAU  - Lee, Ada\nTI  - Roots\nYR  - 2001\nAB  - We look\n      at roots.\n"


def one(lines: str) -> Paper:
    (paper,) = papers_of(read_bytes(FORMAT, ("<1>\nTitle\n  T\n" + lines).encode()))
    return paper


def test_fields_named_by_words() -> None:
    (item,) = read_bytes(FORMAT, NAMED.encode())
    assert isinstance(item, Located)
    paper = item.paper
    assert (item.line, paper.id) == (1, "01445406-201509000-00006")
    assert (paper.title, paper.abstract) == ("Graphs and what they hide.", "We look at graphs. And again.")
    assert paper.authors == ("Ada M. Lee", "Jan van der Berg", "Bo Ek")
    assert (paper.year, paper.date, paper.venue) == (2015, "2015-09", "Journal of Graphs")
    assert paper.categories == ("graphs", "hiding", "three towns")
    assert (paper.doi, paper.language) == ("10.1000/abc.1", "English")
    assert paper.identifiers == (("doi", "10.1000/abc.1"),)


def test_fields_named_by_letters() -> None:
    below, behind = papers_of(read_bytes(FORMAT, (LETTERS + INLINE).encode()))
    assert (below.id, below.title, below.abstract) == ("30898391", "Trees.", "We look at trees.")
    assert (below.authors, below.date, below.venue) == (("LJ Maher", "B Ek"), "2020-03-28", "Lancet")
    assert (below.categories, below.identifiers) == (("Trees", "Towns"), (("pmid", "30898391"),))
    assert (behind.id, behind.title, behind.abstract) == ("7", "Roots", "We look at roots.")
    assert (behind.authors, behind.date, behind.identifiers) == (("Ada Lee",), "2001", ())


@pytest.mark.parametrize(
    ("lines", "field", "value"),
    [
        ("Source\n  J Tests. 2019 06 10;1(2):3-4.\n", "date", "2019-06-10"),
        ("Source\n  J Tests. Vol.12(3), 2014, pp. 1901-2010.\n", "date", "2014"),
        ("Source\n  J Tests. 12(3):1901-2010, 1999.\n", "date", "1999"),
        ("Source\n  J Tests. 12(3):1901-10.\n", "date", ""),
        ("Date of Publication\n  2013 Jan 07\nSource\n  X. 1999.\n", "date", "2013-01-07"),
        ("Authors\n  Smith MD;  World Health Organization.\n", "authors", ("MD Smith", "World Health Organization")),
        ("Link to the Ovid Full Text or citation\n  http://ovid.org/1\n", "url", "http://ovid.org/1"),
        (
            "Abstract\nNot indented, and long enough to be no name of a field at all.\n",
            "abstract",
            "Not indented, and long enough to be no name of a field at all.",
        ),
        ("Abstract\nNot indented\nand short.\n", "abstract", "Not indented and short."),
    ],
)
def test_values(lines: str, field: str, value: object) -> None:
    assert getattr(one(lines), field) == value


@pytest.mark.parametrize(
    "text",
    [
        NAMED + LETTERS,
        (NAMED + LETTERS).replace("\n", "\r\n"),
        (NAMED + LETTERS).replace("\n", "\r"),
        "\ufeff" + NAMED.rstrip() + "\n" + LETTERS,
        "Ovid: search results\n\n" + NAMED + LETTERS,
    ],
)
def test_two_records_however_they_are_set_off(text: str) -> None:
    items = read_bytes(FORMAT, text.encode())
    assert [paper.id for paper in papers_of(items)] == ["01445406-201509000-00006", "30898391"]
    assert (len(items), counted_in(FORMAT, text.encode())) == (2, 2)
    assert find_format("x.txt", text.encode()).name == "ovid"


def test_what_cannot_be_used_is_rejected_with_its_line() -> None:
    text = "<1>\nAuthor\n  Lee\n<2>\nTitle\n  T\n<3>\nTitle\n  \0\n"
    assert [item if isinstance(item, Rejected) else item.line for item in read_bytes(FORMAT, text.encode())] == [
        Rejected(1, NO_TEXT, "<1>"),
        4,
        Rejected(7, HAS_NUL, "<3>"),
    ]


@pytest.mark.parametrize("head", ["<1>\nSome words.\n", "Title\n  T\nAbstract\n  A\nSource\n  S\n", "<b>\n<p>x</p>\n"])
def test_other_things_are_not_taken_for_it(head: str) -> None:
    assert FORMAT.looks_like("x.txt", head.encode()) == 0


def test_a_real_file(shared_data: Path) -> None:
    """One record, `<8>`, read by eye."""
    reader, items = read_file(shared_data / "wild" / "ovid-txt" / "jabref-OvidImporterTest4.txt")
    (paper,) = papers_of(items)
    assert (reader.format.name, reader.encoding, reader.counted, len(items)) == ("ovid", "utf-8", 1, 1)
    assert (paper.id, paper.doi, paper.date, paper.venue) == (
        "01445406-201509000-00006",
        "10.1002/eco.1563",
        "2015-09",
        "Ecohydrology",
    )
    assert paper.title.startswith("Cloud water interception") and paper.title.endswith("Harz Mountains, Germany.")
    assert paper.authors == ("Lars Kohler", "Christoph Leuschner", "Markus Hauck", "Dietrich Hertel")
    assert (paper.abstract, len(paper.categories), paper.language) == ("Lorem ipsum abstract", 6, "English")


def test_damage() -> None:
    chance = random.Random(7)
    good = (NAMED + LETTERS + INLINE).encode()
    for _ in range(1000):
        read_bytes(FORMAT, damaged(good, chance))


@pytest.mark.parametrize(
    "filler", [" ", "A", "; ", "1 ", "11", "MD ", "a. ", "] ", "Jan 2001 ", "Lee, A; ", "Lee A 1, "]
)
def test_long_values_take_linear_time(filler: str) -> None:
    text = "<1>\n" + "".join(
        f"{name}\n  {filler * 60_000}x\n"
        for name in ("Title", "Author", "Abstract", "Source", "Keywords", "DOI", "Accession Number")
    )
    assert len(read_bytes(FORMAT, text.encode())) == 1
