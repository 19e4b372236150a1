"""The same generated papers as a file of each format that is read."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from semsearch.paper import Paper
from semsearch.writers import bibtex, csl_json, ris, tabular

WORDS = ("quantum field lattice gauge spectral cluster operator random graph network learning boundary entropy "
         "symmetry measure kernel phase transition detector survey algebra curve convex gradient sample bound "
         "estimate model theory simulation experiment observation system method result patients naïve Poincaré we "
         "show that the of in for with and on a is an by from under between large small new general local global "
         "finite exact").split()
FAMILIES = ("Lee", "van der Berg", "Müller", "Chen", "Kowalski", "Sato", "O'Neill", "Rossi", "Nguyen", "García")
GIVEN = ("Ann", "Bo", "Carla M.", "David", "Eve", "Felix", "Grace", "Hiro")


def made_papers(count: int, seed: int) -> list[Paper]:
    """Return papers with titles of 8 words and abstracts of about 150, in plain text."""
    chance = random.Random(seed)
    papers = []
    for number in range(count):
        sentences = [" ".join(chance.choices(WORDS, k=chance.randint(12, 28))).capitalize() + "." for _ in range(8)]
        authors = tuple(f"{chance.choice(GIVEN)} {chance.choice(FAMILIES)}" for _ in range(chance.randint(1, 5)))
        year = 1990 + number % 35
        papers.append(Paper(
            id=f"paper{number}", title=" ".join(chance.choices(WORDS, k=8)).capitalize() + f" {number}",
            abstract=" ".join(sentences), authors=authors, year=year, date=str(year), venue="Journal of Graphs",
            categories=("graphs", "networks"), url=f"https://example.org/{number}", doi=f"10.1000/{number}",
            identifiers=(("doi", f"10.1000/{number}"),)))
    return papers


def turned(name: str) -> tuple[str, str]:
    """Return family name and given names."""
    given, _, family = name.partition(" ") if not name.startswith("Carla") else ("Carla M.", " ", name[9:])
    return family, given


def written(write: Callable[[Sequence[Paper], io.StringIO], None], papers: Sequence[Paper]) -> str:
    """Return what one of the project's own writers makes of the papers."""
    stream = io.StringIO()
    write(papers, stream)
    return stream.getvalue()


def escape(text: str) -> str:
    """Return text for XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def as_dict(paper: Paper) -> dict[str, Any]:
    """Return a paper as scripts write it."""
    return {"id": paper.id, "title": paper.title, "abstract": paper.abstract, "authors": list(paper.authors),
            "year": paper.year, "venue": paper.venue, "url": paper.url, "doi": paper.doi}


def jsonl(papers: Sequence[Paper]) -> str:
    """Return JSON Lines."""
    return "".join(json.dumps(as_dict(paper), ensure_ascii=False) + "\n" for paper in papers)


def json_document(of: Callable[[Paper], Any]) -> Callable[[Sequence[Paper]], str]:
    """Return what makes a JSON array of records."""
    return lambda papers: json.dumps([of(paper) for paper in papers], ensure_ascii=False, indent=1)


def openalex(paper: Paper) -> dict[str, Any]:
    """Return a work of OpenAlex."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(paper.abstract.split()):
        places.setdefault(word, []).append(place)
    return {"id": f"https://openalex.org/W{10_000 + int(paper.id[5:])}", "title": paper.title,
            "publication_year": paper.year, "doi": f"https://doi.org/{paper.doi}", "abstract_inverted_index": places,
            "authorships": [{"author": {"display_name": name}} for name in paper.authors]}


def crossref(paper: Paper) -> dict[str, Any]:
    """Return a work of Crossref."""
    names = map(turned, paper.authors)
    return {"DOI": paper.doi, "title": [paper.title], "container-title": [paper.venue],
            "abstract": f"<jats:p>{escape(paper.abstract)}</jats:p>", "issued": {"date-parts": [[paper.year]]},
            "author": [{"given": given, "family": family} for family, given in names]}


def openreview(paper: Paper) -> dict[str, Any]:
    """Return a note of OpenReview."""
    fields = {"title": paper.title, "abstract": paper.abstract, "authors": list(paper.authors), "venue": paper.venue}
    return {"id": paper.id, "forum": paper.id, "content": {name: {"value": value} for name, value in fields.items()}}


def semantic_scholar(paper: Paper) -> dict[str, Any]:
    """Return a paper of Semantic Scholar."""
    return {"paperId": f"{int(paper.id[5:]):040x}", "title": paper.title, "abstract": paper.abstract,
            "year": paper.year, "venue": paper.venue, "externalIds": {"DOI": paper.doi},
            "authors": [{"authorId": "1", "name": name} for name in paper.authors]}


def snapshot(papers: Sequence[Paper]) -> str:
    """Return records of the arXiv metadata snapshot."""
    return "".join(json.dumps({
        "id": f"{7 + n // 60_000:02d}01.{n:05d}", "authors": ", ".join(p.authors), "title": p.title,
        "categories": "math.CO cs.DM", "abstract": f"  {p.abstract}\n", "doi": p.doi, "update_date": f"{p.year}-01-05",
        "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}],
        "authors_parsed": [[*turned(name), ""] for name in p.authors]}) + "\n" for n, p in enumerate(papers))


