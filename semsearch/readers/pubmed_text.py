"""PubMed's "Abstract (text)" and "Summary (text)" exports: citations in prose, numbered, without tags.

They are cut up by what PubMed always writes: two blank lines and a number before a citation, `PMID:` near its end, and
paragraphs in one order. No library is known that reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from semsearch.readers.base import VALUE_CHARACTERS, Format, Reading, ReadItem
from semsearch.readers.counting import PatternCounter
from semsearch.readers.parts import Parts
from semsearch.readers.pubmed_citation import abstract_parts, summary_parts
from semsearch.readers.tagged import LineHeads, Record, item_of
from semsearch.readers.text import Line, TextLines, sniff_text

_ABSTRACT_START: Final = re.compile(r"(\d{1,7})\. \S")
_SUMMARY_START: Final = re.compile(r"(\d{1,7}): \S")
_PMID_LINE: Final = re.compile(r"^PMID: ?\d", re.MULTILINE)
_PMID: Final = re.compile(r"\bPMID:\s*\d")
_PMID_BEGUN: Final = re.compile(r"\bPMID:\s*(?:\d|$)")
_CITATION: Final = re.compile(r"\d+\. [^\n]{3,200}\. (?:19|20)\d\d\b")


def looks_like_abstracts(name: str, head: bytes) -> int:
    """Return how sure it is that a file is an "Abstract (text)" export."""
    text = _comparable(head)
    if not _ABSTRACT_START.match(text):
        return 0
    return 93 if _PMID_LINE.search(text) or (_CITATION.match(text) and _PMID.search(text)) else 0


def looks_like_summaries(name: str, head: bytes) -> int:
    """Return how sure it is that a file is a "Summary (text)" export."""
    text = _comparable(head)
    if not _SUMMARY_START.match(text):
        return 0
    starts = len(re.findall(r"^\d{1,7}: \S", text, re.MULTILINE))
    return 93 if len(_PMID.findall(text)) * 2 >= starts else 0


def _comparable(head: bytes) -> str:
    text = sniff_text(head) or ""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").lstrip()


class _Citations:
    """Cuts lines into citations; of each the field `text` holds the lines, blank ones too."""

    def __init__(self, start: re.Pattern[str]) -> None:
        self._start = start
        self._open: Record | None = None
        self._blanks = 2
        self._number = 0
        self._has_pmid = False

    def take(self, line: Line) -> Iterator[Record]:
        """Take the next line; yields the citation that it ends."""
        text = line.text.lstrip("\ufeff")
        blank = not text.strip()
        if not blank and self._begins(text):
            yield from self.end()
            found = self._start.match(text)
            self._open = Record(line.number, text[:VALUE_CHARACTERS])
            self._open.begin("text", text[found.end() - 1:].strip() if found else text.strip())
            self._number, self._has_pmid = int(found.group(1)) if found else self._number + 1, False
        elif self._open is not None:
            self._open.go_on(text.rstrip())
        self._has_pmid = self._has_pmid or bool(_PMID_BEGUN.search(text))
        if line.problem and self._open is not None:
            self._open.problem = self._open.problem or line.problem
        self._blanks = self._blanks + 1 if blank else 0

    def _begins(self, text: str) -> bool:
        """Tell whether a line begins a citation.

        It does behind two blank lines if it is numbered, or if the citation before has all it should have; and behind
        one if its number is in turn.
        """
        found = self._start.match(text) if self._blanks else None
        if self._blanks > 1:
            return found is not None or self._has_pmid
        return found is not None and int(found.group(1)) == self._number + 1 and self._has_pmid

    def end(self) -> Iterator[Record]:
        """Yield the citation that is open."""
        if self._open is not None:
            yield self._open
        self._open = None


def _reader(start: re.Pattern[str],
            parts_of: Callable[[list[str]], Parts]) -> Callable[[BinaryIO, str], Iterator[ReadItem]]:
    def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
        """Yield one item for every citation."""
        lines = TextLines(stream)

        def items(reading: Reading) -> Iterator[ReadItem]:
            citations = _Citations(start)
            for line in lines:
                for record in citations.take(line):
                    yield item_of(record, parts_of(_lines_of(record)))
            if not lines.cut:
                for record in citations.end():
                    yield item_of(record, parts_of(_lines_of(record)))
            reading.encoding = lines.encoding

        return Reading(items)

    return read


def _lines_of(record: Record) -> list[str]:
    return record.fields["text"][0] if record.fields else []


class _Counter(LineHeads):
    """Counts the numbers behind two blank lines and the PubMed ids, and takes the larger count.

    Every citation has both, so that one which lost either is counted still.
    """

    def __init__(self, start: bytes, pmid: bytes) -> None:
        super().__init__()
        self._start = re.compile(start)
        self._pmids = PatternCounter(pmid)
        self._blanks = 2

    def feed(self, block: bytes) -> None:
        super().feed(block)
        self._pmids.feed(block)

    def total(self) -> int:
        return max(super().total(), self._pmids.total())

    def _see(self, line: bytes) -> None:
        if not line.strip():
            self._blanks += 1
            return
        if self._blanks > 1 and self._start.match(line):
            self._count += 1
        self._blanks = 0


ABSTRACTS: Final = Format(
    name="pubmed-abstract", title="PubMed abstract text", looks_like=looks_like_abstracts,
    read=_reader(_ABSTRACT_START, abstract_parts), version=1,
    counter=lambda: _Counter(rb"\d{1,7}\. \S", rb"[\r\n]PMID: ?\d"))
SUMMARIES: Final = Format(
    name="pubmed-summary", title="PubMed summary text", looks_like=looks_like_summaries,
    read=_reader(_SUMMARY_START, summary_parts), version=1,
    counter=lambda: _Counter(rb"\d{1,7}: \S", rb"\bPMID:\s*\d"))
