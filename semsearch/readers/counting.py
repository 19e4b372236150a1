"""Counting records without parsing them."""

from __future__ import annotations

import codecs
import io
import re
from typing import BinaryIO, Final, cast

from semsearch.readers.base import RecordCounter
from semsearch.readers.text import HEAD_BYTES, sniff_encoding

_OVERLAP_BYTES: Final = 256
"""Longest match that may be cut by the border of two blocks."""
_BLOCK_BYTES: Final = 1 << 16
_SHORT_LINE_BYTES: Final = 64
"""Of a longer line only those that begin with a white space or outside ASCII are looked at."""
_BLANK: Final = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"


class PatternCounter:
    """Counts the matches of a pattern; one shorter than 256 bytes is found across blocks too.

    The pattern must not be anchored at the beginning of a line: a block may begin anywhere.
    """

    def __init__(self, pattern: bytes, flags: int = 0) -> None:
        self._pattern = re.compile(pattern, flags)
        self._tail = b""
        self._total = 0

    def feed(self, block: bytes) -> None:
        """Count the matches that are surely whole, and keep the end for the next block."""
        text = self._tail + block
        safe = max(0, len(text) - _OVERLAP_BYTES)
        end = 0
        for match in self._pattern.finditer(text):
            if match.end() > safe:
                break
            end = match.end()
            self._total += 1
        self._tail = text[max(end, safe - _OVERLAP_BYTES):] if end < safe else text[end:]

    def total(self) -> int:
        """Return the number of matches."""
        return self._total + sum(1 for _ in self._pattern.finditer(self._tail))


class FilledLineCounter:
    """Counts the lines with anything but white space in them, many at a time."""

    def __init__(self) -> None:
        self._rest = b""
        self._total = 0

    def feed(self, block: bytes) -> None:
        """Count the whole lines so far."""
        data = self._rest + block
        # A carriage return at the end may be half of a line end; whether it is one does not change the count.
        lines = data.splitlines() if b"\r" in data else data.split(b"\n")
        self._rest = b"" if data.endswith((b"\r", b"\n")) else lines.pop() if lines else b""
        self._total += _filled(lines)

    def total(self) -> int:
        """Return the number of lines."""
        return self._total + _filled([self._rest])


def _filled(lines: list[bytes]) -> int:
    blank = sum(1 for line in lines
                if (len(line) < _SHORT_LINE_BYTES or not 0x20 < line[0] < 0x7F) and _is_blank(line))
    return len(lines) - blank


def _is_blank(line: bytes) -> bool:
    """Tell whether there is white space only, of Unicode too, and a space that does not break in whatever encoding."""
    return not line.strip() or line.decode("utf-8", "replace").isspace() or line.decode("latin-1").isspace()


class CountedStream(io.RawIOBase):
    """A binary stream that shows all that is read from it to a counter, if there is one.

    UTF-16 is recoded to UTF-8 for the counter, and a byte order mark is taken off, unless the counter is one of a
    binary format and says that it `takes_raw_bytes`.
    """

    def __init__(self, stream: BinaryIO, counter: RecordCounter | None) -> None:
        self._stream, self._counter = stream, counter
        self._decoder: codecs.IncrementalDecoder | None = None
        self._head: bytes | None = b""
        self.is_blank = True

    def readable(self) -> bool:
        """Return True: it is read from."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill `buffer` from the stream."""
        block = self._stream.read(len(buffer))
        self._show(block)
        buffer[:len(block)] = block
        return len(block)

    @property
    def damaged(self) -> bool:
        """Whether the stream ended early because its compressed data is cut or damaged."""
        return bool(getattr(self._stream, "damaged", False))

    def drain(self) -> None:
        """Read what the parser left, so that it is counted too."""
        while block := self._stream.read(_BLOCK_BYTES):
            self._show(block)

    def total(self) -> int | None:
        """Return the number of records, None without a counter or where it cannot tell."""
        if self._counter is None:
            return None
        if self._head is not None:
            self._begin()
        return self._counter.total()

    def as_binary(self) -> BinaryIO:
        """Return this stream under the type that readers take."""
        return cast(BinaryIO, self)

    def _show(self, block: bytes) -> None:
        self.is_blank = self.is_blank and not block.strip(_BLANK)
        if self._counter is None:
            return
        if self._head is None:
            self._feed(block)
            return
        self._head += block
        if len(self._head) >= HEAD_BYTES:
            self._begin()

    def _begin(self) -> None:
        """Feed the beginning, once enough of it is there to tell its encoding."""
        head, self._head = self._head or b"", None
        is_binary = getattr(self._counter, "takes_raw_bytes", False)
        encoding, mark_bytes = ("utf-8", 0) if is_binary else sniff_encoding(head[:HEAD_BYTES])
        if encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._feed(head[mark_bytes:])

    def _feed(self, block: bytes) -> None:
        if self._decoder is not None:
            block = self._decoder.decode(block).encode("utf-8", "replace")
        if self._counter is not None:
            self._counter.feed(block)
