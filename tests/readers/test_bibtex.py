"""BibTeX and BibLaTeX: the language, what people and programs make of it, and what is left of broken files."""

from __future__ import annotations

import io
import random
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.paper import Paper
from semsearch.readers import Located, Rejected, SourceReader, expand_sources, find_format
from semsearch.readers.base import Reading, ReadItem
from semsearch.readers.bibtex import FORMAT, IN_COMMENT, NO_FIELDS, looks_like, read
from semsearch.readers.bibtex_blocks import TOO_LONG
from semsearch.readers.counting import CountedStream
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.text import HAS_NUL


def reading_of(text: str | bytes) -> tuple[list[ReadItem], Reading, int]:
    """Return the items of a file, what was found about it, and the independent count of its records."""
    assert FORMAT.counter is not None
    stream = CountedStream(io.BytesIO(text.encode() if isinstance(text, str) else text), FORMAT.counter())
    reading = read(stream.as_binary(), "x.bib")
    assert isinstance(reading, Reading)
    items = list(reading)
    stream.drain()
    return items, reading, stream.total() or 0


def papers_of(text: str | bytes) -> list[Paper]:
    items, _, count = reading_of(text)
    assert all(isinstance(item, Located) for item in items), items
    assert count == len(items)
    return [item.paper for item in items if isinstance(item, Located)]


def paper_of(text: str | bytes) -> Paper:
    (paper,) = papers_of(text)
    return paper


def entry(**fields: str) -> Paper:
    """Return the paper of an entry with the fields given, each in braces."""
    fields.setdefault("title", "T")
    return paper_of("@article{k,\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}\n")


def test_an_entry_with_everything() -> None:
    text = r"""@inproceedings{Lee:2020,
  Author    = "Lee, Ann and Jan van der Berg and {The Graph Group} and others",
  TITLE     = {On {BERT} and K{\"o}nigsberg's $\alpha$-graphs},
  booktitle = {Proc. of Graphs \& Nets},
  year      = 2020, month = may,
  doi       = {https://doi.org/10.1000/A\_b},
  url       = {https://x.org/a\_b},
  keywords  = {graphs, nets (large, deep), graphs},
  langid    = {english},
  abstract  = {We study \emph{graphs}. 5\% are trees.}
}
"""
    assert paper_of(text) == Paper(
        id="Lee:2020",
        title="On BERT and Königsberg's α-graphs",
        abstract="We study graphs. 5% are trees.",
        authors=("Ann Lee", "Jan van der Berg", "The Graph Group"),
        year=2020,
        date="2020-05",
        venue="Proc. of Graphs & Nets",
        categories=("graphs", "nets (large, deep)"),
        url="https://x.org/a_b",
        doi="10.1000/a_b",
        language="english",
        identifiers=(("id:bibtex:x.bib", "Lee:2020"), ("doi", "10.1000/a_b")),
        raw_title=r"On {BERT} and K{\"o}nigsberg's $\alpha$-graphs",
        raw_abstract=r"We study \emph{graphs}. 5\% are trees.",
        markup="latex",
    )


def test_text_that_cleaning_leaves_as_it_is_has_no_raw_form() -> None:
    paper = paper_of("@misc{k, title = {On\n   graphs}, abstract = {We study.}}")
    assert (paper.title, paper.raw_title, paper.raw_abstract, paper.markup) == ("On graphs", "", "", "")


# The language


@pytest.mark.parametrize(
    "text",
    [
        "@article{k, title = {T}, year = 2020}",
        "@article{k,title={T},year={2020},}",
        "@ARTICLE(k, title = {T}, year = {2020})",
        '@article{k\n, title = "T"\n, year = "2020"\n}',
        "@ article { k , title = { T } , year = {2020} }",
        "@article\n{k, title = {T}, year = 2020}",
        "@article{\n  k,\n title={T}, year=2020}",
        "@article{k, title = {T} year = {2020}}",
        "@article{k, title = {T},, year = {2020},,}",
        "@article{k title = {T}, year = {2020}}",
        "@article{k\n title = {T}, year = 2020}",
        "@article{k, title = T, year = 2020 }",
    ],
)
def test_ways_to_write_an_entry(text: str) -> None:
    paper = paper_of(text)
    assert (paper.id, paper.title, paper.year) == ("k", "T", 2020)


def test_strings_and_concatenation() -> None:
    text = """@string{acm = "Assoc. for Computing"}
@String( jg = acm # { J. } # "Graphs" )
@article{a, title = {One: } # "two" # { {and} three}, journal = JG, month = 10 # "~" # jan, year = "20" # 21}
@article{b, title = {T}, journal = nowhere # { B}, month = "12~" # jul, year = 1999}
"""
    first, second = papers_of(text)
    assert (first.title, first.venue, first.date) == (
        "One: two and three",
        "Assoc. for Computing J. Graphs",
        "2021-01-10",
    )
    assert (second.venue, second.date) == ("nowhere B", "1999-07-12")


def test_nested_braces_and_quotes() -> None:
    paper = paper_of('@book{k, title = {A {B {C}} "d"}, publisher = "P {"}Q{"} R", note = {\\{x\\}}, year = "1999" }')
    assert (paper.title, paper.year) == ('A B C "d"', 1999)


