"""XML of the ACL Anthology."""

from __future__ import annotations

import pytest

from semsearch.readers import acl_xml, find_format
from semsearch.readers.acl_xml import anthology_id
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import ACL, count, paper, papers, rejects


@pytest.mark.parametrize(
    ("collection", "volume", "number", "expected"),
    [
        ("2020.acl", "main", "1", "2020.acl-main.1"),
        ("2022.findings", "acl", "320", "2022.findings-acl.320"),
        ("P19", "1", "1", "P19-1001"),
        ("P19", "1", "123", "P19-1123"),
        ("W19", "3", "4", "W19-0304"),
        ("W19", "52", "7", "W19-5207"),
        ("D19", "1", "5", "D19-1005"),
        ("D19", "50", "5", "D19-5005"),
        ("C69", "1", "2", "C69-0102"),
        ("P19", "x", "1", ""),
        ("", "1", "1", ""),
    ],
)
def test_ids(collection: str, volume: str, number: str, expected: str) -> None:
    assert anthology_id(collection, volume, number) == expected


def test_a_whole_paper() -> None:
    found = paper(
        acl_xml,
        ACL.format(
            records=r"""<paper id="17">
    <title><fixed-case>BERT</fixed-case> of <tex-math>\alpha</tex-math>-graphs: <i>Anew</i></title>
    <author id="ann-lee"><first>Ann</first><last>Lee</last><variant script="hani"><first>安</first><last>李</last>
    </variant></author>
    <author><first/><last>Plato</last></author><pages>1–9</pages><url hash="ab">2020.acl-main.17</url>
    <abstract>We draw <tex-math>x^2</tex-math> graphs &amp; more.</abstract><doi>10.18653/v1/2020.acl-main.17</doi>
    <language>deu</language><bibkey>lee-2020</bibkey></paper>"""
        ),
    )
    assert (found.id, found.title) == ("2020.acl-main.17", "BERT of α-graphs: Anew")
    assert found.abstract == "We draw x² graphs & more."
    assert found.authors == ("Ann Lee", "Plato")
    assert (found.year, found.date, found.venue) == (2020, "2020-07", "Proceedings of the Meeting on Computing")
    assert (found.url, found.language) == ("https://aclanthology.org/2020.acl-main.17", "deu")
    assert found.identifiers == (("acl", "2020.acl-main.17"), ("doi", "10.18653/v1/2020.acl-main.17"))


def test_volumes_of_the_old_style() -> None:
    volume = """<volume id="{}"><meta><booktitle>Book {}</booktitle><month>{}</month><year>2019</year></meta>
    <frontmatter><title>Front</title></frontmatter><paper id="1"><title>A</title></paper><paper id="2"><title>B</title>
    <editor><first>Ed</first><last>Itor</last></editor></paper></volume>"""
    volumes = volume.format(1, 1, "July 28 - August 2") + volume.format(2, 2, "June-July")
    data = f"<collection id='P19'>{volumes}</collection>"
    found = papers(acl_xml, data)
    assert [(p.id, p.venue, p.date) for p in found] == [
        ("P19-1001", "Book 1", "2019-07"),
        ("P19-1002", "Book 1", "2019-07"),
        ("P19-2001", "Book 2", "2019-06"),
        ("P19-2002", "Book 2", "2019-06"),
    ]
    assert found[1].authors == ("Ed Itor",)
    assert count(acl_xml, data.encode()) == 4


def test_a_new_volume_without_meta_takes_nothing_over() -> None:
    data = ACL.format(records='<paper id="1"><title>A</title></paper>').replace(
        "</collection>", '<volume id="srw"><paper id="1"><title>B</title></paper></volume></collection>'
    )
    assert [(p.id, p.venue) for p in papers(acl_xml, data)] == [
        ("2020.acl-main.1", "Proceedings of the Meeting on Computing"),
        ("2020.acl-srw.1", ""),
    ]


def test_a_piece_of_a_volume_is_named_by_its_url() -> None:
    found = paper(
        acl_xml,
        '<volume id="1"><paper id="1"><title>A</title><url>https://aclanthology.org/P19-1001</url></paper></volume>',
    )
    assert (found.id, found.identifiers) == ("P19-1001", (("acl", "P19-1001"),))


def test_a_paper_without_text() -> None:
    assert rejects(acl_xml, ACL.format(records='<paper id="1"><pages>1</pages></paper>')) == [(7, NO_TEXT)]


def test_found_by_content() -> None:
    assert find_format("2020.acl.xml", ACL.format(records="").encode()).name == "acl-xml"
