"""The files of a shard: keys in sorted order, token counts and vectors in theirs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncodedTexts, EncoderIdentity
from semsearch.index.arrays import read_array
from semsearch.index.durable import file_sha256, sync_folder, written_atomically
from semsearch.index.keyed_vectors import KEY_DTYPE, KeyedVectors
from semsearch.index.manifest import FileEntry, describe_file
from semsearch.shards.division import Shard
from semsearch.shards.marker import KEYS, MARKER, TOKENS, VECTORS, Marker, damaged, read_marker, write_marker
from semsearch.vectorise import VectorSources

LOCK: Final = "shard.lock"
LOG: Final = "log"
"""The folder in a shard's folder where vectors lie until the shard is finished."""
NORM_TOLERANCE: Final = 1e-3
"""How far from 1 a stored norm may be; the encoder leaves float32 norms within 1e-6."""
_BLOCK_ROWS: Final = 16_384


@dataclass(frozen=True, slots=True)
class Contents:
    """What a shard is to hold: `(m,)` sorted distinct text keys, and what its marker says of where they are from."""

    keys: NDArray[Any]
    sources_sha256: str
    rejected: int

    @property
    def keys_sha256(self) -> str:
        """The SHA-256 of the keys, in hex."""
        return hashlib.sha256(self.keys.tobytes()).hexdigest()


