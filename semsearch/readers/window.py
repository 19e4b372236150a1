"""The text of a document of any size through a window that moves forward: for formats that are not read by lines."""

from __future__ import annotations

import codecs
import io
import re
from typing import BinaryIO, Final

from semsearch.readers.base import VALUE_CHARACTERS
from semsearch.readers.text import HEAD_BYTES, decode_legacy, sniff_encoding

RECORD_LIMIT: Final = 64 * 1024 * 1024
"""No record of a real export is longer, in characters; what is, is given up so that memory stays bounded."""
TOO_LONG: Final = "record longer than 64 MiB"

_BLOCK_BYTES: Final = 256 * 1024
_STRAY: Final = re.compile("[\udc80-\udcff]")
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")


class TextWindow:
    r"""The characters of a document from the place reached on; every line end is `\n`.

    `text[start:]` is what has been read and not yet passed; `passed` is the number of characters before it, `line` the
    line that it begins on. Bytes that are no UTF-8 stand in it as lone surrogates
    until `decoded` is asked for a piece. The encoding is UTF-8, or UTF-16 or UTF-32 where a byte order mark or the
    NULs show it, or the one that an XML declaration names if the text is no UTF-8.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        head = stream.read(HEAD_BYTES)
        self._whole_encoding, mark_bytes = _encoding_of(head)
        errors = "surrogateescape" if self._whole_encoding == "utf-8" else "replace"
        decoder = codecs.getincrementaldecoder(self._whole_encoding)(errors)
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._legacy: set[str] = set()
        self._has_utf8 = False
        self.start = 0
        self.line = 1
        self.passed = 0
        self.ended = not head
        self.text: str = self._decoder.decode(head[mark_bytes:])
        if self.ended:
            self.text += self._decoder.decode(b"", True)

    @property
    def encoding(self) -> str:
        """What the document is encoded in, `mixed` where records differ; settled at the end."""
        if self._whole_encoding != "utf-8":
            return self._whole_encoding[:6] if self._whole_encoding.startswith("utf") else self._whole_encoding
        if not self._legacy:
            return "utf-8"
        return "mixed" if self._has_utf8 or len(self._legacy) > 1 else next(iter(self._legacy))

    def __len__(self) -> int:
        """Return how many characters lie in the window."""
        return len(self.text) - self.start

    def extend(self) -> bool:
        """Read on, at least as much as lies in the window, so that repeated looks stay linear; False at the end."""
        if self.ended:
            return False
        wanted = max(_BLOCK_BYTES, len(self))
        pieces = [self.text[self.start :]]
        while wanted > 0 and not self.ended:
            block = self._stream.read(min(wanted, 1 << 22))
            wanted -= len(block)
            self.ended = not block
            pieces.append(self._decoder.decode(block, final=not block))
        self.text = "".join(pieces)
        self.start = 0
        return True

    def drop(self, characters: int) -> None:
        """Pass over the next characters."""
        self.line += self.text.count("\n", self.start, self.start + characters)
        self.passed += min(characters, len(self))
        self.start = min(len(self.text), self.start + characters)

    def decoded(self, piece: str) -> str | None:
        """Return a piece of the window with stray bytes decoded, None where nothing sensible comes of it."""
        if piece.isascii():
            return piece
        if self._whole_encoding != "utf-8" or not _STRAY.search(piece):
            self._has_utf8 = True
            return piece
        legacy = decode_legacy(piece.encode("utf-8", "surrogateescape"))
        if legacy is None:
            return None
        self._legacy.add(legacy[1])
        return legacy[0]


def beginning(text: str) -> str:
    """Return the beginning of a record as it is reported, in one line and without stray bytes."""
    return _STRAY.sub("\ufffd", " ".join(text[: 2 * VALUE_CHARACTERS].split()))[:VALUE_CHARACTERS]


def _encoding_of(head: bytes) -> tuple[str, int]:
    encoding, mark_bytes = sniff_encoding(head)
    if encoding != "utf-8" or _is_utf8(head):
        return encoding, mark_bytes
    declared = _DECLARED.search(head[:1024])
    if declared:
        try:
            name = codecs.lookup(declared.group(1).decode("ascii")).name
            b"".decode(name)  # LookupError where it is no encoding of text
        except LookupError:
            name = "utf-8"
        if not name.startswith("utf"):
            return {"iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}.get(name, name), mark_bytes
    # The second byte of a Chinese character may be a quotation mark or a brace, so GBK must be known from the start.
    sample = head[: max(head.rfind(b"\n"), head.rfind(b'"')) + 1]
    legacy = decode_legacy(sample) if sample else None
    return ("gb18030" if legacy and legacy[1] == "gb18030" else "utf-8"), mark_bytes


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
