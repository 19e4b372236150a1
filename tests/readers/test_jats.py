"""JATS XML: articles and sets, abstracts in sections, names, dates."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch.readers import Located, find_format, jats
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import JATS, count, jats_record, paper, papers, read_all, rejects


def article(meta: str, journal: str = "", more: str = "") -> str:
    return f"""<article xmlns:xlink="http://www.w3.org/1999/xlink" xml:lang="en" article-type="research-article"><front>
<journal-meta>{journal}</journal-meta><article-meta>{meta}</article-meta></front>{more}</article>"""


def titled(meta: str) -> str:
    return article(f"<title-group><article-title>T</article-title></title-group>{meta}")


def test_a_whole_article() -> None:
    found = paper(
        jats,
        article(
            """<article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="pmc">456</article-id>
    <article-id pub-id-type="doi">10.1000/ABC</article-id>
    <title-group><article-title>Growth of <italic>E. coli</italic><xref ref-type="fn">*</xref></article-title>
    <subtitle>a trial</subtitle></title-group>
    <contrib-group><contrib contrib-type="author"><name><surname>van der Berg</surname>
    <given-names>Jan</given-names><suffix>Jr</suffix></name>
    <xref ref-type="aff">1</xref></contrib><contrib contrib-type="author"><collab>Edge Group<contrib-group>
    <contrib><name><surname>X</surname></name>
    </contrib></contrib-group></collab></contrib><contrib contrib-type="author"><string-name>Ann Lee</string-name>
    </contrib>
    <contrib contrib-type="editor"><name><surname>Ek</surname></name></contrib></contrib-group>
    <pub-date pub-type="collection"><year>2020</year></pub-date><pub-date pub-type="epub"><day>7</day>
    <month>3</month><year>2020</year></pub-date>
    <abstract abstract-type="graphical"><p>Picture.</p></abstract>
    <abstract><title>Abstract</title><sec><title>Background</title>
    <p>We count <italic>edges</italic> [<xref>1</xref>].</p></sec>
    <sec><title>Results:</title><p>CO<sub>2</sub> &lt; 5.</p><p>More.</p></sec></abstract>
    <trans-abstract xml:lang="es"><p>Contamos.</p></trans-abstract>
    <kwd-group><title>Keywords</title><kwd>graphs</kwd><kwd><italic>edges</italic></kwd></kwd-group>""",
            "<journal-id>ann</journal-id><journal-title-group><journal-title>Annals of Edges</journal-title>"
            "</journal-title-group>",
            "<body><sec><title>Intro</title><p>a < b & c</p></sec></body><back><ref-list><ref>"
            "<article-title>Other</article-title></ref></ref-list></back>",
        ),
    )
    assert found.title == "Growth of E. coli: a trial"
    assert found.authors == ("Jan van der Berg Jr", "Edge Group", "Ann Lee")
    assert found.abstract == "Background: We count edges [1]. Results: CO2 < 5. More."
    assert "<sec><title>Background</title>" in found.raw_abstract
    assert (found.date, found.venue, found.language) == ("2020-03-07", "Annals of Edges", "en")
    assert found.categories == ("graphs", "edges")
    assert found.id == "10.1000/abc"
    assert found.identifiers == (("doi", "10.1000/abc"), ("pmid", "123"), ("id:pmc", "PMC456"))


def test_ids_without_a_doi() -> None:
    assert paper(jats, titled('<article-id pub-id-type="arxiv">2001.00001</article-id>')).id == "2001.00001"
    assert paper(jats, titled('<article-id pub-id-type="pmid">123</article-id>')).id == "123"
    only_pmc = paper(jats, titled('<article-id pub-id-type="pmcid">PMC5</article-id>'))
    assert (len(only_pmc.id), only_pmc.identifiers) == (12, (("id:pmc", "PMC5"),))


def test_abstracts_that_stand_in() -> None:
    assert paper(jats, titled("<trans-abstract><p>Contamos.</p></trans-abstract>")).abstract == "Contamos."
    assert paper(jats, titled("<abstract>Bare text.</abstract>")).abstract == "Bare text."
    assert paper(jats, titled('<abstract abstract-type="teaser"><p>Read!</p></abstract>')).abstract == ""


def test_a_formula_in_two_forms() -> None:
    formula = """<inline-formula><alternatives>
    <tex-math>\\documentclass{x}\\begin{document}$$y^2$$\\end{document}</tex-math>
    <mml:math><mml:msup><mml:mi>y</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:math></alternatives></inline-formula>"""
    assert paper(jats, titled(f"<abstract><p>With {formula} edges.</p></abstract>")).abstract == "With y² edges."


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("<pub-date><year>2020</year><month>Mar</month></pub-date>", "2020-03"),
        ('<pub-date iso-8601-date="2020-03-04"/>', "2020-03-04"),
        ("<pub-date><year>2021</year></pub-date><pub-date><year>2020</year><month>12</month></pub-date>", "2020-12"),
        ("<pub-date><season>Fall</season><year>2020</year></pub-date>", "2020"),
        ("", ""),
    ],
)
def test_dates(written: str, date: str) -> None:
    assert paper(jats, titled(written)).date == date


def test_editors_only_without_authors() -> None:
    editor = '<contrib contrib-type="editor"><name><surname>Ek</surname><given-names>Bo</given-names></name></contrib>'
    assert paper(jats, titled(f"<contrib-group>{editor}</contrib-group>")).authors == ("Bo Ek",)


def test_parts_of_an_article_are_no_articles() -> None:
    front = "<front-stub><title-group><article-title>Review</article-title></title-group></front-stub>"
    more = f"<sub-article>{front}</sub-article>"
    data = article("<title-group><article-title>T</article-title></title-group><related-article/>", more=more)
    assert len(papers(jats, data)) == count(jats, data.encode()) == 1


def test_with_a_namespace() -> None:
    data = jats_record(1).replace("<article ", '<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.3/" ')
    assert papers(jats, data) == papers(jats, jats_record(1))


def test_an_article_without_text() -> None:
    assert rejects(jats, JATS.format(records=article(""))) == [(2, NO_TEXT)]


def test_html_is_not_taken_for_it() -> None:
    page = b"<!DOCTYPE html><html><body><article><h1>News</h1></article></body></html>"
    assert jats.looks_like("page.html", page) == 0
    assert find_format("x.xml", JATS.format(records=jats_record(1)).encode()).name == "jats"


def test_the_real_export(shared_data: Path) -> None:
    data = (shared_data / "wild/jats-xml/neo4jfield-pmc-articleset.xml").read_bytes()
    (item,) = read_all(jats, data)
    assert isinstance(item, Located)
    assert (count(jats, data), item.line, item.paper.id) == (1, 1, "10.1210/clinem/dgae734")
    assert item.paper.title.startswith("Effectiveness of Dexamethasone for COVID-19")
    assert (item.paper.authors[0], item.paper.date) == ("Salman Zahoor Bhat", "2024-10-17")
    assert item.paper.venue == "The Journal of Clinical Endocrinology and Metabolism"
    assert item.paper.abstract.startswith("Background: ")
    assert dict(item.paper.identifiers)["pmid"] == "39418352"