def test_escaped_braces_that_do_not_balance_are_text() -> None:
    paper = entry(abstract=r"Intervals \{0, 1) are half open.", year="2020")
    assert (paper.abstract, paper.year) == ("Intervals {0, 1) are half open.", 2020)


def test_a_backslash_before_the_closing_brace() -> None:
    paper = entry(file="C:\\papers\\", year="2020", abstract="A.")
    assert (paper.title, paper.abstract, paper.year) == ("T", "A.", 2020)


def test_quotation_marks_inside_quotation_marks() -> None:
    paper = paper_of(
        '@article{k, title = "A "new", better way", author = "M\\"uller, J. and G{\\"o}del, K.", year = "2020"}'
    )
    assert (paper.title, paper.authors, paper.year) == ('A "new", better way', ("J. Müller", "K. Gödel"), 2020)


def test_comments_preambles_and_text_between_entries() -> None:
    text = """% Encoding: UTF-8
Scopus
@preamble{ "\\newcommand{\\x}[1]{#1}" # " @ " }
@comment{jabref-meta: databaseType:bibtex;}
@comment{jabref-meta: groupstree:
0 AllEntriesGroup:;
}
@Comment a line without braces
someone@example.org wrote this.
%@article{off, title = {Off}}
@article{k, title = {T}}  trailing text
"""
    assert paper_of(text).id == "k"


def test_entries_inside_a_comment_are_reported() -> None:
    text = "@comment{\n@article{a, title = {A}}\n@string{x = {y}}\n@book{b, title = {B}}\n}\n@misc{c, title = {C}}\n"
    items, _, count = reading_of(text)
    assert [(i.line, i.reason) for i in items if isinstance(i, Rejected)] == [(2, IN_COMMENT), (4, IN_COMMENT)]
    assert [i.paper.id for i in items if isinstance(i, Located)] == ["c"]
    assert count == 3


def test_an_open_comment_swallows_nothing() -> None:
    papers = papers_of("@comment{ oops {\n@article{a, title = {A}}\n@comment{ {\n@article{b, title = {B}}\n")
    assert [paper.id for paper in papers] == ["a", "b"]


def test_data_for_others_is_no_record() -> None:
    (paper,) = papers_of("@xdata{x, publisher = {P}, title = {X}}\n@string{a = {b}}\n@misc{k, title = {T}}")
    assert paper.id == "k"


# Keys


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("DBLP:conf/nips/X", "DBLP:conf/nips/X"),
        (" 06Br Ko ", "06Br Ko"),
        ("Müller2020", "Müller2020"),
        ("a'b+c.d_e", "a'b+c.d_e"),
        ("10.1000/x(2)3", "10.1000/x(2)3"),
        ("凯撒2013", "凯撒2013"),
        ('M{\\"u}ller', 'M{\\"u}ller'),
    ],
)
def test_odd_keys(written: str, key: str) -> None:
    paper = paper_of(f"@article{{{written},\n title = {{T}}, year = 2020}}")
    assert (paper.id, paper.year) == (key, 2020)
    assert paper.identifiers == (("id:bibtex:x.bib", key),)


def test_without_a_key_the_id_is_that_of_the_paper() -> None:
    one, two, three, four = papers_of(
        "@article{, title = {A}, doi = {10.1/X}}\n@article{\n title = {B}, eprint = {2001.00001}}\n"
        "@misc{,title={C}}\n@misc{ ,\n pmid = {0123}, title = {D}}"
    )
    assert (one.id, two.id, four.id) == ("10.1/x" if one.doi else one.id, "2001.00001", "123")
    assert len(three.id) == 12 and three.identifiers == ()
    assert papers_of("@misc{,title={C}}")[0].id == three.id


def test_a_key_that_is_given_twice_gives_two_papers() -> None:
    assert [(p.id, p.title) for p in papers_of("@misc{k, title = {A}}\n@misc{k, title = {B}}")] == [
        ("k", "A"),
        ("k", "B"),
    ]


def test_repeated_fields() -> None:
    text = "@misc{k, title = {}, title = {A}, title = {B}, author = {Lee, A.}, author = {Ek, B.}, author = {Lee, A.}}"
    paper = paper_of(text)
    assert (paper.title, paper.authors) == ("A", ("A. Lee", "B. Ek", "A. Lee"))


def test_repeated_keywords() -> None:
    assert paper_of("@misc{k, title = {T}, keywords = {a}, keywords = {b, c}}").categories == ("a", "b", "c")
    assert paper_of("@misc{k, title = {T}, keywords = {a; b}, keywords = {c}}").categories == ("a", "b", "c")


# Broken entries