def refer(paper: Paper) -> str:
    """Return a refer record."""
    authors = "".join(f"%A {family}, {given}\n" for family, given in map(turned, paper.authors))
    return (f"%0 Journal Article\n%T {paper.title}\n{authors}%D {paper.year}\n%J {paper.venue}\n%R {paper.doi}\n"
            f"%X {paper.abstract}\n\n")


def medline(paper: Paper) -> str:
    """Return a MEDLINE record."""
    authors = "".join(f"FAU - {family}, {given}\n" for family, given in map(turned, paper.authors))
    return (f"PMID- {1000 + int(paper.id[5:])}\nTI  - {paper.title}\nAB  - {folded(paper.abstract, ' ' * 6)}\n{authors}"
            f"DP  - {paper.year} Jul\nJT  - {paper.venue}\nAID - {paper.doi} [doi]\nSO  - J Graphs.\n\n")


def folded(text: str, indent: str) -> str:
    """Return text in lines of 14 words, all but the first indented."""
    words = text.split()
    return f"\n{indent}".join(" ".join(words[start:start + 14]) for start in range(0, len(words), 14))


def wos(papers: Sequence[Paper]) -> str:
    """Return a tagged export of Web of Science."""
    records = []
    for paper in papers:
        authors = "\n   ".join(f"{family}, {given}" for family, given in map(turned, paper.authors))
        records.append(f"PT J\nAU {authors}\nTI {paper.title}\nSO {paper.venue}\nAB {folded(paper.abstract, '   ')}\n"
                       f"PY {paper.year}\nDI {paper.doi}\nUT WOS:{paper.id[5:]:>015}\nER\n\n")
    return "FN Clarivate Analytics Web of Science\nVR 1.0\n" + "".join(records) + "EF\n"


def wos_table(papers: Sequence[Paper]) -> str:
    """Return a tab-separated export of Web of Science."""
    rows = ["\t".join(("J", "; ".join(", ".join(turned(name)) for name in p.authors), p.title, p.venue, p.abstract,
                       str(p.year), p.doi, f"WOS:{p.id[5:]:>015}")) for p in papers]
    return "\n".join(["PT\tAU\tTI\tSO\tAB\tPY\tDI\tUT", *rows, ""])


def ovid(papers: Sequence[Paper]) -> str:
    """Return a text export of Ovid."""
    return "".join(
        f"<{n}>\nAccession Number\n  {n:08d}\nAuthor\n  {';  '.join(', '.join(turned(name)) for name in p.authors)}.\n"
        f"Title\n  {p.title}.\nSource\n  {p.venue}.   8(6):1048-1064, September {p.year}.\nAbstract\n"
        f"  {folded(p.abstract, '  ')}\nDOI Number\n  {p.doi}\n\n" for n, p in enumerate(papers, 1))


def pubmed_abstracts(papers: Sequence[Paper]) -> str:
    """Return PubMed's Abstract (text) export."""
    return "".join(
        f"{n}. J Graphs. {p.year} Aug 7;39(8):1421-1430. doi: {p.doi}.\n\n{folded(p.title, '')}.\n\n"
        f"{', '.join(f'{family} {given[0]}' for family, given in map(turned, p.authors))}.\n\n"
        f"{folded(p.abstract, '')}\n\n"
        f"DOI: {p.doi}\nPMID: {1000 + n}\n\n\n" for n, p in enumerate(papers, 1))


def pubmed_summaries(papers: Sequence[Paper]) -> str:
    """Return PubMed's Summary (text) export, which has no abstracts."""
    return "\n" + "".join(
        f"{n}: {', '.join(f'{family} {given[0]}' for family, given in map(turned, p.authors))}. {p.title}. J Graphs. "
        f"{p.year} Aug;39(8):1421-30. doi: {p.doi}. PubMed PMID: {1000 + n}.\n\n\n" for n, p in enumerate(papers, 1))


def xml_document(begin: str, end: str, record: Callable[[Paper], str]) -> Callable[[Sequence[Paper]], str]:
    """Return what makes an XML document of records."""
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return lambda papers: declaration + begin + "".join(record(paper) for paper in papers) + end


def people(paper: Paper, pattern: str) -> str:
    """Return a paper's authors in XML."""
    return "".join(pattern.format(family, given) for family, given in map(turned, paper.authors))


def pubmed(paper: Paper) -> str:
    """Return an article of PubMed."""
    authors = people(paper, "<Author><LastName>{}</LastName><ForeName>{}</ForeName></Author>")
    return (f'<PubmedArticle><MedlineCitation><PMID Version="1">{1000 + int(paper.id[5:])}</PMID><Article><Journal>'
            f"<JournalIssue><PubDate><Year>{paper.year}</Year></PubDate></JournalIssue><Title>{paper.venue}</Title>"
            f"</Journal><ArticleTitle>{escape(paper.title)}</ArticleTitle><Abstract><AbstractText>"
            f"{escape(paper.abstract)}</AbstractText></Abstract><AuthorList>{authors}</AuthorList></Article>"
            f"</MedlineCitation></PubmedArticle>\n")


