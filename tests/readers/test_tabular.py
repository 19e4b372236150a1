"""Tables: delimiters, quotation marks, exports' headers."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import UnknownFormat
from semsearch.paper import Paper
from semsearch.readers import Located, Rejected, SourceReader, expand_sources
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.tabular import TOO_FEW_CELLS, TOO_MANY_CELLS, UNCLOSED_QUOTE, check, looks_like, read

CELLS = st.text(st.sampled_from('ab ,;"\n\té1'), max_size=12)


def items_of(text: str | bytes) -> list[Located | Rejected]:
    data = text.encode() if isinstance(text, str) else text
    return list(read(io.BytesIO(data), "papers.csv"))


def papers_of(text: str | bytes) -> list[Paper]:
    items = items_of(text)
    assert all(isinstance(item, Located) for item in items), items
    return [item.paper for item in items if isinstance(item, Located)]


def titles_and_rejects(text: str) -> tuple[list[str], list[tuple[int, str]]]:
    items = items_of(text)
    return (
        [item.paper.title for item in items if isinstance(item, Located)],
        [(item.line, item.reason) for item in items if isinstance(item, Rejected)],
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_delimiters_and_encodings(delimiter: str, encoding: str) -> None:
    text = "\r\n".join(
        delimiter.join(row)
        for row in [
            ("ID", "Title", "Abstract", "Year"),
            ("1", "Größe", "We measure.", "2020"),
            ("2", "Other", "We don’t.", "2021"),
        ]
    )
    stream = read(io.BytesIO(text.encode(encoding)), "papers.csv")
    papers = [item.paper for item in stream if isinstance(item, Located)]
    assert [(p.id, p.title, p.abstract, p.year) for p in papers] == [
        ("1", "Größe", "We measure.", 2020),
        ("2", "Other", "We don’t.", 2021),
    ]
    assert papers[0].identifiers == (("id:csv:papers.csv", "1"),)
    assert getattr(stream, "encoding", "") == encoding.removesuffix("-sig")
    assert getattr(stream, "detail", "") == ("delimiter tab" if delimiter == "\t" else f"delimiter '{delimiter}'")


def test_quoted_cells() -> None:
    (paper,) = papers_of('title,abstract\n"A, ""quoted"" title","Two\nlines, and more"\n')
    assert (paper.title, paper.abstract) == ('A, "quoted" title', "Two lines, and more")


def test_lines_are_those_where_rows_begin() -> None:
    items = items_of('title,abstract\n"A","one\n\ntwo"\n\nB,x\n')
    assert [item.line for item in items] == [2, 6]


def test_spaces_around_quoted_cells_do_no_harm() -> None:
    (paper,) = papers_of('title, abstract, year\n"A, b" , "C, d" ,2020\n')
    assert (paper.title, paper.abstract, paper.year) == ("A, b", "C, d", 2020)


def test_marks_that_were_not_doubled_are_kept() -> None:
    (paper,) = papers_of('title,abstract,year\n"A "new, better" way",He said "no" twice,2020\n')
    assert (paper.title, paper.abstract, paper.year) == ('A "new, better" way', 'He said "no" twice', 2020)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6), st.sampled_from(",;\t|"))
def test_what_the_standard_library_writes_comes_back(rows: list[tuple[str, str, str]], delimiter: str) -> None:
    rows = [(f"t{n}", abstract, venue) for n, (_, abstract, venue) in enumerate(rows)]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["title", "abstract", "venue"])
    writer.writerows(rows)
    papers = papers_of(text.getvalue())
    assert [(p.title, p.abstract, p.venue) for p in papers] == [
        (title, " ".join(abstract.split()), " ".join(venue.split())) for title, abstract, venue in rows
    ]


HEADER = "id,title,abstract,year\n"
GOOD = '{0},"Title {0}","Abstract {0}, with a comma.",2020\n'


def test_an_open_mark_before_quoted_rows_costs_one_row() -> None:
    text = HEADER + GOOD.format(1) + '2,"Title 2,Abstract 2,2020\n' + GOOD.format(3) + GOOD.format(4)
    assert titles_and_rejects(text) == (["Title 1", "Title 3", "Title 4"], [(3, UNCLOSED_QUOTE)])


def test_an_open_mark_before_bare_rows_costs_one_row() -> None:
    text = HEADER + '1,"Title 1,Abstract 1,2020\n' + "".join(f"{n},Title {n},Abstract,2020\n" for n in range(2, 50))
    titles, rejects = titles_and_rejects(text)
    assert titles == [f"Title {n}" for n in range(2, 50)]
    assert rejects == [(2, UNCLOSED_QUOTE)]


def test_an_open_mark_in_the_last_row() -> None:
    assert titles_and_rejects(HEADER + GOOD.format(1) + '2,"Title 2,Abstract') == (["Title 1"], [(3, UNCLOSED_QUOTE)])


def test_an_open_mark_in_a_table_of_two_columns() -> None:
    text = 'title,abstract\n"A,x\n' + "".join(f"T{n},y\n" for n in range(3000))
    titles, rejects = titles_and_rejects(text)
    assert titles == [f"T{n}" for n in range(3000)]
    assert rejects == [(2, UNCLOSED_QUOTE)]


def test_many_open_marks_end() -> None:
    text = HEADER + "".join(f'{n},"Title {n},Abstract,2020\n' for n in range(2000))
    titles, rejects = titles_and_rejects(text)
    assert titles == []
    assert rejects == [(n + 2, UNCLOSED_QUOTE) for n in range(2000)]


def test_a_long_cell_of_many_lines_is_kept_whole() -> None:
    abstract = "\n".join(f"Line {n}, with a comma" for n in range(500))
    (first, second) = papers_of(HEADER + f'1,"T","{abstract}",2020\n' + GOOD.format(2))
    assert first.abstract == abstract.replace("\n", " ")
    assert second.title == "Title 2"


def test_marks_in_a_tab_separated_file_may_be_text() -> None:
    (first, second) = papers_of('title\tabstract\tyear\n"Open\tHe said "no\t2020\nB\t"C" d\t2021\n')
    assert (first.title, first.abstract, first.year) == ('"Open', 'He said "no', 2020)
    assert (second.title, second.abstract) == ("B", '"C" d')


def test_rows_of_the_wrong_width() -> None:
    text = "title,abstract,venue,year\nA,x,V,2020\nB,x,V\nC,x\nD\nE,x,V,2020,more\nF,x,V,2020,,\n,,V\n"
    assert titles_and_rejects(text) == (
        ["A", "B", "C", "F"],
        [(5, TOO_FEW_CELLS), (6, TOO_MANY_CELLS), (8, TOO_FEW_CELLS)],
    )


def test_empty_rows_and_repeated_headers_are_no_records() -> None:
    text = "title,abstract\nA,x\n,\n\n  \ntitle,abstract\nB,y\n"
    assert titles_and_rejects(text) == (["A", "B"], [])


def test_a_row_without_text_is_rejected_with_what_it_has() -> None:
    (item,) = items_of("title;abstract;doi\n ; ;10.6\n")
    assert item == Rejected(2, NO_TEXT, " ; ;10.6")


def test_cells_that_say_missing_are_empty() -> None:
    (paper,) = papers_of("id,title,abstract,year,venue\nNA,T,NaN,NULL,None\n")
    assert (paper.abstract, paper.year, paper.venue, paper.identifiers) == ("", None, "", ())


def test_a_line_that_is_no_text_costs_its_row() -> None:
    items = items_of(b'title,abstract\nA,x\nB,y\0z\nC,"z\nz\0"\nD,w\n')
    assert [(type(item).__name__, item.line) for item in items][:2] == [("Located", 2), ("Rejected", 3)]
    assert [item.paper.title for item in items if isinstance(item, Located)] == ["A", "D"]


def test_a_separator_line_of_excel() -> None:
    (paper,) = papers_of("sep=;\ntitle;abstract\nA, b;x\n")
    assert paper.title == "A, b"


def test_the_header_of_scopus() -> None:
    (paper,) = papers_of(
        '"Authors","Author full names","Author(s) ID","Title","Year","Source title","DOI","Link","Abstract",'
        '"Author Keywords",'
        '"Index Keywords","PubMed ID","Language of Original Document","Source","EID"\n'
        '"Lee A.; Ek B.","Lee, Ann (57); Ek, Bo (36)","57; 36","T","2020","J. Graphs","10.1000/X","https://scopus.com/1",'
        '"[No abstract available]","graphs; nets","other","123","English","Scopus","2-s2.0-1"\n'
    )
    assert paper == Paper(
        id="2-s2.0-1",
        title="T",
        authors=("Lee, Ann", "Ek, Bo"),
        year=2020,
        date="2020",
        venue="J. Graphs",
        categories=("graphs", "nets"),
        url="https://scopus.com/1",
        doi="10.1000/x",
        language="English",
        identifiers=(("id:scopus", "2-s2.0-1"), ("doi", "10.1000/x"), ("pmid", "123")),
    )


def test_the_header_of_zotero() -> None:
    (paper,) = papers_of(
        '"Key","Item Type","Publication Year","Author","Title","Publication Title","DOI","Url",'
        '"Abstract Note","Date","Manual Tags"\n'
        '"ABCD1234","journalArticle","2020","Lee, Ann; Ek, Bo","T","J. Graphs","10.1000/x","https://x.org",'
        '"A.","2020-05-01","a; b"\n'
    )
    assert (
        paper.id,
        paper.abstract,
        paper.authors,
        paper.year,
        paper.date,
        paper.venue,
        paper.categories,
        paper.url,
    ) == ("ABCD1234", "A.", ("Lee, Ann", "Ek, Bo"), 2020, "2020-05-01", "J. Graphs", ("a", "b"), "https://x.org")


def test_the_header_of_ieee_xplore() -> None:
    (paper,) = papers_of(
        '"Document Title",Authors,"Publication Title","Publication Year","Abstract","DOI",PDF Link,"Author Keywords"\n'
        '"T","A. Lee; B. Ek","2020 IEEE Conference","2020","A.","10.1109/X","https://ieee.org/1","a;b"\n'
    )
    assert (paper.id, paper.title, paper.authors, paper.venue, paper.url) == (
        "10.1109/x",
        "T",
        ("A. Lee", "B. Ek"),
        "2020 IEEE Conference",
        "https://ieee.org/1",
    )


def test_the_header_of_springer() -> None:
    (paper,) = papers_of(
        "Item Title,Publication Title,Item DOI,Authors,Publication Year,URL\nT,J,10.1007/1,Ann Lee,2020,http://x.org\n"
    )
    assert (paper.title, paper.doi, paper.venue, paper.url) == ("T", "10.1007/1", "J", "http://x.org")


def test_the_header_of_web_of_science() -> None:
    (paper,) = papers_of(
        "PT\tAU\tAF\tTI\tSO\tAB\tPY\tDI\tPM\tUT\t\nJ\tLEE, A\tLee, Ann\tT\tJ\tA.\t2020\t10.1/x\t7\tWOS:1\t\n"
    )
    assert (paper.id, paper.title, paper.abstract, paper.authors, paper.year, paper.venue) == (
        "WOS:1",
        "T",
        "A.",
        ("Lee, Ann",),
        2020,
        "J",
    )
    assert paper.identifiers == (("id:wos", "WOS:1"), ("pmid", "7"))


def test_a_column_that_speaks_of_an_abstract_is_one_beside_a_title() -> None:
    assert papers_of("Title,Abstract (English)\nT,A.\n")[0].abstract == "A."
    assert papers_of("Title,Abstract (English),Abstract\nT,A.,B.\n")[0].abstract == "B."


def test_a_header_without_title_and_abstract_is_refused_with_its_columns() -> None:
    with pytest.raises(UnknownFormat) as caught:
        check("x.csv", b"query-id,corpus-id,score\n1,2,3\n")
    assert caught.value.message == (
        "x.csv has no column for a title or an abstract. Its columns are: 'query-id', 'corpus-id', 'score'."
    )
    assert "'title'" in caught.value.way_out and "'abstract'" in caught.value.way_out


@pytest.mark.parametrize(
    ("name", "head", "sure"),
    [
        ("x.csv", "id,title,abstract\n1,a,b\n", 90),
        ("x.txt", "id;title;abstract\n1;a;b\n", 90),
        ("x.csv", "title\nA\n", 80),
        ("x.csv", "a,b\n1,2\n", 50),
        ("x.csv", "", 50),
        ("x.txt", "", 0),
        ("x.txt", "Title, abstract and keywords are studied here.\nWe find none.\n", 10),
    ],
)
def test_how_sure_it_is(name: str, head: str, sure: int) -> None:
    assert looks_like(name, head.encode()) == sure


@pytest.mark.parametrize(
    ("path", "papers", "rejected", "without_abstract"),
    [
        ("csv/asreview-duplicate_records.csv", 10, 4, 0),
        ("csv/asreview-embase.csv", 6, 0, 0),
        ("csv/asreview-embase_newpage.csv", 6, 0, 0),
        ("csv/asreview-generic.csv", 2, 0, 0),
        ("csv/asreview-generic_semicolon.csv", 2, 0, 0),
        ("csv/asreview-missing_values.csv", 4, 0, 2),
        ("csv/massaro8-acm.csv", 16, 0, 1),
        ("csv/massaro8-ieee.csv", 13, 0, 0),
        ("csv/mcguinlu-psyArXiv.csv", 250, 0, 0),
        ("csv/pybibx-scopus.csv", 13, 0, 0),
        ("wos-tab/zorzetti-savedrecs_new2.txt", 500, 0, 52),
    ],
)
def test_real_exports(shared_data: Path, path: str, papers: int, rejected: int, without_abstract: int) -> None:
    items = list(SourceReader(expand_sources([shared_data / "wild" / path])[0]))
    read_papers = [item.paper for item in items if isinstance(item, Located)]
    assert (len(read_papers), len(items) - len(read_papers)) == (papers, rejected)
    assert sum(not paper.abstract for paper in read_papers) == without_abstract


@given(st.data())
def test_one_broken_row_costs_no_other(data: st.DataObject) -> None:
    quoted = data.draw(st.lists(st.booleans(), min_size=2, max_size=30))
    broken = data.draw(st.integers(0, len(quoted) - 1))
    column = data.draw(st.integers(0, 3))
    rows = []
    for number, has_marks in enumerate(quoted):
        cells = [f"id{number}", f"Title {number}", f"Some abstract {number}", "2020"]
        if number == broken:
            cells[column] = '"' + cells[column]
        elif has_marks:
            cells = [f'"{cell}"' for cell in cells]
        rows.append(",".join(cells))
    titles, rejects = titles_and_rejects("id,title,abstract,year\n" + "\n".join(rows) + "\n")
    assert titles == [f"Title {number}" for number in range(len(rows)) if number != broken]
    assert rejects == [(broken + 2, UNCLOSED_QUOTE)]


def test_the_headers_of_openalex_and_of_zotero_s_edited_books(tmp_path: Path) -> None:
    (tmp_path / "works.csv").write_text(
        "id,title,authorships.author.display_name,ids.pmid\n"
        "https://openalex.org/W12345,On whales,Ann Lee|Bo Ek,https://pubmed.ncbi.nlm.nih.gov/123\n", encoding="utf-8")
    (tmp_path / "zotero.csv").write_text("Key,Title,Author,Editor\nAB12,A book of whales,,\"Lee, Ann; Ek, Bo\"\n",
                                         encoding="utf-8")
    (work,), (book,) = ([item.paper for item in SourceReader(expand_sources([tmp_path / name])[0])
                         if isinstance(item, Located)] for name in ("works.csv", "zotero.csv"))
    assert (work.authors, dict(work.identifiers)["pmid"]) == (("Ann Lee", "Bo Ek"), "123")
    assert book.authors == ("Lee, Ann", "Ek, Bo")
