"""What is asked -> hits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.asking import Asked, Likes
from semsearch.candidates import Candidates, Scoring, Words, cosine_estimate
from semsearch.filters import Filter
from semsearch.fusion import HEAD, diversified, scaled, smoothed
from semsearch.index.reader import IndexReader
from semsearch.known_vectors import KnownVectors
from semsearch.nearness import Nearness, ToOne, ToSeveral
from semsearch.on_demand import OnDemand
from semsearch.progress import Progress, Silent
from semsearch.ranking import Hit, Mode, SearchOptions
from semsearch.rerank import SCORE_KIND, Reranker

if TYPE_CHECKING:
    from semsearch.highlight import Highlighter

_DIVERSE_FROM: Final = 5
"""How many candidates there are to choose from for each diverse hit."""
_ENCODED_HIGHLIGHTS: Final = 20
"""So many hits get the sentence that is nearest in meaning; in a longer list the others get the one with most words."""

_DECIMALS: Final = 6
Signals = dict[str, float | int | str | bool]


@dataclass(frozen=True, slots=True)
class _Found:
    """A row on its way to become a hit."""

    row: int
    score: float
    score_kind: str
    signals: Signals


@dataclass
class Spent:
    """Seconds by what they were spent on."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Add the time until the end of the block."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - begun


@dataclass(frozen=True, slots=True)
class Permitted:
    """The rows that a filter lets pass, `(papers,)` bool, None for all, and what the user should know about it."""

    mask: NDArray[np.bool_] | None
    notes: tuple[str, ...] = ()


