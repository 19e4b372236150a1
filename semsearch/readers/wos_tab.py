"""Web of Science's tab-separated exports: a first line of two-letter tags, a record a line, quotation marks literal.

Read apart from other tables, which quote cells: here a quotation mark at the beginning of a title is part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from semsearch.readers.base import VALUE_CHARACTERS, Format, Reading, ReadItem, Rejected
from semsearch.readers.tabular import TOO_FEW_CELLS, TOO_MANY_CELLS
from semsearch.readers.tagged import LineHeads, Record, head_lines
from semsearch.readers.text import Line, TextLines, sniff_text
from semsearch.readers.wos import item_of_wos

_HEADER: Final = re.compile(r"[A-Z][A-Z0-9](?:\t[A-Z][A-Z0-9]){3,}$")


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file is such a table."""
    text = sniff_text(head)
    first = next(head_lines(text), "") if text is not None else ""
    return 97 if _tags_of(first) else 0


def _tags_of(text: str) -> tuple[str, ...]:
    """Return the tags of a header line, none where it is no header."""
    bare = text.lstrip("\ufeff").rstrip()
    tags = tuple(bare.split("\t")) if _HEADER.match(bare) else ()
    return tags if "TI" in tags or "AB" in tags else ()


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every line below the header that is not blank; a repeated header is none."""
    lines = TextLines(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        tags: tuple[str, ...] = ()
        for line in lines:
            header = _tags_of(line.text)
            if header:
                tags = header
            elif line.problem or line.text.strip():
                yield _item(line, tags)
        reading.encoding = lines.encoding
        reading.detail = "delimiter tab"

    return Reading(items)


def _item(line: Line, tags: Sequence[str]) -> ReadItem:
    if line.problem:
        return Rejected(line.number, line.problem, line.text[:VALUE_CHARACTERS])
    cells = line.text.split("\t")
    while len(cells) > len(tags) and not cells[-1].strip():
        cells.pop()
    value = line.text[:VALUE_CHARACTERS]
    if len(cells) > len(tags):
        return Rejected(line.number, TOO_MANY_CELLS, value)
    if len(cells) * 2 < len(tags):
        return Rejected(line.number, TOO_FEW_CELLS, value)
    record = Record(line.number, value)
    for tag, cell in zip(tags, cells, strict=False):
        if cell.strip():
            record.begin(tag, cell.strip())
    return item_of_wos(record)


class _Counter(LineHeads):
    """Counts the lines that are not blank and no header."""

    _header: Final = re.compile(rb"[A-Z][A-Z0-9](?:\t[A-Z][A-Z0-9]){3,}(?:\t|\s*$)")

    def _see(self, line: bytes) -> None:
        if line.strip() and not self._header.match(line):
            self._count += 1


FORMAT: Final = Format(name="wos-tab", title="Web of Science table (tab-separated)", looks_like=looks_like, read=read,
                       version=1, counter=_Counter)