def endnote(paper: Paper) -> str:
    """Return a record of an EndNote library."""
    authors = people(paper, "<author><style>{}, {}</style></author>")
    return (f'<record><rec-number>{paper.id[5:]}</rec-number><ref-type name="Journal Article">17</ref-type>'
            f"<contributors><authors>{authors}</authors></contributors><titles><title><style>{escape(paper.title)}"
            f"</style></title></titles><dates><year><style>{paper.year}</style></year></dates><abstract><style>"
            f"{escape(paper.abstract)}</style></abstract></record>\n")


def atom(paper: Paper) -> str:
    """Return an entry of an answer of arXiv."""
    authors = "".join(f"<author><name>{name}</name></author>" for name in paper.authors)
    return (f"<entry><id>http://arxiv.org/abs/2001.{int(paper.id[5:]):05d}v2</id><title>{escape(paper.title)}</title>"
            f"<published>2020-01-05T10:00:00Z</published><summary>{escape(paper.abstract)}</summary>{authors}"
            f'<category term="cs.DM"/></entry>\n')


def acl(paper: Paper) -> str:
    """Return a paper of the ACL Anthology."""
    authors = people(paper, "<author><last>{}</last><first>{}</first></author>")
    return (f'<paper id="{int(paper.id[5:]) + 1}"><title>{escape(paper.title)}</title>{authors}<abstract>'
            f"{escape(paper.abstract)}</abstract><doi>{paper.doi}</doi></paper>\n")


def jats(paper: Paper) -> str:
    """Return an article in JATS."""
    authors = people(paper, '<contrib contrib-type="author"><name><surname>{}</surname><given-names>{}</given-names>'
                            "</name></contrib>")
    return (f'<article><front><article-meta><article-id pub-id-type="doi">{paper.doi}</article-id><title-group>'
            f"<article-title>{escape(paper.title)}</article-title></title-group><contrib-group>{authors}</contrib-group>"
            f"<pub-date><year>{paper.year}</year></pub-date><abstract><p>{escape(paper.abstract)}</p></abstract>"
            "</article-meta></front></article>\n")


def parquet(papers: Sequence[Paper]) -> bytes:
    """Return a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([as_dict(paper) for paper in papers]), data)
    return data.getvalue()


def joined(record: Callable[[Paper], str]) -> Callable[[Sequence[Paper]], str]:
    """Return what makes a file of records one after the other."""
    return lambda papers: "".join(map(record, papers))


FILES: dict[str, tuple[str, Callable[[Sequence[Paper]], str | bytes]]] = {
    "csv": ("papers.csv", lambda papers: written(tabular.write_papers, papers)),
    "bibtex": ("papers.bib", lambda papers: written(bibtex.write_papers, papers)),
    "refer": ("papers.enw", joined(refer)),
    "ris": ("papers.ris", lambda papers: written(ris.write_papers, papers)),
    "medline": ("papers.nbib", joined(medline)),
    "wos": ("wos.txt", wos),
    "wos-tab": ("wos-table.txt", wos_table),
    "ovid": ("ovid.txt", ovid),
    "pubmed-abstract": ("abstracts.txt", pubmed_abstracts),
    "pubmed-summary": ("summaries.txt", pubmed_summaries),
    "pubmed-xml": ("pubmed.xml", xml_document("<PubmedArticleSet>\n", "</PubmedArticleSet>", pubmed)),
    "endnote-xml": ("endnote.xml", xml_document("<xml><records>\n", "</records></xml>", endnote)),
    "arxiv-atom": ("arxiv.xml", xml_document('<feed xmlns="http://www.w3.org/2005/Atom">\n'
                                             "<title>arXiv Query: all:graphs</title>\n", "</feed>", atom)),
    "acl-xml": ("acl.xml", xml_document('<collection id="2020.acl">\n<volume id="main"><meta><booktitle>Graphs'
                                        "</booktitle><year>2020</year></meta>\n", "</volume></collection>", acl)),
    "jats": ("jats.xml", xml_document("<pmc-articleset>\n", "</pmc-articleset>", jats)),
    "openalex": ("openalex.json", json_document(openalex)),
    "crossref": ("crossref.json", json_document(crossref)),
    "openreview": ("openreview.json", json_document(openreview)),
    "semantic-scholar": ("s2.json", json_document(semantic_scholar)),
    "csl-json": ("csl.json", lambda papers: written(csl_json.write_papers, papers)),
    "json": ("papers.json", json_document(as_dict)),
    "parquet": ("papers.parquet", parquet),
    "text": ("papers.txt", lambda papers: "\n\n".join(paper.abstract for paper in papers)),
    "jsonl (arXiv snapshot)": ("snapshot.jsonl", snapshot),
}
"""By format: a name for the file, and what makes its content."""
