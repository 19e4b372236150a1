"""Term <-> row: BM25 over the words of a generation's papers.

Each distinct text is one document, whose field `doc` holds the first eight bytes of its text key; `rows.npy` says which
rows have it. So rows that are counted anew cost nothing. k1 is 1.2 and b 0.75, and the length of a text is kept to
about 6 %, as Lucene does. Scores are rounded to four decimals, so that equal texts of a question keep equal scores
whichever way they were summed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tantivy import Occur, Query

from semsearch.index.lexical_analysis import Analyser
from semsearch.index.lexical_files import ROW_DTYPE as ROW_DTYPE
from semsearch.index.lexical_files import check_files, damage_named, load_rows, open_index
from semsearch.index.lexical_files import remove_scratch as remove_scratch
from semsearch.index.lexical_query import LexicalQuery as LexicalQuery
from semsearch.index.lexical_query import Phrase, parse_question, query_of_texts
from semsearch.index.manifest import LEXICAL_ROWS, Manifest
from semsearch.index.row_ranking import Ranking, best_rows, no_rows

DOC: Final = "doc"
TEXT: Final = "text"
ANALYSER: Final = "words"
MOST_TERMS: Final = 1024
"""More distinct terms are cut to those of the highest count times idf: a text of a megabyte must not take seconds.

