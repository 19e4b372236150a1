"""Ideas for ranking, each a function of a question that returns the rows of the best papers, best first.

What ships is taken from semsearch itself; an idea adds only what it changes. Every one starts from the question, so
that the time it takes can be compared with that of the plain hybrid.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from part_vectors import PartVectors
from ranked_questions import PLAIN, SHIPPED, Ground, Question

from semsearch import fusion
from semsearch.candidates import Candidates, Scoring, Words
from semsearch.fusion import HEAD, best_first, smoothed
from semsearch.index.lexical_query import LexicalQuery
from semsearch.index.row_ranking import Ranking, best_rows
from semsearch.nearness import Nearness, ToOne
from semsearch.ranking import DEFAULT_SMOOTHING, DEFAULT_WEIGHT, Mode

Rows = NDArray[np.int64]
Rank = Callable[[Ground, Question], Rows]

DEPTH = 10
LIST_DEPTH = 1000
"""How deep the two lists are read that are fused by ranks or by their own ranges."""
RRF_K = 60
FEEDBACK_PAPERS = 3
K1, B = 1.2, 0.75
_RM3_TERMS, _RM3_SHARE, _RM3_UNIT = 20, 0.2, 100


def hybrid(ground: Ground, question: Question, form: str = PLAIN, *, weight: float = DEFAULT_WEIGHT, depth: int = DEPTH,
           near: Nearness | None = None, words: Words | None = None) -> Candidates:
    """Return the best by the formula that ships, without smoothing."""
    near = near or ToOne(ground.vectors, question.vector)
    return Scoring(Mode.HYBRID, weight, near, words or ground.words(question, form)).best(depth, question.mask)


def plain(weight: float = DEFAULT_WEIGHT, form: str = PLAIN) -> Rank:
    """Return the hybrid by a weight, with the words of one form of the question."""
    return lambda ground, question: hybrid(ground, question, form, weight=weight).rows


def words_alone(form: str) -> Rank:
    """Return the ranking by BM25 with the words of one form of the question."""
    def rank(ground: Ground, question: Question) -> Rows:
        scoring = Scoring(Mode.LEXICAL, 0, None, ground.words(question, form))
        return scoring.best(DEPTH, question.mask).rows
    return rank


def meaning_alone(ground: Ground, question: Question) -> Rows:
    """Return the best by cosine."""
    scoring = Scoring(Mode.DENSE, 1, ToOne(ground.vectors, question.vector), None)
    return scoring.best(DEPTH, question.mask).rows


def reciprocal_ranks(ground: Ground, question: Question) -> Rows:
    """Return the best by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    return _fused_lists(ground, question, lambda scores: 1 / (RRF_K + np.arange(1, len(scores) + 1)))


def min_max(ground: Ground, question: Question) -> Rows:
    """Return the best by the mean of both scores, each on [0, 1] over its own list."""
    return _fused_lists(ground, question, lambda scores: (scores - scores[-1]) / max(scores[0] - scores[-1], 1e-9))


def _fused_lists(ground: Ground, question: Question, worth: Callable[[NDArray[np.float32]], NDArray[Any]]) -> Rows:
    total = np.zeros(ground.papers)
    near = ToOne(ground.vectors, question.vector).search(LIST_DEPTH, question.mask)
    words = ground.reader.lexical.top(question.words[PLAIN], LIST_DEPTH, question.mask)
    for ranking in (near, words):
        if len(ranking.rows):
            total[ranking.rows] += worth(ranking.scores)
    rows = np.union1d(near.rows, words.rows)
    return rows[best_first(total[rows].astype(np.float32), rows)][:DEPTH]


def smoothing(share: float = DEFAULT_SMOOTHING, head: int = HEAD, form: str = PLAIN, **changed: Any) -> Rank:
    """Return the hybrid whose head is smoothed by its neighbours."""
    def rank(ground: Ground, question: Question) -> Rows:
        return _smoothed(ground, hybrid(ground, question, form, depth=head, **changed), share, head)
    return rank


def smoothing_by(neighbours: int) -> Rank:
    """Return the smoothing that ships with another number of neighbours, which is no parameter there."""
    def rank(ground: Ground, question: Question) -> Rows:
        with mock.patch.object(fusion, "NEIGHBOURS", neighbours):
            return smoothing()(ground, question)
    return rank


