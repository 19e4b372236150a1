"""Vectors that were paid for and are not yet in a generation.

One append-only file per process: a 64-byte header, then records of one size with a checksum each. A torn tail and a
damaged record cost the vectors they held and nothing else.
"""

from __future__ import annotations

import os
import socket
import struct
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncodedTexts
from semsearch.index.durable import full_disk_named, make_folder, sync_folder
from semsearch.index.keyed_vectors import KEY_DTYPE, KeyedVectors
from semsearch.index.locks import lock_exclusive
from semsearch.index.wanted_texts import forget_wanted

FOLDER: Final = "vectors"
_MAGIC: Final = b"SEMVLOG1"
_HEADER_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class LogReport:
    """What a log file holds: whole records, damaged ones, and the bytes of an unfinished one at its end."""

    path: Path
    readable: bool
    records: int
    damaged: int
    torn_bytes: int


class VectorLogWriter:
    """Appends vectors to a file of its own in the folder of a fingerprint; made when the first vector comes."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dtype = _record_dtype(dimension)
        self._dimension = dimension
        self._file: Any = None

    def append(self, keys: Sequence[bytes], encoded: EncodedTexts) -> None:
        """Write the vectors of texts with these keys; they survive the death of this process from here on.

        Raises:
            DiskFull: there is no room; what was appended before stays.
        """
        records = np.zeros(len(keys), self._dtype)
        records["key"] = np.frombuffer(b"".join(keys), KEY_DTYPE)
        records["tokens"] = encoded.token_counts
        records["vector"] = encoded.vectors
        records["crc"] = [_checksum(record) for record in records]
        with full_disk_named(self._folder):
            if self._file is None:
                self._file = self._create()
            self._file.write(records.tobytes())
            self._file.flush()

    def checkpoint(self) -> None:
        """Wait until all that was appended is on the disk; it survives a power failure from here on."""
        if self._file is not None:
            with full_disk_named(self._folder):
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Checkpoint and close; the file stays."""
        if self._file is not None:
            try:
                self.checkpoint()
            finally:
                self._file.close()
                self._file = None

    def _create(self) -> Any:
        make_folder(self._folder)
        path = self._folder / f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.log"
        file = open(path, "xb")
        lock_exclusive(file)
        file.write(_header(self._dimension))
        sync_folder(self._folder)
        return file


def read_logs(folder: Path, dimension: int) -> list[KeyedVectors]:
    """Return the whole and undamaged vectors in the logs of a fingerprint's folder, memory-mapped, one source a log.

    A log that a build removes meanwhile, because a generation has its vectors, is passed over.
    """
    dtype = _record_dtype(dimension)
    sources = []
    for path in sorted(folder.glob("*.log")):
        with suppress(FileNotFoundError):
            records = _records(path, dimension, dtype)
            if records is not None and len(records):
                sources.append(_source(records, _intact(records)))
    return sources


