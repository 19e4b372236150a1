"""What is asked -> hits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.asking import Asked, Likes
from semsearch.candidates import Candidates, Words, best_candidates
from semsearch.fusion import HEAD, best_first, diversified, scaled, smoothed
from semsearch.index.reader import IndexReader
from semsearch.known_vectors import KnownVectors
from semsearch.nearness import Nearness, ToOne, ToSeveral
from semsearch.on_demand import OnDemand
from semsearch.progress import Progress, Silent
from semsearch.ranking import Hit, Mode, SearchOptions
from semsearch.rerank import Reranker, rerank_hits

if TYPE_CHECKING:
    from semsearch.highlight import Highlighter

_DIVERSE_FROM: Final = 5
"""How many candidates there are to choose from for each diverse hit."""


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

    def permitted(self, options: SearchOptions) -> Permitted:
        """Return what the filter lets pass, deleted papers left out."""
        if not options.filter.is_empty:
            allowed = self._reader.allowed(options.filter)
            return Permitted(allowed.mask, tuple(allowed.notes))
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
            pool = self._candidates(asked, self._pool_size(k, options), options, mask)
            if options.mode is Mode.HYBRID:
                pool = self._smoothed(pool, options.smoothing)
            pool = _named_first(pool, asked, mask, options)
            if options.diversity > 0 and options.rerank is None:
                pool = self._diverse(pool, k, options)
            elif options.rerank is None:
                pool = pool.at(np.arange(min(k, len(pool.rows))))
        with spent.on("papers"):
            hits = self._hits(pool, asked, options, encoded)
        if options.rerank is not None:
            with spent.on("rerank"):
                hits = self._reranked(hits, asked, options)
            hits = self._cut(hits, pool, k, options)
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

    def _candidates(self, asked: Asked, size: int, options: SearchOptions, mask: NDArray[np.bool_] | None
                    ) -> Candidates:
        near = self._nearness(asked) if _by_meaning(options) else None
        words = None
        if options.mode is not Mode.DENSE:
            without = asked.likes.rows | self._reader.hidden if asked.likes else self._reader.hidden
            words = Words(self._reader.lexical, asked.words, self._reader.lexical.best_score(asked.words, without))
        weight = options.weight if options.mode is Mode.HYBRID else None
        return best_candidates(size, near, words, weight, mask, options.min_score)

    def _nearness(self, asked: Asked) -> Nearness:
        if asked.likes is None:
            if asked.vector is None:
                raise AssertionError("a question compared by meaning has a vector")
            return ToOne(self._known, asked.vector)
        if len(asked.likes.vectors) == 1 and not len(asked.likes.unliked):
            return ToOne(self._known, asked.likes.vectors[0])
        return ToSeveral(self._known, asked.likes.vectors, asked.likes.unliked)

    def _smoothed(self, pool: Candidates, share: float) -> Candidates:
        """Return the candidates ranked anew, the head with a share of the scores of its neighbours."""
        if share == 0:
            return pool
        head, tail = pool.at(np.arange(min(HEAD, len(pool.rows)))), pool.at(np.arange(HEAD, len(pool.rows)))
        scores = smoothed(head.fused, self._known.vectors_of(head.rows), share)
        head = replace(head, scores=scores)
        return head.at(best_first(scores, head.rows)).followed_by(tail)

    def _diverse(self, pool: Candidates, k: int, options: SearchOptions) -> Candidates:
        scores = scaled(pool.scores) if options.mode is Mode.LEXICAL else pool.scores
        return pool.at(diversified(scores, self._known.vectors_of(pool.rows), k, options.diversity))

    def _hits(self, pool: Candidates, asked: Asked, options: SearchOptions, encoded: frozenset[int]
              ) -> tuple[Hit, ...]:
        several = asked.likes is not None and len(asked.likes.vectors) + len(asked.likes.unliked) > 1
        nearest = _nearest_likes(asked.likes, self._known.vectors_of(pool.rows)) if asked.likes else []
        kind = {Mode.HYBRID: "hybrid", Mode.LEXICAL: "bm25", Mode.DENSE: "hybrid" if several else "cosine"}
        named = dict(asked.first)
        hits = []
        for n, paper in enumerate(self._reader.papers.get(pool.rows.tolist())):
            signals: dict[str, float | int | str | bool] = {}
            if not np.isnan(pool.cosines[n]):
                signals["likeness" if several else "cosine"] = _rounded(pool.cosines[n])
            if pool.cosine_ranks[n]:
                signals["likeness_rank" if several else "cosine_rank"] = int(pool.cosine_ranks[n])
            if not np.isnan(pool.bm25[n]):
                signals["bm25"] = _rounded(pool.bm25[n])
            if pool.bm25_ranks[n]:
                signals["bm25_rank"] = int(pool.bm25_ranks[n])
            if options.mode is Mode.HYBRID and options.smoothing > 0:
                signals["fused"] = _rounded(pool.fused[n])
            if nearest:
                signals["nearest_like"], signals["nearest_like_cosine"] = nearest[n]
            if int(pool.rows[n]) in named:
                signals["exact"] = named[int(pool.rows[n])]
            if int(pool.rows[n]) in encoded:
                signals["encoded_on_demand"] = True
            hits.append(Hit(n + 1, _rounded(pool.scores[n]), kind[options.mode], paper, signals))
        return tuple(hits)

    def _reranked(self, hits: tuple[Hit, ...], asked: Asked, options: SearchOptions) -> tuple[Hit, ...]:
        if options.rerank is None or not hits:
            return hits
        head = hits[:options.rerank_depth]
        with self._progress.task("Reranking", len(head), "paper") as task:
            scores = self._reranker(options.rerank).score(asked.text, [hit.paper.text for hit in head], task.advance)
        return rerank_hits(hits, scores)

    def _cut(self, hits: tuple[Hit, ...], pool: Candidates, k: int, options: SearchOptions) -> tuple[Hit, ...]:
        """Return the `k` best of reranked hits, diverse ones where that was asked for, ranked anew."""
        if options.diversity > 0 and hits:
            reranked = sum(hit.score_kind == "rerank" for hit in hits)
            scores = scaled(np.asarray([hit.score for hit in hits[:reranked]], np.float32))
            rows = dict(zip(self._reader.papers.get(pool.rows.tolist()), pool.rows, strict=True))
            vectors = self._known.vectors_of(np.asarray([rows[hit.paper] for hit in hits[:reranked]], np.int64))
            hits = tuple(hits[place] for place in diversified(scores, vectors, k, options.diversity))
        return tuple(_ranked(hit, rank) for rank, hit in enumerate(hits[:k], 1))

    def _highlighted(self, hits: tuple[Hit, ...], asked: Asked) -> tuple[Hit, ...]:
        highlights = self._highlighter().highlight([hit.paper for hit in hits], asked.vector, asked.words)
        return tuple(Hit(hit.rank, hit.score, hit.score_kind, hit.paper, hit.signals, highlight)
                     for hit, highlight in zip(hits, highlights, strict=True))

    @staticmethod
    def _pool_size(k: int, options: SearchOptions) -> int:
        size = max(k, HEAD) if options.mode is Mode.HYBRID and options.smoothing > 0 else k
        size = max(size, options.rerank_depth) if options.rerank is not None else size
        return max(size, _DIVERSE_FROM * k) if options.diversity > 0 else size

    def _notes(self, k: int, found: int, asked: Asked, options: SearchOptions, permitted: Permitted,
               mask: NDArray[np.bool_] | None, encoded: int) -> Iterator[str]:
        manifest = self._reader.manifest
        there = manifest.papers if mask is None else int(mask.sum())
        if asked.words.restricts and not there:
            yield "No paper meets what the quoted phrases and the words with - ask for."
        yield from permitted.notes
        if k > there:
            yield f"{k} papers were asked for; these are all {there}."
        elif found < k and options.min_score is not None:
            yield f"Only {found} papers have a cosine of {options.min_score:g} or more."
        elif found < k and options.mode is Mode.LEXICAL:
            yield f"Only {found} papers share a word with the question."
        if _by_meaning(options) and not self._known.is_complete:
            waiting = manifest.papers - self._known.count
            yield (f"{waiting:,} of {manifest.papers:,} papers are not encoded yet and are found by their words only; "
                   f"{encoded:,} were encoded for this question.")


def _by_meaning(options: SearchOptions) -> bool:
    return options.mode is not Mode.LEXICAL or options.min_score is not None


def _named_first(pool: Candidates, asked: Asked, mask: NDArray[np.bool_] | None, options: SearchOptions) -> Candidates:
    """Return the candidates with those first whose id or title the question is, at the best score of all."""
    named = [row for row, _ in asked.first if mask is None or mask[row]]
    if not named or options.min_score is not None:
        return pool
    places = [int(place) for row in named for place in np.flatnonzero(pool.rows == row)]
    missing = [row for row in named if row not in set(pool.rows.tolist())]
    nothing = np.full(len(missing), np.nan, np.float32)
    none = np.zeros(len(missing), np.int64)
    others = [place for place in range(len(pool.rows)) if place not in places]
    best = np.float32(pool.scores.max()) if len(pool.scores) else np.float32(0)
    head, tail = pool.at(np.asarray(places, np.int64)), pool.at(np.asarray(others, np.int64))
    first = Candidates(np.concatenate([head.rows, np.asarray(missing, np.int64)]),
                       np.full(len(named), best, np.float32), np.concatenate([head.fused, nothing]),
                       np.concatenate([head.cosines, nothing]),
                       np.concatenate([head.bm25, nothing]), np.concatenate([head.cosine_ranks, none]),
                       np.concatenate([head.bm25_ranks, none]))
    return first.followed_by(tail)


def _nearest_likes(likes: Likes, vectors: NDArray[np.float32]) -> list[tuple[str, float]]:
    """Return for each of `(n, d)` hits which liked paper is nearest, and its cosine."""
    if not len(likes.vectors):
        return []
    cosines = vectors @ likes.vectors.T
    nearest = cosines.argmax(axis=1)
    return [(likes.names[place], _rounded(cosines[n, place])) for n, place in enumerate(nearest)]


def _ranked(hit: Hit, rank: int) -> Hit:
    return Hit(rank, hit.score, hit.score_kind, hit.paper, hit.signals, hit.highlight)


def _rounded(score: np.float32) -> float:
    """Return a score for display; rounding of unit vectors can leave a cosine at 1.0000001."""
    value = round(float(score), 6)
    return 1.0 if 1.0 < value < 1.00001 else value
