"""Bytes to lines of text: encodings found, line ends of every kind, in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, NamedTuple

from semsearch.readers.base import VALUE_CHARACTERS

LINE_LIMIT_BYTES: Final = 64 * 1024 * 1024
HEAD_BYTES: Final = 64 * 1024
_BLOCK_BYTES: Final = 256 * 1024

TOO_LONG: Final = "line longer than 64 MiB"
UNDECODABLE: Final = "text in no encoding that is known here"
HAS_NUL: Final = "NUL bytes, so no text"

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_NUL_SHARE: Final = 0.2
"""A text in Latin letters as UTF-16 has a NUL in nearly every pair; one in Chinese alone cannot be told this way."""
_HALF_CHARACTER: Final = b"\xff"
"""No UTF-8: marks a line of UTF-16 that breaks off within a character."""
_ESCAPED_BYTE: Final = re.compile("[\udc80-\udcff]")
_CP1252: Final = bytes(range(0x80, 0x100)).decode("cp1252", "replace")
_FEW_FOREIGN_BYTES: Final = 3
_FOREIGN_SHARE: Final = 0.3
"""More letters outside ASCII than this are no Western European language, whatever cp1252 makes of them."""
_COMMON_HANZI_SHARE: Final = 0.8


class Line(NamedTuple):
    """A line without its end, numbered from 1; where `problem` is set it is unusable and `text` is its beginning."""

    number: int
    text: str
    problem: str = ""


class TextLines:
    """The lines of a text file, to be iterated once.

    Line ends are LF, CRLF and bare CR. The encoding is UTF-8, or UTF-16 where a byte order mark or the NULs show it; a
    line that is no UTF-8 is read as GB18030 if it is evidently Chinese, else its stray bytes as cp1252.
    `cut` is true at the end if compressed data broke off: the half line that was left is then not given.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._is_utf16 = False
        self._has_utf8 = False
        self._legacy: set[str] = set()
        self.cut = False

    @property
    def encoding(self) -> str:
        """What the file is encoded in, `mixed` where lines differ; settled at the end."""
        if self._is_utf16:
            return "utf-16"
        if not self._legacy:
            return "utf-8"
        if self._has_utf8 or len(self._legacy) > 1:
            return "mixed"
        return next(iter(self._legacy))

    def __iter__(self) -> Iterator[Line]:
        number = 0
        for part in _split_lines(self._utf8_blocks()):
            if isinstance(part, bytes):
                text = self._text_of(part)
                if text is None:
                    for data in part.split(b"\n"):
                        number += 1
                        yield self._decode(number, data)
                else:
                    for line in text.split("\n"):
                        number += 1
                        yield Line(number, line)
            elif not (self.cut and part.is_last):
                number += 1
                yield (Line(number, _beginning(part.data), TOO_LONG) if part.too_long
                       else self._decode(number, part.data))

    def _text_of(self, lines: bytes) -> str | None:
        """Return many lines decoded at once, None where they must be looked at one by one."""
        if b"\0" in lines:
            return None
        try:
            text = lines.decode("utf-8")
        except UnicodeDecodeError:
            return None
        self._has_utf8 = self._has_utf8 or not text.isascii()
        return text

    def _utf8_blocks(self) -> Iterator[bytes]:
        head = _read_fully(self._stream, HEAD_BYTES)
        encoding, mark_bytes = sniff_encoding(head)
        if encoding == "utf-8":
            yield head[mark_bytes:]
            yield from self._blocks()
            return
        self._is_utf16 = True
        decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        yield decoder.decode(head[mark_bytes:]).encode("utf-8", "surrogatepass")
        for block in self._blocks():
            yield decoder.decode(block).encode("utf-8", "surrogatepass")
        if decoder.getstate()[0]:
            yield _HALF_CHARACTER

    def _blocks(self) -> Iterator[bytes]:
        while block := self._stream.read(_BLOCK_BYTES):
            yield block
        self.cut = bool(getattr(self._stream, "damaged", False))

    def _decode(self, number: int, data: bytes) -> Line:
        if b"\0" in data:
            return Line(number, _beginning(data), HAS_NUL)
        if data.isascii():
            return Line(number, data.decode("ascii"))
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            legacy = None if self._is_utf16 else decode_legacy(data)
            if legacy is None:
                return Line(number, _beginning(data), UNDECODABLE)
            text, encoding = legacy
            self._legacy.add(encoding)
            self._has_utf8 |= encoding == "cp1252" and not text.isascii() and _has_utf8(data)
            return Line(number, text)
        self._has_utf8 = True
        return Line(number, text)


