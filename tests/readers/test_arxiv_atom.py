"""Atom feeds of the arXiv API."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch.readers import Located, Rejected, arxiv_atom, find_format
from semsearch.readers.arxiv_atom import API_ERROR
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import ATOM, atom_record, count, paper, papers, read_all, rejects


def test_a_whole_entry() -> None:
    found = paper(
        arxiv_atom,
        ATOM.format(
            records=r"""<entry><id>http://arxiv.org/abs/math/0207249v3</id>
    <updated>2003-01-01T00:00:00Z</updated><published>2002-07-28T12:00:00Z</published>
    <title>On $\alpha$-graphs of
      Erd\H{o}s</title><summary>  We draw 5\% of &lt;all&gt; graphs,
    \emph{not} more.
    </summary><author><name>Jan van der Berg</name><arxiv:affiliation>X</arxiv:affiliation></author><author>
    <name>Ann Lee</name></author>
    <arxiv:doi>10.1000/ABC</arxiv:doi><link title="doi" href="https://doi.org/10.1000/ABC" rel="related"/>
    <link href="http://arxiv.org/abs/math/0207249v3" rel="alternate" type="text/html"/>
    <arxiv:comment>5 pages</arxiv:comment><arxiv:journal_ref>Ann. Edges 5 (2003) 1-5</arxiv:journal_ref>
    <arxiv:primary_category term="math.CO"/><category term="cs.DM"/><category term="math.CO"/></entry>"""
        ),
    )
    assert (found.id, found.title, found.raw_title) == (
        "math/0207249",
        "On α-graphs of Erdős",
        r"On $\alpha$-graphs of Erd\H{o}s",
    )
    assert found.abstract == "We draw 5% of <all> graphs, not more."
    assert found.markup == "latex"
    assert found.authors == ("Jan van der Berg", "Ann Lee")
    assert (found.date, found.year, found.venue) == ("2002-07-28", 2002, "Ann. Edges 5 (2003) 1-5")
    assert found.categories == ("math.CO", "cs.DM")
    assert found.url == "http://arxiv.org/abs/math/0207249v3"
    assert found.identifiers == (("arxiv", "math/0207249"), ("doi", "10.1000/abc"))


def test_an_error_of_the_service_is_no_paper() -> None:
    data = ATOM.format(
        records="""<entry><id>http://arxiv.org/api/errors#incorrect_id</id><title>Error</title>
    <summary>incorrect id format</summary></entry>"""
    )
    (item,) = read_all(arxiv_atom, data)
    assert item == Rejected(4, API_ERROR, "incorrect id format")


def test_an_entry_without_text() -> None:
    assert rejects(arxiv_atom, ATOM.format(records="<entry><id>http://arxiv.org/abs/2001.00001</id></entry>")) == [
        (4, NO_TEXT)
    ]


def test_an_empty_answer() -> None:
    assert papers(arxiv_atom, ATOM.format(records="")) == []
    assert find_format("answer.txt", ATOM.format(records="").encode()).name == "arxiv-atom"


def test_entries_alone() -> None:
    assert papers(arxiv_atom, atom_record(1))[0].id == "2001.00001"


@pytest.mark.parametrize(
    ("name", "number", "lines"),
    [("arxivpy-q_testing_s0_m100.atom.xml", 100, (10, 35)), ("arxivpy-two-ids.atom.xml", 1, (10,))],
)
def test_the_real_answers(shared_data: Path, name: str, number: int, lines: tuple[int, ...]) -> None:
    data = (shared_data / "wild" / "arxiv" / name).read_bytes()
    items = read_all(arxiv_atom, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (count(arxiv_atom, data), len(items), len(found), sum(bool(p.abstract) for p in found)) == (number,) * 4
    assert tuple(item.line for item in items[: len(lines)]) == lines
    first = found[0]
    if number == 1:
        assert (first.id, first.title, first.authors[0], first.date, first.categories) == (
            "1707.08567",
            "Proceedings of Workshop AEW10: Concepts in Information Theory and Communications",
            "Kees A. Schouhamer Immink",
            "2017-07-27",
            ("cs.IT",),
        )
    else:
        assert (first.id, first.title, first.authors[0], first.date, first.doi) == (
            "2202.12139",
            "Testing Deep Learning Models: A First Comparative Study of Multiple Testing Techniques",
            "Mohit Kumar Ahuja",
            "2022-02-24",
            "10.1109/icstw55395.2022.00035",
        )


def test_the_real_error(shared_data: Path) -> None:
    data = (shared_data / "wild/arxiv/arxivpy-error-feed.atom.xml").read_bytes()
    assert read_all(arxiv_atom, data) == [Rejected(9, API_ERROR, "incorrect id format for abc")]
    assert count(arxiv_atom, data) == 1
