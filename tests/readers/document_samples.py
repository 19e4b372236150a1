"""Small documents of each XML and JSON format, made up here, for the tests of their readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from types import ModuleType
from typing import Any

from semsearch.paper import Paper
from semsearch.readers import (
    Located,
    ReadItem,
    Rejected,
    acl_xml,
    arxiv_atom,
    crossref,
    csl_json,
    endnote_xml,
    jats,
    json_papers,
    openalex,
    openreview,
    pubmed_xml,
    semantic_scholar,
)


def read_all(module: ModuleType, data: bytes | str, name: str = "file") -> list[ReadItem]:
    """Return the items that a reader gives for a file; what its counter counts must not be more."""
    data = data.encode() if isinstance(data, str) else data
    items = list(module.read(BytesIO(data), name))
    assert count(module, data) <= len(items)
    return items


def count(module: ModuleType, data: bytes, block: int = 65536) -> int:
    """Return what the counter of a format says."""
    counter = module.FORMAT.counter()
    for start in range(0, len(data), block):
        counter.feed(data[start : start + block])
    total: int = counter.total()
    return total


def papers(module: ModuleType, data: bytes | str, name: str = "file") -> list[Paper]:
    """Return the papers of a file of which nothing is rejected."""
    items = read_all(module, data, name)
    rejected = [item for item in items if isinstance(item, Rejected)]
    assert not rejected
    return [item.paper for item in items if isinstance(item, Located)]


def paper(module: ModuleType, data: bytes | str, name: str = "file") -> Paper:
    """Return the one paper of a file."""
    (only,) = papers(module, data, name)
    return only


def rejects(module: ModuleType, data: bytes | str) -> list[tuple[int, str]]:
    """Return line and reason of everything rejected."""
    return [(item.line, item.reason) for item in read_all(module, data) if isinstance(item, Rejected)]


PUBMED = """<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://example.org/none.dtd">
<PubmedArticleSet>
{records}
</PubmedArticleSet>
"""
ENDNOTE = """<?xml version="1.0" encoding="UTF-8"?><xml><records>
{records}
</records></xml>
"""
ATOM = """<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">
<title>arXiv Query: all:graphs</title>
{records}
</feed>
"""
ACL = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2020.acl">
<volume id="main" ingest-date="2020-06-19">
<meta><booktitle>Proceedings of the Meeting on <fixed-case>C</fixed-case>omputing</booktitle>
<month>July</month><year>2020</year><editor><first>Ed</first><last>Itor</last></editor></meta>
<frontmatter><url hash="0">2020.acl-main.0</url></frontmatter>
{records}
</volume>
</collection>
"""
JATS = '<?xml version="1.0"?><!DOCTYPE pmc-articleset><pmc-articleset>\n{records}\n</pmc-articleset>'


def pubmed_record(n: int) -> str:
    """Return an article of PubMed."""
    return f"""<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{1000 + n}</PMID>
<Article PubModel="Print"><Journal><JournalIssue><PubDate><Year>2020</Year><Month>Jul</Month></PubDate></JournalIssue>
<Title>Journal of Graphs</Title></Journal><ArticleTitle>Graph number {n} &amp; others.</ArticleTitle>
<Abstract><AbstractText Label="METHODS">We drew {n} graphs.</AbstractText></Abstract>
<AuthorList><Author><LastName>Lee</LastName><ForeName>Ann</ForeName></Author></AuthorList></Article></MedlineCitation>
</PubmedArticle>"""


def endnote_record(n: int) -> str:
    """Return a record of an EndNote library."""
    return f"""<record><rec-number>{n}</rec-number><ref-type name="Journal Article">17</ref-type>
<contributors><authors><author><style face="normal">Lee, Ann</style></author></authors></contributors>
<titles><title><style face="normal">Graph number {n}</style></title></titles>
<abstract><style>We drew {n} graphs.</style></abstract></record>"""


def atom_record(n: int) -> str:
    """Return an entry of an answer of arXiv."""
    return f"""<entry><id>http://arxiv.org/abs/2001.{n:05d}v2</id><title>Graph number {n}</title>
<published>2020-01-05T10:00:00Z</published><summary>We drew ${n}$ graphs.</summary>
<author><name>Ann Lee</name></author><arxiv:primary_category term="cs.DM"/><category term="cs.DM"/></entry>"""


