"""One index from a folder with a file of every format that is read: real ones, and made ones where there is none."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from fakes import FakeProvider
from fuzz_samples import KINDS
from made_papers import papers_in, run_build

from semsearch.readers import FORMATS
from semsearch.search import Searcher

# (file, format, records, papers, merged, rejected); the reader's own tests say how the numbers were checked
WILD = [
    ("arxiv/arxivpy-error-feed.atom.xml", "arxiv-atom", 1, 0, 0, 1),  # an error message of the API, no paper
    ("arxiv/arxivpy-q_testing_s0_m100.atom.xml", "arxiv-atom", 100, 100, 0, 0),
    ("bibtex/pybibx-scopus_170.bib", "bibtex", 170, 170, 0, 0),
    ("crossref-json/habanero-crossref-jats.json", "crossref", 20, 20, 0, 0),
    ("csl-json/citationjs-doi.json", "csl-json", 4, 4, 0, 0),
    ("csv/pybibx-scopus.csv", "csv", 13, 13, 0, 0),
    ("endnote-xml/jabref-EndnoteXmlArticle2.xml", "endnote-xml", 2, 2, 0, 0),
    ("jats-xml/neo4jfield-pmc-articleset.xml", "jats", 1, 1, 0, 0),
    ("nbib/dennishazelett-citations.nbib", "medline", 1, 1, 0, 0),
    ("openalex-json/backtopure-works.json", "openalex", 25, 24, 0, 1),
    ("openreview-json/zhuanxv-iclr2026-notes-subset.json", "openreview", 250, 250, 0, 0),
    ("ovid-txt/jabref-OvidImporterTest4.txt", "ovid", 1, 1, 0, 0),
    ("plain-text/tahirlanre-abstracts-blankline.txt", "text", 15, 15, 0, 0),
    ("pubmed-abstract-txt/medcityai-pubmed_abstracts-first100.txt", "pubmed-abstract", 100, 100, 0, 0),
    ("pubmed-summary-txt/liqiming-pubmed_result.txt", "pubmed-summary", 1394, 1394, 0, 0),
    ("pubmed-xml/papergraph-abstracts.txt", "pubmed-xml", 20, 20, 0, 0),
    ("refer-enw/jfellus-abstracts-percentX.txt", "refer", 499, 480, 12, 7),
    ("ris/asreview-baseline.ris", "ris", 100, 100, 0, 0),
    ("semanticscholar-json/s2-recommended.json", "semantic-scholar", 100, 100, 0, 0),
    ("wos-tab/zorzetti-savedrecs_new2.txt", "wos-tab", 500, 500, 0, 0),
    ("wos-tagged/bibliometrix-wos_sample.txt", "wos", 8, 8, 0, 0),
]
MADE = {"jsonl": "made.jsonl", "json": "made.json", "parquet": "made.parquet", "acl-xml": "made.xml"}
NO_PAPERS = {
    "index.tsv": b"file\tbytes\tquirks\na.bib\t1\tnone\n",
    "paper.tex": b"\\documentclass{article}\n\\begin{document}\nWe look at graphs.\n\\end{document}\n",
    "page.xml": b"<?xml version='1.0'?><TEI><title>Graphs</title></TEI>",
    "data.dat": b"SQLite format 3\0" + bytes(200),
}


def test_every_format_at_once(shared_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    for name, *_ in WILD:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shared_data / "wild" / name, folder / name)
    for number, (kind, name) in enumerate(MADE.items()):
        (folder / name).write_bytes(KINDS[kind].make(random.Random(number), True).data)
    for name, data in NO_PAPERS.items():
        (folder / name).write_bytes(data)
    assert {known.name for known in FORMATS} == {form for _, form, *_ in WILD} | set(MADE)

    index, provider = tmp_path / "index", FakeProvider()
    summary = run_build([folder], index, provider)
    files = {Path(file.path).relative_to(folder.resolve()).as_posix(): file for file in summary.files}
    found = [(name, file.format, file.records, file.papers, file.merged, file.rejected)
             for name, file in sorted(files.items()) if name not in MADE.values()]
    assert found == WILD
    for kind, name in MADE.items():
        file = files[name]
        assert (file.format, file.papers + file.merged, file.rejected) == (kind, file.records, 0)
        assert file.records > 0
    assert sorted(Path(name).name for name in summary.refused_files) == sorted(NO_PAPERS)

    assert len(papers_in(index)) == summary.papers == sum(file.papers for file in summary.files)
    assert len(provider.encoded) == len(set(provider.encoded)) == summary.encoded
    with Searcher(index, provider=provider) as searcher:
        [hit, *_] = searcher.query("crystal structure of graphs", 5).hits
    assert hit.rank == 1

    again = run_build([folder], index, provider)
    assert (again.published, again.encoded, again.papers) == (False, 0, summary.papers)