GOOD = "@article{good%d,\n  title = {Good %d},\n  year = {2020}\n}\n\n"
BROKEN = {
    "no end": "@article{x,\n title = {T},\n year = {2021},\n",
    "open brace": "@article{x,\n title = {T},\n note = {a {b},\n year = {2021}\n}\n",
    "open brace last": "@article{x,\n title = {T},\n year = {2021},\n note = {a {b}\n}\n",
    "open brace on one line": "@article{x, title = {T}, note = {a {b}, year = {2021} }\n",
    "brace too many": "@article{x,\n title = {T}},\n year = {2021}\n}\n",
    "brace too many, no comma": "@article{x,\n title = {T}}\n year = {2021}\n}\n",
    "open quote": '@article{x,\n title = {T},\n note = "a,\n year = {2021}\n}\n',
    "brace in quotes": '@article{x,\n title = {T},\n note = "a } b",\n year = {2021}\n}\n',
    "bare words": "@article{x,\n title = {T},\n note = in press,\n year = 2021\n}\n",
    "no value": "@article{x,\n title = {T},\n note = ,\n year = 2021\n}\n",
    "words behind": "@article{x,\n title = {T},\n note = {a} b,\n year = {2021}\n}\n",
    "a comment inside": "@article{x,\n title = {T},\n % a comment, as in TeX\n year = {2021}\n}\n",
    "wrong end": "@article{x,\n title = {T},\n year = {2021}\n)\n",
    "name without value": "@article{x,\n title = {T},\n note\n year = {2021}\n}\n",
    "hash": "@article{x,\n title = {T},\n note = {a} # ,\n year = {2021}\n}\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_entry_costs_neither_itself_nor_its_neighbours(broken: str) -> None:
    papers = papers_of(GOOD % (1, 1) + broken + GOOD % (2, 2))
    assert [(p.id, p.title, p.year) for p in papers] == [
        ("good1", "Good 1", 2020),
        ("x", "T", 2021),
        ("good2", "Good 2", 2020),
    ]


def test_broken_entries_are_counted_in_the_report() -> None:
    _, reading, _ = reading_of(GOOD % (1, 1) + BROKEN["open brace"] + BROKEN["no end"])
    assert reading.detail == "braces or commas amiss in 2 entries, whose fields were told apart by lines"


def test_a_sentence_in_a_broken_abstract_is_no_field() -> None:
    paper = paper_of("@article{k,\n abstract = {We {show, n = 20, that p = 3,\nand more.},\n title = {T}\n}\n")
    assert (paper.title, paper.abstract.endswith("n = 20, that p = 3, and more.")) == ("T", True)


def test_entries_on_one_line_and_joined_files() -> None:
    text = "@misc{a,title={A}}@misc{b,title={B}} , @misc{c,title={C}}\n\ufeff@misc{d,title={D}}\n"
    assert [(p.id, p.title) for p in papers_of(text)] == [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]


def test_entries_in_the_middle_of_a_line() -> None:
    text = (
        "Mine: @misc{a, title={A}}\n% @misc{off, title={Off}}\n(@book(b, title={B})\n"
        " x @misc{c, title={C}} and @misc{d,\ntitle={D}}\nWrite to lee@example.org(Ann, Bo) = me.\n"
        "@misc{e, title = {E}, abstract = {As in @misc{x, title = {X}}.}}\n"
    )
    items, _, _ = reading_of(text)
    assert [(item.line, item.paper.id) for item in items if isinstance(item, Located)] == [
        (1, "a"),
        (3, "b"),
        (4, "c"),
        (4, "d"),
        (7, "e"),
    ]


def test_what_cannot_be_used_is_rejected_with_its_line() -> None:
    text = "@misc{a, author = {Lee}}\n\n@misc{b}\n@misc{c,\n@misc{d, title = {T}, abstract = {}}\n@misc\n"
    items, _, count = reading_of(text)
    assert [(item.line, item.reason, item.value[:8]) for item in items if isinstance(item, Rejected)] == [
        (1, NO_TEXT, "@misc{a,"),
        (3, NO_FIELDS, "@misc{b}"),
        (4, NO_FIELDS, "@misc{c,"),
    ]
    assert count == len(items) == 4


def test_nul_bytes_cost_their_entry_only() -> None:
    text = (GOOD % (1, 1) + "@misc{x,\n title = {A\0B}\n}\n" + GOOD % (2, 2)).encode()
    items, _, count = reading_of(text)
    assert [item.paper.id if isinstance(item, Located) else (item.line, item.reason) for item in items] == [
        "good1",
        (6, HAS_NUL),
        "good2",
    ]
    assert count == 3


def test_an_entry_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.readers.bibtex_blocks.BLOCK_LIMIT_CHARACTERS", 1000)
    text = "@misc{x,\n title = {" + "word word word\n" * 100 + "@misc{y, title = {Y}}\n" + "text, no entry\n" * 100
    items, _, _ = reading_of(text)
    assert isinstance(items[0], Rejected) and items[0].reason == TOO_LONG
    assert isinstance(items[1], Located) and items[1].paper.id == "y"


@pytest.mark.parametrize(
    "text",
    [
        "@misc{k, " + "title = {x\\}, " * 20_000,
        "@misc{k, title = {" + "{" * 200_000,
        "@misc{k, title = " + '"{' * 100_000,
        "@misc{k" + " " * 300_000,
        "@misc{k, " + "," * 300_000,
        "@misc{k, title = {T}" + " # {}" * 60_000,
        "@" * 300_000,
        "@a{" * 100_000,
        "@comment{\n" * 50_000,
        "} , " * 100_000,
        "@misc{k, title" + "= " * 100_000,
        '@misc{k, title = "' + '" ' * 100_000,
        "@misc{" + "a" * 300_000,
        "@misc{k, a = {b}}\n" + "c = {d}\n" * 50_000,
        "@misc{k, author = {" + "and " * 60_000 + "}}",
        "@misc{k, url = {" + "http://" * 40_000 + "}, title={T}}",
    ],
)
def test_time_is_linear(text: str) -> None:
    start = time.process_time()
    reading_of(text)
    assert time.process_time() - start < 20, "linear time takes a fraction of a second; quadratic time hours"


# Inheritance

CHILD = "@inproceedings{c, title = {T}, author = {Lee, Ann}, crossref = {P}}\n"
PARENT = (
    "@proceedings{p, title = {Proc. of Graphs}, subtitle = {Day 1}, editor = {Ek, Bo}, year = 2020, month = may,\n"
    "  doi = {10.1000/p}, abstract = {All of it.}, url = {https://p.org}, keywords = {k}}\n"
)


@pytest.mark.parametrize("text", [CHILD + PARENT, PARENT + CHILD], ids=["parent behind", "parent before"])
def test_crossref(text: str) -> None:
    papers = {paper.id: paper for paper in papers_of(text)}
    assert papers["c"] == Paper(
        id="c",
        title="T",
        authors=("Ann Lee",),
        year=2020,
        date="2020-05",
        venue="Proc. of Graphs: Day 1",
        identifiers=(("id:bibtex:x.bib", "c"),),
    )
    assert (papers["p"].title, papers["p"].authors, papers["p"].doi) == (
        "Proc. of Graphs: Day 1",
        ("Bo Ek",),
        "10.1000/p",
    )


def test_what_an_entry_says_itself_counts_more() -> None:
    child, _ = papers_of(
        "@inbook{c, title = {T}, date = {2019}, booktitle = {B}, crossref = {p}}\n"
        "@book{p, title = {Book}, author = {Ek, Bo}, year = 2020, month = 5}"
    )
    assert (child.venue, child.date, child.authors) == ("B", "2019", ("Bo Ek",))


def test_xdata_and_chains() -> None:
    text = (
        "@article{a, title = {A}, xdata = {x1, x2}}\n@xdata{x1, journal = {J}, xdata = {x3}}\n"
        "@xdata{x2, journal = {K}, "
        "langid = {german}}\n@xdata{x3, date = {2001-02}}\n@incollection{b, title = {B}, crossref = {c}}\n"
        "@collection{c, title = {C}, crossref = {d}}\n@mvcollection{d, title = {D}, year = 1999}"
    )
    papers = {paper.id: paper for paper in papers_of(text)}
    assert (papers["a"].venue, papers["a"].date, papers["a"].language) == ("J", "2001-02", "german")
    assert (papers["b"].venue, papers["b"].year) == ("C", 1999)


def test_circles_and_missing_parents() -> None:
    text = (
        "@misc{a, title = {A}, crossref = {b}}\n@misc{b, title = {B}, crossref = {a}}\n"
        "@misc{c, title = {C}, crossref = {nowhere}}\n@misc{d, title = {D}, crossref = {d}}\n@misc{e, author = {E}}\n"
    )
    items, reading, _ = reading_of(text)
    assert [item.line for item in items] == [1, 2, 3, 4, 5]
    assert reading.detail == "crossref or xdata to nowhere in 1"


def test_waiting_for_a_parent_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.readers.bibtex_inheritance._REMEMBERED_ENTRIES", 10)
    text = CHILD + "".join(GOOD % (n, n) for n in range(30)) + PARENT
    papers = papers_of(text)
    assert [paper.id for paper in papers] == ["c", *(f"good{n}" for n in range(30)), "p"]
    assert papers[0].venue == ""


# Fields


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Lee, Ann and Ek, Bo", ("Ann Lee", "Bo Ek")),
        ("Ann Lee AND Bo Ek", ("Ann Lee", "Bo Ek")),
        ("van der Berg, Jan", ("Jan van der Berg",)),
        ("King, Jr., Martin L.", ("Martin L. King Jr.",)),
        ("King, Martin L., Jr.", ("Martin L. King Jr.",)),
        ("{Barnes and Noble, Inc.} and Lee, Ann", ("Barnes and Noble, Inc.", "Ann Lee")),
        ("Lee, Ann and others", ("Ann Lee",)),
        ("{{World Health Organization}}", ("World Health Organization",)),
        (r"M{\"u}ller, J{\'o}zef and \'Etienne {\O}ster", ("Józef Müller", "Étienne Øster")),
        ("Lee,\n  Ann\n and\n Ek,  Bo", ("Ann Lee", "Bo Ek")),
        ("{Lee}, A.~B.", ("A. B. Lee",)),
        ("given=Hans, family=Harman, prefix=von and Ek, Bo", ("Hans von Harman", "Bo Ek")),
        ("given=Hans, family=Harman, useprefix=true", ("Hans Harman",)),
        ("Lee A.; Ek B.", ("Lee A.", "Ek B.")),
        ("A. Lee, B. Ek, C. Orr, D. Poe", ("A. Lee", "B. Ek", "C. Orr", "D. Poe")),
        ("Ann Lee and", ("Ann Lee and",)),
        ("", ()),
        ("{Lee, Ann and Ek, Bo}", ("Ann Lee", "Bo Ek")),
        ("Anderson, Sandy", ("Sandy Anderson",)),
        ("{Lee, Ann and Ek, Bo", ("Ann Lee", "Bo Ek")),
    ],
)
def test_names(written: str, names: tuple[str, ...]) -> None:
    assert (
        paper_of(
            f'@misc{{k, title = {{T}}, author = "{written}"}}'
            if written.count("{") == written.count("}")
            else f"@misc{{k,\n author = {{{written}}},\n title = {{T}}\n}}"
        ).authors
        == names
    )


