"""Tables with a header line: CSV, TSV and their relatives."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO, Final

from semsearch.errors import UnknownFormat
from semsearch.readers.base import VALUE_CHARACTERS, Format, Located, Reading, ReadItem, Rejected
from semsearch.readers.fields import ALIASES, TEXT_NAMES, WrongType, field_name, paper_of_fields
from semsearch.readers.table_counting import TableCounter
from semsearch.readers.text import Line, TextLines, sniff_text

UNCLOSED_QUOTE: Final = "quotation mark opened and not closed"
TOO_MANY_CELLS: Final = "more cells than the header has columns"
TOO_FEW_CELLS: Final = "fewer cells than the header has columns"

_DELIMITERS: Final = (",", ";", "\t", "|")
_SEPARATOR_LINE: Final = re.compile(r'^"?sep=(.)"?\s*$', re.IGNORECASE)
_SUFFIXES: Final = (".csv", ".tsv", ".tab")
_KNOWN_NAMES: Final = frozenset(name for names in ALIASES.values() for name in names)
_MISSING: Final = frozenset({"na", "n/a", "nan", "null", "none", "#n/a"})
_EDGE: Final = " \t\r\n\x0b\x0c\xa0\ufeff"  # a byte order mark stands where two exports were joined
_HEADER_CELL_CHARACTERS: Final = 80
_NAME_WORDS: Final = 4

_ROW_LINES: Final = 1000
"""No cell of a real export has more lines; a quotation mark still open after them was never meant to open."""
_ROW_CHARACTERS: Final = 16 * 1024 * 1024
_ROWS_INSIDE_CELL: Final = 5
"""So many lines in a row inside one cell, each with the header's number of cells, are rows and no text."""
_TELLING_COLUMNS: Final = 4
"""With fewer columns a line of prose has the header's number of commas too easily."""


@dataclass(frozen=True, slots=True)
class _Grammar:
    """How rows are written with one delimiter, as regular expressions.

    A quotation mark inside a quoted cell closes it only before a delimiter or the end of the line; a single one
    elsewhere is taken literally, for many exports forget to double it.
    """

    delimiter: str
    quoted: re.Pattern[str]
    bare: re.Pattern[str]
    inside: re.Pattern[str]


@lru_cache(maxsize=8)
def _grammar(delimiter: str) -> _Grammar:
    end = rf" *(?:{re.escape(delimiter)}|\Z)"
    inside = rf'((?:[^"]++|""|"(?!{end}))*+)'
    bare = rf"([^{re.escape(delimiter)}]*+)(?:{re.escape(delimiter)}|\Z)"
    return _Grammar(delimiter, re.compile(rf' *"{inside}"{end}'), re.compile(bare), re.compile(inside))


def _split_row(text: str, delimiter: str) -> list[str]:
    """Return the cells of a whole row."""
    grammar = _grammar(delimiter)
    if '"' not in text:
        return text.split(delimiter)
    cells = []
    position = 0
    while True:
        found = grammar.quoted.match(text, position)
        if found:
            cells.append(found.group(1).replace('""', '"'))
        else:
            found = grammar.bare.match(text, position)
            if not found:
                return cells
            cells.append(found.group(1))
        position = found.end()
        if not found.group().endswith(delimiter):
            return cells


def _scan(text: str, delimiter: str, inside: bool) -> tuple[bool, bool]:
    """Return whether a line ends inside a quoted cell, and whether a stray mark stood in the cell it began in."""
    if '"' not in text:
        return inside, False
    grammar = _grammar(delimiter)
    position = 0
    if inside:
        found = grammar.inside.match(text)
        body = found.group() if found else ""
        if '"' in body.replace('""', ""):
            return True, True
        if len(body) == len(text):
            return True, False
        position = text.find(delimiter, len(body)) + 1
        if not position:
            return False, False
    while True:
        start = position + len(text[position:]) - len(text[position:].lstrip(" "))
        field = grammar.quoted.match(text, position) or (
            None if text.startswith('"', start) else grammar.bare.match(text, position))
        if not field:
            return True, False
        position = field.end()
        if not field.group().endswith(delimiter):
            return False, False


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    text: str
    problem: str = ""


