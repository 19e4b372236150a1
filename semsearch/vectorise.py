"""Vectors for texts: from whoever has them already, else from the encoder."""

from __future__ import annotations

import functools
import random
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncodedTexts, Encoder, EncoderIdentity, Vectors
from semsearch.encoding_pool import Chunk, encode_chunks
from semsearch.errors import DiskFull, EncodingFailed
from semsearch.index.keyed_vectors import KeyedVectors
from semsearch.index.vector_files import ENTRY_DTYPE
from semsearch.index.vector_log import VectorLogWriter
from semsearch.progress import Progress

CHECKPOINT_SECONDS: Final = 15.0
"""How much encoding a power failure may cost; the death of the process alone costs at most one chunk."""
_CHUNK_TEXTS: Final = 64
_GPU_CHUNK_TEXTS: Final = 1024
"""A GPU takes hundreds of abstracts at a time, and encodes so many in a second."""
_WINDOW_TEXTS: Final = 4096
"""Texts are sorted by length within a window: batches of like length waste nothing, and the time left stays honest."""
_BLOCK_ROWS: Final = 65_536
_RATE_AFTER_SECONDS: Final = 2.0
_LONG_SECONDS: Final = 20.0


class TextsByRow(Protocol):
    """Gives the texts of papers by their rows: a paper table, staged or not."""

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[str, str, bytes]]:
        """Yield (id, text, text key) of the papers in these rows."""
        ...


class VectorSources:
    """Vectors by text key, from the first of several sources that has one."""

    def __init__(self, sources: Sequence[KeyedVectors]) -> None:
        self._sources = [s for s in sources if len(s)]

    def has(self, keys: NDArray[Any]) -> NDArray[np.bool_]:
        """Return `(n,)` bool: which keys have a vector."""
        found = np.zeros(len(keys), np.bool_)
        for source in self._sources:
            found |= source.find(keys) >= 0
        return found

    def take(self, keys: NDArray[Any], dimension: int) -> EncodedTexts:
        """Return the vectors of keys that all have one."""
        vectors = np.zeros((len(keys), dimension), np.float32)
        tokens = np.zeros(len(keys), np.int32)
        missing = np.arange(len(keys))
        for source in self._sources:
            positions = source.find(keys[missing])
            here = positions >= 0
            taken = source.take(positions[here])
            vectors[missing[here]], tokens[missing[here]] = taken
            missing = missing[~here]
        if len(missing):
            raise KeyError(f"{len(missing)} keys have no vector")
        return EncodedTexts(vectors, tokens)


class RowBlocks:
    """The vectors of a generation in the making, block by block in the order of its rows."""

    def __init__(self, rows: NDArray[np.int64], keys: NDArray[Any], sources: VectorSources, dimension: int) -> None:
        self._rows, self._keys, self._sources, self._dimension = rows, keys, sources, dimension

    def __iter__(self) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int32], Vectors]]:
        for start in range(0, len(self._rows), _BLOCK_ROWS):
            keys = self._keys[start:start + _BLOCK_ROWS]
            encoded = self._sources.take(keys, self._dimension)
            yield self._rows[start:start + _BLOCK_ROWS], keys, encoded.token_counts, encoded.vectors


def missing_rows(keys: NDArray[Any], sources: VectorSources) -> NDArray[np.int64]:
    """Return one row for each distinct text that no source has a vector of, in the order of rows."""
    lacking = np.flatnonzero(~sources.has(keys))
    _, first = np.unique(keys[lacking], return_index=True)
    return np.sort(lacking[first])