def test_editors_stand_in_for_authors() -> None:
    assert entry(editor="Ek, Bo").authors == ("Bo Ek",)
    assert entry(editor="Ek, Bo", author="Lee, Ann").authors == ("Ann Lee",)


@pytest.mark.parametrize(
    ("fields", "date"),
    [
        ({"year": "2020"}, "2020"),
        ({"year": "{2020}"}, "2020"),
        ({"year": "c1999"}, "1999"),
        ({"year": "in press"}, ""),
        ({"year": "1986--1990"}, "1986"),
        ({"year": "2003-04"}, "2003"),
        ({"year": "2020-05-01"}, "2020-05-01"),
        ({"year": "2020", "month": "5"}, "2020-05"),
        ({"year": "2020", "month": "05", "day": "7"}, "2020-05-07"),
        ({"year": "2020", "month": "#jun#"}, "2020-06"),
        ({"year": "2020", "month": "September"}, "2020-09"),
        ({"year": "2020", "month": "Mar/Apr"}, "2020-03"),
        ({"year": "2020", "month": "March--April"}, "2020-03"),
        ({"year": "2020", "month": "12~jul"}, "2020-07-12"),
        ({"year": "2020", "month": "13"}, "2020"),
        ({"year": "2020", "month": "Feb", "day": "30"}, "2020-02"),
        ({"year": "2020", "month": "spring"}, "2020"),
        ({"date": "2020-05/2021"}, "2020-05"),
        ({"date": "2020~"}, "2020"),
        ({"date": "2020-05-01"}, "2020-05-01"),
        ({"date": "2004-22"}, "2004"),
        ({"date": "/2020"}, "2020"),
        ({"date": "2020/"}, "2020"),
        ({"date": "1995-03?"}, "1995-03"),
        ({"date": "2004-04-25T14:34:00"}, "2004-04-25"),
        ({"date": "-0876"}, ""),
        ({"date": "199X"}, ""),
        ({"date": "2019-01", "year": "2018", "month": "3"}, "2019-01"),
        ({"date": "May 2020"}, "2020-05"),
        ({"date": "05/2020"}, "2020"),
    ],
)
def test_dates(fields: dict[str, str], date: str) -> None:
    paper = entry(**fields)
    assert (paper.date, paper.year) == (date, int(date[:4]) if date else None)


