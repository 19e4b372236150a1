"""ZIP archives: their members are files of their own, unpacked as they are read, in bounded memory.

The standard library reads the list of contents. The members are unpacked here: `ZipFile` would read that list again
for every member, and keeps back what it unpacked when a checksum turns out wrong at the end.
"""

from __future__ import annotations

import bz2
import io
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from semsearch.readers.compression import Damaged

MEMBER_MARK: Final = "!/"
"""Stands between the path of an archive and the name of a member."""

_MAGICS: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_PACKAGE_MARKS: Final = frozenset({"[Content_Types].xml", "mimetype", "META-INF/MANIFEST.MF", "META-INF/container.xml",
                                   "AndroidManifest.xml"})
"""Files that make an archive a document or a program: Word, Excel, OpenDocument, EPUB, Java."""
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
_ENCRYPTED: Final = 0x1
_UTF8_NAME: Final = 0x800
_SLICE_BYTES: Final = 64 * 1024
_BOMB_RATIO: Final = 200
"""Text is packed to a tenth, one with every word repeated to a hundredth."""
_BOMB_BYTES: Final = 64 * 1024 * 1024
"""What unpacks to less does no harm."""

DAMAGED_ARCHIVE: Final = "is a damaged ZIP archive: its list of contents cannot be read."
_OVERLAPPING: Final = "is a ZIP archive whose members overlap, as in a decompression bomb."
_ENCRYPTED_MEMBER: Final = "is encrypted."
_BOMB: Final = "would unpack to more than 200 times its size, as in a decompression bomb."
_OTHER_METHOD: Final = "is packed by a method that is not read here (only deflate and bzip2 are)."


@dataclass(frozen=True, slots=True)
class Member:
    """Where a member of an archive lies and how it is packed; `problem` says why it cannot be read."""

    archive: str
    name: str
    header_offset: int
    method: int
    packed_bytes: int
    size_bytes: int
    crc: int
    problem: str = ""

    @property
    def path(self) -> str:
        """What the member is remembered by: the archive's path, `!/` and the name."""
        return self.archive + MEMBER_MARK + self.name

    def open(self) -> BinaryIO:
        """Return the unpacked bytes; raises OSError where the archive cannot be opened, `Damaged` while reading."""
        return cast(BinaryIO, MemberStream(self))


def is_archive(path: str) -> bool:
    """Tell whether a file begins as a ZIP archive does."""
    try:
        with open(path, "rb") as file:
            return file.read(4) in _MAGICS
    except OSError:
        return False


def members_of(path: str) -> list[Member] | None:
    """Return the files in an archive in the order of their names, None where it is a document or a program.

    Raises `Damaged`, with the reason, if the list of contents cannot be read or shows that the archive is a bomb.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            found = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, OverflowError, NotImplementedError,
            struct.error) as error:
        raise Damaged(DAMAGED_ARCHIVE) from error
    if any(info.filename in _PACKAGE_MARKS for info in found):
        return None
    if sum(info.compress_size for info in found) > os.path.getsize(path):
        raise Damaged(_OVERLAPPING)
    counts: Counter[str] = Counter()
    members = []
    for info in found:
        name = _name_of(info)
        counts[name] += 1
        if counts[name] > 1:  # a name may come twice
            name = f"{name} ({counts[name]})"
        members.append(Member(path, name, info.header_offset, info.compress_type, info.compress_size, info.file_size,
                              info.CRC, _problem_of(info)))
    return sorted(members, key=lambda member: member.name)


def _name_of(info: zipfile.ZipInfo) -> str:
    """Return the name of a member; many programs write UTF-8 without saying so."""
    name = info.filename.lstrip("/")
    if info.flag_bits & _UTF8_NAME or name.isascii():
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def _problem_of(info: zipfile.ZipInfo) -> str:
    if info.flag_bits & _ENCRYPTED:
        return _ENCRYPTED_MEMBER
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        return _OTHER_METHOD
    if info.file_size > _BOMB_BYTES and info.file_size > _BOMB_RATIO * info.compress_size:
        return _BOMB
    return ""


class MemberStream(io.RawIOBase):
    """The unpacked bytes of a member.

    Damage is raised as `Damaged` after all that came before it was given; a member never gives more than the list of
    contents says. The same member gives the same bytes, however much of them is asked for at a time.
    """

    def __init__(self, member: Member) -> None:
        self._file = open(member.archive, "rb")
        self._blocks = _unpacked(self._file, member)
        self._pending = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Put the next bytes into `buffer` and return how many."""
        if not self._pending:
            self._pending = next(self._blocks, b"")
        data = self._pending[:len(buffer)]
        self._pending = self._pending[len(data):]
        buffer[:len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the archive."""
        self._file.close()
        super().close()


def _unpacked(file: BinaryIO, member: Member) -> Iterator[bytes]:
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(_MAGICS[0]):
        raise Damaged("no member begins there")
    _, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    file.seek(name_bytes + extra_bytes, os.SEEK_CUR)
    crc = given = 0
    for block in _METHODS[member.method](_packed(file, member.packed_bytes)):
        crc = zlib.crc32(block, crc)
        given += len(block)
        if given > member.size_bytes:
            raise Damaged("more data than the list of contents says")
        yield block
    if given < member.size_bytes or crc != member.crc:
        raise Damaged("less data than the list of contents says, or other data")


def _packed(file: BinaryIO, size_bytes: int) -> Iterator[bytes]:
    while size_bytes > 0:
        piece = file.read(min(size_bytes, _SLICE_BYTES))
        if not piece:
            raise Damaged("the archive is cut")
        size_bytes -= len(piece)
        yield piece


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    for piece in pieces:
        while piece and not decompressor.eof:
            try:
                block = decompressor.decompress(piece, _SLICE_BYTES)
            except zlib.error as error:
                raise Damaged("not as it was packed") from error
            piece = decompressor.unconsumed_tail
            if block:
                yield block
    block = decompressor.flush()
    if block:
        yield block


def _bunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    decompressor = bz2.BZ2Decompressor()
    for piece in pieces:
        while not decompressor.eof:
            try:
                block = decompressor.decompress(piece, _SLICE_BYTES)
            except OSError as error:
                raise Damaged("not as it was packed") from error
            piece = b""
            if block:
                yield block
            elif decompressor.needs_input:
                break


_METHODS: Final = {zipfile.ZIP_STORED: lambda pieces: pieces, zipfile.ZIP_DEFLATED: _inflated,
                   zipfile.ZIP_BZIP2: _bunzipped}
