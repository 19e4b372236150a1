"""PubMed XML: articles, books, structured abstracts, dates, names."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

from semsearch.readers import Located, find_format, pubmed_xml
from semsearch.readers.fields import NO_TEXT
from tests.readers.document_samples import PUBMED, count, paper, papers, pubmed_record, read_all, rejects

ARTICLE = """<PubmedArticle><MedlineCitation><PMID Version="2">12345</PMID><Article>
<Journal><JournalIssue>{date}</JournalIssue><Title>Annals of Edges</Title></Journal>
<ArticleTitle>{title}</ArticleTitle>{fields}</Article>{citation}</MedlineCitation><PubmedData>
<ArticleIdList><ArticleId IdType="pubmed">12345</ArticleId><ArticleId IdType="doi">10.1000/XYZ</ArticleId>
    </ArticleIdList>
<ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.1000/other</ArticleId></ArticleIdList></Reference>
</ReferenceList></PubmedData></PubmedArticle>"""


def article(title: str = "T", fields: str = "", date: str = "", citation: str = "") -> str:
    return ARTICLE.format(
        title=title, fields=fields, citation=citation, date=f"<PubDate>{date}</PubDate>" if date else ""
    )


def test_a_whole_article() -> None:
    found = paper(
        pubmed_xml,
        article(
            "Effects of <i>E. coli</i> on CO<sub>2</sub> &lt; 5%: a &quot;trial&quot;.",
            """<ELocationID EIdType="pii">S1</ELocationID><ELocationID EIdType="doi">10.1000/Abc</ELocationID>
        <Abstract><AbstractText Label="OBJECTIVE" NlmCategory="OBJECTIVE">To count <b>edges</b>.</AbstractText>
        <AbstractText Label="RESULTS:">Many &amp; more.</AbstractText>
    <AbstractText Label="UNLABELLED">End.</AbstractText>
        <CopyrightInformation>Nobody</CopyrightInformation></Abstract>
        <AuthorList><Author><LastName>van der Berg</LastName><ForeName>Jan P</ForeName><Suffix>Jr</Suffix></Author>
        <Author><CollectiveName>Edge Study Group</CollectiveName></Author>
        <Author><LastName>Wu</LastName><Initials>X</Initials></Author></AuthorList><Language>eng</Language>""",
            "<Year>2019</Year><Month>Mar</Month><Day>7</Day>",
            """<MeshHeadingList><MeshHeading><DescriptorName>Humans</DescriptorName></MeshHeading></MeshHeadingList>
        <KeywordList><Keyword>graph <i>theory</i></Keyword><Keyword>edges</Keyword></KeywordList>""",
        ),
    )
    assert (found.id, found.title) == ("12345", 'Effects of E. coli on CO2 < 5%: a "trial".')
    assert found.raw_title == 'Effects of <i>E. coli</i> on CO<sub>2</sub> &lt; 5%: a "trial".'
    assert found.abstract == "OBJECTIVE: To count edges. RESULTS: Many & more. End."
    assert found.raw_abstract == "OBJECTIVE: To count <b>edges</b>. RESULTS: Many &amp; more. End."
    assert found.markup == "html"
    assert found.authors == ("Jan P van der Berg Jr", "Edge Study Group", "X Wu")
    assert (found.year, found.date, found.venue, found.language) == (2019, "2019-03-07", "Annals of Edges", "eng")
    assert found.categories == ("graph theory", "edges")
    assert found.identifiers == (("doi", "10.1000/abc"), ("pmid", "12345"))
    assert found.doi == "10.1000/abc"


def test_the_doi_of_the_article_and_not_of_a_reference() -> None:
    assert paper(pubmed_xml, article()).doi == "10.1000/xyz"


def test_headings_stand_in_for_keywords() -> None:
    found = paper(
        pubmed_xml,
        article(
            citation="""<MeshHeadingList><MeshHeading><DescriptorName UI="D1">Humans</DescriptorName>
        <QualifierName>x</QualifierName></MeshHeading></MeshHeadingList>"""
        ),
    )
    assert found.categories == ("Humans",)


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("<Year>2020</Year><Month>Jul</Month><Day>24</Day>", "2020-07-24"),
        ("<Year>2020</Year><Month>07</Month>", "2020-07"),
        ("<Year>2020</Year><Month>7</Month><Day>4</Day>", "2020-07-04"),
        ("<Year>2020</Year>", "2020"),
        ("<Year>2020</Year><Season>Spring</Season>", "2020"),
        ("<MedlineDate>2010 Nov-Dec</MedlineDate>", "2010-11"),
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", "1998-12"),
        ("<MedlineDate>2000-2001</MedlineDate>", "2000"),
        ("<MedlineDate>Winter 1999</MedlineDate>", "1999"),
        ("<Year>x</Year>", ""),
    ],
)
def test_dates(written: str, date: str) -> None:
    found = paper(pubmed_xml, article(date=written))
    assert (found.date, found.year) == (date, int(date[:4]) if date else None)


def test_a_title_that_is_not_available() -> None:
    fields = "<VernacularTitle>Über Graphen</VernacularTitle>"
    assert paper(pubmed_xml, article("[Not Available].", fields)).title == "Über Graphen"
    assert rejects(pubmed_xml, PUBMED.format(records=article(""))) == [(4, NO_TEXT)]


def test_an_abstract_in_another_language_stands_in() -> None:
    other = '<OtherAbstract Language="spa"><AbstractText>Contamos.</AbstractText></OtherAbstract>'
    assert paper(pubmed_xml, article(citation=other)).abstract == "Contamos."
    own = "<Abstract><AbstractText>We count.</AbstractText></Abstract>"
    assert paper(pubmed_xml, article(fields=own, citation=other)).abstract == "We count."


def test_a_formula() -> None:
    formula = '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:math>'
    found = paper(
        pubmed_xml, article(fields=f"<Abstract><AbstractText>With {formula} edges.</AbstractText></Abstract>")
    )
    assert found.abstract == "With x² edges."


def test_a_book_and_a_chapter() -> None:
    book = """<PubmedBookArticle><BookDocument><PMID>99</PMID><Book><Publisher><PublisherName>P</PublisherName>
    </Publisher>
    <BookTitle book="b">Handbook of Edges</BookTitle><PubDate><Year>2009</Year><Month>02</Month></PubDate>
    <AuthorList Type="editors"><Author><LastName>Ek</LastName><ForeName>Bo</ForeName></Author></AuthorList>
    <CollectionTitle>Edge Series</CollectionTitle></Book>{chapter}<Language>eng</Language>
    <Abstract><AbstractText>All edges.</AbstractText></Abstract></BookDocument></PubmedBookArticle>"""
    whole = paper(pubmed_xml, book.format(chapter=""))
    assert (whole.id, whole.title, whole.venue, whole.authors) == ("99", "Handbook of Edges", "Edge Series", ("Bo Ek",))
    assert (whole.date, whole.abstract, whole.identifiers) == ("2009-02", "All edges.", (("pmid", "99"),))
    chapter = paper(
        pubmed_xml,
        book.format(
            chapter="""<ArticleTitle>On one edge</ArticleTitle>
    <AuthorList Type="authors"><Author><LastName>Lee</LastName><ForeName>Ann</ForeName></Author></AuthorList>"""
        ),
    )
    assert (chapter.title, chapter.venue, chapter.authors) == ("On one edge", "Handbook of Edges", ("Ann Lee",))


def test_bare_citations() -> None:
    citation = article().split("<PubmedArticle>")[1].split("<PubmedData>")[0]
    data = f"<MedlineCitationSet>{citation}{citation}</MedlineCitationSet>"
    assert [found.id for found in papers(pubmed_xml, data)] == ["12345", "12345"]
    assert count(pubmed_xml, data.encode()) == 2


@pytest.mark.parametrize("block", [1 << 16, 100])
def test_a_web_page_with_escaped_tags(block: int) -> None:
    data = "<html><body><pre>\n" + html.escape("\n".join(pubmed_record(n) for n in range(300))) + "</pre></body></html>"
    assert papers(pubmed_xml, data) == papers(pubmed_xml, "\n".join(pubmed_record(n) for n in range(300)))
    assert count(pubmed_xml, data.encode(), block) == 300
    assert find_format("page.html", data.encode()[:65536]).name == "pubmed-xml"


def test_a_declared_encoding() -> None:
    text = PUBMED.format(records=article("Zażółć")).replace('"1.0"', '"1.0" encoding="ISO-8859-2"')
    assert paper(pubmed_xml, text.encode("iso-8859-2")).title == "Zażółć"


def test_the_real_exports(shared_data: Path) -> None:
    expected = {
        "jabref-MedlineMathML.xml": ("32759406", "CellML 2.0.", "Michael Clerx", "2020-07-24", "10.1515/jib-2020-0021"),
        "jabref-MedlinePubmedBook.xml": (
            "21413195",
            "Rheumatoid Arthritis: National Clinical Guideline for Management and Treatment in Adults",
            "National Collaborating Centre for Chronic Conditions (UK)",
            "2009-02",
            "",
        ),
        "mauriciomanoel-pubmed_result_1.xml": (
            "15370989",
            'Older adults\' attitudes towards and perceptions of "smart home" technologies: a pilot study.',
            "George Demiris",
            "2004-06",
            "10.1080/14639230410001684387",
        ),
        "titipata-pubmed-29768149.xml": (
            "29768149",
            "Inhaled Combined Budesonide-Formoterol as Needed in Mild Asthma.",
            "Paul M O'Byrne",
            "2018-05-17",
            "10.1056/nejmoa1715274",
        ),
    }
    folder = shared_data / "wild" / "pubmed-xml"
    for name, values in expected.items():
        data = (folder / name).read_bytes()
        assert count(pubmed_xml, data) == 1
        found = paper(pubmed_xml, data)
        assert (found.id, found.title, found.authors[0], found.date, found.doi) == values
        assert found.abstract
    structured = paper(pubmed_xml, (folder / "titipata-pubmed-29768149.xml").read_bytes()).abstract
    assert [label for label in ("BACKGROUND: ", "METHODS: ", "RESULTS: ", "CONCLUSIONS: ") if label in structured] == [
        "BACKGROUND: ",
        "METHODS: ",
        "RESULTS: ",
        "CONCLUSIONS: ",
    ]
    assert "fast-acting β 2-agonist" in structured


def test_a_real_export_of_twenty(shared_data: Path) -> None:
    data = (shared_data / "wild/pubmed-xml/papergraph-abstracts.txt").read_bytes()
    items = read_all(pubmed_xml, data)
    found = [item.paper for item in items if isinstance(item, Located)]
    assert (len(items), len(found), count(pubmed_xml, data), sum(bool(p.abstract) for p in found)) == (20, 20, 20, 20)
    assert items[0].line == 4
    assert [(p.id, p.authors[0], p.date) for p in found[:4]] == [
        ("26421739", "Beatriz Cámara", "2014-09"),
        ("26373974", "Isabel Larridon", "2015-09"),
        ("26235221", "Vívian N Gonçalves", "2015-07-31"),
        ("25762573", "Clio Der Sarkissian", "2015-03"),
    ]
    assert [p.doi for p in found[-2:]] == ["10.1002/ajpa.20480", "10.1089/ast.2006.6.415"]
    assert sum(": " in p.abstract[:40] and p.abstract[:4].isupper() for p in found) == 3
