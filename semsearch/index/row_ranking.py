"""Rows in the order of a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rows by score: `rows` `(k,)` int64, `scores` `(k,)` float32, best first, ties by row."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


def no_rows() -> Ranking:
    """Return the ranking of nothing: two `(0,)` arrays."""
    return Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))


def best_rows(rows: NDArray[np.int64], scores: NDArray[np.float32], depth: int) -> Ranking:
    """Return the `depth` best of these rows, `(n,)` int64 with `(n,)` float32 scores, ties by row."""
    order = np.lexsort((rows, -scores))[:depth]
    return Ranking(rows[order], scores[order])
