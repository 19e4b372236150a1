"""Records of tagged fields, as databases and reference managers export them, gathered line by line."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final, Protocol

from semsearch.paper import collapse_white_space
from semsearch.readers.base import VALUE_CHARACTERS, Located, Reading, ReadItem, Rejected
from semsearch.readers.dates import date_of
from semsearch.readers.fields import WrongType
from semsearch.readers.parts import Parts
from semsearch.readers.text import Line, TextLines

RECORD_TOO_LONG: Final = "record longer than 16 Mi characters"

_RECORD_CHARACTERS: Final = 16 * 1024 * 1024
"""No record is longer; what goes on after so much without an end of record is no record."""
_HTML: Final = re.compile(
    r"</(?:[a-z]{1,10}:)?[a-z]{1,10}>|<(?:br|p|i|b|em|sub|sup)\s?/?>|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});",
    re.IGNORECASE)
_HEAD_BYTES: Final = 256
_SHOWN_BLANKS: Final = 16
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""It stands at the beginning of a line where files were put together."""
_SPACED_DATE: Final = re.compile(r"^\s*(\d{4})\s+(\d{1,2})(?:\s+(\d{1,2}))?\s*$", re.ASCII)
_MONTH_YEAR: Final = re.compile(r"^\s*(\d{1,2})[\s/](\d{4})\s*$", re.ASCII)
_MAJOR_TOPIC: Final = re.compile(r"(?:(?<=/)|^)\*|\*$")
"""The star by which MEDLINE and Ovid mark a main subject."""
_PMID_DIGITS: Final = re.compile(r"^\s*(?:pmid\s{0,5}:?\s{0,5})?0*([1-9]\d{0,8})\b", re.IGNORECASE | re.ASCII)


class Gatherer(Protocol):
    """Gathers the lines of one format into records."""

    def take(self, line: Line) -> Iterator[Record]:
        """Take the next line and yield the records that it ends."""
        ...

    def end(self) -> Iterator[Record]:
        """Yield the record that the end of the file ends, if one was begun."""
        ...


