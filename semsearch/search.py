"""Searcher: questions in words, and papers related to papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from semsearch.cleaning import clean_abstract
from semsearch.encoding import Encoder, Vectors
from semsearch.errors import EmptyQuery, UsageError
from semsearch.index.reader import IndexReader
from semsearch.index.vector_index import Ranking
from semsearch.provider import EncoderProvider, LocalModels, load_matching, request_for
from semsearch.ranking import Hit

DEFAULT_HITS = 10


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, best first, and what a user should know about them, a line each."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


class Searcher:
    """Answers questions from one generation of an index; a context manager.

    It keeps answering from that generation while newer ones are published. The model is loaded with the first question
    in words; `related` by id needs none.
    """

    def __init__(self, index_folder: Path | str, *, model: str | None = None, device: str = "auto",
                 trust_remote_code: bool = False, provider: EncoderProvider | None = None) -> None:
        """Open the index in a folder. `model` says where the model that made the index is now, if it has moved.

        Raises:
            IndexNotFound, IndexDamaged, IndexFormatUnsupported: there is nothing to read.
        """
        self.reader = IndexReader(Path(index_folder))
        self._request = request_for(self.reader.manifest.encoder, device, trust_remote_code)
        if model is not None:
            self._request = replace(self._request, model=model, revision=None)
        self._provider = provider or LocalModels()
        self._encoder: Encoder | None = None

    def query(self, text: str, k: int = DEFAULT_HITS) -> Answer:
        """Return the `k` papers nearest in meaning to a question in words; all where there are fewer.

        Raises:
            EmptyQuery: the question has no text.
            ModelError: the model of the index is not to be had, or another one stands in its place.
        """
        return self.query_many([text], k)[0]

    def query_many(self, texts: Sequence[str], k: int = DEFAULT_HITS) -> list[Answer]:
        """Return the answers to several questions, encoded together."""
        _check_k(k)
        questions = [" ".join(text.split()) for text in texts]
        if not all(questions):
            raise EmptyQuery("The question is empty.", "Ask in words: semsearch query \"how do birds navigate?\"")
        vectors = self.encoder().encode_queries(questions)
        return [self._cut_noted(question, self._answer(vector, k, ()))
                for question, vector in zip(questions, vectors, strict=True)]

    def related(self, names: Sequence[str] = (), k: int = DEFAULT_HITS, *, titles: Sequence[str] = (),
                texts: Sequence[str] = ()) -> Answer:
        """Return the `k` papers nearest to the mean of some papers, never one of them.

        `names`: ids, aliases or unique beginnings of ids; `titles`: words of a title; `texts`: abstracts that need not
        be in the index. A paper of the index that has the very text, or that abstract, is left out too.

        Raises:
            PaperNotFound, AmbiguousPaper: a name or title fits no paper, or several.
            EmptyQuery: nothing, or an empty text, was given.
        """
        _check_k(k)
        if any(not text.strip() for text in texts) or not (names or titles or texts):
            raise EmptyQuery("There is nothing to relate to.",
                             "Name a paper (semsearch related ID) or give a text (--text FILE).")
        rows = [self.reader.find(name) for name in names]
        rows += [self.reader.papers.find_title(title, self.reader.hidden) for title in titles]
        unique = np.unique(np.asarray(rows, np.int64))
        vectors = [self._vectors_of(unique)] if len(unique) else []
        same: NDArray[np.int64] = np.zeros(0, np.int64)
        if texts:
            clean = [clean_abstract(text, "latex") for text in texts]  # as the papers were
            vectors.append(self.encoder().encode_documents(clean).vectors)
            same = self._rows_with_text(clean)
        mean = np.concatenate(vectors).mean(axis=0)
        norm = float(np.linalg.norm(mean))
        if norm == 0:
            raise UsageError("These papers point in opposite directions; their mean has none.", "Ask for each alone.")
        return self._answer(mean / norm, k, (*unique.tolist(), *same.tolist()))

    def encoder(self) -> Encoder:
        """Return the encoder that made this index, loaded when first asked for."""
        if self._encoder is None:
            self._encoder = load_matching(self._provider, self._request, self.reader.manifest.encoder)
        return self._encoder

    def close(self) -> None:
        """Close the index."""
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _answer(self, vector: Vectors, k: int, excluded: Sequence[int]) -> Answer:
        out = {*excluded, *self.reader.hidden}
        allowed = None
        if out:
            allowed = np.ones(self.reader.manifest.papers, np.bool_)
            allowed[list(out)] = False
        ranking = self.reader.vectors.search(vector, k, allowed)
        return Answer(self._hits(ranking), self._notes(k, len(out)))

    def _cut_noted(self, question: str, answer: Answer) -> Answer:
        """Return the answer with a note where the question has more words, and so more tokens, than the model reads."""
        words, limit = question.count(" ") + 1, self.reader.manifest.encoder.max_tokens
        if words <= limit:
            return answer
        note = f"The question has {words:,} words; the model reads its first {limit:,} tokens."
        return replace(answer, notes=(*answer.notes, note))

    def _hits(self, ranking: Ranking) -> tuple[Hit, ...]:
        papers = self.reader.papers.get(ranking.rows.tolist())
        return tuple(Hit(rank, cosine, "cosine", paper, {"cosine": cosine})
                     for rank, (paper, cosine) in enumerate(zip(papers, map(_cosine, ranking.scores), strict=True), 1))

    def _notes(self, k: int, excluded: int) -> tuple[str, ...]:
        manifest = self.reader.manifest
        notes = []
        if k > manifest.papers - excluded:
            notes.append(f"{k} papers were asked for; these are all {manifest.papers - excluded}.")
        if manifest.vectors < manifest.papers:
            notes.append(f"{manifest.papers - manifest.vectors:,} of {manifest.papers:,} papers have no vector yet and "
                         "cannot be found by meaning.")
        return tuple(notes)

    def _vectors_of(self, rows: NDArray[np.int64]) -> Vectors:
        positions = self.reader.vectors.positions_of(rows)
        if (positions >= 0).all():
            return self.reader.vectors.vectors_at(positions)
        papers = self.reader.papers.get(rows.tolist())
        return self.encoder().encode_documents([p.text for p in papers]).vectors

    def _rows_with_text(self, texts: Sequence[str]) -> NDArray[np.int64]:
        found = {row for text in texts for row in self.reader.papers.rows_saying(text)}
        return np.asarray(sorted(found), np.int64)


def _cosine(score: np.float32) -> float:
    """Return a cosine for display: rounding of unit vectors can leave it at 1.0000001."""
    return round(float(np.clip(score, -1.0, 1.0)), 6)


def _check_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"{k} papers cannot be asked for.", "Ask for at least 1, as in -k 10.")


