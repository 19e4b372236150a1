"""Row <-> vector, and the search for the nearest.

Exact search (`Flat`) scans the segments of the vectors themselves; any other factory adds `index.faiss`, whose
candidates are scored again with the stored vectors. What was added since that was built is scanned beside it. Scores
are cosines, since all vectors are unit vectors.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.index import faiss_structure
from semsearch.index.faiss_structure import check_factory as check_factory
from semsearch.index.keyed_vectors import KeyedVectors
from semsearch.index.manifest import Manifest
from semsearch.index.row_ranking import Ranking as Ranking
from semsearch.index.row_ranking import best_rows, no_rows
from semsearch.index.scan import nearest, threads
from semsearch.index.structure_choice import EXACT as EXACT
from semsearch.index.structure_recall import LEAST_OVERSAMPLE, OVERSAMPLE
from semsearch.index.vector_files import StoredVectors, load_entries, open_stored

_READING_ROWS: Final = 8_192
_SCORED_ROWS: Final = 65_536
_THREAD_ROWS: Final = 32_768
"""Fewer are scanned sooner by one thread alone."""
_PART_ROWS: Final = 16_384
"""What a thread takes at a time."""
_TIE_SLACK: Final = 16
"""Hits asked for beyond k, so that equal scores around rank k are ordered by row and not by chance."""
_DEEPER: Final = 4
_SELECTIVE_FRACTION: Final = 0.1
"""Below this share of allowed rows a graph walk may not reach them: they are scanned exactly."""

_Part = tuple[int, Vectors]
"""The place of the first of some vectors, and these."""
_Best = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Places and scores."""


