"""Formats that are not read here, recognised so that they are refused by name and never taken for plain text."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import Final

from semsearch.readers.text import sniff_text

_AS_TABLE: Final = "Export it as CSV or JSON Lines and read that."
_AS_TEXT: Final = "Save it as plain text (UTF-8), CSV or JSON Lines and read that."


@dataclass(frozen=True, slots=True)
class Foreign:
    """A format by the name that users know it by, and what to do with such a file."""

    title: str
    way_out: str = _AS_TABLE
    by_name_only: bool = False


_MAGIC: Final = (
    (codecs.BOM_UTF32_LE, Foreign("text in UTF-32", _AS_TEXT)),
    (codecs.BOM_UTF32_BE, Foreign("text in UTF-32", _AS_TEXT)),
    (b"%PDF-", Foreign("PDF", "Give the abstracts as a text, CSV or JSON Lines file.")),
    (b"PAR1", Foreign("Parquet")),
    (b"ARROW1", Foreign("Arrow")),
    (b"SQLite format 3\0", Foreign("an SQLite database")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Foreign("an old Word or Excel file", _AS_TEXT)),
    (b"{\\rtf", Foreign("RTF", _AS_TEXT)),
    (b"7z\xbc\xaf\x27\x1c", Foreign("a 7-Zip archive", "Unpack it and name the files in it.")),
    (b"Rar!\x1a\x07", Foreign("a RAR archive", "Unpack it and name the files in it.")),
    (b"\x89PNG", Foreign("a PNG image", _AS_TEXT)),
    (b"\xff\xd8\xff", Foreign("a JPEG image", _AS_TEXT)),
    (b"GIF8", Foreign("a GIF image", _AS_TEXT)),
    (b"%!PS", Foreign("PostScript", _AS_TEXT)),
    (b"\x89HDF", Foreign("HDF5")),
    (b"\x93NUMPY", Foreign("a NumPy array")),
)
_ZIP_PARTS: Final = ((b"word/", Foreign("a Word document", _AS_TEXT)), (b"xl/", Foreign("an Excel workbook")),
                     (b"opendocument", Foreign("an OpenDocument file", _AS_TEXT)))
_TAR_MAGIC_AT: Final = 257

_BIBTEX: Final = re.compile(
    r"^\s*@(?:article|inproceedings|incollection|inbook|book|booklet|conference|manual|mastersthesis|phdthesis|thesis|misc|"
    r"online|proceedings|collection|techreport|report|unpublished|string|comment|preamble|electronic|dataset|software|"
    r"patent|www|[a-z]+)\s*[{(]", re.IGNORECASE | re.MULTILINE)
_BIBTEX_FIELD: Final = re.compile(
    r"(?:^|,)\s*[a-z_-]+\s*=\s*[{\"\w]|@string\s*[{(]\s*[\w:+-]+\s*=", re.IGNORECASE | re.MULTILINE)
_RIS_TYPE: Final = re.compile(r"^\s*TY  ?- ?", re.MULTILINE)
_RIS_TAG: Final = re.compile(r"^[A-Z][A-Z0-9]  ?- ?", re.MULTILINE)
_NBIB_TAG: Final = re.compile(r"^(?:[A-Z]{2,4}) {0,3}- ", re.MULTILINE)
_REFER_TAG: Final = re.compile(r"^%[A-Z0-9!@\[\]~^&*] ?\S", re.MULTILINE)
_WOS_START: Final = re.compile(r"^\s*FN .+\n(?:VR .+\n)?", re.MULTILINE)
_WOS_TAG: Final = re.compile(r"^(?:PT|AU|TI|SO|AB|PY|ER|UT) ?", re.MULTILINE)
_PUBMED_ABSTRACT: Final = re.compile(r"^\d+\. .{3,200}\. (?:19|20)\d\d\b", re.MULTILINE)
_PUBMED_SUMMARY: Final = re.compile(r"^\d+: .+", re.MULTILINE)
_PMID_NAMED: Final = re.compile(r"\bPMID: \d+")
_OVID_START: Final = re.compile(r"^<\d+>\s*$", re.MULTILINE)
_OVID_FIELD: Final = re.compile(
    r"^(?:Accession Number|Author|Title|Source|Abstract|Unique Identifier)\s*$", re.MULTILINE)
_HTML_START: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|div|table)\b", re.IGNORECASE | re.DOTALL)
_XML_START: Final = re.compile(
    r"\s*<(?:\?xml\b|!DOCTYPE\b|[A-Za-z_][\w.:-]*(?:\s+[\w.:-]+\s*=\s*[\"'][^\"']*[\"'])*\s*/?>)")
_INLINE_START: Final = re.compile(r"\s*<(?:p|b|i|em|strong|sub|sup|span|br|h[1-6]|jats:\w+)\b", re.IGNORECASE)
_LATEX_START: Final = re.compile(r"^\s*\\(?:documentclass|begin\{document\})", re.MULTILINE)
_XML_KINDS: Final = (
    ("<PubmedArticle", "PubMed XML"), ("<PubmedBookArticle", "PubMed XML"), ("<pmc-articleset", "JATS XML"),
    ("<MedlineCitation", "PubMed XML"), ("http://www.w3.org/2005/Atom", "an Atom feed (arXiv API)"),
    ("<records>", "EndNote XML"), ("<mods", "MODS XML"), ("<OAI-PMH", "an OAI-PMH answer"), ("<article", "JATS XML"),
    ("<TEI", "TEI XML"), ("<b:Sources", "Word bibliography XML"))
_ENVELOPE: Final = re.compile(
    r'\{\s*"(?:meta|results|items|data|papers|works|status|recommendedPapers|total|offset|hits|response|records|documents|'
    r'count)"\s*:')
_LIST_IN_ENVELOPE: Final = re.compile(
    r'"(results|items|data|papers|works|recommendedPapers|hits|records|documents|docs)"\s*:\s*\[')
_LINES_TELLING: Final = 0.5


def foreign_format(name: str, head: bytes) -> Foreign | None:
    """Return the format, not read here, that the beginning of a file is evidently in, None where it is in none.

    `name` is the file's name in lower case without the suffix of a compression.
    """
    binary = _binary_format(head)
    if binary:
        return binary
    text = sniff_text(head)
    if text is None:
        return Foreign("binary data", _AS_TEXT)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _markup_format(text) or _json_document(text) or _tagged_format(text) or _weak_format(name, text)


def _binary_format(head: bytes) -> Foreign | None:
    for magic, foreign in _MAGIC:
        if head.startswith(magic):
            return foreign
    if head.startswith(b"PK\x03\x04"):
        return next((foreign for part, foreign in _ZIP_PARTS if part in head),
                    Foreign("a ZIP archive", "Unpack it and name the files in it."))
    if head[_TAR_MAGIC_AT:_TAR_MAGIC_AT + 5] == b"ustar":
        return Foreign("a tar archive", "Unpack it and name the files in it.")
    return None


def _markup_format(text: str) -> Foreign | None:
    if _HTML_START.match(text):
        return Foreign("HTML", _AS_TEXT)
    if _XML_START.match(text) and not _INLINE_START.match(text):
        return Foreign(next((kind for sign, kind in _XML_KINDS if sign in text), "XML"))
    if _LATEX_START.search(text):
        return Foreign("LaTeX", _AS_TEXT)
    return None


def _json_document(text: str) -> Foreign | None:
    """Return what JSON a text is, unless it is one object a line with a paper in each."""
    text = text.lstrip()
    by_jq = "Make it one object a line, for example with: jq -c '{}' FILE > papers.jsonl"
    if re.match(r"\[\s*(?:\{|\[|\])", text):
        return Foreign("a JSON array, not one object a line", by_jq.format(".[]"))
    if re.match(r'\{\s*\n\s*(?:"|\})', text):
        return Foreign("a JSON document over several lines", by_jq.format("."))
    if '"message-type":' in text[:200]:
        return Foreign("a Crossref answer (JSON)", by_jq.format(".message.items[]"))
    listed = _ENVELOPE.match(text) and _LIST_IN_ENVELOPE.search(text)
    if listed:
        name = listed.group(1)
        return Foreign(f"one JSON object with the list {name!r} in it", by_jq.format(f".{name}[]"))
    return None


def _tagged_format(text: str) -> Foreign | None:
    lines = [line for line in text.splitlines() if line.strip()]
    enough = max(1, int(len(lines) * _LINES_TELLING))
    if _BIBTEX.search(text) and _BIBTEX_FIELD.search(text):
        return Foreign("BibTeX")
    if _RIS_TYPE.search(text) and len(_RIS_TAG.findall(text)) > 1:
        return Foreign("RIS")
    if len(_NBIB_TAG.findall(text)) > 2 and re.search(r"^(?:PMID|OWN|TI|AB|FAU) *- ", text, re.MULTILINE):
        return Foreign("PubMed nbib (MEDLINE)")
    if len(_REFER_TAG.findall(text)) >= enough and text.lstrip().startswith("%"):
        return Foreign("refer/EndNote (%-tags)")
    if _WOS_START.search(text) and len(_WOS_TAG.findall(text)) > 2:
        return Foreign("Web of Science tagged text")
    if re.match(r"\s*1: ", text) and len(_PMID_NAMED.findall(text)) * 2 >= len(_PUBMED_SUMMARY.findall(text)) > 1:
        return Foreign("PubMed summary text")
    if re.match(r"\s*\d+\. ", text) and _PUBMED_ABSTRACT.search(text) and _PMID_NAMED.search(text):
        return Foreign("PubMed abstract text")
    if _OVID_START.search(text) and len(_OVID_FIELD.findall(text)) > 2:
        return Foreign("Ovid text")
    return None


def _json_without_text(line: str) -> Foreign:
    """Return what a first line of JSON is in which no title and no abstract was found."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return Foreign("JSON, but not one object a line", by_name_only=True)
    fields = ", ".join(repr(key[:40]) for key in list(record)[:12])
    return Foreign(f"JSON objects with neither a title nor an abstract (but {fields})",
                   "Name the fields 'title' and 'abstract'.", by_name_only=True)


_NAMES: Final = {".bib": "BibTeX", ".ris": "RIS", ".nbib": "PubMed nbib (MEDLINE)", ".enw": "refer/EndNote (%-tags)",
                 ".xml": "XML", ".html": "HTML", ".htm": "HTML", ".json": "JSON", ".ciw": "Web of Science tagged text",
                 ".isi": "Web of Science tagged text", ".tex": "LaTeX"}


def _weak_format(name: str, text: str) -> Foreign | None:
    """Return the format that a first character or the name speaks of: it gives way to evident JSON Lines or a table."""
    if re.match(r'\s*\{\s*"', text):
        return _json_without_text(text.lstrip().split("\n", 1)[0])
    kind = next((kind for suffix, kind in _NAMES.items() if name.endswith(suffix)), None)
    return Foreign(f"{kind} by its name", by_name_only=True) if kind else None