@pytest.mark.parametrize(
    ("fields", "venue"),
    [
        ({"journal": "J. Graphs"}, "J. Graphs"),
        ({"journaltitle": "J. Graphs", "booktitle": "B"}, "J. Graphs"),
        ({"journal": "", "booktitle": "Proc. {ACL}"}, "Proc. ACL"),
        ({"eventtitle": "ICLR"}, "ICLR"),
        ({"series": "LNCS 12"}, "LNCS 12"),
        ({"journal": r"\mnras"}, "Monthly Notices of the Royal Astronomical Society"),
        ({"journal": r"{\apj}"}, "Astrophysical Journal"),
        ({"journal": r"Graphs \& Nets"}, "Graphs & Nets"),
        ({"publisher": "P"}, ""),
    ],
)
def test_venues(fields: dict[str, str], venue: str) -> None:
    assert entry(**fields).venue == venue


@pytest.mark.parametrize(
    ("fields", "identifiers"),
    [
        ({"doi": "10.1000/ABC"}, {"doi": "10.1000/abc"}),
        ({"doi": r"10.1000/a{\_}b\_c"}, {"doi": "10.1000/a_b_c"}),
        ({"doi": "{10.1000/x}"}, {"doi": "10.1000/x"}),
        ({"doi": "http://dx.doi.org/10.1000/x"}, {"doi": "10.1000/x"}),
        ({"doi": r"10.1002/1{\textless}16::AID{\textgreater}3.0"}, {"doi": "10.1002/1<16::aid>3.0"}),
        ({"doi": "10.1002/1$<$16::AID$>$3.0"}, {"doi": "10.1002/1<16::aid>3.0"}),
        ({"doi": "10.1000/a&lt;b"}, {"doi": "10.1000/a<b"}),
        ({"url": "https://doi.org/10.1000/x"}, {"doi": "10.1000/x"}),
        ({"url": "https://s.com/r?doi=10.1000%2fx&k=1"}, {}),
        ({"eprint": "2001.00001v2", "archivePrefix": "arXiv"}, {"arxiv": "2001.00001"}),
        ({"eprint": "hep-ph/9901001", "eprinttype": "arxiv"}, {"arxiv": "hep-ph/9901001"}),
        ({"eprint": "9901001", "archivePrefix": "hep-ph"}, {"arxiv": "hep-ph/9901001"}),
        ({"arxivId": "2001.00001"}, {"arxiv": "2001.00001"}),
        ({"journal": "arXiv preprint arXiv:2001.00001"}, {"arxiv": "2001.00001"}),
        ({"volume": "abs/2001.00001"}, {"arxiv": "2001.00001"}),
        ({"url": "http://arxiv.org/abs/2001.00001"}, {"arxiv": "2001.00001"}),
        ({"doi": "10.48550/arXiv.2001.00001"}, {"doi": "10.48550/arxiv.2001.00001", "arxiv": "2001.00001"}),
        ({"eprint": "https://x.org/1.pdf"}, {}),
        ({"pmid": "0123"}, {"pmid": "123"}),
        ({"pubmed_id": "123"}, {"pmid": "123"}),
        ({"eprint": "123", "eprinttype": "pubmed"}, {"pmid": "123"}),
        ({"pmid": "PMC123 and 4"}, {}),
        ({"url": "https://aclanthology.org/2020.acl-main.1/"}, {"acl": "2020.acl-main.1"}),
    ],
)
def test_identifiers(fields: dict[str, str], identifiers: dict[str, str]) -> None:
    paper = entry(**fields)
    assert dict(paper.identifiers[1:]) == identifiers
    assert paper.doi == identifiers.get("doi", "")


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"url": r"http://x.org/~lee/a\_b\%20c"}, "http://x.org/~lee/a_b%20c"),
        ({"url": r"\url{http://x.org/{\~{}}lee}"}, "http://x.org/~lee"),
        ({"url": r"http://x.org/$\sim$lee"}, "http://x.org/~lee"),
        ({"url": "http://x.org/a/\n   b.html"}, "http://x.org/a/b.html"),
        ({"url": "http://x.org/a http://y.org/b"}, "http://x.org/a"),
        ({"url": "<Go to ISI>://WOS:1"}, ""),
        ({"url": "x.org/a"}, "x.org/a"),
        ({"howpublished": r"Online: \url{http://x.org/a}."}, "http://x.org/a"),
        ({"url": "http://x.org/?a=1{\\&}b=2"}, "http://x.org/?a=1&b=2"),
    ],
)
def test_urls(fields: dict[str, str], url: str) -> None:
    assert entry(**fields).url == url


