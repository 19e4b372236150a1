"""One paper and one question: how its score came about, and what might keep it out of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.asking import Asked
from semsearch.candidates import Words, cosine_estimate
from semsearch.encoding import Vectors
from semsearch.errors import PaperNotFound
from semsearch.filters import Filter
from semsearch.fusion import HEAD, CosineEstimate, best_first, bm25_shares, fused_scores, smoothed
from semsearch.highlight import Highlighter, passages_of
from semsearch.index.reader import IndexReader
from semsearch.known_vectors import KnownVectors
from semsearch.nearness import ToOne
from semsearch.paper import Paper
from semsearch.ranking import DEFAULT_SMOOTHING, DEFAULT_WEIGHT

if TYPE_CHECKING:
    from semsearch.index.lexical_query import LexicalQuery
    from semsearch.search import Searcher

_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class TermShare:
    """A term of the question that the paper has.

    `word`: as the question spells it; `term`: as it is compared. `in_question`, `in_paper`: how often it stands there.
    `bm25`: what it adds to the paper's BM25; `share`: the part of the whole that this is.
    """

    word: str
    term: str
    in_question: int
    in_paper: int
    bm25: float
    share: float


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the abstract, or the title where there is none: (start, end) offsets, and its cosine."""

    text: str
    start: int
    end: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Part:
    """One score of a paper: its value and its rank among the papers that may be answers, each None where unknown."""

    score: float | None
    rank: int | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a paper stands where it stands for a question.

    Ranks count from 1 among the `candidates`: the papers that neither deletion nor filter nor the question's own
    phrases keep out; where the paper itself is kept out, they are those that it would have. `hybrid` is
    `weight` x cosine + (1 - `weight`) x BM25 / `best_bm25`. `cosine_estimate`: what stands for the cosine of a paper
    that has no vector yet; `encoded`: how many candidates have one, among which a cosine has its rank. `missing`: words
    of the question that are not in the paper.
    `sentences`: best first. `obstacles`: what keeps it out of the answers or out of one side of the score. `notes`:
    what else decides.
    """

    paper: Paper
    question: str
    candidates: int
    weight: float
    smoothing: float
    hybrid: Part
    fused: Part
    cosine: Part
    bm25: Part
    best_bm25: float
    terms: tuple[TermShare, ...]
    missing: tuple[str, ...]
    field: str
    sentences: tuple[Sentence, ...]
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cosine_estimate: float | None = None
    encoded: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return the explanation as it is written to JSON."""
        return {
            "id": self.paper.id, "title": self.paper.title, "question": self.question, "candidates": self.candidates,
            "encoded": self.encoded, "score": self.hybrid.score, "rank": self.hybrid.rank, "weight": self.weight,
            "fused": self.fused.score, "fused_rank": self.fused.rank, "smoothing": self.smoothing,
            "cosine": self.cosine.score, "cosine_rank": self.cosine.rank,
            "cosine_estimate": self.cosine_estimate, "bm25": self.bm25.score, "bm25_rank": self.bm25.rank,
            "best_bm25": self.best_bm25,
            "terms": [{"word": term.word, "term": term.term, "in_question": term.in_question,
                       "in_paper": term.in_paper, "bm25": term.bm25, "share": term.share} for term in self.terms],
            "missing": list(self.missing), "field": self.field,
            "sentences": [{"text": sentence.text, "start": sentence.start, "end": sentence.end,
                           "cosine": sentence.cosine} for sentence in self.sentences],
            "obstacles": list(self.obstacles), "notes": list(self.notes),
        }


