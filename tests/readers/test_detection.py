"""Which format a file is in, and which it is refused for."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from semsearch.errors import UnknownFormat, UsageError
from semsearch.readers import FORMATS, SourceReader, expand_sources, find_format

ABSTRACT = b"We study graphs, and we find that they are larger than was thought before. They also have more edges.\n"
RECORD = b'{"id": 1, "title": "T", "abstract": "A."}\n'


def zip_of(part: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(part, "x")
    return data.getvalue()


def test_every_format_is_named_once() -> None:
    names = [known.name for known in FORMATS]
    assert len(set(names)) == len(names)
    assert all(known.version >= 1 and known.title for known in FORMATS)


@pytest.mark.parametrize(
    ("name", "head", "found"),
    [
        ("papers.jsonl", RECORD * 3, "jsonl"),
        ("papers.json", RECORD, "jsonl"),
        ("papers.txt", RECORD * 3, "jsonl"),
        ("papers", b"\xef\xbb\xbf\n\n" + RECORD, "jsonl"),
        ("papers.jsonl", b"oops\n" + RECORD, "jsonl"),
        ("papers.json", b'{"title": "T", "citations": [' + b'{"x": 1}, ' * 10_000, "jsonl"),
        ("papers.jsonl", RECORD.decode().encode("utf-16"), "jsonl"),
        ("papers.csv", b"id,title,abstract\n1,T,A.\n", "csv"),
        ("papers.txt", b"id\ttitle\tabstract\n1\tT\tA.\n", "csv"),
        ("papers.tsv", b"Title\nT\n", "csv"),
        ("x.bib", b"@article{key,\n  title = {T},\n}\n", "bibtex"),
        ("x.txt", b"Scopus\n\n@ARTICLE{Key2024,\n\tauthor = {Lee},\n}\n", "bibtex"),
        ("x.txt", b"@article{key, title = {T}, year = 2020}\r", "bibtex"),
        ("x.bib", b"% an empty library\n", "bibtex"),
        ("x.txt", b"%0 Journal Article\n%T T\n%X A\n", "refer"),
        ("x.txt", b"TY  - JOUR\nTI  - T\nER  - \n", "ris"),
        ("x.ris", "1.\r\nTY  - JOUR\r\nTI  - T\r\nER  - \r\n".encode("utf-16"), "ris"),
        ("x.txt", b"PMID- 1\nOWN - NLM\nTI  - T\nAB  - A\n", "medline"),
        ("x.txt", b"FN Clarivate\nVR 1.0\nPT J\nAU Lee\nTI T\nER\n", "wos"),
        ("x.txt", b"<8>\nAccession Number\n  1\nAuthor\n  Lee\nTitle\n  T\n", "ovid"),
        (
            "x.txt",
            b"1. J Graphs. 2025 Aug;39(8):1-2. doi: 10.1/x.\n\nT.\n\nLee A(1).\n\nA.\n\nPMID: 1\n",
            "pubmed-abstract",
        ),
        (
            "x.txt",
            b"\n1: Lee A. T. Nature. 2019. PubMed PMID: 1.\n\n\n2: Ek B. U. Nature. 2019. PubMed PMID: 2.\n",
            "pubmed-summary",
        ),
        ("list.txt", ABSTRACT * 2, "text"),
        ("list", ABSTRACT + b"\n" + ABSTRACT, "text"),
        ("list.md", b"# ICLR 2025\n\n" + ABSTRACT, "text"),
        ("list.txt", b"<p>" + ABSTRACT + b"</p>\n", "text"),
        ("list.txt", b"[1] " + ABSTRACT, "text"),
        ("list.txt", "论文列表\n\n我们研究图神经网络的表达能力，并提出一种新的方法。\n".encode("gbk"), "text"),
        ("list.txt", "Nous étudions les réseaux, l’été comme l’hiver.".encode("cp1252"), "text"),
        ("empty.txt", b"", "text"),
        ("empty.jsonl", b"", "jsonl"),
        ("empty.csv", b"\n", "csv"),
        ("empty", b"", "text"),
    ],
)
def test_formats_that_are_read(name: str, head: bytes, found: str) -> None:
    assert find_format(name, head[:65536]).name == found


@pytest.mark.parametrize(
    ("name", "head", "what"),
    [
        ("x.txt", b"<root><a/></root>", "XML"),
        ("x.txt", b"<!DOCTYPE html>\n<html>", "HTML"),
        ("x.txt", b"<html><body>", "HTML"),
        ("x.xml", b'<?xml version="1.0"?><mods/>', "MODS XML"),
        ("x.json", b'[{"name": "T"}]', "JSON array"),
        ("x.jsonl", b'[\n  {"name": "T"}\n]', "JSON array"),
        ("x.json", b'{\n  "name": "T"\n}', "JSON document"),
        ("x.json", b'{"meta": {}, "results": [{"name": "T"}]}', "'results'"),
        ("x.json", b'{"dev": [1, 2], "test": [3]}', "neither a title nor an abstract (but 'dev', 'test')"),
        ("x.txt", b'{"id": 1, "title": "T", oops\n', "JSON"),
        ("x.tex", b"\\documentclass{article}\n", "LaTeX"),
        ("x.txt", b"%PDF-1.7\n", "PDF"),
        ("x.txt", b"PARExxxx", "an encrypted Parquet file"),
        ("x.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Word"),
        ("x.docx", zip_of("word/document.xml"), "Word document"),
        ("x.xlsx", zip_of("xl/workbook.xml"), "Excel"),
        ("x.zip", zip_of("a.txt"), "ZIP"),
        ("x.txt", b"{\\rtf1 x}", "RTF"),
        ("x", b"\x7fELF\x02\x01\x01\0\0\0\0\0", "binary"),
        ("x.txt", bytes(1000), "binary"),
        ("x.txt", "text\n".encode("utf-32"), "UTF-32"),
    ],
)
def test_formats_that_are_refused_by_name(name: str, head: bytes, what: str) -> None:
    with pytest.raises(UnknownFormat) as caught:
        find_format(name, head)
    assert caught.value.message.startswith(f"{name} looks like ")
    assert what in caught.value.message
    assert caught.value.message.endswith(", which this version does not read.")
    assert "JSON Lines" in caught.value.way_out


def test_a_format_can_be_forced() -> None:
    assert find_format("x.bib", b"@article{key,\n title = {T}}", "text").name == "text"
    assert find_format("x", b"a\tb\ttitle\n", "TSV").name == "csv"
    assert find_format("x", b"[1]", "jsonl").name == "jsonl"


def test_a_forced_table_must_still_name_its_columns() -> None:
    with pytest.raises(UnknownFormat, match="no column for a title"):
        find_format("x", b"a,b\n1,2\n", "csv")


def test_an_unknown_name_of_a_format_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as caught:
        find_format("x", b"", "docx")
    assert (caught.value.message, caught.value.way_out) == (
        "There is no input format 'docx'.",
        f"Choose one of: {', '.join(known.name for known in FORMATS)}.",
    )


def test_the_real_exports_are_found_for_what_they_are(shared_data: Path) -> None:
    kinds = {
        "arxiv": {"arxiv-atom"},
        "bibtex": {"bibtex"},
        "crossref-json": {"crossref"},
        "csl-json": {"csl-json", "json"},
        "csv": {"csv"},
        "endnote-xml": {"endnote-xml"},
        "jats-xml": {"jats"},
        "nbib": {"medline"},
        "openalex-json": {"openalex"},
        "openreview-json": {"openreview"},
        "other-json": {"semantic-scholar"},
        "ovid-txt": {"ovid"},
        "plain-text": {"text"},
        "pubmed-abstract-txt": {"pubmed-abstract"},
        "pubmed-summary-txt": {"pubmed-summary"},
        "pubmed-xml": {"pubmed-xml"},
        "refer-enw": {"refer"},
        "ris": {"ris"},
        "semanticscholar-json": {"semantic-scholar"},
        "wos-tab": {"wos-tab"},
        "wos-tagged": {"wos"},
    }
    for kind, names in kinds.items():
        files = expand_sources([shared_data / "wild" / kind])
        assert files
        readers = [SourceReader(file) for file in files]
        assert {reader.format.name for reader in readers} == names
        for reader in readers:
            reader.close()
