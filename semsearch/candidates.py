"""The best papers by meaning and words together, exactly, without scoring all of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.fusion import best_first, fused_scores
from semsearch.nearness import Nearness
from semsearch.ranking import Mode

if TYPE_CHECKING:
    from semsearch.index.lexical_index import LexicalIndex, LexicalQuery
    from semsearch.index.row_ranking import Ranking

_FIRST_DEPTH: Final = 200
_DEEPER: Final = 4


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a question against a lexical index; `best` is the question's best BM25 over the whole index."""

    index: LexicalIndex
    query: LexicalQuery
    best: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows with the parts of their scores; all arrays are `(n,)`.

    `scores` are what they are ranked by, `fused` what they would be without their neighbours. `nearness` and `bm25` are
    NaN where that part is unknown. `nearness_ranks` and `bm25_ranks` count from 1 and are 0 where a row was not among
    those that the search of that side gave.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    fused: NDArray[np.float32]
    nearness: NDArray[np.float32]
    bm25: NDArray[np.float32]
    nearness_ranks: NDArray[np.int64]
    bm25_ranks: NDArray[np.int64]

    def at(self, places: Any) -> Candidates:
        """Return the candidates at these places: an index array, a mask or a slice."""
        return Candidates(*(getattr(self, field.name)[places] for field in fields(self)))

    def followed_by(self, others: Candidates) -> Candidates:
        """Return these candidates and then the others."""
        return Candidates(*(np.concatenate([getattr(self, field.name), getattr(others, field.name)])
                            for field in fields(self)))

    def best_first(self) -> Candidates:
        """Return them by descending score, ties by row."""
        return self.at(best_first(self.scores, self.rows))


class Scoring:
    """How one question scores papers: by nearness, by words, or by both with a weight.

    `near` may be there beside `Mode.LEXICAL`, for a least cosine; `words` are there but for `Mode.DENSE`.
    """

    def __init__(self, mode: Mode, weight: float, near: Nearness | None, words: Words | None) -> None:
        self._mode, self._weight, self._near, self._words = mode, weight, near, words

    def best(self, k: int, allowed: NDArray[np.bool_] | None, least_cosine: float | None = None) -> Candidates:
        """Return the `k` best of the allowed rows, best first; fewer where fewer qualify.

        Exact where the search by nearness is: both lists are read so deep that no paper beyond both depths can reach
        the k-th score (the threshold algorithm of Fagin, Lotem and Naor, 2003). `least_cosine`: of any hit.
        """
        depth = max(_FIRST_DEPTH, 2 * k)
        while True:
            dense, lexical = self._lists(depth, allowed)
            found = self.score(np.unique(np.concatenate([ranking.rows for ranking in (dense, lexical) if ranking])),
                               dense, lexical)
            bound = self._bound(depth, dense, lexical)
            if least_cosine is not None and self._near is not None:
                found = found.at(self._near.cosines_of(found.rows) >= least_cosine)
                if dense is not None and len(dense.rows) == depth and dense.scores[-1] < least_cosine \
                        and self._near.is_cosine:
                    bound = None  # whatever is beyond is farther than that
            found = found.best_first()
            if bound is None or (len(found.rows) >= k and found.scores[k - 1] > bound):
                return found.at(slice(k))
            depth *= _DEEPER

    def score(self, rows: NDArray[np.int64], dense: Ranking | None = None, lexical: Ranking | None = None
              ) -> Candidates:
        """Return the candidates of `(n,)` distinct rows in increasing order, whatever their score.

        `dense` and `lexical` are what is known already of their parts.
        """
        nearness, nearness_ranks = _placed(rows, dense)
        bm25, bm25_ranks = _placed(rows, lexical)
        if self._near is not None:
            unknown = nearness_ranks == 0
            nearness[unknown] = self._near.scores_of(rows[unknown])
        if self._words is not None:
            unknown = bm25_ranks == 0
            bm25[unknown] = self._words.index.scores_of(self._words.query, rows[unknown])
        scores = {Mode.DENSE: nearness, Mode.LEXICAL: bm25}.get(self._mode)
        if scores is None:
            scores = fused_scores(nearness, bm25, self._words.best if self._words else 0.0, self._weight)
        return Candidates(rows, scores, scores, nearness, bm25, nearness_ranks, bm25_ranks)

    def _lists(self, depth: int, allowed: NDArray[np.bool_] | None) -> tuple[Ranking | None, Ranking | None]:
        by_nearness = self._near is not None and self._mode is not Mode.LEXICAL
        dense = self._near.search(depth, allowed) if self._near is not None and by_nearness else None
        return dense, self._words.index.top(self._words.query, depth, allowed) if self._words is not None else None

    def _bound(self, depth: int, dense: Ranking | None, lexical: Ranking | None) -> float | None:
        """Return the most that a row beyond both lists could score; None where there is none."""
        last_near = float(dense.scores[-1]) if dense is not None and len(dense.rows) == depth else None
        last_bm25 = float(lexical.scores[-1]) if lexical is not None and len(lexical.rows) == depth else None
        if self._mode is not Mode.HYBRID:
            return last_bm25 if self._mode is Mode.LEXICAL else last_near
        if last_near is None and last_bm25 is None:
            return None
        # Beyond the words' list there may be rows without a vector, whose part counts 0: more than a negative one.
        nearness = max(last_near or 0.0, 0.0) if last_bm25 is not None else last_near or 0.0
        best = self._words.best if self._words else 0.0
        return self._weight * nearness + (1 - self._weight) * ((last_bm25 or 0.0) / best if best > 0 else 0.0)


def _placed(rows: NDArray[np.int64], ranking: Ranking | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a ranking's scores beside `rows`, NaN where it has none, and its ranks, 0 where it has none."""
    scores, ranks = np.full(len(rows), np.nan, np.float32), np.zeros(len(rows), np.int64)
    if ranking is not None:
        places = np.searchsorted(rows, ranking.rows)
        scores[places] = ranking.scores
        ranks[places] = np.arange(1, len(ranking.rows) + 1)
    return scores, ranks