def acl_record(n: int) -> str:
    """Return a paper of the ACL Anthology."""
    return f"""<paper id="{n}"><title>Graph number {n}</title><author><first>Ann</first><last>Lee</last></author>
<abstract>We drew {n} graphs.</abstract></paper>"""


def jats_record(n: int) -> str:
    """Return an article in JATS."""
    return f"""<article article-type="research-article"><front><article-meta>
    <article-id pub-id-type="doi">10.1000/{n}</article-id>
<title-group><article-title>Graph number {n}</article-title></title-group><abstract><p>We drew {n} graphs.</p>
    </abstract>
</article-meta></front><body><p>All of it.</p></body></article>"""


def openalex_record(n: int) -> dict[str, Any]:
    """Return a work of OpenAlex."""
    return {
        "id": f"https://openalex.org/W{10000 + n}",
        "title": f"Graph number {n}",
        "authorships": [{"author": {"id": "https://openalex.org/A1", "display_name": "Ann Lee"}}],
        "abstract_inverted_index": {"We": [0], "drew": [1], "graphs.": [3], str(n): [2]},
    }


def crossref_record(n: int) -> dict[str, Any]:
    """Return a work of Crossref."""
    return {
        "DOI": f"10.1000/{n}",
        "title": [f"Graph number {n}"],
        "container-title": ["Graphs"],
        "abstract": f"<jats:title>Abstract</jats:title><jats:p>We drew {n} graphs.</jats:p>",
        "author": [{"given": "Ann", "family": "Lee"}],
    }


def csl_record(n: int) -> dict[str, Any]:
    """Return an item in CSL-JSON."""
    return {
        "id": f"lee{n}",
        "type": "article-journal",
        "title": f"Graph number {n}",
        "abstract": f"We drew {n} graphs.",
        "author": [{"given": "Ann", "family": "Lee"}],
        "issued": {"date-parts": [[2020, 7]]},
    }


def s2_record(n: int) -> dict[str, Any]:
    """Return a paper of Semantic Scholar."""
    return {
        "paperId": f"{n:040x}",
        "title": f"Graph number {n}",
        "abstract": f"We drew {n} graphs.",
        "authors": [{"authorId": "1", "name": "Ann Lee"}],
    }


def openreview_record(n: int) -> dict[str, Any]:
    """Return a note of OpenReview."""
    return {
        "id": f"note{n}",
        "forum": f"note{n}",
        "content": {
            "title": {"value": f"Graph number {n}"},
            "abstract": {"value": f"We drew {n} graphs."},
            "authors": {"value": ["Ann Lee"]},
        },
    }


def plain_record(n: int) -> dict[str, Any]:
    """Return a paper as scripts write it."""
    return {"id": n, "title": f"Graph number {n}", "abstract": f"We drew {n} graphs.", "authors": ["Ann Lee"]}


@dataclass(frozen=True)
class Sample:
    """A format with what makes documents of it."""

    module: ModuleType
    record: Callable[[int], Any]
    around: str = ""

    @property
    def name(self) -> str:
        """The name of the format."""
        return str(self.module.FORMAT.name)

    def document(self, numbers: Iterator[int] | range, indent: int | None = None) -> str:
        """Return a document with a record for each number."""
        records = [self.record(n) for n in numbers]
        if self.around:
            return self.around.format(records="\n".join(records))
        return json.dumps(records, indent=indent)


SAMPLES = [
    Sample(pubmed_xml, pubmed_record, PUBMED),
    Sample(endnote_xml, endnote_record, ENDNOTE),
    Sample(arxiv_atom, atom_record, ATOM),
    Sample(acl_xml, acl_record, ACL),
    Sample(jats, jats_record, JATS),
    Sample(openalex, openalex_record),
    Sample(crossref, crossref_record),
    Sample(csl_json, csl_record),
    Sample(semantic_scholar, s2_record),
    Sample(openreview, openreview_record),
    Sample(json_papers, plain_record),
]
XML_SAMPLES = [sample for sample in SAMPLES if sample.around]
JSON_SAMPLES = [sample for sample in SAMPLES if not sample.around]
