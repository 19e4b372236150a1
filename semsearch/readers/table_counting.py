"""Counting the rows of a table with the standard library's csv module, apart from the reader of tables.

That module reads what is written by the book: it raises or gives rows of other widths where quotation marks are not
doubled, not closed or plain text. Such a table is not counted, for any count of it would be a guess; the reader
recovers row by row there and rejects what it cannot use.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_DELIMITERS: Final = (",", ";", "\t", "|")
_SEPARATOR_LINE: Final = re.compile(r'^"?sep=(.)"?\s*$', re.IGNORECASE)
_ROW_BYTES: Final = 16 * 1024 * 1024
"""A row that does not end within this many bytes has a quotation mark that was never meant to open."""


class _Dialect:
    """A table read with one delimiter, as long as every row has the header's width."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._header: list[str] | None = None
        self.fits = True
        self.rows = 0

    def take(self, lines: list[str]) -> None:
        """Count the rows that these lines hold; they begin and end with a row."""
        try:
            for cells in csv.reader(lines, delimiter=self._delimiter, strict=True):
                self._take_row([cell.strip() for cell in cells])
                if not self.fits:
                    return
        except csv.Error:
            self.fits = False

    def _take_row(self, cells: list[str]) -> None:
        if self._header is None:
            if any(cells):
                self._header = cells
                self.fits = len(cells) > 1
        elif any(cells):
            self.fits = len(cells) == len(self._header)
            self.rows += cells != self._header


class TableCounter:
    """Counts the rows below the header that are not empty; a repeated header is none."""

    def __init__(self) -> None:
        self._dialects: list[_Dialect] | None = None
        self._rest = b""
        self._held = b""

    def feed(self, block: bytes) -> None:
        """Count the rows that are surely whole, and keep the end for the next block."""
        if self._dialects is not None and not any(dialect.fits for dialect in self._dialects):
            return
        block, self._held = self._held + block, b""
        if block.endswith(b"\r"):
            block, self._held = block[:-1], b"\r"
        self._rest += block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = _end_of_rows(self._rest)
        if end:
            self._take(self._rest[:end])
            self._rest = self._rest[end:]
        elif len(self._rest) > _ROW_BYTES:
            self._dialects, self._rest = [], b""

    def total(self) -> int | None:
        """Return the number of rows, None where the table is not written by the book."""
        self._take(self._rest)
        return min((dialect.rows for dialect in self._dialects or () if dialect.fits), default=None)

    def _take(self, rows: bytes) -> None:
        lines = rows.decode("utf-8", "replace").split("\n")
        if self._dialects is None:
            lines = lines[next((place for place, line in enumerate(lines) if line.strip()), len(lines)):]
            if not lines:
                return
            declared = _SEPARATOR_LINE.match(lines[0])
            self._dialects = [_Dialect(delimiter) for delimiter in (declared.groups() if declared else _DELIMITERS)]
            if declared:
                lines = lines[1:]
        with _no_field_limit():
            for dialect in self._dialects:
                if dialect.fits:
                    dialect.take(lines)


def _end_of_rows(data: bytes) -> int:
    """Return where the last line ends before which the number of quotation marks is even, 0 where there is none."""
    marks = data.count(b'"')
    end = len(data)
    while (line_end := data.rfind(b"\n", 0, end)) >= 0:
        marks -= data.count(b'"', line_end, end)
        if marks % 2 == 0:
            return line_end + 1
        end = line_end
    return 0


@contextmanager
def _no_field_limit() -> Iterator[None]:
    """Let cells be as long as rows may be: the module refuses those above 131,072 characters, for the whole process."""
    before = csv.field_size_limit(_ROW_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)
