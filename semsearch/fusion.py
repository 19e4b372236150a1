"""One score from several, and rankings that do not repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors

NEIGHBOURS: Final = 5
HEAD: Final = 50
"""How many of the best papers are smoothed, and how many neighbours each has: docs/quality.md shows that 50 to 100, and
3 to 10, do as well."""
FITTED: Final = 100
"""From so many of the best papers by words that have a vector the cosine of the others is estimated; 50 and 200 do as
well."""
_MADE_UP: Final = np.array([[0.0, 0.1], [1.0, 0.6]], np.float32)
"""Share of the best BM25 and cosine; (0, .7) and (1, .9) give answers as good."""


@dataclass(frozen=True, slots=True)
class CosineEstimate:
    """What stands for the cosine of a paper without a vector: `base` + `slope` x its BM25 / the question's best BM25.

    `slope` is not negative: of two papers without a vector the one with the better words is never behind.
    """

    base: float
    slope: float

    def of(self, shares: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 estimates of papers whose BM25 is this share of the best, `(n,)` in [0, 1]."""
        return np.float32(self.base) + np.float32(self.slope) * shares


def estimate_of(cosines: NDArray[np.float32], shares: NDArray[np.float32]) -> CosineEstimate:
    """Return the line through `(n,)` cosines of papers over their shares of the best BM25, by least squares.

    Two made-up papers are among them, so that few papers, or papers that are all alike, do not draw a wild line: no
    word in common and a cosine of .1, the best words and one of .6.
    """
    x = np.concatenate([shares, _MADE_UP[:, 0]]).astype(np.float64)
    y = np.concatenate([cosines, _MADE_UP[:, 1]]).astype(np.float64)
    from_mean = x - x.mean()
    slope = max(float((from_mean * (y - y.mean())).sum() / (from_mean * from_mean).sum()), 0.0)
    return CosineEstimate(float(y.mean() - slope * x.mean()), slope)


def bm25_shares(bm25: NDArray[np.float32], best_bm25: float) -> NDArray[np.float32]:
    """Return `(n,)` float32 BM25 / the question's best BM25; 0 for NaN, and where no paper shares a word."""
    if best_bm25 <= 0:
        return np.zeros(len(bm25), np.float32)
    shares: NDArray[np.float32] = _numbers(bm25) / np.float32(best_bm25)
    return shares


def fused_scores(cosines: NDArray[np.float32], bm25: NDArray[np.float32], best_bm25: float, weight: float,
                 estimate: CosineEstimate | None = None) -> NDArray[np.float32]:
    """Return `(n,)` float32 hybrid scores: `weight` x cosine + (1 - `weight`) x BM25 / the question's best BM25.

    A paper without a vector (its cosine is NaN) has the `estimate` instead, 0 where there is none; one without a shared
    word (0 or NaN) only its share of meaning. A sum of this form needs neither depth nor the scores of other papers:
    measured on SciFact, Cranfield and CSFCube it was ahead of reciprocal rank fusion and of min-max averages.
    """
    words = bm25_shares(bm25, best_bm25)
    known = _numbers(cosines) if estimate is None else np.where(np.isnan(cosines), estimate.of(words), cosines)
    scores: NDArray[np.float32] = known * np.float32(weight) + words * np.float32(1 - weight)
    return scores.astype(np.float32)


def _numbers(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values, 0 where one is NaN."""
    return np.where(np.isnan(values), np.float32(0), values)


def smoothed(scores: NDArray[np.float32], vectors: Vectors, share: float) -> NDArray[np.float32]:
    """Return `(n,)` scores of which a `share` is the mean score of each paper's nearest neighbours among them.

    Papers near to good answers are rather good answers, too (score regularisation: Diaz, CIKM 2005). Each looks at
    `NEIGHBOURS` others of the n, weighted by their cosine; one without a near neighbour keeps its score. No result lies
    above the highest score or below the lowest. `vectors`: `(n, d)` float32 unit rows, zero rows where there is none.
    """
    # Not by a matrix product: so small a one waits longer for the threads of BLAS than it takes. Rounded, or the last
    # bits would choose among equals.
    nearness = np.round(np.maximum(np.einsum("id,jd->ij", vectors, vectors), 0), 6)
    np.fill_diagonal(nearness, -1)
    count = min(NEIGHBOURS, len(scores) - 1)
    if count < 1 or share == 0:
        return scores
    nearest = np.argsort(-nearness, axis=1, kind="stable")[:, :count]
    weights = np.maximum(np.take_along_axis(nearness, nearest, axis=1), 0)
    total = weights.sum(axis=1)
    means = np.where(total > 0, (weights * scores[nearest]).sum(axis=1) / np.where(total > 0, total, 1), scores)
    return ((1 - share) * scores + share * means).astype(np.float32)


def best_first(scores: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the `(n,)` places of `scores` by descending score; equal scores stand in the order of their rows."""
    return np.lexsort((rows, -scores)).astype(np.int64)


def diversified(scores: NDArray[np.float32], vectors: Vectors, k: int, diversity: float) -> NDArray[np.int64]:
    """Return the places of `k` candidates chosen one by one, each for its score and for being unlike those before it.

    Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): the next is the one with the greatest
    (1 - `diversity`) x score - `diversity` x its highest cosine to a chosen one. `scores`: `(n,)`, best first, on the
    scale of a cosine; `vectors`: `(n, d)` unit rows, zero rows for candidates without a vector.
    """
    chosen: list[int] = []
    likeness = np.zeros(len(scores), np.float32)
    left = np.ones(len(scores), np.bool_)
    while len(chosen) < min(k, len(scores)):
        worth = np.where(left, (1 - diversity) * scores - diversity * likeness, -np.inf)
        place = int(np.argmax(worth))  # the first of equals: the better one
        chosen.append(place)
        left[place] = False
        cosines = vectors @ vectors[place]
        likeness = np.maximum(likeness, cosines) if len(chosen) > 1 else cosines
    return np.asarray(chosen, np.int64)


def scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores of any range on [0, 1], lowest to highest; all 1 where they are equal."""
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    if high == low:
        return np.ones(len(scores), np.float32)
    share: NDArray[np.float32] = (scores - low) / (high - low)
    return share