def encode_rows(papers: TextsByRow, rows: NDArray[np.int64], identity: EncoderIdentity, encoder: Encoder,
                log: VectorLogWriter, progress: Progress) -> None:
    """Encode the texts of these rows into the log.

    Whatever ends this early, the vectors of every chunk that was finished are in the log.

    Raises:
        EncodingFailed: a text came out as no unit vector; the message names the paper.
        DiskFull: there is no room for the vectors.
    """
    tell = _Estimate(len(rows), identity, encoder.device, progress)
    last_checkpoint = time.monotonic()
    try:
        chunks = _chunks(papers, rows, _CHUNK_TEXTS if encoder.device == "cpu" else _GPU_CHUNK_TEXTS)
        encode = functools.partial(_encode, encoder, dimension=identity.dimension)
        with (progress.task("Encoding", len(rows), "abstract") as task,
              closing(encode_chunks(encoder, chunks, encode, len(rows))) as results):
            for chunk, encoded in results:
                log.append(chunk.keys, encoded)
                task.advance(len(chunk.texts))
                tell.after(len(chunk.texts))
                if time.monotonic() - last_checkpoint > CHECKPOINT_SECONDS:
                    log.checkpoint()
                    last_checkpoint = time.monotonic()
    finally:
        log.close()


def check_room(new: int, total: int, dimension: int, index_folder: Path) -> None:
    """Check that the disk has room for `new` vectors in the log and then all `total` in the next generation.

    Raises:
        DiskFull: it has not; said before hours are spent on them.
    """
    needed, free = vectors_bytes(new + total, dimension), shutil.disk_usage(index_folder).free
    if needed > free:
        raise DiskFull(f"{new:,} new vectors beside {total - new:,} others need about {needed / 1e6:,.0f} MB under "
                       f"{index_folder}; {free / 1e6:,.0f} MB are free.",
                       "Free some space, or use --home on another disk.")


def vectors_bytes(vectors: int, dimension: int) -> int:
    """Return the disk space that so many vectors take, with their keys."""
    return vectors * (4 * dimension + ENTRY_DTYPE.itemsize)


def _encode(encoder: Encoder, chunk: Chunk, dimension: int) -> EncodedTexts:
    texts = chunk.texts
    try:
        encoded = encoder.encode_documents(texts)
    except EncodingFailed as error:
        for paper_id, text in zip(chunk.ids, texts, strict=True):
            try:
                encoder.encode_documents([text])
            except EncodingFailed:
                raise EncodingFailed(f"The model gives no usable vector for paper {paper_id!r}: {error.message}",
                                     error.way_out) from error
        raise
    if encoded.vectors.shape != (len(texts), dimension) or not np.isfinite(encoded.vectors).all():
        raise EncodingFailed(f"The model gave {encoded.vectors.shape} for {len(texts)} texts where {dimension} "
                             "dimensions and finite numbers are expected.", "Try another model with --model.")
    return encoded


def _chunks(papers: TextsByRow, rows: NDArray[np.int64], size: int) -> Iterator[Chunk]:
    for start in range(0, len(rows), _WINDOW_TEXTS):
        window = sorted(papers.texts(rows[start:start + _WINDOW_TEXTS].tolist()), key=lambda item: -len(item[1]))
        chunks = [window[offset:offset + size] for offset in range(0, len(window), size)]
        random.Random(0).shuffle(chunks)  # so that the rate so far is the rate to come
        for chunk in chunks:
            yield Chunk(*(list(column) for column in zip(*chunk, strict=True)))


class _Estimate:
    """Says once, after the first seconds, how long the encoding will take and what it needs on disk."""

    def __init__(self, total: int, identity: EncoderIdentity, device: str, progress: Progress) -> None:
        self._total, self._done, self._told = total, 0, False
        self._say: Callable[[str], None] = progress.note
        self._begun = time.monotonic()
        megabytes = vectors_bytes(total, identity.dimension) / 1e6
        self._work = f"{total:,} abstracts with {identity.model} on {device}"
        self._disk = f"{megabytes:,.1f} MB on disk"

    def after(self, texts: int) -> None:
        self._done += texts
        elapsed = time.monotonic() - self._begun
        if self._told or elapsed < _RATE_AFTER_SECONDS:
            return
        self._told = True
        seconds = elapsed / self._done * (self._total - self._done)
        if seconds > _LONG_SECONDS:
            self._say(f"Encoding {self._work}: about {duration_in_words(seconds)} ({self._done / elapsed:.1f} a "
                      f"second), {self._disk}. It can be stopped at any time; the next run goes on from there.")


def duration_in_words(seconds: float) -> str:
    """Return about how long that is: `40 seconds`, `58 minutes`, `2.5 hours`."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
