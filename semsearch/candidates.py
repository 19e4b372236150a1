"""The best papers by meaning and words together, exactly, without scoring all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.fusion import best_first, fused_scores
from semsearch.nearness import Nearness

if TYPE_CHECKING:
    from semsearch.index.lexical_index import LexicalIndex, LexicalQuery
    from semsearch.index.row_ranking import Ranking

_FIRST_DEPTH: Final = 64
_DEEPER: Final = 4


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a question against a lexical index; `best` is the question's best BM25 over the whole index."""

    index: LexicalIndex
    query: LexicalQuery
    best: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows, best first, with the parts of their scores.

    All arrays are `(n,)`. `scores` are what they are ranked by, `fused` what they would be without their neighbours.
    `cosines` and `bm25` are NaN where that part is unknown. `cosine_ranks` and `bm25_ranks`
    count from 1 and are 0 where a row was not among those that the search of that side gave.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    fused: NDArray[np.float32]
    cosines: NDArray[np.float32]
    bm25: NDArray[np.float32]
    cosine_ranks: NDArray[np.int64]
    bm25_ranks: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> Candidates:
        """Return the candidates at these places."""
        return Candidates(self.rows[places], self.scores[places], self.fused[places], self.cosines[places],
                          self.bm25[places], self.cosine_ranks[places], self.bm25_ranks[places])

    def followed_by(self, others: Candidates) -> Candidates:
        """Return these candidates and then the others."""
        return Candidates(np.concatenate([self.rows, others.rows]), np.concatenate([self.scores, others.scores]),
                          np.concatenate([self.fused, others.fused]),
                          np.concatenate([self.cosines, others.cosines]), np.concatenate([self.bm25, others.bm25]),
                          np.concatenate([self.cosine_ranks, others.cosine_ranks]),
                          np.concatenate([self.bm25_ranks, others.bm25_ranks]))


def best_candidates(k: int, near: Nearness | None, words: Words | None, weight: float | None,
                    allowed: NDArray[np.bool_] | None, min_cosine: float | None = None) -> Candidates:
    """Return the `k` best of the allowed rows; fewer where fewer qualify.

    With `near` and `words` by the hybrid score, with one of them by that alone. `near` may be there for `min_cosine`
    only: pass None as `weight` then. Exact where the search by `near` is: both lists are read so deep that no paper
    beyond both depths can reach the k-th score (the threshold algorithm of Fagin, Lotem and Naor, 2003).
    """
    depth = max(_FIRST_DEPTH, 2 * k)
    while True:
        found, bound = _at_depth(depth, near, words, weight, allowed)
        if min_cosine is not None:
            if (found.cosine_ranks == depth).any() and found.cosines[found.cosine_ranks == depth] < min_cosine:
                bound = None  # whatever is beyond is farther than that
            found = found.at(np.flatnonzero(found.cosines >= min_cosine))
        found = found.at(best_first(found.scores, found.rows))
        if bound is None or (len(found.rows) >= k and found.scores[k - 1] > bound):
            return found.at(np.arange(min(k, len(found.rows))))
        depth *= _DEEPER


def _at_depth(depth: int, near: Nearness | None, words: Words | None, weight: float | None,
              allowed: NDArray[np.bool_] | None) -> tuple[Candidates, float | None]:
    """Return what both lists hold to a depth, and the most that a row beyond could score; None where none is beyond."""
    dense = near.search(depth, allowed) if near is not None and (words is None or weight is not None) else None
    lexical = words.index.top(words.query, depth, allowed) if words is not None else None
    lists = [ranking.rows for ranking in (dense, lexical) if ranking is not None]
    rows = np.unique(np.concatenate(lists))
    cosines, bm25 = np.full(len(rows), np.nan, np.float32), np.full(len(rows), np.nan, np.float32)
    cosine_ranks = _put(rows, dense, cosines)
    bm25_ranks = _put(rows, lexical, bm25)
    if near is not None:
        unknown = np.flatnonzero(cosine_ranks == 0)
        cosines[unknown] = near.scores_of(rows[unknown])
    if words is None:
        scores = cosines
    elif near is None or weight is None:
        scores = bm25
    else:
        unknown = np.flatnonzero(bm25_ranks == 0)
        bm25[unknown] = words.index.scores_of(words.query, rows[unknown])
        scores = fused_scores(cosines, bm25, words.best, weight)
    found = Candidates(rows, scores, scores, cosines, bm25, cosine_ranks, bm25_ranks)
    return found, _bound(depth, dense, lexical, words, weight or 0.0)


def _put(rows: NDArray[np.int64], ranking: Ranking | None, scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Put a ranking's scores beside its rows, and return its ranks, 0 where a row is not in it."""
    ranks = np.zeros(len(rows), np.int64)
    if ranking is not None:
        places = np.searchsorted(rows, ranking.rows)
        scores[places] = ranking.scores
        ranks[places] = np.arange(1, len(ranking.rows) + 1)
    return ranks


def _bound(depth: int, dense: Ranking | None, lexical: Ranking | None, words: Words | None, weight: float
           ) -> float | None:
    more_near = dense is not None and len(dense.rows) == depth
    more_words = lexical is not None and len(lexical.rows) == depth
    if not (more_near or more_words):
        return None
    # A row without a vector has no cosine, and counts as 0, which is more than a negative one.
    cosine = max(float(dense.scores[-1]), 0.0) if more_near and dense is not None else 0.0
    bm25 = float(lexical.scores[-1]) if more_words and lexical is not None else 0.0
    if words is None:
        return float(dense.scores[-1]) if dense is not None else None
    if dense is None:
        return bm25
    return weight * cosine + (1 - weight) * (bm25 / words.best if words.best > 0 else 0.0)
