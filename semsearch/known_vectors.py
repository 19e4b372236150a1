"""The vectors that there are: those of the generation, those in the log, and those made for a question just now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Encoder, Vectors
from semsearch.errors import DiskFull
from semsearch.fusion import best_first
from semsearch.index.keyed_vectors import KEY_DTYPE, KeyedVectors
from semsearch.index.reader import IndexReader
from semsearch.index.row_ranking import Ranking
from semsearch.index.vector_log import FOLDER, FollowedLogs, VectorLogWriter


class KnownVectors:
    """Row <-> vector for an index that may not be encoded to the end.

    Where every paper has a vector in the generation, that is all this is. Vectors that a question paid for go to the
    log, where the next question and the next build find them; no lock is waited for, and where nothing can be written
    they serve this process only.
    """

    def __init__(self, reader: IndexReader, encoder: Callable[[], Encoder]) -> None:
        """Take an index, and who loads its encoder when a text has to be encoded."""
        self._reader, self._encoder = reader, encoder
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)
        self._vectors: Vectors = np.zeros((0, reader.manifest.encoder.dimension), np.float32)
        self._new: list[tuple[NDArray[np.int64], Vectors]] = []
        self._late = 0
        self._is_read = reader.manifest.vectors == reader.manifest.papers
        self._folder = reader.folder / FOLDER / reader.manifest.encoder.fingerprint

    @property
    def count(self) -> int:
        """How many papers have a vector."""
        self._read_log()
        return self._reader.manifest.vectors + self._late

    @property
    def is_complete(self) -> bool:
        """Whether every paper has one."""
        return self.count == self._reader.manifest.papers

    @property
    def is_exact(self) -> bool:
        """Whether a search finds all that are nearest, and not most of them by a structure."""
        return self._reader.vectors.is_exact

    def lacking(self) -> NDArray[np.bool_]:
        """Return `(papers,)` bool by row: which have no vector."""
        self._read_log()
        return self._lacking.copy()

    def has(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return `(n,)` bool: which of these rows have a vector."""
        self._read_log()
        return ~self._lacking[rows]

    def vectors_of(self, rows: NDArray[np.int64]) -> Vectors:
        """Return `(n, d)` float32 unit vectors of rows; zeros where a row has none."""
        self._gather()
        vectors = np.zeros((len(rows), self._vectors.shape[1]), np.float32)
        positions = self._reader.vectors.positions_of(rows)
        there = positions >= 0
        if there.any():
            vectors[there] = self._reader.vectors.vectors_at(positions[there])
        places, late = self._late_places(rows)
        vectors[late] = self._vectors[places[late]]
        return vectors

    def cosines(self, query: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 cosines of one unit vector `(d,)` to these rows, NaN where a row has no vector."""
        self._gather()
        cosines = self._reader.vectors.cosines(query, rows)
        places, late = self._late_places(rows)
        cosines[late] = self._vectors[places[late]] @ query
        return cosines

    def search(self, query: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> Ranking:
        """Return the k nearest rows to one unit vector `(d,)`; fewer where fewer are allowed and have a vector."""
        self._gather()
        ranking = self._reader.vectors.search(query, k, allowed)
        permitted = slice(None) if allowed is None else allowed[self._rows]
        late = self._rows[permitted]
        if not len(late):
            return ranking
        rows = np.concatenate([ranking.rows, late])
        scores = np.concatenate([ranking.scores, self._vectors[permitted] @ query]).astype(np.float32)
        order = best_first(scores, rows)[:k]
        return Ranking(rows[order], scores[order])

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """Yield (rows, `(b, d)` float32 unit vectors) of all vectors, block by block; each row comes once."""
        self._gather()
        yield from self._reader.vectors.blocks()
        if len(self._rows):
            yield self._rows, self._vectors

    def encode(self, rows: NDArray[np.int64], encoder: Encoder | None = None) -> bool:
        """Encode the papers of rows that have no vector; return whether what was paid for is kept in the log.

        On a disk that is full or read-only it is good for this process only. `encoder`: one of the index, where it is
        not to be the one that questions use.

        Raises:
            EncodingStopped: another thread has stopped the encoder; nothing was kept.
        """
        rows = rows[~self.has(rows)]
        if not len(rows):
            return True
        papers = self._reader.papers.get(rows.tolist())
        encoded = (encoder or self._encoder()).encode_documents([paper.text for paper in papers])
        keys = [paper.text_key for paper in papers]
        is_kept = False
        if self._reader.folder.is_dir():  # else the index was removed, and its folder must not come back
            with suppress(OSError, DiskFull):
                self._log.append(keys, encoded)
                is_kept = True
        self._take_in(np.frombuffer(b"".join(keys), KEY_DTYPE), lambda places: encoded.vectors[places])
        return is_kept

    def refresh(self) -> NDArray[Any]:
        """Take in what others have added to the log since the last time, and return the `(n,)` text keys of that."""
        if self._reader.manifest.vectors == self._reader.manifest.papers:
            return np.zeros(0, KEY_DTYPE)
        self._is_read = True
        found = [np.zeros(0, KEY_DTYPE)]
        for source in self._logs.read_new():
            self._take_in(source.keys_by_position, partial(_vectors_at, source))
            found.append(source.keys_by_position)
        return np.concatenate(found)

    def checkpoint(self) -> None:
        """Wait until all that was paid for is on the disk; it survives a power failure from here on."""
        if "_log" in self.__dict__:
            with suppress(OSError, DiskFull):
                self._log.checkpoint()

    def close(self) -> None:
        """Close the log; what is encoded after that goes to a new one."""
        log = self.__dict__.pop("_log", None)
        if log is not None:
            with suppress(OSError, DiskFull):
                log.close()

    @cached_property
    def _log(self) -> VectorLogWriter:
        return VectorLogWriter(self._folder, self._reader.manifest.encoder.dimension)

    @cached_property
    def _logs(self) -> FollowedLogs:
        return FollowedLogs(self._folder, self._reader.manifest.encoder.dimension)

    def _read_log(self) -> None:
        """Take in the vectors of the log that the generation lacks, once."""
        if not self._is_read:
            self.refresh()

    @cached_property
    def _lacking(self) -> NDArray[np.bool_]:
        """`(papers,)` bool by row: which have no vector, in the generation or taken in since."""
        lacking = np.ones(self._reader.manifest.papers, np.bool_)
        lacking[self._reader.vectors.rows] = False
        return lacking

    def _take_in(self, keys: NDArray[Any], vectors_at: Callable[[NDArray[np.int64]], Vectors]) -> None:
        """Give all papers whose texts have these `(n,)` keys, and that lack a vector, that at their key's place."""
        rows, places = self._reader.lexical.rows_of_texts(keys)
        new = self._lacking[rows]
        rows, first = np.unique(rows[new], return_index=True)
        if len(rows):
            self._new.append((rows, vectors_at(places[new][first])))
            self._late += len(rows)
            self._lacking[rows] = False

    def _gather(self) -> None:
        """Put the vectors that came since the last search to those that the generation lacks."""
        self._read_log()
        if not self._new:
            return
        rows = np.concatenate([self._rows, *(rows for rows, _ in self._new)])
        order = np.argsort(rows, kind="stable")
        self._vectors = np.concatenate([self._vectors, *(vectors for _, vectors in self._new)])[order]
        self._rows, self._new = rows[order], []

    def _late_places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return for each row its place among the vectors that the generation lacks, and whether it has one there."""
        if not len(self._rows):
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        places = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        return places, self._rows[places] == rows


def _vectors_at(source: KeyedVectors, positions: NDArray[np.int64]) -> Vectors:
    return source.take(positions).vectors