class ShardVectors(KeyedVectors):
    """The vectors of a finished shard, memory-mapped; its keys are sorted on disk and take no memory either.

    `keys`: `(m,)` sorted text keys; `vectors`: `(m, d)` float32, unit rows.
    """

    def __init__(self, folder: Path, marker: Marker) -> None:
        """Map the files of a shard that was checked."""
        self.folder, self.marker = folder, marker
        self.keys, self.vectors = _mapped(marker, folder, KEYS), _mapped(marker, folder, VECTORS)
        super().__init__(self.keys, _mapped(marker, folder, TOKENS), self.vectors)

    def find(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """Return `(n,)` int64: for each key its position in this shard, -1 where it is not there."""
        if not len(self.keys) or not len(keys):
            return np.full(len(keys), -1, np.int64)
        places = np.searchsorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        return np.where(self.keys[places] == keys, places, -1)

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Yield the `(b, d)` float32 vectors in the order of the keys."""
        for start in range(0, len(self.keys), _BLOCK_ROWS):
            yield np.ascontiguousarray(self.vectors[start:start + _BLOCK_ROWS])


def open_shard(folder: Path) -> ShardVectors | None:
    """Return the vectors of a shard, None where it is not finished. Every file is read through once.

    Raises:
        IndexDamaged: a file is not what was written, or holds something that is no unit vector.
        IndexFormatUnsupported: another version of semsearch wrote it.
    """
    marker = read_marker(folder)
    if marker is None:
        return None
    shapes = _shapes(marker.texts, marker.encoder.dimension)
    for what, (dtype, shape) in shapes.items():
        path = marker.path(folder, what)
        _check_header(path, marker.files.get(path.name), dtype, shape)
    for what in (KEYS, TOKENS):
        path = marker.path(folder, what)
        if file_sha256(path) != marker.files[path.name].sha256:
            raise damaged(path, "is not what was written")
    _check_vectors(marker.path(folder, VECTORS), marker)
    shard = ShardVectors(folder, marker)
    if (shard.keys[1:] <= shard.keys[:-1]).any() or not marker.shard.holds(shard.keys).all():
        raise damaged(marker.path(folder, KEYS), "holds keys of another shard, or in no order")
    return shard


def write_shard(folder: Path, shard: Shard, identity: EncoderIdentity, contents: Contents,
                sources: VectorSources) -> ShardVectors:
    """Write the vectors of all keys, then the marker, and return them; what the shard held before goes then.

    Raises:
        DiskFull: there is no room; what was there before stays.
    """
    keys = contents.keys
    marker = Marker(identity, shard, len(keys), contents.keys_sha256, contents.sources_sha256, contents.rejected, {})
    shapes = _shapes(len(keys), identity.dimension)
    paths = {what: marker.path(folder, what) for what in shapes}
    if any(path.exists() for path in paths.values()):
        (folder / MARKER).unlink(missing_ok=True)  # it vouches for files that are damaged, and are written anew now
    with (written_atomically(paths[KEYS]) as key_file, written_atomically(paths[TOKENS]) as token_file,
          written_atomically(paths[VECTORS]) as vector_file, open(key_file, "wb") as key_stream,
          open(token_file, "wb") as token_stream, open(vector_file, "wb") as vector_stream):
        streams = {KEYS: key_stream, TOKENS: token_stream, VECTORS: vector_stream}
        for what, (dtype, shape) in shapes.items():
            _write_header(streams[what], dtype, shape)
        for start in range(0, len(keys), _BLOCK_ROWS):
            block = keys[start:start + _BLOCK_ROWS]
            encoded: EncodedTexts = sources.take(block, identity.dimension)
            key_stream.write(np.ascontiguousarray(block).tobytes())
            token_stream.write(np.ascontiguousarray(encoded.token_counts, "<i4").tobytes())
            vector_stream.write(np.ascontiguousarray(encoded.vectors, "<f4").tobytes())
    for path in paths.values():
        marker.files[path.name] = describe_file(path)
    write_marker(folder, marker)
    remove_strangers(folder, marker)
    return ShardVectors(folder, marker)


def remove_strangers(folder: Path, marker: Marker) -> None:
    """Remove what a shard's folder holds beside its marker's files, its lock and its log."""
    lists = {marker.lists_path(folder, factory).name for factory in marker.lists}
    belongs = {MARKER, LOCK, LOG, *marker.files, *lists}
    for path in folder.iterdir():
        if path.name not in belongs and path.is_file():
            path.unlink()
    sync_folder(folder)


def shard_folders(division_folder: Path) -> list[Path]:
    """Return the folders of shards of one encoder, finished or not, in the order of their names."""
    return sorted(p for p in division_folder.glob("shard-*-of-*") if p.is_dir())


def _shapes(texts: int, dimension: int) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    return {KEYS: (KEY_DTYPE, (texts,)), TOKENS: (np.dtype("<i4"), (texts,)),
            VECTORS: (np.dtype("<f4"), (texts, dimension))}


def _mapped(marker: Marker, folder: Path, what: str) -> NDArray[Any]:
    return read_array(marker.path(folder, what), mapped=marker.texts > 0)


def _write_header(stream: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(stream, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False,
                                                  "shape": shape})


def _check_header(path: Path, entry: FileEntry | None, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise damaged(path, "is missing") from error
    if entry is None or size != entry.size_bytes:
        raise damaged(path, f"has {size:,} bytes where {entry.size_bytes if entry else 0:,} were written")
    try:
        with open(path, "rb") as stream:
            np.lib.format.read_magic(stream)
            found = np.lib.format.read_array_header_1_0(stream)
    except (ValueError, EOFError, SyntaxError) as error:
        raise damaged(path, "is no array") from error
    if found != (shape, False, dtype):
        raise damaged(path, f"holds {found[2]} {found[0]} where {dtype} {shape} was written")


def _check_vectors(path: Path, marker: Marker) -> None:
    """Read all vectors, a block at a time, and check that they are what was written and all of them unit vectors."""
    digest = hashlib.sha256()
    dimension = marker.encoder.dimension
    position = 0
    with open(path, "rb") as stream:
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        begin = stream.tell()
        stream.seek(0)
        digest.update(stream.read(begin))
        while content := stream.read(_BLOCK_ROWS * dimension * 4):
            digest.update(content)
            block = np.frombuffer(content, "<f4").reshape(-1, dimension)
            norms = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
            wrong = np.flatnonzero(~(np.abs(norms - 1) <= NORM_TOLERANCE))  # NaN compares false
            if len(wrong):
                raise damaged(path, f"holds no unit vector at position {position + int(wrong[0]):,}")
            position += len(block)
    if digest.hexdigest() != marker.files[path.name].sha256:
        raise damaged(path, "is not what was written")
