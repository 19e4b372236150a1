"""Why a paper is an answer: the sentence of it that is nearest to the question, and the words that both share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semsearch.encoding import Encoder, Vectors
from semsearch.paper import Paper
from semsearch.ranking import Highlight
from semsearch.sentences import split_sentences

if TYPE_CHECKING:
    from semsearch.index.lexical_index import LexicalIndex
    from semsearch.index.lexical_query import LexicalQuery

__all__ = ["Highlighter", "Passage", "passages_of", "split_sentences"]

_COSINE_DECIMALS = 6
_LEAST_SENTENCES = 3
"""So many sentences of a passage are compared by meaning, whatever they share with the question."""
_WORTH = 0.3
"""A sentence that shares less than this part of what the best shares is not compared by meaning."""
_ASKED_CHARACTERS = 2000
"""So much of a question is compared piece by piece: more than a model reads of it."""
_PIECE_CHARACTERS = 4
_PIECE_WEIGHT = 0.2
"""How much a shared piece of a word counts beside a shared word.

Measured on 60 questions to the collections of docs/quality.md: by these numbers 590 of 600 answers keep the sentence
that is nearest of all, and three quarters of the text are encoded.
"""


class Passage(NamedTuple):
    """What a paper shows of itself, by sentences: its abstract, or its title where it has no abstract.

    `sentences`: (start, end) offsets into `text`.
    """

    field: str
    text: str
    sentences: list[tuple[int, int]]


def passages_of(papers: Sequence[Paper]) -> list[Passage]:
    """Return the passage of each paper; a title is one sentence."""
    passages = []
    for paper in papers:
        if paper.abstract.strip():
            passages.append(Passage("abstract", paper.abstract, split_sentences(paper.abstract)))
            continue
        start = len(paper.title) - len(paper.title.lstrip())
        end = len(paper.title.rstrip())
        passages.append(Passage("title", paper.title, [(start, end)] if start < end else []))
    return passages


class Highlighter:
    """Finds the sentences and the words that say why papers are answers.

    `encoder` gives the encoder of the index and is called only where there are vectors to compare; without it, or
    without a lexical index, sentences are chosen by what is left.
    """

    def __init__(self, encoder: Callable[[], Encoder] | None, lexical: LexicalIndex | None) -> None:
        self._encoder = encoder
        self._lexical = lexical

    def highlight(self, papers: Sequence[Paper], query_vector: Vectors | None, query: LexicalQuery | None
                  ) -> list[Highlight | None]:
        """Return the highlight of each paper, in their order; None for a paper that has no text.

        With `query_vector`, a unit vector `(d,)`, it is the sentence of the highest cosine to it, among those that
        share enough with `query` to be worth a look; those of all papers are encoded together. Without, it is the
        sentence that has most different terms of `query`, its cosine None; the first sentence where none has any. Of
        equal sentences it is the first.

        Raises:
            ModelError: as encoding does.
        """
        passages = passages_of(papers)
        words = [self._matched(passage.text, query) for passage in passages]
        if query_vector is None or self._encoder is None:
            return [self._by_words(passage, spans, query) for passage, spans in zip(passages, words, strict=True)]
        passages = [_worth_a_look(passage, spans, query) for passage, spans in zip(passages, words, strict=True)]
        return [_marked(passage, int(np.argmax(cosines)), float(cosines.max()), spans) if len(cosines) else None
                for passage, spans, cosines in zip(passages, words, self.cosines(passages, query_vector), strict=True)]

    def cosines(self, passages: Sequence[Passage], query_vector: Vectors) -> list[Vectors]:
        """Return for each passage the `(sentences,)` float32 cosines of its sentences to a unit vector `(d,)`."""
        texts = [passage.text[start:end] for passage in passages for start, end in passage.sentences]
        if not texts or self._encoder is None:
            return [np.zeros(0, np.float32) for _ in passages]
        unique = list(dict.fromkeys(texts))  # so that equal sentences get equal cosines, to the last bit
        vectors = self._encoder().encode_documents(unique).vectors
        cosines = np.clip(np.round(vectors @ np.asarray(query_vector, np.float32).reshape(-1), _COSINE_DECIMALS), -1, 1)
        place = {text: number for number, text in enumerate(unique)}
        by_sentence = iter(cosines[[place[text] for text in texts]])
        return [np.array([next(by_sentence) for _ in passage.sentences], np.float32) for passage in passages]

    def _matched(self, text: str, query: LexicalQuery | None) -> list[tuple[int, int]]:
        if self._lexical is None or query is None or query.is_empty:
            return []
        return sorted(self._lexical.matched_spans(query, text))

    def _by_words(self, passage: Passage, spans: list[tuple[int, int]], query: LexicalQuery | None) -> Highlight | None:
        if not passage.sentences:
            return None
        counts = [self._different_terms(passage.text, inside, query) for inside in _by_sentence(passage, spans)]
        return _marked(passage, counts.index(max(counts)), None, spans)

    def _different_terms(self, text: str, spans: Sequence[tuple[int, int]], query: LexicalQuery | None) -> int:
        """Return how many different terms the matched words are: "cell" and "cells" count once."""
        words = {text[start:end].casefold() for start, end in spans}
        if len(words) < 2 or self._lexical is None or query is None:
            return len(words)
        return len(self._lexical.of_texts(sorted(words)).terms.keys() & query.terms.keys()) or len(words)


def _by_sentence(passage: Passage, spans: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the matched words of each sentence; both in the order of the text."""
    found: list[list[tuple[int, int]]] = [[] for _ in passage.sentences]
    number = 0
    for start, end in spans:
        while number < len(found) - 1 and passage.sentences[number][1] <= start:
            number += 1
        found[number].append((start, end))
    return found


def _worth_a_look(passage: Passage, spans: Sequence[tuple[int, int]], query: LexicalQuery | None) -> Passage:
    """Return a passage with the sentences that may be the nearest: encoding those that share little takes long.

    What counts is how many different words a sentence shares with the question, and how many pieces of words, by the
    root of its length. Where it shares none of them, as in another language, all are kept.
    """
    if query is None or query.is_empty or len(passage.sentences) <= _LEAST_SENTENCES:
        return passage
    asked = f" {' '.join(query.text[:_ASKED_CHARACTERS].casefold().split())} "
    pieces = {asked[start:start + _PIECE_CHARACTERS] for start in range(len(asked) - _PIECE_CHARACTERS + 1)}
    shares = []
    for (start, end), inside in zip(passage.sentences, _by_sentence(passage, spans), strict=True):
        sentence = f" {passage.text[start:end].casefold()} "
        shared = len({passage.text[first:last].casefold() for first, last in inside})
        shares.append((shared + _PIECE_WEIGHT * sum(piece in sentence for piece in pieces)) / (end - start + 1)**0.5)
    least = min(_WORTH * max(shares), sorted(shares)[-_LEAST_SENTENCES])
    return passage._replace(sentences=[place for place, share in zip(passage.sentences, shares, strict=True)
                                       if share >= least])


def _marked(passage: Passage, best: int, cosine: float | None, spans: Sequence[tuple[int, int]]) -> Highlight:
    start, end = passage.sentences[best]
    return Highlight(passage.field, passage.text[start:end], start, end,
                     None if cosine is None else round(cosine, _COSINE_DECIMALS), tuple(spans))
