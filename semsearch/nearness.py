"""How near papers are to what was asked: to a question, or to papers that are liked and disliked."""

from __future__ import annotations

from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.fusion import best_first
from semsearch.index.row_ranking import Ranking
from semsearch.known_vectors import KnownVectors

TEMPERATURE: Final = 0.08
"""How sharp the maximum over liked papers is. `benchmarks/several_likes.py`: of 0.03 to 0.2 this one loses least both
where all likes are of one topic (there the mean is best) and where they are of ten (there the maximum is)."""
UNLIKE_WEIGHT: Final = 0.25
"""How much nearness to disliked papers takes away; the best of 0 to 1 in the same measurement."""


class Nearness(Protocol):
    """Scores every paper that has a vector, on the scale of a cosine."""

    def search(self, k: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """Return the k nearest of the allowed rows, best first, ties by row."""
        ...

    def scores_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 scores of rows, NaN where a row has no vector."""
        ...


class ToOne:
    """Nearness to one unit vector `(d,)`: its cosine."""

    def __init__(self, index: KnownVectors, vector: Vectors) -> None:
        self._index, self.vector = index, vector

    def search(self, k: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """Return the k nearest of the allowed rows, best first, ties by row."""
        return self._index.search(self.vector, k, allowed)

    def scores_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 cosines of rows, NaN where a row has no vector."""
        return self._index.cosines(self.vector, rows)


class ToSeveral:
    """Nearness to any of several papers and farness from others; every stored vector is looked at.

    The score is a soft maximum of the cosines to the liked ones, T log(mean(exp(cosine / T))), less a share of the same
    over the disliked ones. With one liked paper and none disliked it is the cosine. A mean of many papers would be near
    to none of them: a library has several topics.
    """

    def __init__(self, index: KnownVectors, liked: Vectors, unliked: Vectors) -> None:
        """Take `(m, d)` and `(u, d)` float32 unit vectors; m is at least 1."""
        self._index, self._liked, self._unliked = index, liked, unliked

    @cached_property
    def _scored(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows that have a vector, in order, and their scores."""
        parts = [(rows, self._nearness(vectors)) for rows, vectors in self._index.blocks()]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(rows, kind="stable")
        return rows[order], scores[order]

    def _nearness(self, vectors: Vectors) -> NDArray[np.float32]:
        near = soft_maximum(vectors @ self._liked.T)
        return near - UNLIKE_WEIGHT * soft_maximum(vectors @ self._unliked.T) if len(self._unliked) else near

    def search(self, k: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """Return the k nearest of the allowed rows, best first, ties by row."""
        rows, scores = self._scored
        if allowed is not None:
            permitted = allowed[rows]
            rows, scores = rows[permitted], scores[permitted]
        if k < len(rows):
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            rows, scores = rows[scores >= least], scores[scores >= least]
        order = best_first(scores, rows)[:k]
        return Ranking(rows[order], scores[order])

    def scores_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 scores of rows, NaN where a row has no vector."""
        known, scores = self._scored
        if not len(known):
            return np.full(len(rows), np.nan, np.float32)
        places = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        return np.where(known[places] == rows, scores[places], np.float32(np.nan)).astype(np.float32)


def soft_maximum(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the soft maximum of each row of `(n, m)` float32 cosines, `(n,)`, never above the greatest of them."""
    greatest = cosines.max(axis=1)
    mean = np.exp((cosines - greatest[:, None]) / TEMPERATURE).mean(axis=1)
    soft: NDArray[np.float32] = greatest + TEMPERATURE * np.log(mean)
    return soft.astype(np.float32)
