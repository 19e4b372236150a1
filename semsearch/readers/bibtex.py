"""BibTeX and BibLaTeX.

Read by our own parser, for what the kept libraries leave out. bibtexparser 2.1 holds the whole file and gives up
entries with a brace amiss, or with a field or a key that occurs twice (37 of 3,000 in real libraries); pybtex 0.26
gives up those with a brace amiss or a repeated key, at half the speed; bibtexparser 1.4 stops at the first macro
without a definition. None reads in bounded memory, or Latin-1 and UTF-8 mixed. What bibtexparser 2.1 makes of the
fields of an entry is what this parser makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.readers.base import VALUE_CHARACTERS, Format, Located, Reading, ReadItem, Rejected
from semsearch.readers.bibtex_blocks import FOREWORD, NO_RECORDS, Block, blocks_of, next_entry
from semsearch.readers.bibtex_entries import EntryParser
from semsearch.readers.bibtex_inheritance import Family, Item
from semsearch.readers.bibtex_papers import paper_of_entry
from semsearch.readers.counting import PatternCounter
from semsearch.readers.fields import NO_TEXT
from semsearch.readers.text import TextLines, sniff_text

IN_COMMENT: Final = "inside @comment"
NO_FIELDS: Final = "entry without a field that could be read"

_ENTRY: Final = re.compile(r"^[\s\ufeff]*@\s{0,9}[a-z][\w.+-]*\s{0,9}[{(]", re.IGNORECASE | re.MULTILINE)
_FIELD: Final = re.compile(r"(?:^|[,({])\s{0,80}\\?[a-z][\w-]*\s{0,40}=\s{0,40}[{\"\w]", re.IGNORECASE | re.MULTILINE)
_FOREWORD_CHARACTERS: Final = 2000
"""What exports write before the first entry is shorter; a text that quotes an entry is longer."""
_RECORD: Final = (
    rb"(?:[\r\n](?:\s|\xef\xbb\xbf|\xc2\xa0){0,80}|[})][\s,]{0,40})@\s{0,40}"
    rb"(?!(?:comment|preamble|string|xdata)(?![\w.+-]))[a-z\x80-\xff][\w.+\x80-\xff-]{0,40}"
    rb"[ \t]{0,40}(?:\r\n|\r|\n)?[ \t]{0,40}[{(]")


class _Counter(PatternCounter):
    """Counts what begins like an entry, at the beginning of a line or behind a closing brace."""

    def __init__(self) -> None:
        super().__init__(_RECORD, re.IGNORECASE)
        self.feed(b"\n")


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds entries that begin with `@kind{`."""
    named = name.endswith((".bib", ".bibtex", ".biblatex", ".bibtxt"))
    text = sniff_text(head)
    if text is None:
        return 0
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    entry = _ENTRY.search(text)
    if entry is None or not _FIELD.search(text, entry.end() - 1):
        return 70 if named and entry else 50 if named else 0
    return 95 if named or entry.start() <= _FOREWORD_CHARACTERS else 45


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every entry; `@string`, `@preamble`, `@comment` and `@xdata` are none."""
    lines = TextLines(stream)
    reader = _EntryReader(f"bibtex:{name}")

    def items(reading: Reading) -> Iterator[ReadItem]:
        for block in blocks_of(lines):
            yield from reader.read(block, lines.cut and block.is_last)
        yield from reader.finish()
        reading.encoding = lines.encoding
        reading.detail = reader.detail

    return Reading(items)


class _EntryReader:
    """Blocks of one file to items."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._parser = EntryParser()
        self._family = Family()
        self._mended = 0

    def read(self, block: Block, broke_off: bool) -> Iterator[ReadItem]:
        """Yield the items that are complete with this block; `broke_off`: its end is missing for good."""
        line, start = block.line, 0
        while True:
            item, end = self._item_of(block, line, start, broke_off)
            if item is not None:
                yield from self._read_items(self._family.add(item))
            late = next_entry(block.text, end)
            if late is None:
                return
            line += block.text.count("\n", start, late)
            start = late

    def finish(self) -> Iterator[ReadItem]:
        """Yield the items that still wait."""
        yield from self._read_items(self._family.rest())

    def _item_of(self, block: Block, line: int, start: int, broke_off: bool) -> tuple[Item | None, int]:
        """Return the item that begins at a position of a block, if there is one, and where it ends."""
        everything = len(block.text)
        if block.in_comment:
            reject = Rejected(line, IN_COMMENT, block.text[:VALUE_CHARACTERS])
            return (None if block.kind in NO_RECORDS else reject), everything
        if block.kind in ("comment", "preamble"):
            return None, everything
        if block.kind == FOREWORD and start == 0:
            return None, 0
        entry = self._parser.parse(block.text, line, start)
        if entry.kind == "string":
            self._parser.define(entry)
            return None, entry.end
        if broke_off and not entry.closed:
            return None, everything
        if block.problem and (entry.mended or entry.end > block.problem_at):
            return Rejected(line, block.problem, entry.beginning), everything
        if not entry.fields and entry.kind not in NO_RECORDS:
            return Rejected(line, NO_FIELDS, entry.beginning), entry.end
        self._mended += entry.mended
        return entry, entry.end

    def _read_items(self, items: Iterator[Item]) -> Iterator[ReadItem]:
        for item in items:
            if isinstance(item, Rejected):
                yield item
            elif item.kind not in NO_RECORDS:
                paper = paper_of_entry(item, self._space)
                yield Located(paper, item.line) if paper else Rejected(item.line, NO_TEXT, item.beginning)

    @property
    def detail(self) -> str:
        """What was found about the file."""
        found = []
        if self._mended:
            found.append(f"braces or commas amiss in {self._mended:,} entries, whose fields were told apart by lines")
        if self._family.orphans:
            found.append(f"crossref or xdata to nowhere in {self._family.orphans:,}")
        return "; ".join(found)


FORMAT: Final = Format(name="bibtex", title="BibTeX", looks_like=looks_like, read=read, version=1, counter=_Counter)
