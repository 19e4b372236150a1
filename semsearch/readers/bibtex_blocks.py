"""BibTeX files cut into the stretches that hold one entry each, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from semsearch.readers.text import Line

BLOCK_LIMIT_CHARACTERS: Final = 16 * 1024 * 1024
TOO_LONG: Final = "entry longer than 16 MiB"

KIND: Final = r"[A-Za-z\x80-\U0010ffff][^ \t\r\n\f\v{}(),=@\"#]*"
"""What follows the `@`; damaged bytes in it are no reason to pass over an entry."""
_START: Final = re.compile(rf"[\s\ufeff,]*@\s*({KIND})\s*[{{(]")
_HALF_START: Final = re.compile(rf"[\s\ufeff,]*@\s*(?:{KIND}\s*)?$")
"""Where an entry begins. Files with a byte order mark that were joined have one in the middle."""
_START_ON_LINE: Final = re.compile(rf"[}})][\s,]{{0,40}}(?=@\s{{0,40}}{KIND}\s{{0,40}}[{{(])")
"""An entry that begins on the line on which the one before ends, as some of Scopus do."""
_LATE_START: Final = re.compile(
    r"@\s?[A-Za-z]{3,40}\s{0,9}[{(]\s{0,9}[^\s,{}()=\"]{1,200}\s{0,9},\s{0,200}[A-Za-z][\w-]{1,40}\s{0,40}=")
"""An entry in the middle of a line, told from an address by the field behind its key."""
_COMMENT_LIMIT_CHARACTERS: Final = 1024 * 1024

NO_RECORDS: Final = frozenset({"comment", "preamble", "string", "xdata"})
"""What begins with `@` and is no work: `@xdata` holds fields for others to take."""

FOREWORD: Final = ""
"""The kind of the block before the first entry."""


@dataclass(slots=True)
class Block:
    """The text from the beginning of an entry to that of the next, with the line where it begins.

    `kind` is what follows the `@`, in lower case. `problem` says what makes the text unusable from the position
    `problem_at` on. `in_comment` is true where the block lies within the braces of `@comment{...}`. `is_last` is true
    for the last block of the file.
    """

    line: int
    kind: str
    text: str
    problem: str = ""
    problem_at: int = 0
    in_comment: bool = False
    is_last: bool = False


class _Growing:
    """A block whose lines are being gathered."""

    def __init__(self, line: int, kind: str) -> None:
        self.line, self.kind = line, kind
        self.pieces: list[str] = []
        self.size = 0
        self.problem, self.problem_at = "", 0

    def add(self, text: str, problem: str) -> None:
        if self.size > BLOCK_LIMIT_CHARACTERS:
            return
        if problem and not self.problem:
            self.problem, self.problem_at = problem, self.size
        self.pieces.append(text)
        self.size += len(text) + 1
        if self.size > BLOCK_LIMIT_CHARACTERS and not self.problem:
            self.problem, self.problem_at = TOO_LONG, BLOCK_LIMIT_CHARACTERS

    def block(self) -> Block:
        return Block(self.line, self.kind, "\n".join(self.pieces), self.problem, self.problem_at)


def blocks_of(lines: Iterable[Line]) -> Iterator[Block]:
    """Yield the blocks of a file; what stands before the first entry makes one of the kind `FOREWORD`.

    An entry begins with `@word{` or `@word(` at the beginning of a line or after a closing brace. That holds within an
    entry that is still open, too: one whose braces do not balance costs no other.
    """
    return _mark_comments(_raw_blocks(lines))


def _raw_blocks(lines: Iterable[Line]) -> Iterator[Block]:
    current = _Growing(1, FOREWORD)
    half: Line | None = None  # a line that begins an entry if the next one goes on with its opening brace
    for line in lines:
        if half:
            found = _START.match(f"{half.text}\n{line.text}")
            if found:
                yield current.block()
                current = _Growing(half.number, found.group(1).lower())
            current.add(half.text, "")
            half = None
        for text in _split_line(line.text) if "@" in line.text else (line.text,):
            found = _START.match(text) if "@" in text else None
            if found:
                yield current.block()
                current = _Growing(line.number, found.group(1).lower())
            elif "@" in text and not line.problem and _HALF_START.match(text):
                half = line._replace(text=text)
                continue
            current.add(text, line.problem)
    if half:
        current.add(half.text, "")
    last = current.block()
    last.is_last = True
    yield last


def next_entry(text: str, start: int) -> int | None:
    """Return where the next entry begins in the middle of a line, behind `start`.

    BibTeX reads an entry wherever an `@` stands outside another. Lines that begin with `%` are taken for comments.
    """
    in_comment = False
    for found in _LATE_START.finditer(text, start):
        new_line = text.rfind("\n", start, found.start())
        if new_line >= 0 or not in_comment:
            in_comment = text[new_line + 1 or start:found.start()].lstrip().startswith("%")
        if not in_comment:
            return found.start()
        start = found.start()
    return None


def _split_line(text: str) -> Iterator[str]:
    start = 0
    for found in _START_ON_LINE.finditer(text):
        yield text[start:found.end()]
        start = found.end()
    yield text[start:]


def _mark_comments(blocks: Iterator[Block]) -> Iterator[Block]:
    """Mark the entries within `@comment{...}`.

    BibTeX itself would read them; whoever wrote them there did not want them read, as later programs see it. A comment
    whose braces do not close within 1 MiB ends at the next entry, and so do all that follow in the file.
    """
    trusted = True
    for block in blocks:
        if block.kind != "comment" or not trusted:
            yield block
            continue
        waiting = [block]
        depth, size = _depth(block), len(block.text)
        while depth > 0 and size <= _COMMENT_LIMIT_CHARACTERS:
            following = next(blocks, None)
            if following is None:
                break
            waiting.append(following)
            depth += _depth(following)
            size += len(following.text)
        trusted = depth <= 0
        for position, held in enumerate(waiting):
            held.in_comment = trusted and position > 0
            yield held


def _depth(block: Block) -> int:
    return block.text.count("{") - block.text.count("}")