@dataclass(frozen=True, slots=True)
class _RawLine:
    data: bytes
    too_long: bool = False
    is_last: bool = False


def _split_lines(blocks: Iterator[bytes]) -> Iterator[bytes | _RawLine]:
    r"""Yield the lines of a stream: many at once, joined by `\n`; the last one and one that is too long apart.

    Of a line over the limit only the beginning is kept.
    """
    pieces: list[bytes] = []
    size = 0
    held = b""
    for block in blocks:
        block = held + block
        held = b""
        if block.endswith(b"\r"):
            block, held = block[:-1], b"\r"
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = block.rfind(b"\n")
        if end >= 0:
            first_end = block.find(b"\n")
            if size + first_end > LINE_LIMIT_BYTES:
                yield _RawLine(b"".join([*pieces, block[:first_end]])[:VALUE_CHARACTERS], too_long=True)
                if end > first_end:
                    yield block[first_end + 1:end]
            else:
                yield b"".join([*pieces, block[:end]]) if pieces else block[:end]
            pieces, size = [], 0
        rest = block[end + 1:]
        size += len(rest)
        if size <= LINE_LIMIT_BYTES:
            pieces.append(rest)
        else:
            pieces = [b"".join([*pieces, rest])[:VALUE_CHARACTERS]]
    if size or held:
        yield _RawLine(b"".join(pieces), size > LINE_LIMIT_BYTES, is_last=not held)


def _read_fully(stream: BinaryIO, size: int) -> bytes:
    pieces = []
    while size > 0:
        piece = stream.read(size)
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def sniff_encoding(head: bytes) -> tuple[str, int]:
    """Return `utf-8` or the UTF-16 that a file begins in, and the length of its byte order mark.

    `utf-8` stands for every encoding whose line ends are those of ASCII.
    """
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding, len(mark)
    sample = head[:4096]
    pairs = len(sample) // 2
    if pairs:
        first = sample[0::2].count(0) / pairs
        second = sample[1::2].count(0) / pairs
        if second >= _NUL_SHARE and first < second / 10:
            return "utf-16-le", 0
        if first >= _NUL_SHARE and second < first / 10:
            return "utf-16-be", 0
    return "utf-8", 0


def decode_legacy(data: bytes) -> tuple[str, str] | None:
    """Return text and encoding of a line that is no valid UTF-8, None where nothing sensible comes of it."""
    if _is_chinese(data):
        return data.decode("gb18030"), "gb18030"
    text = data.decode("utf-8", "surrogateescape")
    strays = len(_ESCAPED_BYTE.findall(text))
    visible = len(text) - text.count(" ")
    if strays > _FEW_FOREIGN_BYTES and strays > _FOREIGN_SHARE * visible:
        return None
    return _ESCAPED_BYTE.sub(lambda found: _CP1252[ord(found.group()) - 0xDC80], text), "cp1252"


def _is_chinese(data: bytes) -> bool:
    """Tell whether bytes are GB18030 in which most characters are of the 3,755 common ones (GB 2312, level 1)."""
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return False
    foreign = [c for c in text if c > "\x7f"]
    common = sum(0xB0 <= c.encode("gb2312", "ignore")[:1].rjust(1, b"\0")[0] <= 0xD7 for c in foreign)
    return common >= 2 and common >= _COMMON_HANZI_SHARE * sum(c.isalpha() for c in foreign)


def _has_utf8(data: bytes) -> bool:
    """Tell whether some characters of a line with stray bytes are UTF-8 all the same."""
    text = data.decode("utf-8", "surrogateescape")
    return any(c > "\x7f" and not "\udc80" <= c <= "\udcff" for c in text)


def _beginning(data: bytes) -> str:
    return data[:VALUE_CHARACTERS].decode("utf-8", "replace")


def sniff_text(head: bytes) -> str | None:
    """Return the beginning of a file as text for a look at it, None where it is no text."""
    encoding, mark_bytes = sniff_encoding(head)
    if encoding != "utf-8":
        return head[mark_bytes:].decode(encoding, "replace")
    if b"\0" in head:
        return None
    text = head[mark_bytes:].decode("utf-8", "surrogateescape")
    strays = len(_ESCAPED_BYTE.findall(text[:-4]))
    controls = sum(1 for c in text if c < " " and c not in "\t\n\r\f\v\x1a\x1b")
    if controls * 10 > len(text):
        return None
    if strays > _FOREIGN_SHARE * len(text):
        try:
            return head[mark_bytes:].decode("gb18030", "replace")
        except UnicodeDecodeError:
            return None
    return _ESCAPED_BYTE.sub(lambda found: _CP1252[ord(found.group()) - 0xDC80], text)
