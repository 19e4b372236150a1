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
"""How sharp the maximum over liked papers is. `benchmarks/several_likes.py`: from 0.03 to 0.2 it is a trade between
likes of one topic (the mean is best) and likes of ten (the maximum is); 0.05 to 0.1 lose little in both."""
_MOST_CELLS: Final = 4_000_000
"""Cosines at a time, so that the memory does not grow with the number of liked papers."""
UNLIKE_WEIGHT: Final = 0.25
"""How much nearness to disliked papers takes away; 0.2 to 0.3 are alike in the same measurement, more is too much."""


class Nearness(Protocol):
    """Scores every paper that has a vector, on the scale of a cosine."""

    @property
    def is_cosine(self) -> bool:
        """Whether the score is a cosine, and not made of several."""
        ...

    @property
    def is_exact(self) -> bool:
        """Whether `search` misses none."""
        ...

    def search(self, k: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """Return the k nearest of the allowed rows, best first, ties by row."""
        ...

    def scores_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 scores of rows, NaN where a row has no vector."""
        ...

    def cosines_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 greatest cosines of rows to what they may be near to, NaN without a vector."""
        ...


class ToOne:
    """Nearness to one unit vector `(d,)`: its cosine."""

    is_cosine = True

    def __init__(self, index: KnownVectors, vector: Vectors) -> None:
        self._index, self.vector = index, vector

    @property
    def is_exact(self) -> bool:
        """Whether `search` misses none."""
        return self._index.is_exact

    def search(self, k: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """Return the k nearest of the allowed rows, best first, ties by row."""
        return self._index.search(self.vector, k, allowed)

    def scores_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 cosines of rows, NaN where a row has no vector."""
        return self._index.cosines(self.vector, rows)

    cosines_of = scores_of


class ToSeveral:
    """Nearness to any of several papers and farness from others; every stored vector is looked at.

    The score is a soft maximum of the cosines to the liked ones, T log(mean(exp(cosine / T))), less a share of the same
    over the disliked ones. With one liked paper and none disliked it is the cosine. A mean of many papers would be near
    to none of them: a library has several topics.
    """

    is_cosine = False
    is_exact = True

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
        scores = np.empty(len(vectors), np.float32)
        step = max(1, _MOST_CELLS // max(len(self._liked), len(self._unliked)))
        for start in range(0, len(vectors), step):
            part = vectors[start:start + step]
            near = soft_maximum(part @ self._liked.T)
            if len(self._unliked):
                near -= UNLIKE_WEIGHT * soft_maximum(part @ self._unliked.T)
            scores[start:start + step] = near
        return scores

    def cosines_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 cosines of rows to the nearest liked paper, NaN where a row has no vector."""
        cosines = (self._index.vectors_of(rows) @ self._liked.T).max(axis=1, initial=-1)
        return np.where(self._index.has(rows), cosines, np.float32(np.nan)).astype(np.float32)

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
    cosines = cosines - greatest[:, None]
    cosines /= TEMPERATURE
    mean = np.exp(cosines, out=cosines).mean(axis=1)
    soft: NDArray[np.float32] = greatest + TEMPERATURE * np.log(mean)
    return soft.astype(np.float32)