def _smoothed(ground: Ground, found: Candidates, share: float, head: int) -> Rows:
    scores = smoothed(found.fused[:head], ground.vectors.vectors_of(found.rows[:head]), share)
    return found.rows[:head][best_first(scores, found.rows[:head])]


def feedback(share: float, form: str = PLAIN, smooth: float = 0.0) -> Rank:
    """Return the hybrid whose question has a share of the first hits' mean vector (pseudo-relevance feedback)."""
    def rank(ground: Ground, question: Question) -> Rows:
        words = ground.words(question, form)
        first = hybrid(ground, question, words=words).rows[:FEEDBACK_PAPERS]
        vector = question.vector + np.float32(share) * ground.vectors.vectors_of(first).mean(axis=0)
        near = ToOne(ground.vectors, vector / np.linalg.norm(vector))
        found = hybrid(ground, question, words=words, near=near, depth=HEAD if smooth else DEPTH)
        return _smoothed(ground, found, smooth, HEAD) if smooth else found.rows
    return rank


def weight_by_lead(ground: Ground, question: Question) -> Rows:
    """Return the hybrid that trusts words the more, the further the best BM25 is ahead of the second."""
    words = ground.words(question, PLAIN)
    mask = np.ones(ground.papers, np.bool_)
    mask[[] if question.own is None else [question.own]] = False
    scores = ground.reader.lexical.top(words.query, 2, mask).scores
    lead = float((scores[0] - scores[1]) / scores[0]) if len(scores) == 2 else 0.0
    return hybrid(ground, question, words=words, weight=0.7 - 0.3 * lead).rows


def relevance_model(ground: Ground, question: Question) -> Rows:
    """Return the hybrid whose words are RM3's: the terms that tell the first hits from others join the question."""
    first = hybrid(ground, question).rows[:FEEDBACK_PAPERS]
    frequencies = ground.document_frequencies
    worth: dict[str, float] = defaultdict(float)
    for paper in ground.reader.papers.get(first.tolist()):
        terms = Counter(ground.analyser.terms(paper.text))
        for term, count in terms.items():
            idf = math.log1p((ground.papers - frequencies[term] + 0.5) / (frequencies[term] + 0.5))
            worth[term] += count / terms.total() * idf
    own = question.words[PLAIN]
    best = sorted(worth.items(), key=lambda item: (-item[1], item[0]))[:_RM3_TERMS]
    unit = _RM3_SHARE * sum(own.terms.values()) / (sum(value for _, value in best) or 1)
    weights: dict[str, float] = defaultdict(float)
    weights.update(own.terms)
    for term, value in best:
        weights[term] += unit * value
    whole = {term: max(round(_RM3_UNIT * weight), 1) for term, weight in weights.items()}  # boosts are whole numbers
    query = LexicalQuery(whole, (), (), own.text)
    without = () if question.own is None else (question.own,)
    lexical = ground.reader.lexical
    return hybrid(ground, question, words=Words(lexical, query, lexical.best_score(query, without))).rows


class Scored:
    """Nearness by scores that are known: `(papers,)`."""

    is_cosine, is_exact = False, True

    def __init__(self, scores: NDArray[np.float32]) -> None:
        self._scores = scores

    def search(self, k: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """Return the k nearest of the allowed rows, best first, ties by row."""
        rows = np.flatnonzero(~np.isnan(self._scores) if allowed is None else allowed & ~np.isnan(self._scores))
        return best_rows(rows, self._scores[rows], k)

    def scores_of(self, rows: Rows) -> NDArray[np.float32]:
        """Return the `(n,)` float32 scores of rows."""
        return self._scores[rows]

    cosines_of = scores_of


def title_vectors(titles: PartVectors, combine: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]) -> Rank:
    """Return the hybrid by the cosines to whole papers and to their titles, combined."""
    def rank(ground: Ground, question: Question) -> Rows:
        cosines = ground.vectors.cosines(question.vector, ground.rows)
        of_titles = titles.best_cosines(question.vector, ground.rows, cosines)
        return hybrid(ground, question, near=Scored(combine(cosines, of_titles).astype(np.float32))).rows
    return rank