No question and no abstract has so many. Of 50 abstracts together, 1,530 terms, 88 % of the 50 best of 58,959 papers
stay the same.
"""
_DECIMALS: Final = 4
_SLACK: Final = 16
_LEAST_HITS: Final = 640
"""So many are read at least, and kept until another question comes: little more work than a hundred, and the best of
all and the best of what a filter allows are there at once."""
_DEEPER: Final = 4
_FEW_ROWS: Final = 2_000
"""Up to so many allowed rows are scored one by one; of more, the best of all are searched until enough are allowed."""

_FEW_DOCS: Final = 1_000
"""Up to so many are found sooner each by itself than as a set: 60 of 59,000 in 0.14 ms instead of 0.58."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """The best rows of a query, all that there are where it is `complete`; at or below `cut_at` there may be others."""

    query: LexicalQuery
    limit: int
    ranking: Ranking
    cut_at: float
    complete: bool


class LexicalIndex:
    """The words of a generation, searchable."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Open the lexical index in a generation's folder; nothing is written there.

        Raises:
            IndexDamaged: a file is not what was written.
        """
        self._folder = folder
        self._papers = manifest.papers
        self._analyser = Analyser(manifest.language)
        check_files(folder, manifest)
        self._rows = load_rows(folder / LEXICAL_ROWS, manifest.papers)
        self._docs = np.ascontiguousarray(self._rows["doc"])
        self._doc_of_row = np.zeros(manifest.papers, np.uint64)
        self._doc_of_row[self._rows["row"]] = self._docs
        self._index = open_index(folder, manifest)
        self._index.register_tokenizer(ANALYSER, self._analyser.tokenizer)
        self._schema = self._index.schema
        self._searcher = self._index.searcher()
        self._last: _Listed | None = None

    @property
    def documents(self) -> int:
        """How many distinct texts there are."""
        return int(self._searcher.num_docs)

    def count_problems(self, keys: NDArray[Any]) -> list[str]:
        """Return what disagrees with the `(papers,)` text keys of the papers, nothing where all agrees."""
        problems = []
        wanted = len(np.unique(documents_of(keys)))
        if self.documents != wanted:
            problems.append(f"{self.documents} documents in the lexical index where {wanted} belong")
        if not (self._doc_of_row == documents_of(keys)).all():
            problems.append("some words belong to other texts than their rows have")
        return problems

    def rows_of_texts(self, keys: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows whose text has one of these `(n,)` text keys, and for each the place of its key in `keys`."""
        return self._rows_of(documents_of(keys))

    def parse(self, question: str) -> LexicalQuery:
        """Return what a question asks of words: quotes and `-word` are understood, all else is harmless."""
        return parse_question(question, self._analyser, self._weightiest)

    def of_texts(self, texts: Sequence[str]) -> LexicalQuery:
        """Return the query that is every word of papers' own texts, without any syntax."""
        return query_of_texts(texts, self._analyser, self._weightiest)

    def top(self, query: LexicalQuery, depth: int, allowed: NDArray[np.bool_] | None = None) -> Ranking:
        """Return the best `depth` rows by BM25, ties by row, fewer only where fewer share a term and satisfy the query.

        `allowed`: `(papers,)` bool by row, None for all.
        """
        if query.is_empty or depth <= 0:
            return no_rows()
        permitted = self._papers if allowed is None else int(np.count_nonzero(allowed))
        if not permitted:
            return no_rows()
        if allowed is not None and permitted <= _FEW_ROWS:
            rows = np.flatnonzero(allowed)
            scoring = self._restricted(query, self._only_docs(self._doc_of_row[rows]))
            docs, scores = self._hits(scoring, len(rows))
            found, places = self._rows_of(docs)
            kept = allowed[found]
            return best_rows(found[kept], scores[places[kept]], depth)
        limit = max(depth + _SLACK, _LEAST_HITS)
        while True:
            listed = self._listed(query, limit)
            rows, scores = listed.ranking.rows, listed.ranking.scores
            if allowed is not None:
                kept = allowed[rows]
                rows, scores = rows[kept], scores[kept]
            if listed.complete or (len(scores) >= depth and scores[depth - 1] > listed.cut_at):
                return Ranking(rows[:depth], scores[:depth])
            limit = max(limit, listed.limit) * _DEEPER

    def best_score(self, query: LexicalQuery, without: Collection[int] = ()) -> float:
        """Return the best BM25 of all rows but `without`; phrases and exclusions do not count, 0.0 where none."""
        allowed = None
        if len(without):
            allowed = np.ones(self._papers, np.bool_)
            allowed[list(without)] = False
        scores = self.top(query.plain, 1, allowed).scores
        return float(scores[0]) if len(scores) else 0.0

    def scores_of(self, query: LexicalQuery, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return `(n,)` float32 BM25 by given row, 0 where no term is shared; phrases and exclusions do not count."""
        if query.is_empty or not len(rows):
            return np.zeros(len(rows), np.float32)
        wanted = self._doc_of_row[rows]
        scoring = Query.boolean_query([(Occur.Must, self._only_docs(wanted)), (Occur.Must, self._terms(query.terms))])
        docs, scores = self._hits(scoring, len(rows))
        if not len(docs):
            return np.zeros(len(rows), np.float32)
        order = np.argsort(docs)
        docs, scores = docs[order], scores[order]
        places = np.minimum(np.searchsorted(docs, wanted), len(docs) - 1)
        return np.where(docs[places] == wanted, scores[places], np.float32(0))

    def rows_permitted(self, query: LexicalQuery) -> NDArray[np.bool_]:
        """Return `(papers,)` bool by row: which satisfy all phrases and no exclusion."""
        if not query.restricts:
            return np.ones(self._papers, np.bool_)
        mask = np.zeros(self._papers, np.bool_)
        docs, _ = self._hits(self._restricted(LexicalQuery({}, query.phrases, query.excluded, "")), self.documents)
        mask[self._rows_of(docs)[0]] = True
        return mask

    def matched_spans(self, query: LexicalQuery, text: str) -> list[tuple[int, int]]:
        """Return [start, end) in `text` of the words whose term is in the query, in order, overlapping ones joined."""
        joined: list[tuple[int, int]] = []
        for span in self._analyser.spans(text):
            if span.term not in query.terms:
                continue
            if joined and span.start < joined[-1][1]:
                joined[-1] = (joined[-1][0], max(span.end, joined[-1][1]))
            else:
                joined.append((span.start, span.end))
        return joined

    def _weightiest(self, terms: Mapping[str, int]) -> Mapping[str, int]:
        """Return the terms that can add most to a score, at most `MOST_TERMS`."""
        if len(terms) <= MOST_TERMS:
            return dict(terms)
        weights = {}
        for term, count in terms.items():
            with damage_named(self._folder):
                frequency = self._searcher.doc_freq(TEXT, term)
            if frequency:
                idf = math.log1p((self.documents - frequency + 0.5) / (frequency + 0.5))
                weights[term] = count * idf
        best = sorted(weights, key=lambda term: (-weights[term], term))[:MOST_TERMS]
        return {term: terms[term] for term in best}

    def _term(self, term: str) -> Query:
        return Query.term_query(self._schema, TEXT, term)

    def _terms(self, terms: Mapping[str, int]) -> Query:
        return Query.boolean_query([(Occur.Should, Query.boost_query(self._term(t), float(n)) if n > 1 else
                                     self._term(t)) for t, n in terms.items()])

    def _phrase(self, phrase: Phrase) -> Query:
        if len(phrase) == 1:
            return self._term(phrase[0][1])
        return Query.phrase_query(self._schema, TEXT, list(phrase))

    def _only_docs(self, docs: NDArray[np.uint64]) -> Query:
        """Return the query of these documents alone, which scores nothing."""
        unique = sorted(set(docs.tolist()))
        if len(unique) > _FEW_DOCS:
            return Query.const_score_query(Query.term_set_query(self._schema, DOC, unique), 0.0)
        each = [(Occur.Should, Query.term_query(self._schema, DOC, doc, "basic")) for doc in unique]
        return Query.const_score_query(Query.boolean_query(each), 0.0)

    def _restricted(self, query: LexicalQuery, *filters: Query) -> Query:
        """Return the query of the terms, one of which must be there, with all that restricts it and scores nothing."""
        musts = [*filters, *(Query.const_score_query(self._phrase(p), 0.0) for p in query.phrases)]
        parts = [(Occur.Must, must) for must in musts]
        parts += [(Occur.MustNot, self._phrase(p)) for p in query.excluded]
        if not query.terms:
            return Query.boolean_query(parts if musts else [(Occur.Must, Query.all_query()), *parts])
        return Query.boolean_query([(Occur.Must, self._terms(query.terms)), *parts]) if parts else self._terms(
            query.terms)

    def _hits(self, query: Query, limit: int) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Return the documents and scores of the best hits, best first."""
        with damage_named(self._folder):
            hits = self._searcher.search(query, max(limit, 1), count=False).hits
            docs = self._searcher.fast_field_values(DOC, [address for _, address in hits]) if hits else []
            scores = np.array([score for score, _ in hits], np.float64)
            return np.array(docs, np.uint64), np.round(scores, _DECIMALS).astype(np.float32)

    def _listed(self, query: LexicalQuery, limit: int) -> _Listed:
        """Return the rows of the best `limit` documents or more, read once for a question."""
        last = self._last
        if last is not None and last.query is query and (last.complete or last.limit >= limit):
            return last
        docs, scores = self._hits(self._restricted(query), limit)
        rows, places = self._rows_of(docs)
        complete = len(docs) < limit or limit >= self.documents
        listed = _Listed(query, limit, best_rows(rows, scores[places], len(rows)),
                         -math.inf if complete else float(scores[-1]), complete)
        self._last = listed
        return listed

    def _rows_of(self, docs: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows that have these documents, and for each the place of its document in `docs`."""
        first = np.searchsorted(self._docs, docs)
        end = first + self._is_at(first, docs)
        several = np.flatnonzero((end > first) & self._is_at(end, docs))
        end[several] = np.searchsorted(self._docs, docs[several], "right")
        counts = end - first
        places = np.repeat(np.arange(len(docs)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self._rows["row"][first[places] + within], places

    def _is_at(self, places: NDArray[np.int64], docs: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return `(n,)` bool: whether each document stands at its place among those of the rows."""
        if not self._papers:
            return np.zeros(len(places), np.bool_)
        at: NDArray[np.bool_] = (places < self._papers) & (self._docs[np.minimum(places, self._papers - 1)] == docs)
        return at


def documents_of(keys: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the `(papers,)` numbers of the documents of text keys: their first eight bytes.

    Two of a million texts share one with a chance below 10^-7; then both are found by the words of the first.
    """
    return np.ascontiguousarray(keys).view("<u8").reshape(-1, 2)[:, 0].astype(np.uint64)