class FollowedLogs:
    """The logs in a fingerprint's folder while processes write to them: each record is read and checked once."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder, self._dimension = folder, dimension
        self._dtype = _record_dtype(dimension)
        self._intact: dict[Path, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        """How many vectors were found and not removed since."""
        return sum(int(intact.sum()) for intact in self._intact.values())

    def refresh(self) -> NDArray[Any]:
        """Read what was appended since the last time, and return the `(n,)` keys of these vectors."""
        return np.concatenate([np.zeros(0, KEY_DTYPE), *(source.keys_by_position for source in self.read_new())])

    def read_new(self) -> list[KeyedVectors]:
        """Return the vectors that were appended since the last time, memory-mapped, one source a log."""
        found = []
        for path in sorted(self._folder.glob("*.log")):
            with suppress(FileNotFoundError):
                before = self._intact.get(path, np.zeros(0, np.bool_))
                if path.stat().st_size < _HEADER_BYTES + (len(before) + 1) * self._dtype.itemsize:
                    continue
                records = _records(path, self._dimension, self._dtype)
                if records is not None:
                    new = records[len(before):]
                    intact = _intact(new)
                    self._intact[path] = np.concatenate([before, intact])
                    found.append(_source(new, intact))
        return found

    def sources(self) -> list[KeyedVectors]:
        """Return the vectors that were found, memory-mapped, one source a log."""
        sources = []
        for path, intact in self._intact.items():
            records = _records(path, self._dimension, self._dtype)
            if records is not None:
                sources.append(_source(records[:len(intact)], intact))
        return sources

    def remove_read(self, keys: NDArray[Any] | None = None) -> int:
        """Remove the logs of which every record was found and that no process is writing to; return how many went.

        To be called when a generation holds what they held. `keys`: `(n,)` the text keys of its papers, where others
        may be waited for too: a log that has one of these stays.
        """
        removed = 0
        for path, intact in list(self._intact.items()):
            if keys is not None and not np.isin(self._keys_in(path), keys).all():
                continue
            with suppress(FileNotFoundError), open(path, "r+b") as file:
                size = _HEADER_BYTES + (len(intact) + 1) * self._dtype.itemsize
                if lock_exclusive(file) and path.stat().st_size < size:
                    path.unlink()
                    del self._intact[path]
                    removed += 1
        return removed

    def _keys_in(self, path: Path) -> NDArray[Any]:
        """Return the keys of the vectors that were found in a log; none where it has gone."""
        intact = self._intact[path]
        with suppress(FileNotFoundError):
            records = _records(path, self._dimension, self._dtype)
            if records is not None:
                return np.array(records["key"][:len(intact)][intact])
        return np.zeros(0, KEY_DTYPE)


def inspect_logs(index_folder: Path, dimension_of: dict[str, int]) -> list[LogReport]:
    """Return what each log holds; `dimension_of` gives the dimension by fingerprint, others are read from the file."""
    reports = []
    with suppress(FileNotFoundError):  # a build that is done removes logs
        for path in sorted((index_folder / FOLDER).glob("*/*.log")):
            with suppress(FileNotFoundError):
                reports.append(_inspect(path, dimension_of))
    return reports


def _inspect(path: Path, dimension_of: dict[str, int]) -> LogReport:
    size = path.stat().st_size
    if size < _HEADER_BYTES:  # its process died before it had written a first vector
        return LogReport(path, True, 0, 0, size)
    dimension = dimension_of.get(path.parent.name) or _dimension_in(path)
    records = _records(path, dimension, _record_dtype(dimension)) if dimension else None
    if records is None:
        return LogReport(path, False, 0, 0, 0)
    whole = int(_intact(records).sum())
    return LogReport(path, True, whole, len(records) - whole, (size - _HEADER_BYTES) % records.dtype.itemsize)


def remove_logs(folder: Path) -> int:
    """Remove the logs in a fingerprint's folder that no process is writing to, and return how many went.

    To be called when every text of the index has a vector in the current generation: what else the logs hold are
    vectors of texts that are no more. The texts that questions wanted to be encoded are forgotten with them.
    """
    forget_wanted(folder)
    removed = 0
    for path in sorted(folder.glob("*.log")):
        with open(path, "r+b") as file:
            if lock_exclusive(file):
                path.unlink()
                removed += 1
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return removed


def remove_other_fingerprints(index_folder: Path, fingerprint: str) -> int:
    """Remove the logs of all other fingerprints that no process is writing to, and return how many went."""
    folders = [p for p in (index_folder / FOLDER).glob("*") if p.is_dir() and p.name != fingerprint]
    return sum(remove_logs(folder) for folder in folders)


def _record_dtype(dimension: int) -> np.dtype[Any]:
    return np.dtype([("key", KEY_DTYPE), ("tokens", "<i4"), ("crc", "<u4"), ("vector", "<f4", (dimension,))])


def _header(dimension: int) -> bytes:
    body = _MAGIC + struct.pack("<I", dimension)
    return (body + struct.pack("<I", zlib.crc32(body))).ljust(_HEADER_BYTES, b"\0")


def _dimension_in(path: Path) -> int:
    with open(path, "rb") as file:
        head = file.read(_HEADER_BYTES)
    if len(head) < _HEADER_BYTES or not head.startswith(_MAGIC):
        return 0
    dimension = int(struct.unpack_from("<I", head, len(_MAGIC))[0])
    return dimension if 0 < dimension < 1 << 20 else 0


def _records(path: Path, dimension: int, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Return the records of a log, memory-mapped, without a torn tail; None where the header is not a log's."""
    with open(path, "rb") as file:
        if file.read(_HEADER_BYTES) != _header(dimension):
            return None
    count = (path.stat().st_size - _HEADER_BYTES) // dtype.itemsize
    if count == 0:
        return np.zeros(0, dtype)
    return np.memmap(path, dtype, "r", offset=_HEADER_BYTES, shape=(count,))


def _source(records: NDArray[Any], intact: NDArray[np.bool_]) -> KeyedVectors:
    """Return the intact ones of a log's records as a source; without damage they stay where they are."""
    if not intact.all():
        records = np.array(records[intact])
    return KeyedVectors(np.array(records["key"]), records["tokens"], records["vector"])


def _intact(records: NDArray[Any]) -> NDArray[np.bool_]:
    return np.fromiter((_checksum(r) == r["crc"] for r in records), np.bool_, len(records))


def _checksum(record: Any) -> int:
    # A field is read as an array of its own because a bytes scalar would lose trailing zero bytes.
    content = record.tobytes()
    start = KEY_DTYPE.itemsize + 4
    return zlib.crc32(content[start + 4:], zlib.crc32(content[:start]))