class VectorIndex:
    """The vectors of a generation, searchable.

    `rows`: `(m,)` int64, the row that each vector belongs to, increasing; a vector's position is its number there.
    `places`: `(m,)` int64, where each is in `stored`; `entries`: `(m,)` as they are on disk.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Open the vectors in a generation's folder.

        Raises:
            IndexDamaged: a file is not what was written.
        """
        self._folder = folder
        self._manifest = manifest
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self.stored: StoredVectors = open_stored(folder, manifest.segments, manifest.encoder.dimension)
        self.entries, places = load_entries(folder, manifest)
        self.rows: NDArray[np.int64] = np.ascontiguousarray(self.entries["row"])
        self._is_in_order = places is None
        self.places: NDArray[np.int64] = np.arange(len(self.rows)) if places is None else places

    @property
    def token_counts(self) -> NDArray[np.int32]:
        """`(m,)` int32: the length of each embedded text in tokens before it was cut."""
        return np.asarray(self.entries["tokens"])

    @property
    def keys(self) -> NDArray[Any]:
        """`(m,)` text keys."""
        return np.ascontiguousarray(self.entries["key"])

    def as_source(self) -> KeyedVectors:
        """Return the vectors by the keys of their texts."""
        return KeyedVectors(self.keys, self.token_counts, _ByPosition(self))

    def positions_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position of each row's vector, -1 where a row has none."""
        if not len(self.rows):
            return np.full(len(rows), -1, np.int64)
        places = np.searchsorted(self.rows, rows)
        places[places == len(self.rows)] = 0
        return np.where(self.rows[places] == rows, places, -1)

    def vectors_at(self, positions: NDArray[np.int64]) -> Vectors:
        """Return the `(len(positions), d)` float32 vectors at these positions."""
        return self.stored[self.places[positions]]

    @property
    def is_exact(self) -> bool:
        """Whether a search finds all that are nearest, and not most of them by a structure."""
        return not self._manifest.indexed_vectors

    def cosines(self, query: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 cosines of one unit vector `(d,)` to these rows, NaN where a row has no vector."""
        cosines = np.full(len(rows), np.nan, np.float32)
        positions = self.positions_of(rows)
        there = np.flatnonzero(positions >= 0)
        if len(there):
            cosines[there] = self._scores_at(_one(query), self.places[positions[there]])
        return cosines

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """Yield (rows, `(b, d)` float32 unit vectors) of all vectors, block by block in the order of the rows."""
        if self._is_in_order:
            for first, block in self.stored.blocks(_READING_ROWS, 0, len(self.rows)):
                yield self.rows[first:first + len(block)], np.asarray(block)
            return
        for start in range(0, len(self.rows), _READING_ROWS):
            yield self.rows[start:start + _READING_ROWS], self.stored[self.places[start:start + _READING_ROWS]]

    def search(self, query: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> Ranking:
        """Return the k nearest rows to one unit vector `(d,)`; fewer where fewer are allowed and have a vector.

        `allowed`: `(papers,)` bool by row, None for all.
        """
        query = _one(query)
        permitted = self._permitted(allowed)
        available = len(self.rows) if permitted is None else int(np.count_nonzero(permitted))
        wanted = min(k, available)
        if wanted <= 0:
            return no_rows()
        places = None
        few = allowed is not None and available < _SELECTIVE_FRACTION * len(self.rows)
        if self._manifest.indexed_vectors and not few:
            places = self._approximate(query, wanted, available, permitted)
        if places is None or len(places) < wanted:
            places, scores = self._exact(query, wanted, permitted)
        else:
            scores = self._scores_at(query, places)
        kept = np.isfinite(scores)
        return best_rows(self._row_at[places[kept]], scores[kept], wanted)

    @cached_property
    def _row_at(self) -> NDArray[np.int64]:
        """`(places,)` int64: the row that the vector at each place belongs to, -1 where its paper is gone."""
        if self._is_in_order and len(self.rows) == len(self.stored):
            return self.rows
        rows = np.full(len(self.stored), -1, np.int64)
        rows[self.places] = self.rows
        return rows

    def _permitted(self, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """Return `(places,)` bool: which may be found, None where all may."""
        lives = None if len(self.stored) == len(self.rows) else self._row_at >= 0
        if allowed is None:
            return lives
        permitted = allowed[self._row_at]
        return permitted if lives is None else permitted & lives

    def _scores_at(self, query: Vectors, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` scores of the vectors at these places, NaN for what is no number.

        By `nearest`, as everywhere: a matrix product gives equal rows scores that differ in their last bits.
        """
        scores = np.full(len(places), np.nan, np.float32)
        for start in range(0, len(places), _SCORED_ROWS):
            block = self.stored[places[start:start + _SCORED_ROWS]]
            order, found = nearest(query, block, len(block))
            scores[start + order] = found
        return scores

    def _exact(self, query: Vectors, wanted: int, permitted: NDArray[np.bool_] | None
               ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the best places, at least so many that all which share the last of the wanted scores are there."""
        depth = wanted + _TIE_SLACK
        while True:
            places, scores, cut_at = self._scan(query, depth, permitted)
            if len(scores) < wanted or cut_at < np.partition(scores, -wanted)[-wanted]:
                return places, scores
            depth *= _DEEPER

    def _scan(self, query: Vectors, depth: int, permitted: NDArray[np.bool_] | None, start: int = 0
              ) -> tuple[NDArray[np.int64], NDArray[np.float32], float]:
        """Return the best places from `start` on, their scores, and the score at or below which there may be more."""
        workers, rows = threads(), len(self.stored) - start
        if rows < _THREAD_ROWS:
            workers = 1
        parts = list(self.stored.blocks(max(_PART_ROWS, rows // (4 * workers) if workers > 1 else rows), start))

        def best(part: _Part) -> _Best:
            first, block = part
            mask = None if permitted is None else permitted[first:first + len(block)]
            count = min(depth, len(block) if mask is None else int(np.count_nonzero(mask)))
            if not count:
                return np.zeros(0, np.int64), np.zeros(0, np.float32)
            places, scores = nearest(query, block, count, mask)
            return first + places, scores

        found = self._shared_out(best, parts, workers)
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.float32), -np.inf
        cut_at = max(float(scores[-1]) if len(scores) == depth else -np.inf for _, scores in found)
        return np.concatenate([places for places, _ in found]), np.concatenate([s for _, s in found]), cut_at

    def _shared_out(self, work: Callable[[_Part], _Best], parts: Sequence[_Part], workers: int) -> list[_Best]:
        """Return what `work` makes of each part, in their order; so many threads take one after the other.

        This thread is one of them, and does not wait for one that has not begun when no part is left: where other
        programs keep the processor busy, that may be long.
        """
        done: dict[int, _Best] = {}
        left = deque(range(len(parts)))

        def take() -> None:
            while True:
                try:
                    number = left.popleft()
                except IndexError:
                    return
                done[number] = work(parts[number])

        others = [self._threads(workers - 1).submit(take) for _ in range(min(workers, len(parts)) - 1)]
        take()
        for other in others:
            if not other.cancel():
                other.result()
        return [done[number] for number in range(len(parts))]

    def _threads(self, count: int) -> ThreadPoolExecutor:
        """Return threads of this process; those of one that was forked are dead."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(count)
        return self._pool[1]

    def _approximate(self, query: Vectors, wanted: int, available: int, permitted: NDArray[np.bool_] | None
                     ) -> NDArray[np.int64] | None:
        """Return candidate places, or None where this factory takes no selector."""
        chosen, end = self._manifest.search_parameters, self._manifest.indexed_vectors
        depth = min(max(chosen.get(OVERSAMPLE, LEAST_OVERSAMPLE) * wanted, wanted + _TIE_SLACK), available)
        mask = None if permitted is None else permitted[:end]
        deep = faiss_structure.deep_enough(self._structure, chosen, depth, mask)
        answer = faiss_structure.candidates(self._structure, query, min(depth, end), deep, mask)
        if answer is None:
            return None
        found = answer[0]
        found = found[(found >= 0) & (found < end)]
        if mask is not None:
            found = found[mask[found]]
        if end < len(self.stored):
            found = np.concatenate([found, self._scan(query, depth, permitted, end)[0]])
        return np.unique(found).astype(np.int64)

    @cached_property
    def _structure(self) -> Any:
        return faiss_structure.load(self._folder, self._manifest)


class _ByPosition:
    """The vectors of an index as an array by position."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index

    def __getitem__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        return self._index.vectors_at(positions)


def _one(query: Vectors) -> Vectors:
    return np.ascontiguousarray(query, dtype=np.float32).reshape(1, -1)
