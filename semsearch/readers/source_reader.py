"""One source file to a stream of papers and rejects."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, Final

from semsearch.errors import InputError, SourceNotFound, UnknownFormat, UnreadableArchive
from semsearch.readers.base import Format, Reading, ReadItem, Rejected
from semsearch.readers.compression import SourceStream
from semsearch.readers.counting import CountedStream
from semsearch.readers.formats import find_format
from semsearch.readers.sources import STDIN, SourceFile
from semsearch.readers.text import HEAD_BYTES

DAMAGED: Final = "compressed data is cut or damaged; nothing after this could be read"
NO_RECORD: Final = "no record was found in this file; is it what its name says?"
_NEVER_EMPTY: Final = frozenset("bibtex refer ris medline wos ovid pubmed-abstract pubmed-summary".split())
"""Formats of which no empty export has any text in it, as a table has its header: what has is something else."""
UNREAD: Final = "seen in the file, but not understood by its reader"


class SourceReader:
    """The records of one file, to be iterated once.

    `format` and `size_bytes` (on disk or, in an archive, unpacked; None for standard input) are known at once;
    `bytes_read` grows while reading; `sha256`, `encoding`, `detail` and `counted` are settled when the iteration has
    ended. `counted` is the number of records that were counted without the parser, None where the format has no such
    counter or it cannot tell; what the parser did not give of them is yielded as rejected. Raises UnknownFormat where
    the content is in no format that is read, SourceNotFound, UnreadableArchive or InputError where the file cannot be
    opened.
    """

    def __init__(self, source: SourceFile, from_format: str | None = None) -> None:
        self.source = source
        self._file = _open(source)
        try:
            self.size_bytes = _size_of(source, self._file)
            self._stream = SourceStream(self._file, source.name)
            self.format = self._find_format(from_format)
        except BaseException:
            self.close()
            raise
        self._reading: Reading | None = None
        self.counted: int | None = None
        self.incomplete = False
        self._started = False

    def _find_format(self, from_format: str | None) -> Format:
        head = self._stream.head(HEAD_BYTES)
        try:
            return find_format(self.source.name, head, from_format)
        except UnknownFormat:
            if self._stream.damaged:
                raise UnreadableArchive(f"{self.source.name} is compressed, and the compressed data is cut or damaged.",
                                 "Fetch or make the file again.") from None
            raise

    def __iter__(self) -> Iterator[ReadItem]:
        if self._started:
            raise RuntimeError("A SourceReader is iterated once.")
        self._started = True
        return self._items()

    def _items(self) -> Iterator[ReadItem]:
        stream = CountedStream(self._stream.as_binary(), self.format.counter() if self.format.counter else None)
        try:
            reading = self.format.read(stream.as_binary(), self.source.path)
            if isinstance(reading, Reading):
                self._reading = reading
            given = last_line = 0
            for item in reading:
                given += 1
                last_line = max(last_line, item.line)
                yield item
            if self._stream.damaged:
                given += 1
                last_line += 1
                yield Rejected(last_line, DAMAGED)
            stream.drain()
            self._stream.drain()
            self.counted = stream.total()
            unread = (self.counted or 0) - given
            is_other = not given and unread <= 0 and not stream.is_blank and self.format.name in _NEVER_EMPTY
            self.incomplete = self._stream.damaged or unread > 0 or not given
            if is_other:
                yield Rejected(1, NO_RECORD)
            for _ in range(unread):
                yield Rejected(max(last_line, 1), UNREAD, f"somewhere after line {last_line}" if given else "")
        finally:
            self.close()

    @property
    def bytes_read(self) -> int:
        """Bytes of the file, as it lies on disk, taken so far."""
        return self._stream.bytes_read

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the file as it lies on disk."""
        return self._stream.sha256

    @property
    def encoding(self) -> str:
        """What the text was encoded in: `utf-8`, `utf-16`, `cp1252` ..., `mixed` where lines differ."""
        return self._reading.encoding if self._reading else ""

    @property
    def detail(self) -> str:
        """One short sentence about how the file was read, where that is a finding."""
        return self._reading.detail if self._reading else ""

    def close(self) -> None:
        """Close the file; needed only where the iteration is not carried to its end."""
        if self.source.path != STDIN:
            self._file.close()

    def __enter__(self) -> SourceReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _open(source: SourceFile) -> BinaryIO:
    if source.path == STDIN:
        return sys.stdin.buffer
    if source.problem:
        raise UnreadableArchive(source.problem, "Unpack it with another program, and name the files in it.")
    try:
        return source.open()
    except FileNotFoundError as error:
        raise SourceNotFound(f"There is no file {source.name!r}.", "Check the path.") from error
    except OSError as error:
        raise InputError(f"{source.name} cannot be opened: {error.strerror or error}.",
                         "Check its permissions.") from error


def _size_of(source: SourceFile, file: BinaryIO) -> int | None:
    if source.path == STDIN:
        return None
    if source.member:
        return source.member.size_bytes
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None