@pytest.mark.parametrize(
    ("fields", "categories"),
    [
        ({"keywords": "a; b, c;a"}, ("a", "b, c")),
        ({"keywords": "a, b"}, ("a", "b")),
        ({"keywords": r"R\&D; {B}"}, ("R&D", "B")),
        ({"keywords": "{a; b {C}}"}, ("a", "b C")),
        ({"keywords": "{a}, {b}"}, ("a", "b")),
        ({"keywords": "a, b), c,"}, ("a", "b)", "c")),
        ({"keywords": "x", "author_keywords": "y; z"}, ("y", "z")),
        ({"mendeley-tags": "a,b"}, ("a", "b")),
        ({"keywords": "a", "primaryClass": "cs.CL"}, ("a", "cs.CL")),
        ({}, ()),
    ],
)
def test_categories(fields: dict[str, str], categories: tuple[str, ...]) -> None:
    assert entry(**fields).categories == categories


def test_titles() -> None:
    assert entry(title="{{Doubled}}").title == "Doubled"
    assert entry(title="Main", subtitle="Sub").title == "Main: Sub"
    assert entry(title="Why?", subtitle="Sub").title == "Why? Sub"
    assert paper_of("@proceedings{k, booktitle = {Proc. of Graphs}}").title == "Proc. of Graphs"


def test_a_placeholder_is_no_abstract() -> None:
    assert entry(abstract="[No abstract available]").abstract == ""


def test_names_of_fields_with_a_space_or_a_backslash() -> None:
    paper = paper_of("@article{k,\nfunding_text\u00a01={We thank.},\n\\journal = {J},\ntitle={T},\nyear={2020},\n}")
    assert (paper.title, paper.year, paper.venue) == ("T", 2020, "")


# Bytes


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16"), ("cp1252", "cp1252")],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(encoding: str, named: str, line_end: str) -> None:
    text = "@article{Müller,\n title = {Größe “zählt”},\n year = 2020\n}\n\n@misc{b,\n title = {B}\n}\n"
    items, reading, count = reading_of(text.replace("\n", line_end).encode(encoding))
    papers = [item.paper for item in items if isinstance(item, Located)]
    assert [(p.id, p.title) for p in papers] == [("Müller", "Größe “zählt”"), ("b", "B")]
    assert [item.line for item in items] == [1, 6]
    assert (reading.encoding, count) == (named, 2)


def test_chinese_in_gbk() -> None:
    text = "@article{凯撒2013,\n author = {凯撒},\n title = {图神经网络研究},\n journal = {测试期刊}\n}\n"
    items, reading, _ = reading_of(text.encode("gbk"))
    assert isinstance(items[0], Located)
    assert (items[0].paper.id, items[0].paper.title, reading.encoding) == ("凯撒2013", "图神经网络研究", "gb18030")


# Detection


@pytest.mark.parametrize(
    ("name", "head", "sure"),
    [
        ("x.bib", "@article{k,\n title = {T}}", 95),
        ("x.txt", "Scopus\nEXPORT DATE: 1 May\n\n@ARTICLE{K,\n\tauthor = {Lee},\n}\n", 95),
        ("x.txt", "@article{k, title = {T}, year = 2020}\r", 95),
        ("x", "\ufeff% JabRef\n@string{a = {b}}", 95),
        ("x.txt", "@article(k, title = {T})", 95),
        ("x.bib", "% an empty library\n", 50),
        ("x.bib", "", 50),
        ("x.txt", "", 0),
        ("x.txt", "We write to lee@example.org (Ann) = {a}\n", 0),
        ("x.txt", "A list.\n\n" * 300 + "@article{k, title = {T}}", 45),
        ("x.java", "@Override(a)\n int x = 3;\n", 0),
        ("x.csv", 'id,title\n1,"see @article{k, title = {T}}"\n', 0),
    ],
)
def test_how_sure_it_is(name: str, head: str, sure: int) -> None:
    assert looks_like(name, head.encode()) == sure


