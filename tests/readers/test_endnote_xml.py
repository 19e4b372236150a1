"""EndNote XML: styled fields, names, dates, identifiers."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch.paper import content_id
from semsearch.readers import Located, endnote_xml, find_format
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import ENDNOTE, count, paper, papers, read_all, rejects


def record(fields: str) -> str:
    return ENDNOTE.format(
        records=f'<record><rec-number>7</rec-number><ref-type name="Book">6</ref-type>{fields}</record>'
    )


def titled(fields: str) -> str:
    return record(f"<titles><title>T</title></titles>{fields}")


def test_a_whole_record() -> None:
    found = paper(
        endnote_xml,
        record("""
    <contributors><authors><author><style face="normal">van der Berg, Jan</style></author>
    <author>King, Martin, Jr.</author>
    <author>World Health Organization,</author></authors><secondary-authors><author>Ek, Bo</author>
    </secondary-authors></contributors>
    <titles><title><style face="normal">Growth of </style><style face="italic">E. coli</style><style face="normal">
      on CO</style><style face="subscript">2</style></title><secondary-title><style>Annals of Edges</style>
    </secondary-title></titles>
    <periodical><full-title>Ann. Edges</full-title></periodical>
    <keywords><keyword>graphs</keyword><keyword><style>edges</style></keyword></keywords>
    <dates><year><style>2011</style></year><pub-dates><date>Mar 4</date></pub-dates></dates>
    <urls><related-urls><url>&lt;Go to ISI&gt;://0001</url><url>https://example.org/a</url></related-urls></urls>
    <electronic-resource-num><style>https://doi.org/10.1000/ABC</style></electronic-resource-num>
    <abstract><style>We count.&#xD;All of &lt;them&gt; &amp; more.</style></abstract><language>English</language>"""),
    )
    assert found.title == "Growth of E. coli on CO2"
    assert found.authors == ("Jan van der Berg", "Martin King Jr.", "World Health Organization")
    assert (found.year, found.date, found.venue) == (2011, "2011-03-04", "Annals of Edges")
    assert found.categories == ("graphs", "edges")
    assert found.abstract == "We count. All of <them> & more."
    assert (found.url, found.language) == ("https://example.org/a", "English")
    assert (found.id, found.doi, found.identifiers) == ("10.1000/abc", "10.1000/abc", (("doi", "10.1000/abc"),))


def test_without_identifiers_the_content_is_the_id() -> None:
    assert paper(endnote_xml, titled("")).id == content_id("T", "", (), None)


def test_editors_only_without_authors() -> None:
    editors = "<secondary-authors><author>Ek, Bo</author></secondary-authors>"
    assert paper(endnote_xml, titled(f"<contributors>{editors}</contributors>")).authors == ("Bo Ek",)


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("<year>1937</year><pub-dates><date>Jan</date></pub-dates>", "1937-01"),
        ("<year>2019</year>", "2019"),
        ("<year>2019</year><pub-dates><date>2019/05/06</date></pub-dates>", "2019-05-06"),
        ("<year>2019</year><pub-dates><date>Nov-Dec</date></pub-dates>", "2019-11"),
        ("<year>2019</year><pub-dates><date>Spring</date></pub-dates>", "2019"),
        ("<year>2019</year><pub-dates><date>Dec 2018</date></pub-dates>", "2019"),
        ("<pub-dates><date>12 May 2018</date></pub-dates>", "2018-05-12"),
        ("<year>in press</year>", ""),
    ],
)
def test_dates(written: str, date: str) -> None:
    assert paper(endnote_xml, titled(f"<dates>{written}</dates>")).date == date


def test_a_number_of_pubmed() -> None:
    fields = "<accession-num>{}</accession-num><remote-database-name>{}</remote-database-name>"
    assert paper(endnote_xml, titled(fields.format("20049921", "PubMed"))).identifiers == (("pmid", "20049921"),)
    assert paper(endnote_xml, titled(fields.format("ISI:0002", "Web of Science"))).identifiers == ()
    assert paper(endnote_xml, titled(fields.format("20049921", "Scopus"))).identifiers == ()


def test_a_record_without_text() -> None:
    assert rejects(endnote_xml, record("<dates><year>2000</year></dates>")) == [(2, NO_TEXT)]


def test_found_in_one_line_without_a_declaration() -> None:
    record = b'<record><database name="x.enl">x</database><titles><title>T</title></titles></record>'
    data = b"<xml><records>" + record + b"</records></xml>"
    assert find_format("library.txt", data).name == "endnote-xml"
    assert len(papers(endnote_xml, data)) == 1
    assert find_format("x.xml", b"<xml>\n<records><record>").name == "endnote-xml"


def test_the_real_export(shared_data: Path) -> None:
    data = (shared_data / "wild/endnote-xml/jabref-EndnoteXmlArticle2.xml").read_bytes()
    items = read_all(endnote_xml, data)
    assert count(endnote_xml, data) == len(items) == 2
    found = [item.paper for item in items if isinstance(item, Located)]
    assert [item.line for item in items] == [4, 93]
    assert [(p.title, p.authors, p.date, p.venue, p.abstract, p.language) for p in found] == [
        (
            "An ecological basis for reforestation of submariginal lands in the Central Hardwood Region",
            ("A. G. Chapman",),
            "1937-01",
            "Ecology",
            "",
            "English",
        ),
        (
            "A survey of soil temperatures in the Chicago area",
            ("H. F. Strohecker",),
            "1937-01",
            "Ecology",
            "",
            "English",
        ),
    ]
