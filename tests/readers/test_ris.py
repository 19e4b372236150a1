"""RIS: records, tags and the quirks of those who write it."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest

from semsearch.paper import Paper
from semsearch.readers import Located, Rejected, find_format
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.ris import FORMAT
from semsearch.readers.source_reader import DAMAGED
from semsearch.readers.text import HAS_NUL
from semsearch.writers.ris import write_papers
from tests.readers.tagged_reading import counted_in, damaged, papers_of, read_bytes, read_file

RECORD = """\
TY  - JOUR
AU  - van der Berg, Jan
AU  - Lee, Ada M., Jr.
A2  - Editor, Eve
TI  - Graphs and what they hide
T2  - Journal of Graphs
J2  - J. Graphs
AB  - We look at graphs.
PY  - 2020
DA  - 2020/05/12/
KW  - graphs
KW  - hiding; seeking
DO  - https://doi.org/10.1000/ABC.1
UR  - https://example.org/graphs
LA  - English
ER  -

""".replace("ER  -", "ER  - ")


def paper_of(text: str) -> Paper:
    (paper,) = papers_of(read_bytes(FORMAT, text.encode()))
    return paper


def record(*lines: str) -> str:
    return "\n".join(["TY  - JOUR", *lines, "ER  - ", ""])


def test_a_whole_record() -> None:
    (item,) = read_bytes(FORMAT, RECORD.encode())
    assert isinstance(item, Located)
    paper = item.paper
    assert item.line == 1
    assert paper.id == "10.1000/abc.1"
    assert paper.title == "Graphs and what they hide"
    assert paper.abstract == "We look at graphs."
    assert paper.authors == ("Jan van der Berg", "Ada M. Lee Jr.")
    assert (paper.year, paper.date) == (2020, "2020-05-12")
    assert paper.venue == "Journal of Graphs"
    assert paper.categories == ("graphs", "hiding", "seeking")
    assert (paper.url, paper.doi, paper.language) == ("https://example.org/graphs", "10.1000/abc.1", "English")
    assert paper.identifiers == (("doi", "10.1000/abc.1"),)
    assert (paper.raw_title, paper.raw_abstract, paper.markup) == ("", "", "")


@pytest.mark.parametrize(
    ("lines", "field", "value"),
    [
        (["T1  - A", "TI  - B"], "title", "B"),
        (["TI  - ", "T1  - A"], "title", "A"),
        (["CT  - A"], "title", "A"),
        (["BT  - A"], "title", "A"),
        (["BT  - The book", "TI  - A"], "venue", "The book"),
        (["TI  - A", "TI  - B"], "title", "A"),
        (["N2  - X."], "abstract", "X."),
        (["AB  - X.", "N2  - Y."], "abstract", "X."),
        (["AB  - X.", "AB  - Y.", "AB  - X."], "abstract", "X. Y."),
        (["AB  - ", "N2  - Y."], "abstract", "Y."),
        (["TI  - T", "A1  - Liu R.", "A1  - Adler D.G."], "authors", ("R. Liu", "D.G. Adler")),
        (["TI  - T", "AU  - Lee, A; Ek, B"], "authors", ("A Lee", "B Ek")),
        (["TI  - T", "AU  - The Graph Group, Oslo"], "authors", ("The Graph Group, Oslo",)),
        (["TI  - T", "AU  - Shannon,Claude E."], "authors", ("Claude E. Shannon",)),
        (["TI  - T", "AU  - Hoven, null"], "authors", ("Hoven",)),
        (["TI  - T", "A2  - Ed, Al"], "authors", ("Al Ed",)),
        (["TI  - T", "AU  - Lee, A", "A2  - Ed, Al"], "authors", ("A Lee",)),
        (["TI  - T", "PY  - 1948/07//"], "date", "1948-07"),
        (["TI  - T", "PY  - 2019", "DA  - 2019/10//undefined"], "date", "2019-10"),
        (["TI  - T", "Y1  - 2014//"], "date", "2014"),
        (["TI  - T", "PY  - 2022", "DA  - AUG 11"], "date", "2022-08-11"),
        (["TI  - T", "PY  - 2022", "DA  - JAN-FEB"], "date", "2022-01"),
        (["TI  - T", "PY  - 2022", "DA  - 2023/01/02"], "date", "2022"),
        (["TI  - T", "PY  - 10 15"], "year", None),
        (["TI  - T", "JF  - Full", "JO  - F.", "JA  - f"], "venue", "Full"),
        (["TI  - T", "JA  - f"], "venue", "f"),
        (["TI  - T", "KW  - *Body Image", "KW  - Colitis/*therapy"], "categories", ("Body Image", "Colitis/therapy")),
        (["TI  - T", "KW  - one", "two", "three"], "categories", ("one", "two", "three")),
        (["TI  - T", "UR  - <Go to ISI>://WOS:1", "L2  - http://a.org/x"], "url", "http://a.org/x"),
        (["TI  - T", "UR  - http://dx.doi.org/10.1000/x"], "doi", "10.1000/x"),
        (["TI  - T", "M3  - 10.1000/y"], "doi", "10.1000/y"),
        (["TI  - T", "N1  - Cited 3. doi: 10.1000/z"], "doi", "10.1000/z"),
        (["TI  - T", "M1  - 1008150341", "C7  - 906475"], "doi", ""),
        (["TI  - T", "ID  - rayyan-7"], "id", "rayyan-7"),
        (["TI  - T", "AN  - arXiv:2106.01345"], "identifiers", (("arxiv", "2106.01345"),)),
        (["TI  - T", "DB  - PubMed", "AN  - 30898391"], "identifiers", (("pmid", "30898391"),)),
        (["TI  - T", "ID  - 30898391", "DP  - NLM Medline"], "identifiers", (("pmid", "30898391"),)),
        (["TI  - T", "N1  - PMID: 123456"], "identifiers", (("pmid", "123456"),)),
        (["TI  - T", "L2  - https://pubmed.ncbi.nlm.nih.gov/22752652/"], "identifiers", (("pmid", "22752652"),)),
        (["TI  - T", "DB  - Embase", "C5  - 15368318"], "identifiers", (("pmid", "15368318"),)),
        (["TI  - T", "AN  - 2214991469; 51887"], "identifiers", ()),
        (["TI  - T", "AN  - WOS:000444108200009"], "identifiers", (("id:wos", "WOS:000444108200009"),)),
        (
            ["TI  - T", "AB  - Copper.", "Results", "ER stress is high.", "", "More."],
            "abstract",
            "Copper. Results ER stress is high. More.",
        ),
        (["TI  - T", "AB  - Seen in", "T1 - weighted images."], "abstract", "Seen in T1 - weighted images."),
        (["TI  - T", "AB  - X.", "Link to the Ovid Full Text or citation: http://x.org/"], "abstract", "X."),
    ],
)
def test_tags(lines: list[str], field: str, value: object) -> None:
    assert getattr(paper_of(record(*lines)), field) == value


def test_tags_of_a_paper_are_kept_apart_from_markup() -> None:
    paper = papers_of(read_bytes(FORMAT, record("TI  - H<sub>2</sub>O &amp; salt", "AB  - a < b and c > d").encode()))[
        0
    ]
    assert (paper.title, paper.raw_title, paper.markup) == ("H2O & salt", "H<sub>2</sub>O &amp; salt", "html")
    assert (paper.abstract, paper.raw_abstract) == ("a < b and c > d", "")


@pytest.mark.parametrize(
    "text",
    [
        "\n\n\n" + RECORD + RECORD.replace("Graphs", "Trees"),
        "Record #1 of 2\nProvider: P\n1.\n" + RECORD + "Record #2 of 2\n2.\n" + RECORD,
        RECORD.replace("ER  - \n", "") + RECORD,
        RECORD.replace("ER  - \n", "") + "2.\n" + RECORD,
        RECORD + RECORD.replace("TY  - JOUR\n", ""),
        RECORD + RECORD.replace("ER  - \n\n", ""),
        RECORD.replace("ER  - \n", "ER\n")
        + RECORD.replace("ER  - \n", "ER  -\nNL  - J Graphs\n\nLink to the Ovid Full Text\n"),
        (RECORD * 2).replace("  - ", " - "),
        (RECORD * 2).replace("TY  -", "ty  -").replace("ER  -", "er  -").replace("TI  -", "ti  -"),
        (RECORD + RECORD).replace("\n", "\r\n"),
        (RECORD + RECORD).replace("\n", "\r"),
        "\ufeff" + RECORD + "\ufeff" + RECORD,
    ],
)
def test_two_records_however_they_are_set_off(text: str) -> None:
    items = read_bytes(FORMAT, text.encode())
    papers = papers_of(items)
    assert len(items) == len(papers) == 2
    assert counted_in(FORMAT, text.encode()) == 2
    assert [p.title.split()[0] for p in papers][1] in ("Graphs", "Trees")
    assert all(p.abstract == "We look at graphs." and p.language == "English" for p in papers)
    assert papers[0].doi == "10.1000/abc.1"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "cp1252"])
def test_encodings(encoding: str) -> None:
    data = RECORD.replace("Jan", "Søren").encode(encoding)
    assert papers_of(read_bytes(FORMAT, data))[0].authors[0] == "Søren van der Berg"
    assert counted_in(FORMAT, data) == 1
    assert find_format("x.txt", data).name == "ris"


def test_what_cannot_be_used_is_rejected_with_its_line() -> None:
    text = record("AU  - Lee, A") + record("TI  - T") + record("TI  - Bro\0ken") + record("TI  - U")
    assert [item if isinstance(item, Rejected) else item.line for item in read_bytes(FORMAT, text.encode())] == [
        Rejected(1, NO_TEXT, "TY  - JOUR"),
        4,
        Rejected(7, HAS_NUL, "TY  - JOUR"),
        10,
    ]


def test_what_stands_between_records_is_no_record() -> None:
    assert read_bytes(FORMAT, b"NL  - x\nER  - \nAU  - Lee\n") == []


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("x.txt", RECORD),
        ("x", "1.\r\n" + RECORD.replace("\n", "\r\n")),
        ("x.ris", "TI  - T\nAU  - A\n"),
        ("x.ris", ""),
        ("x.txt", "Provider: P\n\n" + RECORD),
    ],
)
def test_it_is_found(name: str, head: str) -> None:
    assert find_format(name, head.encode()).name == "ris"


@pytest.mark.parametrize(
    "head",
    ["A text - with dashes.\n\nTY - not a record.\n", "%0 Journal Article\n%T T\n", "PMID- 1\nTI  - T\nAB  - A\n"],
)
def test_other_things_are_not_taken_for_it(head: str) -> None:
    assert FORMAT.looks_like("x.txt", head.encode()) == 0


@pytest.mark.parametrize(
    ("name", "papers", "abstracts", "first", "last"),
    [
        # Records: `grep -ac 'TY  *-'`, equal to that of ER in each; abstracts: INDEX.tsv, checked by eye.
        (
            "asreview-baseline.ris",
            100,
            98,
            (1, "000-463-679-101-319", "Björn A. Blomberg", "2012-07-03", "10.1007/s11307-012-0572-0"),
            (3442, "152-434-819-130-920", "van den Hoven", "2014", "10.1016/j.jvir.2013.12.293"),
        ),
        # Of its three N2 the first is empty.
        ("asreview-baseline_empty_values.ris", 4, 2, (1, "1", "", "", ""), (18, "4", "", "", "")),
        (
            "asreview-embase.ris",
            6,
            6,
            (1, "10.4103/2303-9027.138783", "R. Liu", "2014", "10.4103/2303-9027.138783"),
            (317, "10.1089/cren.2017.0016", "K. Faraj", "2017", "10.1089/cren.2017.0016"),
        ),
        ("asreview-faulty_year.ris", 1, 1, (1, "e86d44fc927d", "", "", ""), (1, "e86d44fc927d", "", "", "")),
        (
            "asreview-ovid_psycinfo.ris",
            6,
            6,
            (2, "2019-65183-001", "Ines A Trindade", "2019", "10.1002/cpp.2398"),
            (298, "2019-55194-001", "Luuk Stapersma", "2019", "10.1007/s10880-019-09649-9"),
        ),
        (
            "asreview-proquest.ris",
            6,
            6,
            (1, "10.1002/jts.22387", "Hannah Jones", "2019", "10.1002/jts.22387"),
            (234, "10.1080/00273171.2017.1412293", "Rens van de Schoot", "2018", "10.1080/00273171.2017.1412293"),
        ),
        (
            "asreview-pubmed_zotero.ris",
            6,
            6,
            (1, "10.5114/pg.2018.81081", "Agata Rudnik", "2019", "10.5114/pg.2018.81081"),
            (129, "10.1097/md.0000000000016231", "Jianying Zhang", "2019-06", "10.1097/md.0000000000016231"),
        ),
        (
            "asreview-ris_issue_992.txt",
            19,
            8,
            (1, "1", "", "2011", ""),
            (541, "1060", "J. M. Abraham", "2021-02", "10.1176/appi.ps.202000115"),
        ),
        (
            "asreview-web_of_science.txt",
            10,
            10,
            (1, "10.1016/j.jarmac.2018.03.001", "F Alceste", "2018-09", "10.1016/j.jarmac.2018.03.001"),
            (408, "10.1080/1068316x.2013.777963", "SA Wetmore", "2014-04-21", "10.1080/1068316x.2013.777963"),
        ),
        (
            "brucechen-savedrecs-wos.ris",
            167,
            0,
            (1, "10.3389/fmed.2022.906475", "JW Kim", "2022-08-11", "10.3389/fmed.2022.906475"),
            (3478, "10.1039/c9fo01918a", "XX Chen", "2020-01-01", "10.1039/c9fo01918a"),
        ),
        (
            "rispy-example_extraneous_data.ris",
            2,
            2,
            (5, "12345", "Karl Marx", "2014", ""),
            (33, "12345", "Karlus Marxus", "2006", ""),
        ),
        (
            "rispy-example_starting_newlines.ris",
            1,
            0,
            (3, "019d77e91ce9", "Claude E. Shannon", "1948-07", ""),
            (3, "019d77e91ce9", "Claude E. Shannon", "1948-07", ""),
        ),
    ],
)
def test_real_files(shared_data: Path, name: str, papers: int, abstracts: int, first: object, last: object) -> None:
    reader, items = read_file(shared_data / "wild" / "ris" / name)
    assert (reader.format.name, reader.encoding, reader.counted) == ("ris", "utf-8", papers)
    found = [item for item in items if isinstance(item, Located)]
    assert len(items) == len(found) == papers
    assert sum(bool(item.paper.abstract) for item in found) == abstracts
    assert [
        (item.line, item.paper.id, item.paper.authors[0] if item.paper.authors else "", item.paper.date, item.paper.doi)
        for item in (found[0], found[-1])
    ] == [first, last]


def test_fields_of_real_files(shared_data: Path) -> None:
    folder = shared_data / "wild" / "ris"
    baseline = papers_of(read_file(folder / "asreview-baseline.ris")[1])
    assert sum("pmid" in dict(paper.identifiers) for paper in baseline) == 78
    assert dict(baseline[0].identifiers)["pmid"] == "22752652"
    keywords = papers_of(read_file(folder / "asreview-ris_issue_992.txt")[1])[0].categories
    assert (len(keywords), keywords[0], keywords[-1]) == (13, "Health Facility Administration", "Patient Education")
    saved = papers_of(read_file(folder / "brucechen-savedrecs-wos.ris")[1])
    assert sum(bool(paper.doi) for paper in saved) == 166
    assert sum(paper.markup == "html" for paper in saved) == sum("<" in paper.raw_title for paper in saved) > 0
    assert all("<" not in paper.title for paper in saved)


def test_what_the_project_writes_reads_back_to_the_same_papers(shared_data: Path) -> None:
    _, items = read_file(shared_data / "acl-anthology" / "acl-03.jsonl.gz")
    written = io.StringIO()
    write_papers(papers_of(items), written)
    again = papers_of(read_bytes(FORMAT, written.getvalue().encode()))

    def told(paper: Paper) -> tuple[object, ...]:
        return (
            paper.id,
            paper.title,
            paper.abstract,
            paper.authors,
            paper.date,
            paper.venue,
            paper.categories,
            paper.url,
            paper.doi,
            paper.language,
        )

    assert len(again) == 4294
    assert [told(paper) for paper in again] == [told(paper) for paper in papers_of(items)]


def test_a_file_whose_compressed_data_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.ris.gz"
    path.write_bytes(gzip.compress("".join(RECORD.replace("ABC.1", str(n)) for n in range(5000)).encode())[:-5000])
    reader, items = read_file(path)
    assert reader.format.name == "ris"
    papers = papers_of(items)
    assert all(paper.language == "English" for paper in papers)
    assert [item.reason for item in items if isinstance(item, Rejected)] == [DAMAGED]
    assert reader.counted == len(items)


def test_damage() -> None:
    chance = random.Random(7)
    good = (RECORD + RECORD.replace("  - ", " - ") + "2.\n" + record("T1  - U", "N2  - B" * 90, "C", "")).encode()
    for _ in range(1000):
        read_bytes(FORMAT, damaged(good, chance))


@pytest.mark.parametrize(
    "filler", [" ", "A", "; ", "PMID ", "doi:", "doi: ", "1 ", "\t", "<", "&#", "a@", "Lee, A; ", "., "]
)
def test_long_values_take_linear_time(filler: str) -> None:
    text = record(*(f"{tag}  - {filler * 60_000}x" for tag in ("TI", "AU", "AB", "KW", "N1", "PY", "AN", "UR", "DO")))
    assert len(read_bytes(FORMAT, text.encode())) == 1