class Answering:
    """Finds the answers to questions in one index."""

    def __init__(self, reader: IndexReader, known: KnownVectors, on_demand: OnDemand,
                 highlighter: Callable[[], Highlighter], reranker: Callable[[str], Reranker],
                 progress: Progress | None = None) -> None:
        """Take an index and its vectors, and who makes the parts that are not always needed."""
        self._reader, self._known, self._on_demand = reader, known, on_demand
        self._highlighter, self._reranker = highlighter, reranker
        self._progress = progress or Silent()
        self._last_permitted: tuple[Filter, Permitted] | None = None

    def permitted(self, options: SearchOptions) -> Permitted:
        """Return what the filter lets pass, deleted papers left out."""
        if not options.filter.is_empty:
            if self._last_permitted is None or self._last_permitted[0] != options.filter:
                allowed = self._reader.allowed(options.filter)
                self._last_permitted = options.filter, Permitted(allowed.mask, tuple(allowed.notes))
            return self._last_permitted[1]
        if not self._reader.hidden:
            return Permitted(None)
        mask = np.ones(self._reader.manifest.papers, np.bool_)
        mask[list(self._reader.hidden)] = False
        return Permitted(mask)

    def answer(self, asked: Asked, k: int, options: SearchOptions, permitted: Permitted, spent: Spent
               ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """Return the `k` best hits, and what the user should know about them."""
        mask = self._mask(asked, permitted)
        encoded: frozenset[int] = frozenset()
        if _by_meaning(options) and not self._known.is_complete:
            with spent.on("encode on demand"):
                encoded = frozenset(self._on_demand.encode_for(asked.words, mask, options.encode_budget).tolist())
        with spent.on("search"):
            scoring = self._scoring(asked, options)
            pool = self._smoothed(scoring.best(_pool_size(k, options), mask, options.min_score), options)
            if options.rerank is None and options.diversity == 0:  # no other will become a hit
                named = np.isin(pool.rows, [row for row, _ in asked.first])
                pool = pool.at((np.arange(len(pool.rows)) < k) | named)
            found = self._found(pool, asked, options, encoded, scoring)
        if options.rerank is not None:
            with spent.on("rerank"):
                found = self._reranked(found, asked, options.rerank, max(options.rerank_depth, k))
        with spent.on("search"):
            if options.diversity > 0:
                found = self._diverse(found, k, options.diversity)
            found = self._named_first(found, asked, options, scoring, mask)[:k]
        with spent.on("papers"):
            hits = self._hits(found)
        if options.highlight:
            with spent.on("highlight"):
                hits = self._highlighted(hits, asked)
        return hits, (*asked.notes, *self._notes(k, len(hits), asked, options, permitted, mask, len(encoded)))

    def _mask(self, asked: Asked, permitted: Permitted) -> NDArray[np.bool_] | None:
        """Return which rows may be answers to this question."""
        excluded = asked.likes.rows if asked.likes else frozenset()
        mask = permitted.mask
        if not excluded and not asked.words.restricts:
            return mask
        mask = np.ones(self._reader.manifest.papers, np.bool_) if mask is None else mask.copy()
        mask[list(excluded)] = False
        if asked.words.restricts:
            mask &= self._reader.lexical.rows_permitted(asked.words)
        return mask

    def _scoring(self, asked: Asked, options: SearchOptions) -> Scoring:
        near = self._nearness(asked) if _by_meaning(options) else None
        without = asked.likes.rows | self._reader.hidden if asked.likes else self._reader.hidden
        words = None
        if options.mode is not Mode.DENSE:
            words = Words(self._reader.lexical, asked.words, self._reader.lexical.best_score(asked.words, without))
        estimate = None
        if options.mode is Mode.HYBRID and near is not None and words is not None and not self._known.is_complete:
            has_vector = ~self._known.lacking()
            has_vector[list(without)] = False
            estimate = cosine_estimate(near, words, has_vector)  # of the whole index, whatever the filter
        return Scoring(options.mode, options.weight, near, words, estimate)

    def _nearness(self, asked: Asked) -> Nearness:
        if asked.likes is None:
            if asked.vector is None:
                raise AssertionError("a question compared by meaning has a vector")
            return ToOne(self._known, asked.vector)
        if _is_one(asked.likes):
            return ToOne(self._known, asked.likes.vectors[0])
        return ToSeveral(self._known, asked.likes.vectors, asked.likes.unliked)

    def _smoothed(self, pool: Candidates, options: SearchOptions) -> Candidates:
        """Return the candidates ranked anew, the head with a share of the scores of its neighbours."""
        if options.mode is not Mode.HYBRID or options.smoothing == 0:
            return pool
        head, tail = pool.at(slice(HEAD)), pool.at(slice(HEAD, None))
        scores = smoothed(head.fused, self._known.vectors_of(head.rows), options.smoothing)
        return replace(head, scores=scores).best_first().followed_by(tail)

    def _found(self, pool: Candidates, asked: Asked, options: SearchOptions, encoded: frozenset[int], scoring: Scoring
               ) -> list[_Found]:
        """Return candidates with their signals, in their order."""
        several = asked.likes is not None and not _is_one(asked.likes)
        name = "likeness" if several else "cosine"
        kind = {Mode.HYBRID: "hybrid", Mode.LEXICAL: "bm25", Mode.DENSE: "hybrid" if several else "cosine"}
        nearest = _nearest_likes(asked.likes, self._known.vectors_of(pool.rows)) if asked.likes else []
        parts = {name: pool.nearness, f"{name}_estimate": scoring.estimated(pool), "bm25": pool.bm25}
        if options.mode is Mode.HYBRID and options.smoothing > 0:
            parts["fused"] = pool.fused
        values = {what: _rounded(part) for what, part in parts.items()}
        ranks = {f"{name}_rank": pool.nearness_ranks.tolist(), "bm25_rank": pool.bm25_ranks.tolist()}
        scores, found = _rounded(pool.scores), []
        for n, row in enumerate(pool.rows.tolist()):
            signals: Signals = {what: value[n] for what, value in values.items() if not math.isnan(value[n])}
            signals |= {what: rank[n] for what, rank in ranks.items() if rank[n]}
            if nearest:
                signals["nearest_like"], signals["nearest_like_cosine"] = nearest[n]
            if row in encoded:
                signals["encoded_on_demand"] = True
            found.append(_Found(row, 0.0 if math.isnan(scores[n]) else scores[n], kind[options.mode], signals))
        return found

    def _reranked(self, found: list[_Found], asked: Asked, model: str, depth: int) -> list[_Found]:
        """Return what was found, the first `depth` by the scores of a cross-encoder.

        They keep the score that they had among their signals, under the name of its kind, and their former rank as
        `rank_before`; of equal scores the one that stood higher stays higher. The others follow with the score that
        they have: two kinds do not compare.
        """
        if not found:
            return found
        head = found[:depth]
        papers = self._reader.papers.get([each.row for each in head])
        with self._progress.task("Reranking", len(head), "paper") as task:
            scores = self._reranker(model).score(asked.text, [paper.text for paper in papers], task.advance)
        anew = [_Found(each.row, score, SCORE_KIND,
                       {**each.signals, each.score_kind: each.score, "rank_before": rank})
                for rank, (each, score) in enumerate(zip(head, _rounded(scores), strict=True), 1)]
        return [*sorted(anew, key=lambda each: -each.score), *found[depth:]]

    def _diverse(self, found: list[_Found], k: int, diversity: float) -> list[_Found]:
        """Return what was found, those with the kind of score of the first chosen for being unlike each other."""
        if not found:
            return found
        alike = [each for each in found if each.score_kind == found[0].score_kind]
        scores = np.asarray([each.score for each in alike], np.float32)
        if found[0].score_kind in ("bm25", SCORE_KIND):
            scores = scaled(scores)
        vectors = self._known.vectors_of(np.asarray([each.row for each in alike], np.int64))
        return [*(alike[place] for place in diversified(scores, vectors, k, diversity)), *found[len(alike):]]

    def _named_first(self, found: list[_Found], asked: Asked, options: SearchOptions, scoring: Scoring,
                     mask: NDArray[np.bool_] | None) -> list[_Found]:
        """Return what was found after those whose id or title the question is; they have the best score of all."""
        named = {row: what for row, what in asked.first if mask is None or mask[row]}
        if not named:
            return found
        there = {each.row: each for each in found}
        missing = np.asarray(sorted(named.keys() - there.keys()), np.int64)
        if len(missing):
            if options.min_score is not None:
                named = {row: what for row, what in named.items() if row in there}
            else:
                also = self._found(scoring.score(missing), asked, options, frozenset(), scoring)
                there |= {each.row: each for each in also}
        best = max((each.score for each in found), default=0.0)
        kind = found[0].score_kind if found else ""
        first = [replace(there[row], score=max(best, there[row].score), score_kind=kind or there[row].score_kind,
                         signals={**there[row].signals, "exact": what}) for row, what in named.items()]
        return [*first, *(each for each in found if each.row not in named)]

    def _hits(self, found: Sequence[_Found]) -> tuple[Hit, ...]:
        papers = self._reader.papers.get([each.row for each in found])
        return tuple(Hit(rank, each.score, each.score_kind, paper, each.signals)
                     for rank, (each, paper) in enumerate(zip(found, papers, strict=True), 1))

    def _highlighted(self, hits: tuple[Hit, ...], asked: Asked) -> tuple[Hit, ...]:
        head, tail = hits[:_ENCODED_HIGHLIGHTS], hits[_ENCODED_HIGHLIGHTS:]
        highlighter = self._highlighter()
        highlights = [*highlighter.highlight([hit.paper for hit in head], asked.vector, asked.words),
                      *highlighter.highlight([hit.paper for hit in tail], None, asked.words)]
        return tuple(replace(hit, highlight=highlight) for hit, highlight in zip(hits, highlights, strict=True))

    def _notes(self, k: int, found: int, asked: Asked, options: SearchOptions, permitted: Permitted,
               mask: NDArray[np.bool_] | None, encoded: int) -> Iterator[str]:
        manifest = self._reader.manifest
        there = manifest.papers if mask is None else int(mask.sum())
        if asked.words.restricts and not there:
            filtered = " and the filter together ask" if not options.filter.is_empty else " ask"
            yield f"No paper meets what quoted phrases and words with -{filtered} for."
        elif not there:
            yield "No paper passes the filter."
        yield from permitted.notes
        if k > there == found > 0:
            yield f"{_papers(k)} {'was' if k == 1 else 'were'} asked for; these are all {there}."
        elif found < k and options.min_score is not None:
            encoded_ones = "" if self._known.is_complete else "encoded "
            yield (f"Only {_papers(found, encoded_ones)} {'has' if found == 1 else 'have'} a cosine of "
                   f"{options.min_score:g} or more.")
        elif found < k and there and options.mode is Mode.LEXICAL:
            yield f"Only {_papers(found)} {'shares' if found == 1 else 'share'} a word with the question."
        if _by_meaning(options) and not self._known.is_complete:
            waiting = manifest.papers - self._known.count
            only_encoded = options.mode is Mode.DENSE or options.min_score is not None
            what = "left out of this answer" if only_encoded else "found by their words only"
            yield (f"{waiting:,} of {manifest.papers:,} papers are not encoded yet and are {what}; {encoded:,} were "
                   "encoded for this question.")


def _papers(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}paper{'' if count == 1 else 's'}"


def _by_meaning(options: SearchOptions) -> bool:
    return options.mode is not Mode.LEXICAL or options.min_score is not None


def _is_one(likes: Likes) -> bool:
    return len(likes.vectors) == 1 and not len(likes.unliked)


def _pool_size(k: int, options: SearchOptions) -> int:
    """Return how many candidates are needed to give `k` hits."""
    size = max(k, HEAD) if options.mode is Mode.HYBRID and options.smoothing > 0 else k
    size = max(size, options.rerank_depth) if options.rerank is not None else size  # k of them at least are reranked
    return max(size, _DIVERSE_FROM * k) if options.diversity > 0 else size


def _nearest_likes(likes: Likes, vectors: NDArray[np.float32]) -> list[tuple[str, float]]:
    """Return for each of `(n, d)` hits which liked paper is nearest, and its cosine."""
    if not len(likes.vectors):
        return []
    cosines = vectors @ likes.vectors.T
    nearest = cosines.argmax(axis=1)
    return list(zip([likes.names[place] for place in nearest], _rounded(cosines.max(axis=1)), strict=True))


def _rounded(scores: NDArray[np.float32]) -> list[float]:
    """Return `(n,)` scores for display; rounding of unit vectors can leave a cosine at 1.0000001."""
    values = np.round(scores.astype(np.float64), _DECIMALS)
    return [1.0 if 1.0 < value < 1.00001 else value for value in values.tolist()]
