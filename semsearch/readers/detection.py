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
    (b"PARE", Foreign("an encrypted Parquet file", "Decrypt it, or export it as CSV or JSON Lines and read that.")),
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
                     (b"ppt/", Foreign("a PowerPoint presentation", _AS_TEXT)),
                     (b"opendocument", Foreign("an OpenDocument file", _AS_TEXT)),
                     (b"application/epub+zip", Foreign("an EPUB book", _AS_TEXT)),
                     (b"META-INF/", Foreign("a Java archive")))
_PIPED_ZIP: Final = Foreign("a ZIP archive inside another file or from a pipe", "Unpack it and name the files in it.")
"""One that lies on disk as a file of its own is taken apart before formats are looked for."""
_TAR_MAGIC_AT: Final = 257

_HTML_START: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|div|table)\b", re.IGNORECASE | re.DOTALL)
_XML_START: Final = re.compile(
    r"\s*<(?:\?xml\b|!DOCTYPE\b|[A-Za-z_][\w.:-]*(?:\s+[\w.:-]+\s*=\s*[\"'][^\"']*[\"'])*\s*/?>)")
_INLINE_START: Final = re.compile(r"\s*<(?:p|b|i|em|strong|sub|sup|span|br|h[1-6]|jats:\w+)\b", re.IGNORECASE)
_LATEX_START: Final = re.compile(r"^\s*\\(?:documentclass|begin\{document\})", re.MULTILINE)
_XML_KINDS: Final = (
    ("<mods", "MODS XML"), ("<OAI-PMH", "an OAI-PMH answer"), ("<TEI", "TEI XML"),
    ("<b:Sources", "Word bibliography XML"))
_ENVELOPE: Final = re.compile(
    r'\{\s*"(?:meta|results|items|data|papers|works|status|recommendedPapers|total|offset|hits|response|records|documents|'
    r'count)"\s*:')
_LIST_IN_ENVELOPE: Final = re.compile(
    r'"(results|items|data|papers|works|recommendedPapers|hits|records|documents|docs)"\s*:\s*\[')


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
    return _markup_format(text) or _json_document(text) or _weak_format(name, text)


def _binary_format(head: bytes) -> Foreign | None:
    for magic, foreign in _MAGIC:
        if head.startswith(magic):
            return foreign
    if head.startswith(b"PK\x03\x04"):
        return next((foreign for part, foreign in _ZIP_PARTS if part in head), _PIPED_ZIP)
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
        return Foreign("a JSON array with neither a title nor an abstract in it", by_jq.format(".[]"))
    if re.match(r'\{\s*\n\s*(?:"|\})', text):
        return Foreign("a JSON document with neither a title nor an abstract in it", by_jq.format("."))
    listed = _ENVELOPE.match(text) and _LIST_IN_ENVELOPE.search(text)
    if listed:
        name = listed.group(1)
        return Foreign(f"one JSON object with the list {name!r} in it", by_jq.format(f".{name}[]"))
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


_NAMES: Final = {".xml": "XML", ".html": "HTML", ".htm": "HTML",
                 ".json": "JSON", ".tex": "LaTeX"}


def _weak_format(name: str, text: str) -> Foreign | None:
    """Return the format that a first character or the name speaks of: it gives way to evident JSON Lines or a table."""
    if re.match(r'\s*\{\s*"', text):
        return _json_without_text(text.lstrip().split("\n", 1)[0])
    kind = next((kind for suffix, kind in _NAMES.items() if name.endswith(suffix)), None)
    return Foreign(f"{kind} by its name", by_name_only=True) if kind else None
