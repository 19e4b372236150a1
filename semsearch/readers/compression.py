"""The bytes of a file: counted and hashed as they come, decompressed by what they are, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

from semsearch.errors import InputError

BLOCK_BYTES: Final = 256 * 1024
_ZSTD_SLICE_BYTES: Final = 1024
"""A zstd block of 4 bytes can stand for 128 KiB, so that a slice of 1 KiB gives at most 32 MiB at a time."""

_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_BZIP2_MAGIC: Final = b"BZh"
_BZIP2_BLOCK_MAGIC: Final = b"1AY&SY"
_XZ_MAGIC: Final = b"\xfd7zXZ\x00"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE_MAGIC: Final = b"\x2a\x4d\x18"

COMPRESSION_SUFFIXES: Final = (".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz")


class Damaged(Exception):
    """Compressed data or an archive is cut or damaged; what came before is good."""


class RawFile(io.RawIOBase):
    """A file whose bytes are counted and hashed as they are read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._hash = hashlib.sha256()
        self.bytes_read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill `buffer` and return how much came; raises InputError where the disk or the network gives up."""
        try:
            data = self._file.read(len(buffer))
        except OSError as error:
            raise InputError(f"{self._name} cannot be read any further: {error.strerror or error}.",
                             "Check the disk or the connection, then run the command again.") from error
        self._hash.update(data)
        self.bytes_read += len(data)
        buffer[:len(data)] = data
        return len(data)

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes taken so far."""
        return self._hash.hexdigest()


class SourceStream(io.RawIOBase):
    """The decompressed bytes of a file.

    Damaged compressed data ends the stream early and leaves `damaged` true; it raises nothing.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._raw = RawFile(file, name)
        self._buffered: io.BufferedReader = io.BufferedReader(self._raw, BLOCK_BYTES)
        self._blocks = _decompressed(self._buffered)
        self._pending = b""
        self.damaged = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Put the next decompressed bytes into `buffer` and return how many."""
        if not self._pending:
            self._pending = self._next_block()
        data = self._pending[:len(buffer)]
        self._pending = self._pending[len(data):]
        buffer[:len(data)] = data
        return len(data)

    def head(self, size: int) -> bytes:
        """Return up to `size` bytes of the beginning without consuming them; to be called before any read."""
        while len(self._pending) < size:
            block = self._next_block()
            if not block:
                break
            self._pending += block
        return self._pending[:size]

    def _next_block(self) -> bytes:
        try:
            return next(self._blocks, b"")
        except Damaged:
            self.damaged = True
            return b""

    def drain(self) -> None:
        """Read what is left of the file, so that the hash covers all of it."""
        try:
            while self._buffered.read(BLOCK_BYTES):
                pass
        except Damaged:
            self.damaged = True

    @property
    def bytes_read(self) -> int:
        """Bytes of the file itself taken so far."""
        return self._raw.bytes_read

    @property
    def sha256(self) -> str:
        """Hex digest of the file's own bytes taken so far."""
        return self._raw.sha256

    def as_binary(self) -> BinaryIO:
        """Return this stream under the type that readers take."""
        return cast(BinaryIO, self)


def _decompressed(file: io.BufferedReader) -> Iterator[bytes]:
    """Yield the content of `file` in blocks, decompressed by its first bytes; raises Damaged."""
    magic = file.peek(10)[:10]
    if magic.startswith(_GZIP_MAGIC):
        yield from _blocks_of(gzip.GzipFile(fileobj=file))
    elif magic.startswith(_BZIP2_MAGIC) and magic[4:10] == _BZIP2_BLOCK_MAGIC[:max(len(magic) - 4, 0)]:
        yield from _blocks_of(bz2.BZ2File(file))
    elif magic.startswith(_XZ_MAGIC):
        yield from _blocks_of(lzma.LZMAFile(file))
    elif magic.startswith(_ZSTD_MAGIC) or (magic[1:4] == _ZSTD_SKIPPABLE_MAGIC and 0x50 <= magic[0] <= 0x5F):
        yield from _zstd_blocks(file)
    else:
        while block := file.read1(BLOCK_BYTES):  # `read` would lose what came before a damage in an archive
            yield block


def _blocks_of(file: gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile) -> Iterator[bytes]:
    """Yield the content of a compressed file; `read1` hands out what came before a damage, where `read` would not."""
    while True:
        try:
            block = file.read1(BLOCK_BYTES)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise Damaged from error
        if not block:
            return
        yield block


def _zstd_blocks(file: io.BufferedReader) -> Iterator[bytes]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    frame = decompressor.decompressobj()
    in_frame = False
    while piece := file.read(_ZSTD_SLICE_BYTES):
        while piece:
            if frame.eof:
                frame = decompressor.decompressobj()
            try:
                block = frame.decompress(piece)
            except (zstandard.ZstdError, MemoryError) as error:
                raise Damaged from error
            in_frame = not frame.eof
            piece = frame.unused_data if frame.eof else b""
            if block:
                yield block
    if in_frame:
        raise Damaged