def explain(searcher: Searcher, name: str, question: str, weight: float = DEFAULT_WEIGHT,
            filter: Filter | None = None) -> Explanation:
    """Return how the paper called `name` comes to its place among the answers to a question in words.

    A deleted paper whose row has not gone yet is explained too.

    Raises:
        PaperNotFound, AmbiguousPaper: the name fits no paper, or several.
        EmptyQuery: the question has no text.
        ModelError: the model of the index is not to be had.
    """
    reader = searcher.reader
    row = _row_of(reader, name)
    [asked] = searcher.asking.questions([question], by_meaning=True)
    if asked.vector is None:
        raise AssertionError("a question compared by meaning has a vector")
    [paper] = reader.papers.get([row])
    allowed = np.ones(reader.manifest.papers, np.bool_)
    allowed[list(reader.hidden)] = False
    passing = reader.allowed(filter).mask if filter is not None and not filter.is_empty else None
    said = reader.lexical.rows_permitted(asked.words)
    obstacles = tuple(_obstacles(searcher, row, paper, passing, said))
    allowed &= said if passing is None else said & passing
    cosines, bm25 = _all_cosines(reader.manifest.papers, searcher.vectors, asked.vector), _all_bm25(reader, asked.words)
    best = reader.lexical.best_score(asked.words, reader.hidden)
    estimate = _estimate(searcher, asked, best)
    fused = fused_scores(cosines, bm25, best, weight, estimate)
    unfound = np.isnan(cosines) & (bm25 == 0)  # without a vector and without a word
    unfound[[first for first, _ in asked.first]] = False
    fused[unfound] = np.nan
    scores = _with_neighbours(searcher.vectors, fused, allowed)
    [passage] = passages_of([paper])
    [by_sentence] = Highlighter(searcher.encoder, reader.lexical).cosines([passage], asked.vector)
    sentences = [Sentence(passage.text[start:end], start, end, round(float(cosine), _DECIMALS))
                 for (start, end), cosine in zip(passage.sentences, by_sentence, strict=True)]
    terms, missing = _terms(reader, asked.words, row, paper)
    return Explanation(
        paper, question, int(allowed.sum()), weight, DEFAULT_SMOOTHING, _ranked(scores, row, allowed, asked),
        _part(fused, row, allowed), _part(cosines, row, allowed),
        _part(np.where(bm25 > 0, bm25, np.float32(np.nan)), row, allowed), round(best, _DECIMALS), terms, missing,
        passage.field, tuple(sorted(sentences, key=lambda sentence: -sentence.cosine)), obstacles,
        tuple(_notes(searcher, asked, row)), _estimated(estimate, cosines[row], bm25[row], best),
        int((allowed & ~np.isnan(cosines)).sum()))


def _row_of(reader: IndexReader, name: str) -> int:
    try:
        return reader.find(name)
    except PaperNotFound:
        if not reader.hidden:
            raise
        with_deleted = reader.papers.find(name)
        if with_deleted not in reader.hidden:
            raise
        return with_deleted


def _with_neighbours(known: KnownVectors, fused: NDArray[np.float32], allowed: NDArray[np.bool_]
                     ) -> NDArray[np.float32]:
    """Return the `(papers,)` scores that papers are ranked by, as `semsearch.answering` makes them."""
    rows = np.flatnonzero(allowed & ~np.isnan(fused))
    head = rows[best_first(fused[rows], rows)[:HEAD]]
    scores = fused.copy()
    scores[head] = smoothed(fused[head], known.vectors_of(head), DEFAULT_SMOOTHING)
    return scores


def _estimate(searcher: Searcher, asked: Asked, best: float) -> CosineEstimate | None:
    """Return what stands for the cosines of papers without a vector, None where all have one."""
    if searcher.vectors.is_complete or asked.vector is None:
        return None
    has_vector = ~searcher.vectors.lacking()
    has_vector[list(searcher.reader.hidden)] = False
    words = Words(searcher.reader.lexical, asked.words, best)
    return cosine_estimate(ToOne(searcher.vectors, asked.vector), words, has_vector)


def _estimated(estimate: CosineEstimate | None, cosine: np.float32, bm25: np.float32, best: float) -> float | None:
    """Return the estimate for a paper that has no vector but words of the question."""
    if estimate is None or not np.isnan(cosine) or bm25 == 0:
        return None
    return round(float(estimate.of(bm25_shares(np.array([bm25]), best))[0]), _DECIMALS)