class _Rows:
    """The rows of a table, which may span lines; a quotation mark that is never closed costs its own row only."""

    def __init__(self, lines: Iterator[Line], delimiter: str, width: int) -> None:
        self._lines = lines
        self._again: deque[Line] = deque()
        self._delimiter = delimiter
        self._width = width

    def _next_line(self) -> Line | None:
        return self._again.popleft() if self._again else next(self._lines, None)

    def __iter__(self) -> Iterator[_Row]:
        while (line := self._next_line()) is not None:
            if line.problem:
                yield _Row(line.number, line.text, line.problem)
            elif line.text.strip():
                yield self._row_from(line)

    def _row_from(self, first: Line) -> _Row:
        inside, _ = _scan(first.text, self._delimiter, False)
        if not inside:
            return _Row(first.number, first.text)
        taken = [first]
        rows_inside = characters = 0
        while inside:
            line = self._next_line()
            if line is None:
                return self._unclosed(taken)
            taken.append(line)
            characters += len(line.text)
            rows_inside = rows_inside + 1 if line.text.count(self._delimiter) == self._width - 1 else 0
            inside, stray = _scan(line.text, self._delimiter, True)
            if (stray or line.problem or len(taken) > _ROW_LINES or characters > _ROW_CHARACTERS
                    or (rows_inside >= _ROWS_INSIDE_CELL and self._width >= _TELLING_COLUMNS)):
                return self._unclosed(taken)
        return _Row(first.number, "\n".join(line.text for line in taken))

    def _unclosed(self, taken: Sequence[Line]) -> _Row:
        """Give up the first of the lines taken and put the others back.

        Where tabs separate the cells, quotation marks are often plain text: then the line may be a good row as it is.
        """
        self._again.extendleft(reversed(taken[1:]))
        first = taken[0]
        literal = self._delimiter == "\t" and first.text.count("\t") == self._width - 1
        return _Row(first.number, first.text, "" if literal else UNCLOSED_QUOTE)


@dataclass(frozen=True, slots=True)
class _Header:
    cells: tuple[str, ...]
    delimiter: str

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in comparable form.

        Beside a title, a column that only speaks of an abstract (`Abstract (English)`) is one if there is no other.
        What holds a delimiter is no name.
        """
        names = ["" if any(mark in cell for mark in _DELIMITERS) else field_name(cell) for cell in self.cells]
        if not any(n in ALIASES["abstract"] for n in names) and any(n in ALIASES["title"] for n in names):
            for place, cell in enumerate(self.cells):
                words = re.split(r"\W+", cell.casefold())
                if "abstract" in words and len(words) <= _NAME_WORDS and names[place] not in _KNOWN_NAMES:
                    names[place] = "abstract"
                    break
        return tuple(names)

    @property
    def score(self) -> tuple[bool, int, int]:
        """How much this reading of a line looks like the header of papers."""
        names = self.names
        return any(n in TEXT_NAMES for n in names), len(_KNOWN_NAMES.intersection(names)), len(names)


def _header_of(line: str, delimiters: Sequence[str] = _DELIMITERS) -> _Header:
    candidates = [_Header(tuple(cell.strip() for cell in _split_row(line, delimiter)), delimiter)
                  for delimiter in delimiters]
    return max(candidates, key=lambda header: header.score)


def _first_lines(head: bytes) -> tuple[list[str], Sequence[str]]:
    """Return the first lines that are not blank, and the delimiters that come into question."""
    lines = [line for line in re.split(r"\r\n|\r|\n", sniff_text(head) or "") if line.strip()]
    declared = _SEPARATOR_LINE.match(lines[0]) if lines else None
    return (lines[1:], (declared.group(1),)) if declared else (lines, _DELIMITERS)


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file is a table whose header names papers' fields."""
    named = name.endswith(_SUFFIXES)
    lines, delimiters = _first_lines(head)
    if not lines:
        return 50 if named else 0
    header = _header_of(lines[0], delimiters)
    has_text, known, width = header.score
    short = all(len(cell) <= _HEADER_CELL_CHARACTERS for cell in header.cells)
    if has_text and short and width > 1:
        same_width = all(line.count(header.delimiter) >= width - 1 for line in lines[1:3])
        if known > 1:
            return 90 if named or same_width or known > 3 else 30
        return 85 if named else 60 if same_width and len(lines) > 1 and "." not in lines[0] else 10
    return 80 if named and has_text and short else 50 if named else 0


