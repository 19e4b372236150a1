"""What is written for other programs: escaping, keys, and that exported papers read back as they were."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semsearch.paper import Paper
from semsearch.ranking import Hit
from semsearch.readers import Located, SourceFile, SourceReader
from semsearch.writers import bibtex, csl_json, ids, jsonl, ris, tabular, trec
from semsearch.writers.citation import AuthorName, is_meeting, split_name

MAATEN = Paper(
    id="vandermaaten2008visualizing", title="Visualizing Data using t-SNE & more: 100% of {it}",
    abstract='Costs $5 for #1, a_b ~ c^2 \\ d.\nIt says "hello", twice.',
    authors=("Laurens van der Maaten", "Hinton, Geoffrey", "ATLAS Collaboration"), year=2008, date="2008-11",
    venue="Journal of Machine Learning Research", categories=("stat.ML", "cs.LG"), url="https://x.org/a_b?c=1&d=%20",
    doi="10.1000/a_b", identifiers=(("id:jsonl", "vandermaaten2008visualizing"), ("arxiv", "0811.00001")))


def written(write: Callable[[Iterable[Paper], TextIO], None], *papers: Paper) -> str:
    stream = io.StringIO()
    write(papers, stream)
    return stream.getvalue()


def hit(rank: int = 1, **changes: object) -> Hit:
    return Hit(rank, 0.123456789, "cosine", Paper(**{"id": f"p{rank}", "title": "T", **changes}))  # type: ignore[arg-type]


def test_bibtex_escapes_what_tex_obeys() -> None:
    assert written(bibtex.write_papers, MAATEN) == (
        "@article{vandermaaten2008visualizing,\n"
        "  title = {Visualizing Data using {t-SNE} \\& more: 100\\% of \\{it\\}},\n"
        "  author = {van der Maaten, Laurens and Hinton, Geoffrey and {ATLAS Collaboration}},\n"
        "  year = {2008},\n"
        "  month = nov,\n"
        "  journal = {Journal of Machine Learning Research},\n"
        "  doi = {10.1000/a_b},\n"
        "  eprint = {0811.00001},\n"
        "  archiveprefix = {arXiv},\n"
        "  url = {https://x.org/a_b?c=1&d=%20},\n"
        "  keywords = {stat.ML, cs.LG},\n"
        "  abstract = {Costs \\$5 for \\#1, a\\_b \\textasciitilde{} c\\textasciicircum{}2 \\textbackslash{} d. "
        'It says "hello", twice.}\n'
        "}\n")


def test_bibtex_keys_are_unique_and_legal() -> None:
    names = ["smith2020", "Smith2020", "smith2020", "a b,c{d}", "10.1000/x(y)", "Müller", "日本", ""]
    text = written(bibtex.write_papers, *(Paper(name, "The title", authors=("Ann Lee",), year=2020) for name in names))
    keys = [line[len("@misc{"):-1] for line in text.splitlines() if line.startswith("@misc{")]
    assert keys == ["smith2020", "Smith2020a", "smith2020b", "a-b-c-d", "10.1000/x-y", "Muller", "lee2020the",
                    "lee2020thea"]


def test_bibtex_kinds_follow_the_venue() -> None:
    text = written(bibtex.write_papers, Paper("a", "A", venue="Proceedings of X"), Paper("b", "B", venue="Nature"),
                   Paper("c", "C"))
    assert "@inproceedings{a,\n  title = {A},\n  booktitle = {Proceedings of X}\n}" in text
    assert "@article{b,\n  title = {B},\n  journal = {Nature}\n}" in text and "@misc{c,\n  title = {C}\n}" in text


def test_bibtex_gives_back_latex_as_the_source_wrote_it() -> None:
    paper = Paper("a", "On N", "We use N.", raw_title="On $\\mathcal{N}$", raw_abstract="We {use N.", markup="latex")
    text = written(bibtex.write_papers, paper)
    assert "title = {On $\\mathcal{N}$}" in text
    assert "abstract = {We use N.}" in text  # what the source wrote lacks a brace
    html = Paper("a", "On N", raw_title="On <i>N</i>", markup="html")
    assert "title = {On N}" in written(bibtex.write_papers, html)


def test_bibtex_drops_what_no_file_can_hold() -> None:
    assert "title = {ab c}" in written(bibtex.write_papers, Paper("a", "a\x00\x1bb\nc"))


@given(st.text(max_size=60))
@settings(deadline=None)
def test_bibtex_braces_always_match(text: str) -> None:
    entry = written(bibtex.write_papers, Paper("a", text, text, authors=(text,), venue=text, url=text, doi=text))
    depth = 0
    escaped = False
    for character in entry:
        if not escaped:
            depth += (character == "{") - (character == "}")
        escaped = character == "\\" and not escaped
        assert depth >= 0
    assert depth == 0


def test_ris_is_one_line_per_tag() -> None:
    assert written(ris.write_papers, MAATEN, Paper("b", abstract="No title.", venue="Workshop on X")) == (
        "TY  - JOUR\n"
        "ID  - vandermaaten2008visualizing\n"
        "TI  - Visualizing Data using t-SNE & more: 100% of {it}\n"
        "AU  - van der Maaten, Laurens\n"
        "AU  - Hinton, Geoffrey\n"
        "AU  - ATLAS Collaboration\n"
        "PY  - 2008\n"
        "DA  - 2008/11//\n"
        "T2  - Journal of Machine Learning Research\n"
        'AB  - Costs $5 for #1, a_b ~ c^2 \\ d. It says "hello", twice.\n'
        "KW  - stat.ML\n"
        "KW  - cs.LG\n"
        "DO  - 10.1000/a_b\n"
        "UR  - https://x.org/a_b?c=1&d=%20\n"
        "AN  - arXiv:0811.00001\n"
        "ER  - \n"
        "\n"
        "TY  - CONF\nID  - b\nT2  - Workshop on X\nAB  - No title.\nER  - \n")


def test_csl_json_is_one_array() -> None:
    items = json.loads(written(csl_json.write_papers, MAATEN, Paper("b", "B", year=1999)))
    assert items[0] == {
        "id": MAATEN.id, "citation-key": MAATEN.id, "type": "article-journal", "title": MAATEN.title,
        "author": [{"family": "van der Maaten", "given": "Laurens"}, {"family": "Hinton", "given": "Geoffrey"},
                   {"literal": "ATLAS Collaboration"}],
        "issued": {"date-parts": [[2008, 11]]}, "container-title": MAATEN.venue, "DOI": MAATEN.doi, "URL": MAATEN.url,
        "number": "arXiv:0811.00001", "keyword": "stat.ML, cs.LG", "abstract": MAATEN.abstract}
    assert items[1] == {"id": "b", "citation-key": "b", "type": "article", "title": "B",
                        "issued": {"date-parts": [[1999]]}}
    assert json.loads(written(csl_json.write_papers)) == []


def test_csv_keeps_quotes_and_ends_of_lines() -> None:
    [row] = csv.DictReader(io.StringIO(written(tabular.write_papers, MAATEN)))
    assert row == {"id": MAATEN.id, "title": MAATEN.title, "abstract": MAATEN.abstract,
                   "authors": "Laurens van der Maaten; Hinton, Geoffrey; ATLAS Collaboration", "year": "2008",
                   "date": "2008-11", "venue": MAATEN.venue, "categories": "stat.ML; cs.LG", "url": MAATEN.url,
                   "doi": MAATEN.doi, "arxiv": "0811.00001", "pmid": "", "language": ""}


def test_csv_of_hits_and_of_several_questions() -> None:
    stream = io.StringIO()
    tabular.write_hits([hit(1), hit(2, year=1999)], stream)
    assert stream.getvalue() == ("rank,score,score_kind,id,title,abstract,authors,year,date,venue,categories,url,doi\n"
                                 "1,0.123456789,cosine,p1,T,,,,,,,,\n2,0.123456789,cosine,p2,T,,,1999,,,,,\n")
    stream = io.StringIO()
    tabular.write_answers([("q1", [hit(1)]), ("q,2", [hit(1)])], stream)
    assert stream.getvalue().splitlines()[1:] == ["q1,1,0.123456789,cosine,p1,T,,,,,,,,",
                                                  '"q,2",1,0.123456789,cosine,p1,T,,,,,,,,']


def test_trec_has_six_columns_whatever_the_ids_hold() -> None:
    stream = io.StringIO()
    trec.write_hits([hit(1, id="my  paper")], stream, "question one")
    assert stream.getvalue() == "question_one Q0 my_paper 1 0.123457 semsearch\n"


def test_ids_are_one_a_line() -> None:
    assert written(ids.write_papers, Paper("a"), Paper("b\nc")) == "a\nb c\n"


def test_json_hits_are_what_every_front_end_gives() -> None:
    stream = io.StringIO()
    jsonl.write_hits([hit(1)], stream)
    jsonl.write_hits([hit(2)], stream, "q7")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first == hit(1).as_dict() and second == {"query_id": "q7", **hit(2).as_dict()}
    assert next(iter(second)) == "query_id"


def test_json_lines_hold_nothing_that_a_terminal_or_a_reader_of_lines_obeys() -> None:
    line = jsonl.json_line({"text": "a\x1b[31m\x9b31m\u2028b\u2029\ud800é"})
    assert line == '{"text": "a\\u001b[31m\\u009b31m\\u2028b\\u2029\\ud800é"}'
    assert line.splitlines() == [line] and json.loads(line)["text"] == "a\x1b[31m\x9b31m\u2028b\u2029\ud800é"


def read_back(folder: Path, text: str) -> list[Paper]:
    path = folder / "exported.jsonl"
    path.write_text(text, encoding="utf-8")
    items = list(SourceReader(SourceFile(str(path), path.name), "jsonl"))
    assert all(isinstance(item, Located) for item in items), items
    return [item.paper for item in items if isinstance(item, Located)]


SAME = ("id", "title", "abstract", "authors", "year", "date", "venue", "categories", "url", "doi", "language")


def assert_same(found: Paper, expected: Paper) -> None:
    for name in SAME:
        assert getattr(found, name) == getattr(expected, name), name
    assert set(expected.identifiers) <= set(found.identifiers)


def test_exported_jsonl_reads_back_as_it_was(tmp_path: Path) -> None:
    identifiers = (("arxiv", "0811.00001"), ("pmid", "123"), ("acl", "N19-1423"), ("openalex", "W2741809807"),
                   ("doi", "10.1000/a_b"))
    abstract = 'A "quoted" word, \'one\', costs 5 dollars; é 日本.'
    clean = replace(MAATEN, title="Data & more: 100% of it", abstract=abstract, language="en", identifiers=identifiers)
    [found] = read_back(tmp_path, written(jsonl.write_papers, clean))
    assert_same(found, clean)
    assert found.text_key == clean.text_key


def test_the_whole_sample_reads_back_as_it_was(tmp_path: Path) -> None:
    from semsearch.sample import sample_path

    path = str(sample_path())
    papers = [item.paper for item in SourceReader(SourceFile(path, path)) if isinstance(item, Located)]
    assert len(papers) == 178
    for found, expected in zip(read_back(tmp_path, written(jsonl.write_papers, *papers)), papers, strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("name, parts", [
    ("Ada Byron", ("Byron", "Ada", "")), ("Byron, Ada", ("Byron", "Ada", "")),
    ("Laurens van der Maaten", ("van der Maaten", "Laurens", "")), ("van der Berg, J.", ("van der Berg", "J.", "")),
    ("Martin Luther King Jr.", ("King", "Martin Luther", "Jr.")),
    ("King, Martin Luther, Jr.", ("King", "Martin Luther", "Jr.")),
    ("Aidan N. Gomez", ("Gomez", "Aidan N.", "")), ("Plato", ("Plato", "", "")), ("", ("", "", "")),
    ("ATLAS Collaboration", ("ATLAS Collaboration", "", "")), ("van Gogh", ("Gogh", "van", "")),
])
def test_names_come_apart(name: str, parts: tuple[str, str, str]) -> None:
    assert split_name(name) == AuthorName(*parts)


def test_meetings_are_told_from_journals() -> None:
    assert is_meeting("Proceedings of the 5th Workshop on X") and is_meeting("Conference on Y")
    assert not is_meeting("Journal of Z") and not is_meeting("")
