"""The best papers by meaning and words together, exactly, without scoring all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.fusion import FITTED, CosineEstimate, best_first, bm25_shares, estimate_of, fused_scores
from semsearch.nearness import Nearness
from semsearch.ranking import Mode

if TYPE_CHECKING:
    from semsearch.index.lexical_index import LexicalIndex, LexicalQuery
    from semsearch.index.row_ranking import Ranking

_NEAR_DEPTH: Final = 400
_WORDS_DEPTH: Final = 600
"""How deep the lists are read at first. Of 300 questions to 58,959 abstracts 99 % need no more, and the median one four
BM25s beside them; with 200 and 200 it would be 66 %, and 113."""
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


@dataclass(frozen=True, slots=True)
class _Lists:
    """The best by nearness and by words; the last score of each, None where the list holds all that there are."""

    dense: Ranking | None
    lexical: Ranking | None
    last_near: float | None
    last_bm25: float | None


class Scoring:
    """How one question scores papers: by nearness, by words, or by both with a weight.

    `near` may be there beside `Mode.LEXICAL`, for a least cosine; `words` are there but for `Mode.DENSE`. `estimate`:
    what stands for the nearness of papers without a vector, where there are any.
    """

    def __init__(self, mode: Mode, weight: float, near: Nearness | None, words: Words | None,
                 estimate: CosineEstimate | None = None) -> None:
        self._mode, self._weight, self._near, self._words, self._estimate = mode, weight, near, words, estimate

    def best(self, k: int, allowed: NDArray[np.bool_] | None, least_cosine: float | None = None) -> Candidates:
        """Return the `k` best of the allowed rows, best first; fewer where fewer qualify.

        Exact where the search by nearness is: both lists are read so deep that no paper beyond both depths can reach
        the k-th score (the threshold algorithm of Fagin, Lotem and Naor, 2003), and of those in one list the other part
        is looked up unless they cannot reach it either. `least_cosine`: of any hit.
        """
        near_depth, words_depth = max(_NEAR_DEPTH, 2 * k), max(_WORDS_DEPTH, 2 * k)
        while True:
            lists = self._lists(near_depth, words_depth, allowed)
            found, bound = self._listed(lists), self._bound(lists)
            if least_cosine is not None and self._near is not None:
                found = self._with_nearness(found)
                found = found.at(self._near.cosines_of(found.rows) >= least_cosine)
                if lists.last_near is not None and lists.last_near < least_cosine and self._near.is_cosine:
                    bound = None  # whatever is beyond is farther than that
            found = self._decided(found, k, lists).best_first()
            if bound is None or (len(found.rows) >= k and found.scores[k - 1] > bound):
                return found.at(slice(k))
            near_depth, words_depth = near_depth * _DEEPER, words_depth * _DEEPER

    def score(self, rows: NDArray[np.int64]) -> Candidates:
        """Return the candidates of `(n,)` distinct rows in increasing order, whatever their score."""
        unknown, unranked = np.full(len(rows), np.nan, np.float32), np.zeros(len(rows), np.int64)
        found = Candidates(rows, unknown, unknown, unknown, unknown, unranked, unranked)
        return self._scored(self._with_bm25(self._with_nearness(found)))

    def estimated(self, found: Candidates) -> NDArray[np.float32]:
        """Return `(n,)` float32: what stands for the nearness of candidates without a vector, NaN for the others."""
        nearness = np.full(len(found.rows), np.nan, np.float32)
        if self._estimate is not None and self._words is not None:
            unknown = np.isnan(found.nearness)
            nearness[unknown] = self._estimate.of(bm25_shares(found.bm25[unknown], self._words.best))
        return nearness

    def _listed(self, lists: _Lists) -> Candidates:
        """Return the rows of both lists, with those parts of their scores that the lists tell."""
        rows = np.sort(np.concatenate([ranking.rows for ranking in (lists.dense, lists.lexical) if ranking]))
        rows = rows[np.diff(rows, prepend=-1) > 0]  # `np.unique` takes ten times as long for so few
        nearness, nearness_ranks = _placed(rows, lists.dense)
        bm25, bm25_ranks = _placed(rows, lists.lexical)
        if lists.lexical is not None and lists.last_bm25 is None:
            bm25 = np.nan_to_num(bm25)  # the list holds all that share a word
        return Candidates(rows, nearness, nearness, nearness, bm25, nearness_ranks, bm25_ranks)

    def _decided(self, found: Candidates, k: int, lists: _Lists) -> Candidates:
        """Return those of the listed candidates that may be among the `k` best, scored.

        What is not in a list has at most the last score of the list, unless an approximate search has missed it.
        """
        if self._mode is not Mode.HYBRID or self._near is None:
            return self._scored(self._with_bm25(self._with_nearness(found)))
        most_bm25 = np.where(np.isnan(found.bm25), np.float32(lists.last_bm25 or 0.0), found.bm25)
        if lists.last_near is not None and self._near.is_exact:
            found = self._with_nearness(found, (found.bm25_ranks > 0) & (found.bm25_ranks <= 2 * k))
            unknown = np.isnan(found.nearness)
            most = self._fused(np.where(unknown, np.float32(lists.last_near), found.nearness), most_bm25)
            without_vector = self._fused(found.nearness, most_bm25)
            least = np.where(unknown, np.float32(-np.inf), self._fused(found.nearness, found.bm25))
            reaching = _reaching(k, np.maximum(most, without_vector), least)
            found, most_bm25 = found.at(reaching), most_bm25[reaching]
        found = self._with_nearness(found)
        least, most = (self._fused(found.nearness, bm25) for bm25 in (found.bm25, most_bm25))
        return self._scored(self._with_bm25(found.at(_reaching(k, most, least))))

    def _with_nearness(self, found: Candidates, of: NDArray[np.bool_] | None = None) -> Candidates:
        """Return the candidates with the nearness of those that lack it; only `of` these, `(n,)` bool."""
        unknown = np.isnan(found.nearness) if of is None else np.isnan(found.nearness) & of
        if self._near is None or not unknown.any():
            return found
        nearness = found.nearness.copy()
        nearness[unknown] = self._near.scores_of(found.rows[unknown])
        return replace(found, nearness=nearness)

    def _with_bm25(self, found: Candidates) -> Candidates:
        """Return the candidates with the BM25 of those that lack it."""
        unknown = np.isnan(found.bm25)
        if self._words is None or not unknown.any():
            return found
        bm25 = found.bm25.copy()
        bm25[unknown] = self._words.index.scores_of(self._words.query, found.rows[unknown])
        return replace(found, bm25=bm25)

    def _scored(self, found: Candidates) -> Candidates:
        scores = {Mode.DENSE: found.nearness, Mode.LEXICAL: found.bm25}.get(self._mode)
        if scores is None:
            scores = self._fused(found.nearness, found.bm25)
        return replace(found, scores=scores, fused=scores)

    def _fused(self, nearness: NDArray[np.float32], bm25: NDArray[np.float32]) -> NDArray[np.float32]:
        return fused_scores(nearness, bm25, self._words.best if self._words else 0.0, self._weight, self._estimate)

    def _lists(self, near_depth: int, words_depth: int, allowed: NDArray[np.bool_] | None) -> _Lists:
        by_nearness = self._near is not None and self._mode is not Mode.LEXICAL
        dense = self._near.search(near_depth, allowed) if self._near is not None and by_nearness else None
        lexical = self._words.index.top(self._words.query, words_depth, allowed) if self._words is not None else None
        return _Lists(dense, lexical, _last(dense, near_depth), _last(lexical, words_depth))

    def _bound(self, lists: _Lists) -> float | None:
        """Return the most that a row beyond both lists could score; None where there is none."""
        if self._mode is not Mode.HYBRID:
            return lists.last_bm25 if self._mode is Mode.LEXICAL else lists.last_near
        nearness = [] if lists.last_near is None else [lists.last_near]
        if lists.last_bm25 is not None:
            nearness.append(math.nan)  # beyond the words' list there may be rows without a vector
        if not nearness:
            return None
        bm25 = np.full(len(nearness), lists.last_bm25 or 0.0, np.float32)
        return float(self._fused(np.asarray(nearness, np.float32), bm25).max())


def cosine_estimate(near: Nearness, words: Words, has_vector: NDArray[np.bool_]) -> CosineEstimate:
    """Return what stands for the nearness of papers without a vector, from the best by words of those that have one.

    `has_vector`: `(papers,)` bool, which rows may be taken.
    """
    ranking = words.index.top(words.query.plain, FITTED, has_vector)
    return estimate_of(near.scores_of(ranking.rows), bm25_shares(ranking.scores, words.best))


def _last(ranking: Ranking | None, depth: int) -> float | None:
    """Return the last score of a list that was cut at this depth."""
    return float(ranking.scores[-1]) if ranking is not None and len(ranking.rows) == depth else None


def _reaching(k: int, most: NDArray[np.float32], least: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return `(n,)` bool: which may be among the `k` best, of candidates that score between `least` and `most`."""
    if len(most) <= k:
        return np.ones(len(most), np.bool_)
    reaching: NDArray[np.bool_] = most >= np.partition(least, -k)[-k]
    return reaching


def _placed(rows: NDArray[np.int64], ranking: Ranking | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a ranking's scores beside `rows`, NaN where it has none, and its ranks, 0 where it has none."""
    scores, ranks = np.full(len(rows), np.nan, np.float32), np.zeros(len(rows), np.int64)
    if ranking is not None:
        places = np.searchsorted(rows, ranking.rows)
        scores[places] = ranking.scores
        ranks[places] = np.arange(1, len(ranking.rows) + 1)
    return scores, ranks