def check(name: str, head: bytes) -> None:
    """Raise UnknownFormat if the header names neither a title nor an abstract."""
    lines, delimiters = _first_lines(head)
    if not lines:
        return
    header = _header_of(lines[0], delimiters)
    if header.score[0]:
        return
    shown = ", ".join(repr(cell[:40]) for cell in header.cells[:20])
    raise UnknownFormat(
        f"{name} has no column for a title or an abstract. Its columns are: {shown}.",
        f"Name one of them {_some_names('title')} or {_some_names('abstract')} (in any case), in the first line.")


def _some_names(field: str) -> str:
    return " or ".join(repr(name) for name in ALIASES[field][:3])


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every row below the header with anything in it; a repeated header is none."""
    lines = TextLines(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        yield from _items(lines, reading, f"csv:{name}")
        reading.encoding = lines.encoding

    return Reading(items)


def _items(lines: TextLines, reading: Reading, space: str) -> Iterator[ReadItem]:
    iterator = iter(lines)
    delimiters: Sequence[str] = _DELIMITERS
    header = None
    for line in iterator:
        declared = _SEPARATOR_LINE.match(line.text)
        if declared:
            delimiters = (declared.group(1),)
        elif line.problem:
            yield Rejected(line.number, line.problem, line.text[:VALUE_CHARACTERS])
        elif line.text.strip():
            header = _header_of(line.text, delimiters)
            break
    if header is None:
        return
    reading.detail = "delimiter " + ("tab" if header.delimiter == "\t" else repr(header.delimiter))
    held = None
    for row in _Rows(iterator, header.delimiter, len(header.cells)):
        if held is not None:
            yield from _item(held, header, space)
        held = row
    if held is not None and not (lines.cut and "\n" in held.text):
        yield from _item(held, header, space)


def _item(row: _Row, header: _Header, space: str) -> Iterator[ReadItem]:
    """Yield the item of a row, nothing for one whose cells are all empty; an id is unique in the file, as a rule."""
    value = row.text[:VALUE_CHARACTERS]
    if row.problem:
        yield Rejected(row.line, row.problem, value)
        return
    cells = [cell.strip(_EDGE) for cell in _split_row(row.text, header.delimiter)]
    if not any(cells) or tuple(cells) == header.cells:
        return
    while len(cells) > len(header.cells) and not cells[-1]:
        cells.pop()
    problem = _width_problem(cells, header)
    if problem:
        yield Rejected(row.line, problem, value)
        return
    record: dict[str, object] = {}
    for name, cell in zip(header.names, cells, strict=False):
        if cell.casefold() not in _MISSING and not record.get(name):
            record[name] = cell
    try:
        yield Located(paper_of_fields(record, space), row.line)
    except WrongType as wrong:
        yield Rejected(row.line, str(wrong), value)


def _width_problem(cells: Sequence[str], header: _Header) -> str:
    """Return why a row of another width than the header's is unusable; a few cells left out at its end do no harm."""
    width = len(header.cells)
    if len(cells) > width:
        return TOO_MANY_CELLS
    if len(cells) < width:
        has_text = any(name in TEXT_NAMES and cell for name, cell in zip(header.names, cells, strict=False))
        if not has_text or len(cells) * 2 < width:
            return TOO_FEW_CELLS
    return ""


FORMAT: Final = Format(name="csv", title="table with a header (CSV, TSV)", looks_like=looks_like, read=read, version=1,
                       check=check, counter=TableCounter)