@pytest.mark.parametrize("name", ["x.bib", "x.txt", "x"])
def test_it_is_found(name: str) -> None:
    assert find_format(name, b"@article{k,\n title = {T}}").name == "bibtex"
    assert find_format(name, "@article{k,\n title = {T}}".encode("utf-16")).name == "bibtex"


# Size


def test_memory_does_not_grow_with_the_file() -> None:
    class Generated:
        def __init__(self, entries: int) -> None:
            self.pieces = (
                f"@article{{k{n},\n title = {{T {'word ' * 20}}},\n crossref = {{p{n}}}\n}}\n".encode()
                for n in range(entries)
            )

        def read(self, size: int) -> bytes:
            return next(self.pieces, b"")

    peaks = []
    for entries in (1_000, 4_000):
        tracemalloc.start()
        limit = pytest.MonkeyPatch()
        limit.setattr("semsearch.readers.bibtex_inheritance._REMEMBERED_ENTRIES", 100)
        assert sum(1 for _ in read(cast(BinaryIO, Generated(entries)), "x")) == entries
        limit.undo()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


# Real exports

REAL = [  # file, encoding, records, papers, with abstract; counted with grep and by eye
    ("airtlab-iris", "utf-8", 151, 151, 114),
    ("biber-examples", "utf-8", 132, 101, 6),
    ("bibtexparser-gbk_test", "gb18030", 1, 1, 0),
    ("davharris-MyLibrary", "utf-8", 309, 309, 85),
    ("davips-references", "utf-8", 216, 216, 0),
    ("hilaryweller-numerics", "utf-8", 1030, 1028, 0),
    ("jabref-citavi2", "utf-8", 58, 58, 9),
    ("jfellus-computer_vision", "utf-8", 458, 458, 11),
    ("pybibx-bibliografia", "utf-8", 95, 95, 74),
    ("pybibx-scopus_170", "utf-8", 170, 170, 168),
    ("trovemaster-FeH-latin1", "cp1252", 88, 88, 54),
    ("trovemaster-Holger-bareCR", "utf-8", 8, 8, 0),
    ("trovemaster-SiO", "utf-8", 325, 325, 191),
    ("wlt13-mendeley-library", "utf-8", 300, 300, 75),
    ("zorzetti-scopus_teste", "utf-8", 61, 61, 61),
]


def real(shared_data: Path, name: str) -> tuple[SourceReader, list[ReadItem]]:
    reader = SourceReader(expand_sources([shared_data / "wild" / "bibtex" / f"{name}.bib"])[0])
    return reader, list(reader)


@pytest.mark.parametrize(("name", "encoding", "records", "papers", "with_abstract"), REAL, ids=[row[0] for row in REAL])
def test_real_exports(
    shared_data: Path, name: str, encoding: str, records: int, papers: int, with_abstract: int
) -> None:
    reader, items = real(shared_data, name)
    read_papers = [item.paper for item in items if isinstance(item, Located)]
    assert (reader.format.name, reader.encoding, reader.counted) == ("bibtex", encoding, records)
    assert (len(items), len(read_papers), sum(bool(paper.abstract) for paper in read_papers)) == (
        records,
        papers,
        with_abstract,
    )
    assert {item.reason for item in items if isinstance(item, Rejected)} <= {NO_TEXT}
    assert [item.line for item in items] == sorted(item.line for item in items)


def test_the_rejects_of_real_exports(shared_data: Path) -> None:
    _, items = real(shared_data, "hilaryweller-numerics")
    rejected = [(item.line, item.value.partition(",")[0]) for item in items if isinstance(item, Rejected)]
    assert rejected == [(4396, "@Misc{wikipedia15"), (9864, "@TechReport{IPCC5_WG1")]
    _, items = real(shared_data, "biber-examples")
    rejects = Counter(item.value.partition("{")[0].lower() for item in items if isinstance(item, Rejected))
    assert rejects == {"@set": 3, "@unpublished": 1, "@misc": 15, "@conversation": 1, "@book": 8, "@report": 3}