def read_tagged(stream: BinaryIO, records: Gatherer, item: Callable[[Record], ReadItem]) -> Reading:
    """Return the items of a file of tagged records; a record that a cut file ends in is not given."""
    lines = TextLines(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        for line in lines:
            for record in records.take(line):
                yield item(record)
        if not lines.cut:
            for record in records.end():
                yield item(record)
        reading.encoding = lines.encoding

    return Reading(items)


@dataclass(slots=True)
class Record:
    """A record as it is gathered: its fields by tag, each value as the lines it was wrapped over.

    `line` is where it begins and `value` what stands there; `problem` says why it is unusable as a whole.
    """

    line: int
    value: str = ""
    problem: str = ""
    fields: dict[str, list[list[str]]] = field(default_factory=dict)
    tag: str = ""
    _characters: int = 0

    def begin(self, tag: str, text: str) -> None:
        """Begin a field."""
        self.tag = tag
        if self._has_room(text):
            self.fields.setdefault(tag, []).append([text])

    def go_on(self, text: str) -> None:
        """Add a line to the field that was begun last; before any field it is no part of the record."""
        if self.tag and self._has_room(text):
            self.fields[self.tag][-1].append(text)

    def again(self, text: str) -> None:
        """Begin another value of the field that was begun last."""
        if self.tag:
            self.begin(self.tag, text)

    def _has_room(self, text: str) -> bool:
        self._characters += len(text) + 1
        if self._characters > _RECORD_CHARACTERS:
            self.problem = self.problem or RECORD_TOO_LONG
            self.fields.clear()
            self.tag = ""
            return False
        return True

    def values(self, *tags: str) -> list[str]:
        """Return the values of the tags that say anything, in the order of the tags given, wrapped lines joined."""
        texts = [" ".join(lines).strip() for tag in tags for lines in self.fields.get(tag, ())]
        return [text for text in texts if text]

    def first(self, *tags: str) -> str:
        """Return the first value of the first of the tags that has one, `""` where none has."""
        for tag in tags:
            for lines in self.fields.get(tag, ()):
                text = " ".join(lines).strip()
                if text:
                    return text
        return ""

    def text(self, *tags: str, between_lines: str = " ") -> str:
        """Return all different values of the first of the tags that has one, joined.

        Where a line may end within a word, the lines are to stay apart for the cleaning, which joins words.
        """
        for tag in tags:
            values = [between_lines.join(lines).strip() for lines in self.fields.get(tag, ())]
            if any(values):
                return " ".join(dict.fromkeys(filter(None, values)))
        return ""

    def lists(self, tag: str) -> list[str]:
        """Return the lines of a tag whose values go one a line."""
        return [line.strip() for lines in self.fields.get(tag, ()) for line in lines if line.strip()]


def item_of(record: Record, parts: Parts) -> ReadItem:
    """Return the paper of a record, or why there is none.

    The markup of its text is found by looking: most of these sources write plain text, some of their records tags.
    """
    if record.problem:
        return Rejected(record.line, record.problem, record.value[:VALUE_CHARACTERS])
    parts.markup = "html" if _HTML.search(parts.title) or _HTML.search(parts.abstract) else "plain"
    try:
        paper = parts.paper()
    except WrongType as wrong:
        return Rejected(record.line, str(wrong), record.value[:VALUE_CHARACTERS])
    if parts.markup == "plain":
        paper = replace(paper, raw_title="", raw_abstract="", markup="")
    return Located(paper, record.line)


def keywords(values: Iterable[str]) -> list[str]:
    """Return keywords, of which a value may hold several between semicolons, without marks of the main subject."""
    parts = [collapse_white_space(part) for value in values for part in value.split(";")]
    return list(dict.fromkeys(bare for bare in (_MAJOR_TOPIC.sub("", part) for part in parts) if bare))


def most_precise_date(texts: Iterable[str]) -> str:
    """Return the most precise date among `texts` of the year that the first of them gives; `""` where none is one."""
    dates = [date for date in map(date_in, texts) if date]
    return max((date for date in dates if date[:4] == dates[0][:4]), key=len, default="")


def date_in(text: str) -> str:
    """Return the ISO date in a text, where `2013 06 10` and `07 2006` count too."""
    text = _MONTH_YEAR.sub(r"\2-\1", _SPACED_DATE.sub(lambda found: "-".join(filter(None, found.groups())), text))
    return date_of(text)


def pmid_in(text: str) -> str:
    """Return the digits at the beginning of a field that holds a PubMed id, `""` where there are none."""
    found = _PMID_DIGITS.match(text)
    return found.group(1) if found else ""


class LineHeads(ABC):
    """Counts records by the beginnings of a file's lines, which `_see` is shown, in bounded memory.

    Lines end with LF, CRLF or bare CR.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._count = 0

    @abstractmethod
    def _see(self, line: bytes) -> None:
        """Add to the count what this line, without its end, says of records."""

    def feed(self, block: bytes) -> None:
        """Take the next bytes; the last line may go on, and a carriage return at the end may be half of a line end."""
        lines = (self._rest + block).splitlines(keepends=True)
        rest = lines.pop() if lines else b""
        for line in lines:
            self._show(line)
        ended = rest.endswith(b"\r")
        self._rest = _beginning(rest) + (b"\r" if ended and len(rest) > _HEAD_BYTES else b"")

    def total(self) -> int:
        """Return the number of records, after the last line."""
        if self._rest:
            self._show(self._rest)
            self._rest = b""
        return self._count

    def _show(self, line: bytes) -> None:
        line = _beginning(line).strip(b"\r\n")
        while line.startswith(_BYTE_ORDER_MARK):
            line = line.removeprefix(_BYTE_ORDER_MARK)
        self._see(line)


def _beginning(line: bytes) -> bytes:
    """Return the beginning of a line, of many blanks only some: what looks blank must be blank."""
    beginning = line[:_HEAD_BYTES]
    if len(line) == len(beginning) or beginning.strip():
        return beginning
    return b" " * _SHOWN_BLANKS + line.lstrip()[:_HEAD_BYTES - _SHOWN_BLANKS]


def head_lines(text: str) -> Iterator[str]:
    """Yield the lines of the beginning of a file that are not blank."""
    return (line for line in re.split(r"\r\n|\r|\n", text) if line.strip())