def _all_cosines(papers: int, known: KnownVectors, vector: Vectors) -> NDArray[np.float32]:
    """Return the `(papers,)` float32 cosines of all rows, NaN for those without a vector."""
    cosines = np.full(papers, np.nan, np.float32)
    for rows, _ in known.blocks():
        cosines[rows] = known.cosines(vector, rows)
    return cosines


def _all_bm25(reader: IndexReader, words: LexicalQuery) -> NDArray[np.float32]:
    """Return the `(papers,)` float32 BM25 of all rows, 0 for those that share no term."""
    bm25 = np.zeros(reader.manifest.papers, np.float32)
    ranking = reader.lexical.top(replace(words, phrases=(), excluded=()), reader.manifest.papers)
    bm25[ranking.rows] = ranking.scores
    return bm25


def _part(scores: NDArray[np.float32], row: int, allowed: NDArray[np.bool_]) -> Part:
    """Return the score of a row and its rank among the allowed ones, ties by row."""
    own = scores[row]
    if np.isnan(own):
        return Part(None, None)
    others = allowed.copy()
    others[row] = False
    better = (scores > own) | ((scores == own) & (np.arange(len(scores)) < row))
    return Part(round(float(own), _DECIMALS), 1 + int((better & others).sum()))


def _ranked(scores: NDArray[np.float32], row: int, allowed: NDArray[np.bool_], asked: Asked) -> Part:
    """Return the score that the paper has among the answers, where one that the question names has the best of all."""
    if allowed[row] and row in {first for first, _ in asked.first}:
        return Part(round(float(np.nanmax(scores[allowed])), _DECIMALS), 1)
    return _part(scores, row, allowed)


def _terms(reader: IndexReader, words: LexicalQuery, row: int, paper: Paper
           ) -> tuple[tuple[TermShare, ...], tuple[str, ...]]:
    """Return the terms that the paper has, most important first, and the words of the question that it has not."""
    lexical = reader.lexical
    total = float(lexical.scores_of(words, np.array([row]))[0])
    shares, missing = [], []
    for term, times in words.terms.items():
        alone = replace(words, terms={term: times}, phrases=(), excluded=())
        spelt = [words.text[start:end] for start, end in lexical.matched_spans(alone, words.text)]
        word = spelt[0] if spelt else term
        added = float(lexical.scores_of(alone, np.array([row]))[0])
        inside = len(lexical.matched_spans(alone, paper.text))
        if added > 0:
            shares.append(TermShare(word, term, times, inside, round(added, _DECIMALS),
                                    round(added / total, _DECIMALS) if total else 0.0))
        else:
            missing.append(word)
    return tuple(sorted(shares, key=lambda share: -share.bm25)), tuple(missing)


def _obstacles(searcher: Searcher, row: int, paper: Paper, passing: NDArray[np.bool_] | None,
               said: NDArray[np.bool_]) -> Iterator[str]:
    hidden = searcher.reader.hidden
    if row in hidden:
        yield "The paper was deleted: no question finds it."
    if passing is not None and not passing[row] and row not in hidden:
        yield "The filter leaves the paper out."
    if not said[row]:
        yield "The paper lacks a quoted phrase of the question, or has a word or phrase that it excludes with -."
    if not searcher.vectors.has(np.array([row]))[0]:
        yield "The paper has no vector yet: it is found by its words only."
    if not paper.abstract.strip():
        yield "The paper has no abstract: only its title is compared."


def _notes(searcher: Searcher, asked: Asked, row: int) -> Iterator[str]:
    for first, what in asked.first:
        if first == row:
            yield f"The question is the {what} of this paper: it stands first, at the best score of all."
    yield from asked.notes
    lacking = searcher.vectors.lacking()
    lacking[list(searcher.reader.hidden)] = False
    waiting = int(lacking.sum())
    if waiting:
        yield (f"{waiting:,} of {searcher.reader.visible:,} papers are not encoded yet: an answer encodes the best of "
               "them by words, and places change as they get their vectors.")
