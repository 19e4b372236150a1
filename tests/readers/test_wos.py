"""Web of Science: tagged text and tab-separated tables."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from semsearch.readers import Located, Rejected, find_format, wos_tab
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.tabular import TOO_FEW_CELLS, TOO_MANY_CELLS
from semsearch.readers.text import HAS_NUL
from semsearch.readers.wos import FORMAT
from tests.readers.tagged_reading import counted_in, damaged, papers_of, read_bytes, read_file

HEAD = "FN Clarivate Analytics Web of Science\nVR 1.0\n"
RECORD = """\
PT J
AU Lee, AM
   van der Berg, J
AF Lee, Ada M.
   van der Berg, Jan
CA The Graph Group
TI Graphs and what they hide: a study of
   three towns
SO JOURNAL OF GRAPHS
LA English
DE graphs; hiding
ID TOWNS; STUDIES
AB We look at graphs.
   And again.
CR Ek B, 2001, TREES, V1, P2
   TI IS NO TAG HERE, 1999
PD AUG 11
PY 2022
DI 10.1000/Abc.1
PM 123456
UT WOS:000444108200009
ER

"""
TAGS = "PT\tAU\tAF\tTI\tSO\tAB\tPD\tPY\tDI\tUT\tPM"
ROW = (
    'J\tLee, AM; Ek, B\tLee, Ada M.; Ek, Bo\t"Quoted" title\tJ GRAPHS\tAn abstract.'
    "\tNOV\t1993\t10.1000/a\tWOS:A1993MH58000002\t9"
)


def record(*lines: str) -> str:
    return "\n".join([HEAD + "PT J", *lines, "ER", "", "EF", ""])


def test_a_whole_record() -> None:
    (item,) = read_bytes(FORMAT, (HEAD + RECORD + "EF\n").encode())
    assert isinstance(item, Located)
    paper = item.paper
    assert item.line == 3
    assert paper.id == "WOS:000444108200009"
    assert paper.title == "Graphs and what they hide: a study of three towns"
    assert paper.abstract == "We look at graphs. And again."
    assert paper.authors == ("Ada M. Lee", "Jan van der Berg", "The Graph Group")
    assert (paper.year, paper.date, paper.venue) == (2022, "2022-08-11", "JOURNAL OF GRAPHS")
    assert paper.categories == ("graphs", "hiding", "TOWNS", "STUDIES")
    assert (paper.doi, paper.language) == ("10.1000/abc.1", "English")
    assert paper.identifiers == (("id:wos", "WOS:000444108200009"), ("doi", "10.1000/abc.1"), ("pmid", "123456"))


@pytest.mark.parametrize(
    ("lines", "field", "value"),
    [
        (["TI T", "AU BREVIK, I"], "authors", ("I BREVIK",)),
        (["TI T", "BE Ed, Al"], "authors", ("Al Ed",)),
        (["TI T", "CA The Group"], "authors", ("The Group",)),
        (["TI T", "PY 2014"], "date", "2014"),
        (["TI T", "PY 2006", "PD 07 2006"], "date", "2006-07"),
        (["TI T", "PY 2014", "PD JUL-AUG"], "date", "2014-07"),
        (["TI T", "PY 2014", "PD SPR"], "date", "2014"),
        (["TI T", "EA DEC 2023"], "date", "2023-12"),
        (["TI T", "UT INSPEC:9027814", "ID 0003-6951/2006", "DE waves"], "categories", ("waves",)),
        (["TI T", "UT INSPEC:9027814"], "identifiers", (("id:wos-inspec", "INSPEC:9027814"),)),
        (["TI T", "DI 10.1000/x"], "id", "10.1000/x"),
        (["TI T", "", "   goes on"], "title", "T goes on"),
    ],
)
def test_tags(lines: list[str], field: str, value: object) -> None:
    (paper,) = papers_of(read_bytes(FORMAT, record(*lines).encode()))
    assert getattr(paper, field) == value


@pytest.mark.parametrize(
    "text",
    [
        HEAD + RECORD + RECORD + "EF\n",
        RECORD + RECORD,
        HEAD + RECORD.replace("ER\n\n", "") + RECORD,
        HEAD + RECORD + RECORD.replace("PT J\n", ""),
        (HEAD + RECORD + RECORD).replace("\n", "\r\n"),
        (HEAD + RECORD + RECORD).replace("\n", "\r"),
        "\ufeff" + HEAD + RECORD + "EF\n\ufeff" + HEAD + RECORD + "EF\n",
    ],
)
def test_two_records_however_they_are_set_off(text: str) -> None:
    items = read_bytes(FORMAT, text.encode())
    assert [paper.id for paper in papers_of(items)] == ["WOS:000444108200009"] * 2
    assert (len(items), counted_in(FORMAT, text.encode())) == (2, 2)
    assert all(paper.abstract == "We look at graphs. And again." for paper in papers_of(items))


def test_what_cannot_be_used_is_rejected_with_its_line() -> None:
    text = HEAD + "PT J\nAU Lee, A\nER\n\nPT J\nTI T\nER\nPT J\nTI \0\nER\nEF\n"
    assert [item if isinstance(item, Rejected) else item.line for item in read_bytes(FORMAT, text.encode())] == [
        Rejected(3, NO_TEXT, "PT J"),
        7,
        Rejected(10, HAS_NUL, "PT J"),
    ]


@pytest.mark.parametrize(
    ("name", "head", "found"),
    [
        ("savedrecs.txt", HEAD + RECORD, "wos"),
        ("x", RECORD, "wos"),
        ("x.ciw", "", "wos"),
        ("x.isi", "", "wos"),
        ("savedrecs.txt", TAGS + "\n" + ROW + "\n", "wos-tab"),
        ("x.csv", "\ufeff" + TAGS + "\t\r\n" + ROW, "wos-tab"),
        ("x.txt", "TI\tAB\nT\tA.\n", "csv"),
    ],
)
def test_detection(name: str, head: str, found: str) -> None:
    assert find_format(name, head.encode()).name == found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_tables(encoding: str) -> None:
    data = (TAGS + "\r\n" + ROW.replace("Bo", "Bø") + "\r\n").encode(encoding)
    assert find_format("savedrecs.txt", data).name == "wos-tab"
    (item,) = read_bytes(wos_tab.FORMAT, data)
    assert isinstance(item, Located)
    paper = item.paper
    assert (item.line, paper.id, paper.title, paper.abstract) == (
        2,
        "WOS:A1993MH58000002",
        '"Quoted" title',
        "An abstract.",
    )
    assert (paper.authors, paper.date, paper.venue) == (("Ada M. Lee", "Bø Ek"), "1993-11", "J GRAPHS")
    assert paper.identifiers == (("id:wos", "WOS:A1993MH58000002"), ("doi", "10.1000/a"), ("pmid", "9"))


def test_rows_of_other_widths() -> None:
    text = "\n".join(
        [
            TAGS,
            ROW,
            ROW + "\t\t",
            ROW + "\tmore",
            "J\tLee",
            "",
            TAGS,
            "J\tLee, A\t\tT\tS\tA.\tNOV",
            "J\tLee, A\t\t\tS\t\tNOV",
        ]
    )
    items = read_bytes(wos_tab.FORMAT, text.encode())
    assert [item.reason if isinstance(item, Rejected) else item.line for item in items] == [
        2,
        3,
        TOO_MANY_CELLS,
        TOO_FEW_CELLS,
        8,
        NO_TEXT,
    ]
    assert counted_in(wos_tab.FORMAT, text.encode()) == 6


@pytest.mark.parametrize(
    ("name", "records", "abstracts", "dois", "first", "last"),
    [
        # Records: `grep -c '^PT '`, equal to that of ER; abstracts: `grep -c '^AB '`, DOIs: `grep -c '^DI '`.
        (
            "bibliometrix-wos_sample.txt",
            8,
            7,
            8,
            (3, "WOS:001702577900001", "Ming Liang Toh", "2026-02-25"),
            (590, "WOS:001492673800001", "Leandro Rodrigues da Silva Souza", "2025-06"),
        ),
        (
            "jabref-IsiInspec.isi",
            2,
            2,
            0,
            (3, "INSPEC:9027814", "R. Degl'Innocenti", "2006-07"),
            (49, "INSPEC:9023788", "R.V. Gamernyk", "2006-06"),
        ),
        (
            "metaknowledge-badFile.isi",
            32,
            10,
            17,
            (3, "WOS:A1979GV55600001", "I BREVIK", "1979"),
            (2031, "WOS:A1974S801100007", "BEAUREGA.OC", "1974"),
        ),
        (
            "metaknowledge-savedrecs.txt",
            32,
            10,
            17,
            (3, "WOS:A1979GV55600001", "I BREVIK", "1979"),
            (2030, "WOS:A1974S801100007", "BEAUREGA.OC", "1974"),
        ),
    ],
)
def test_real_files(
    shared_data: Path, name: str, records: int, abstracts: int, dois: int, first: object, last: object
) -> None:
    reader, items = read_file(shared_data / "wild" / "wos-tagged" / name)
    assert (reader.format.name, reader.encoding, reader.counted) == ("wos", "utf-8", records)
    found = [item for item in items if isinstance(item, Located)]
    assert len(items) == len(found) == records
    assert sum(bool(item.paper.abstract) for item in found) == abstracts
    assert sum(bool(item.paper.doi) for item in found) == dois
    assert [(item.line, item.paper.id, item.paper.authors[0], item.paper.date) for item in (found[0], found[-1])] == [
        first,
        last,
    ]


def test_a_real_table(shared_data: Path) -> None:
    """501 lines; 448 rows with a cell under AB, 464 under DI, 117 under PM, counted with awk."""
    (path,) = (shared_data / "wild" / "wos-tab").glob("*.txt")
    reader, items = read_file(path)
    assert (reader.format.name, reader.encoding, reader.counted) == ("wos-tab", "utf-8", 500)
    papers = papers_of(items)
    assert len(items) == len(papers) == 500
    assert sum(bool(paper.abstract) for paper in papers) == 448
    assert sum(bool(paper.doi) for paper in papers) == 464
    assert sum("pmid" in dict(paper.identifiers) for paper in papers) == 117
    assert (papers[0].id, papers[0].authors, papers[0].date) == (
        "WOS:A1993MH58000002",
        ("BH LETCHER", "DA BENGTSON"),
        "1993-11",
    )
    assert (papers[-1].id, papers[-1].authors[0], papers[-1].doi) == (
        "WOS:000375504500004",
        "Marta Moyano",
        "10.1016/j.cbpa.2016.02.020",
    )


def test_damage() -> None:
    chance = random.Random(7)
    tagged = (HEAD + RECORD * 2 + "EF\n").encode()
    table = "\n".join([TAGS, ROW, ROW, ""]).encode()
    for _ in range(1000):
        read_bytes(FORMAT, damaged(tagged, chance))
        read_bytes(wos_tab.FORMAT, damaged(table, chance))


@pytest.mark.parametrize("filler", [" ", "A", "; ", "PMID ", "1 ", "-", "Lee, A; "])
def test_long_values_take_linear_time(filler: str) -> None:
    text = record(
        *(f"{tag} {filler * 60_000}x" for tag in ("TI", "AU", "AF", "AB", "DE", "PD", "PY", "DI", "PM", "UT"))
    )
    assert len(read_bytes(FORMAT, text.encode())) == 1