@pytest.mark.parametrize(
    ("name", "line", "title", "authors", "first", "date", "doi"),
    [
        ("airtlab-iris", 1170, "A Fuzzy Semantics for Semantic Web Languages", 2, "M. MAZZIERI", "2005", ""),
        (
            "biber-examples",
            10,
            "The True Frontier: Confronting and Avoiding the Realities of Space in American Science Fiction Films",
            1,
            "Gary Westfahl",
            "2000",
            "",
        ),
        ("bibtexparser-gbk_test", 1, "Test Title", 1, "凯撒", "2013", ""),
        (
            "davharris-MyLibrary",
            570,
            "Lagging Partial Preferences for Cryptic Prey: A Signal Detection Analysis of Great Tit Foraging",
            2,
            "Thomas Getty",
            "1985-01",
            "",
        ),
        (
            "davips-references",
            1,
            "Investigation of Different Approaches for Active Learning",
            2,
            "Davi Pereira Santos",
            "2016",
            "",
        ),
        (
            "hilaryweller-numerics",
            449,
            "Recent developments in numerical methods for atmosphere and ocean modelling",
            0,
            "",
            "2004-09",
            "",
        ),
        ("jabref-citavi2", 9, "Contentious Politics in the Middle East", 1, "Holger Albrecht", "2010", ""),
        ("jfellus-computer_vision", 3975, "Action Recognition by Dense Trajectories", 4, "Heng Wang", "2011", ""),
        (
            "pybibx-bibliografia",
            436,
            "Open-source real-time monitoring system of temperature and force during friction stir spot welding",
            7,
            "Adham E. Ragab",
            "2023-08-25",
            "10.1016/j.jer.2023.08.020",
        ),
        (
            "pybibx-scopus_170",
            2327,
            "Artificial neural network prediction and grey relational grade optimisation of friction stir processing",
            3,
            "Wable A D",
            "2023",
            "10.1080/23311916.2022.2107760",
        ),
        (
            "trovemaster-FeH-latin1",
            1,
            "Taming the low-lying electronic states of FeH",
            2,
            "Nathan J. DeYonker",
            "2012",
            "10.1063/1.4767771",
        ),
        (
            "trovemaster-Holger-bareCR",
            58,
            "The fitting and prediction of vibration-rotation spectra with spin interactions",
            1,
            "H. M. Pickett",
            "1991",
            "10.1016/0022-2852(91)90393-o",
        ),
        (
            "trovemaster-SiO",
            1,
            "The low-lying electronic states of SiO",
            1,
            "Charles W. Bauschlicher Jr.",
            "2016",
            "10.1016/j.cplett.2016.06.023",
        ),
        (
            "wlt13-mendeley-library",
            3669,
            "On the practical application of the cohesive model",
            3,
            "Alfred Cornec",
            "2003",
            "10.1016/s0013-7944(03)00134-6",
        ),
        (
            "zorzetti-scopus_teste",
            59,
            "Predation risk shapes thermal physiology of a predaceous damselfly",
            3,
            "L.E. Culler",
            "2014",
            "10.1007/s00442-014-3058-8",
        ),
    ],
)
def test_papers_of_real_exports(
    shared_data: Path, name: str, line: int, title: str, authors: int, first: str, date: str, doi: str
) -> None:
    paper = next(item.paper for item in real(shared_data, name)[1] if isinstance(item, Located) and item.line == line)
    assert (paper.title, len(paper.authors), (*paper.authors, "")[0], paper.date, paper.doi) == (
        title,
        authors,
        first,
        date,
        doi,
    )


# Damage

FRAGMENTS = [
    b"{",
    b"}",
    b'"',
    b"@",
    b"@misc{",
    b"@comment{",
    b",",
    b"=",
    b"#",
    b"\\",
    b"\0",
    b"\xff",
    b"\xe2\x80",
    b"\r",
    b"\n",
    b"(",
    b")",
    b"\x81\x40",
    b"%",
    b"$",
    b"crossref = {a},",
    b"title = ",
    b"\xef\xbb\xbf",
    b"\n\n@string{a = {b}}\n",
    b"~",
]
FILE = (
    "@string{j = {J. Graphs}}\n@article{a,\n title = {Größe {of} G},\n"
    ' author = "Lee, A. and M{\\"u}ller, B.",\n year = 2020,\n'
    " journal = j # { B},\n abstract = {We study $\\alpha$.\nIt is {\\it large}.}\n}\n\n"
    "@inproceedings(b, title = {T},\n"
    " crossref = {p}, doi = {10.1000/x\\_1})\n@comment{x {y} }\n@proceedings{p, title = {P}, date = {2020-05/2021}}\n"
).encode()


def damaged(chance: random.Random) -> bytes:
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
                del data[at + size :]
    if chance.random() < 0.1:
        data = bytearray(
            data.decode("cp1252", "replace").encode(chance.choice(["utf-16", "utf-16-be", "gb18030"]), "replace")
        )
    return bytes(data)


@pytest.mark.parametrize("seed", range(10))
def test_damaged_files_lose_nothing_without_a_word(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        data = damaged(chance)
        items, _, count = reading_of(data)
        assert count <= len(items), data
        assert [item.line for item in items] == sorted(item.line for item in items)


VALUES = st.text(
    st.characters(exclude_characters="{}\\\"@$~&%#_^`'-<>=", exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=30
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=5), st.booleans())
def test_what_is_written_comes_back(rows: list[tuple[str, str]], in_quotes: bool) -> None:
    opener, closer = '""' if in_quotes else "{}"
    text = "".join(
        f"@misc{{k{n},\n title = {opener}t {title}{closer},\n journal = {opener}{venue}{closer}\n}}\n"
        for n, (title, venue) in enumerate(rows)
    )

    def plain(value: str) -> str:
        return entry(title="t", journal=value).venue

    assert [(p.id, p.venue) for p in papers_of(text)] == [(f"k{n}", plain(venue)) for n, (_, venue) in enumerate(rows)]