def sentences_of_head(sentences: PartVectors, head: int, ranked: Callable[[Ground, Question], Candidates]) -> Rank:
    """Return a ranking whose first `head` are ordered by half the cosine of the whole and half the best sentence's."""
    def rank(ground: Ground, question: Question) -> Rows:
        found = ranked(ground, question)
        rows, cosines = found.rows[:head], np.nan_to_num(found.nearness[:head])
        best = sentences.best_cosines(question.vector, rows, cosines)
        scores = found.scores[:head] + np.float32(DEFAULT_WEIGHT) * (best - cosines) / 2
        return np.concatenate([rows[best_first(scores.astype(np.float32), rows)], found.rows[head:]])
    return rank


def sentences_of_all(sentences: PartVectors, smooth: float = 0.0, form: str = PLAIN) -> Rank:
    """Return the hybrid by half the cosine of the whole and half that of the best sentence, of all papers."""
    def rank(ground: Ground, question: Question) -> Rows:
        cosines = ground.vectors.cosines(question.vector, ground.rows)
        best = sentences.best_cosines(question.vector, ground.rows, cosines)
        near = Scored((cosines + best) / np.float32(2))
        found = hybrid(ground, question, form, near=near, depth=HEAD if smooth else DEPTH)
        return _smoothed(ground, found, smooth, HEAD) if smooth else found.rows
    return rank


def shipped_candidates(ground: Ground, question: Question) -> Candidates:
    """Return the head as it ships, with the smoothed scores."""
    found = hybrid(ground, question, SHIPPED, depth=HEAD)
    scores = smoothed(found.fused, ground.vectors.vectors_of(found.rows), DEFAULT_SMOOTHING)
    return replace(found, scores=scores).best_first()


class WithTitles:
    """The lexical index of an index, and a field of the titles beside it; as much of one as search asks for."""

    def __init__(self, ground: Ground, share: float) -> None:
        self._lexical, self._share, self._rows = ground.reader.lexical, share, ground.rows
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = np.zeros(ground.papers)
        for row, paper in ground.reader.papers:
            terms = Counter([] if paper.title_stands_in else ground.analyser.terms(paper.title))
            lengths[row] = terms.total()
            for term, count in terms.items():
                found[term].append((row, count))
        self._norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        self._found = {term: np.array(rows) for term, rows in found.items()}

    def _of_titles(self, terms: Mapping[str, int]) -> NDArray[np.float32]:
        scores = np.zeros(len(self._rows))
        for term, repeats in terms.items():
            if term in self._found:
                rows, counts = self._found[term].T
                idf = math.log1p((len(self._rows) - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += repeats * idf * counts * (K1 + 1) / (counts + self._norms[rows])
        return scores.astype(np.float32)

    def scores_of(self, query: LexicalQuery, rows: Rows) -> NDArray[np.float32]:
        """Return the `(n,)` sums of BM25 over both fields."""
        scores: NDArray[np.float32] = self._lexical.scores_of(query, rows)
        return scores + np.float32(self._share) * self._of_titles(query.terms)[rows]

    def top(self, query: LexicalQuery, depth: int, allowed: NDArray[np.bool_] | None = None) -> Ranking:
        """Return the best rows that share a term."""
        text = self._lexical.top(query, len(self._rows), allowed)  # whoever shares a title's word shares the text's
        return best_rows(text.rows, text.scores + np.float32(self._share) * self._of_titles(query.terms)[text.rows],
                         depth)


def title_field(ground: Ground, share: float) -> Rank:
    """Return the hybrid whose BM25 has a share of that of the titles as a field of their own."""
    both = WithTitles(ground, share)

    def rank(ground: Ground, question: Question) -> Rows:
        query = question.words[PLAIN]
        mask = np.ones(ground.papers, np.bool_)
        mask[[] if question.own is None else [question.own]] = False
        best = both.top(query, 1, mask).scores
        words = Words(cast(Any, both), query, float(best[0]) if len(best) else 0.0)
        return hybrid(ground, question, words=words).rows
    return rank
