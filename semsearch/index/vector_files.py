"""The vectors of a generation on disk: segments that never change, and which row each of their vectors belongs to.

A vector's place is its number in the segments, one after the other. `vector_keys.npy` holds a row, a token count and a
text key for each position, in the order of rows. Position p is at place p, unless `vector_places.npy` says where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.index import manifest as manifests
from semsearch.index.arrays import read_array
from semsearch.index.durable import full_disk_named
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.manifest import VECTOR_KEYS, VECTOR_PLACES, VECTORS, Manifest, Segment

ENTRY_DTYPE: Final = np.dtype([("row", "<i8"), ("tokens", "<i4"), ("key", KEY_DTYPE)])
PLACE_DTYPE: Final = np.dtype("<i8")
VECTOR_DTYPE: Final = np.dtype("<f4")


class Blocks(Protocol):
    """Gives the vectors of a generation block by block, in the order of the rows."""

    def __iter__(self) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int32], Vectors]]:
        """Yield (rows, keys, token counts, vectors) of one block after the other."""
        ...


class StoredVectors:
    """The vectors in the segments of a generation, memory-mapped, by place."""

    def __init__(self, segments: Sequence[NDArray[Any]], dimension: int) -> None:
        """Join `(n, d)` float32 arrays."""
        self.dimension = dimension
        self._segments = segments
        self.starts: NDArray[np.int64] = np.cumsum([0, *(len(segment) for segment in segments)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, places: NDArray[np.int64]) -> Vectors:
        """Return the `(len(places), d)` float32 vectors at these places."""
        if len(self._segments) == 1:
            return np.ascontiguousarray(self._segments[0][places], np.float32)
        taken = np.empty((len(places), self.dimension), np.float32)
        numbers = self.segment_of(places)
        for number in np.unique(numbers).tolist():
            inside = np.flatnonzero(numbers == number)
            taken[inside] = self._segments[number][places[inside] - self.starts[number]]
        return taken

    def segment_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return `(n,)` int64: the number of the segment in which each place is."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def blocks(self, rows: int, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Vectors]]:
        """Yield (first place, up to `rows` vectors in a row as they lie on disk) for the places from start to end."""
        end = len(self) if end is None else end
        for number, segment in enumerate(self._segments):
            origin = int(self.starts[number])
            for first in range(max(start, origin), min(end, origin + len(segment)), rows):
                last = min(first + rows, end, origin + len(segment))
                yield first, segment[first - origin:last - origin]


def segment_name(number: int) -> str:
    """Return the name of the file of a segment, the first being 1."""
    return VECTORS if number == 1 else f"{Path(VECTORS).stem}-{number}{Path(VECTORS).suffix}"


def vector_file_names(manifest: Manifest) -> list[str]:
    """Return the names of the files that hold a generation's vectors and say whose they are."""
    names = [segment.name for segment in manifest.segments]
    return [*names, VECTOR_KEYS, *([VECTOR_PLACES] if VECTOR_PLACES in manifest.files else [])]


def open_stored(folder: Path, segments: Sequence[Segment], dimension: int) -> StoredVectors:
    """Return the vectors in the segments of a generation, memory-mapped.

    Raises:
        IndexDamaged: a file is not what the segments say.
    """
    return StoredVectors([load_array(folder / segment.name, VECTOR_DTYPE, (segment.vectors, dimension))
                          for segment in segments], dimension)


def load_entries(folder: Path, manifest: Manifest) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return the `(vectors,)` entries and places of a generation's vectors; no places where each is at its position.

    Raises:
        IndexDamaged: they name what there is not.
    """
    entries = load_array(folder / VECTOR_KEYS, ENTRY_DTYPE, (manifest.vectors,))
    rows = entries["row"]
    if len(rows) and (rows[0] < 0 or rows[-1] >= manifest.papers or (np.diff(rows) <= 0).any()):
        raise manifests.damaged(folder / VECTOR_KEYS, "names rows that do not exist")
    if VECTOR_PLACES not in manifest.files:
        return entries, None
    places = np.asarray(load_array(folder / VECTOR_PLACES, PLACE_DTYPE, (manifest.vectors,)))
    total = sum(segment.vectors for segment in manifest.segments)
    if len(places) and (places.min() < 0 or places.max() >= total or np.bincount(places).max() > 1):
        raise manifests.damaged(folder / VECTOR_PLACES, "names places that do not exist")
    return entries, places


def write_segment(path: Path, vectors: int, dimension: int, blocks: Blocks) -> NDArray[Any]:
    """Write a segment from blocks, in bounded memory, and return the `(vectors,)` entries of what it holds.

    Raises:
        DiskFull: there is no room.
    """
    entries = np.zeros(vectors, ENTRY_DTYPE)
    with full_disk_named(path.parent), open(path, "wb") as file:
        _write_header(file, VECTOR_DTYPE, (vectors, dimension))
        start = 0
        for rows, keys, tokens, block in blocks:
            end = start + len(rows)
            entries["row"][start:end] = rows
            entries["key"][start:end] = keys
            entries["tokens"][start:end] = tokens
            file.write(np.ascontiguousarray(block, VECTOR_DTYPE).tobytes())
            start = end
    if start != vectors:
        raise AssertionError(f"{start} vectors written where {vectors} were announced")
    return entries


def write_entries(folder: Path, entries: NDArray[Any], places: NDArray[np.int64]) -> None:
    """Write `vector_keys.npy`, and `vector_places.npy` where the `(m,)` places are not the positions.

    Raises:
        DiskFull: there is no room.
    """
    _write_array(folder / VECTOR_KEYS, entries)
    if not np.array_equal(places, np.arange(len(places))):
        _write_array(folder / VECTOR_PLACES, places.astype(PLACE_DTYPE))


def load_array(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array in a file, memory-mapped.

    Raises:
        IndexDamaged: it is not of this type and shape.
    """
    try:
        array: NDArray[Any] = read_array(path, mapped=shape[0] > 0)
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        raise manifests.damaged(path, "cannot be read") from error
    if array.dtype != dtype or array.shape != shape:
        raise manifests.damaged(path, f"holds {array.dtype} {array.shape} where {dtype} {shape} was written")
    return array


def _write_array(path: Path, array: NDArray[Any]) -> None:
    with full_disk_named(path.parent), open(path, "wb") as file:  # np.save does not say that a disk is full
        _write_header(file, array.dtype, array.shape)
        file.write(array.tobytes())


def _write_header(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False,
                                                "shape": shape})
