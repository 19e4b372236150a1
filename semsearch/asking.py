"""What is asked, in the terms of one index: a question in words, or papers that are liked and disliked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Encoder, Vectors
from semsearch.errors import AmbiguousPaper, EmptyQuery, PaperNotFound
from semsearch.identifiers import alias_key, spellings
from semsearch.index.reader import IndexReader
from semsearch.known_vectors import KnownVectors
from semsearch.paper import Paper
from semsearch.spelling import spelt_index

if TYPE_CHECKING:
    from semsearch.index.lexical_index import LexicalQuery

_LONGEST_NAME: Final = 1000
_MOST_OF_ONE_TITLE: Final = 3
_SAME_TEXT_DEPTH: Final = 32
"""Nothing has more words in common with a text than that text; so many others may have as many."""


@dataclass(frozen=True, slots=True)
class Likes:
    """Papers to be near to and far from.

    `names`: what each of the liked vectors is called, `(m,)`; `vectors`: `(m, d)` float32 unit rows; `unliked`:
    `(u, d)`. `rows`: those of the index that were given and are no answers.
    """

    names: tuple[str, ...]
    vectors: Vectors
    unliked: Vectors
    rows: frozenset[int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question.

    `vector`: `(d,)` float32 of the question, None where it is not compared by one. `likes` instead of a vector where
    papers were given. `words`: what is asked of words. `first`: rows that the question names, and by what. `text`: the
    question for a cross-encoder. `notes`: what the user should know.
    """

    text: str
    vector: Vectors | None
    words: LexicalQuery
    likes: Likes | None = None
    first: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()


class Asking:
    """Turns what a user gives into `Asked`, for one index."""

    def __init__(self, reader: IndexReader, known: KnownVectors, encoder: Callable[[], Encoder]) -> None:
        """Take an index, its vectors, and who loads its encoder when it is needed."""
        self._reader, self._known, self._encoder = reader, known, encoder

    def questions(self, texts: Sequence[str], *, by_meaning: bool) -> list[Asked]:
        """Return questions in words, encoded together where they are compared `by_meaning`.

        Raises:
            EmptyQuery: one has no text, or says only what must not be there.
        """
        lines = [" ".join(text.split()) for text in texts]
        parsed = [self._reader.lexical.parse(line) for line in lines]
        if not all(lines) or any(not query.text.strip() for query in parsed):
            says_nothing = not all(line.strip('" -') for line in lines)
            what = "is empty" if says_nothing else "says only what must not be there"
            raise EmptyQuery(f"The question {what}.", "Ask in words: semsearch query \"how do birds navigate?\"")
        vectors = self._encoder().encode_queries([query.text for query in parsed]) if by_meaning else None
        return [Asked(query.text, None if vectors is None else vectors[n], query, None, self._named(lines[n]),
                      (*self._deleted_noted(lines[n]), *(self._cut_noted(query.text) if by_meaning else ())))
                for n, query in enumerate(parsed)]

    def related(self, names: Sequence[str], titles: Sequence[str], texts: Sequence[str], unlike: Sequence[str],
                papers: Sequence[Paper], question: str | None, *, by_meaning: bool) -> Asked:
        """Return the question for papers like those given; see `Searcher.related`.

        Raises:
            PaperNotFound, AmbiguousPaper: a name or title fits no paper, or several.
            EmptyQuery: nothing to be like, or an empty text, was given.
        """
        question = " ".join((question or "").split())
        if any(not text.strip() for text in texts) or not (names or titles or texts or papers or question):
            raise EmptyQuery("There is nothing to relate to.",
                             "Name a paper (semsearch related ID) or give a text (--text FILE).")
        rows = [self._reader.find(name) for name in names]
        rows += [self._reader.papers.find_title(title, self._reader.hidden) for title in titles]
        placed = [self._rows_of_paper(paper) for paper in papers]
        rows += [row for found in placed for row in found]
        liked_rows = np.unique(np.asarray(rows, np.int64))
        unliked_rows = np.unique(np.asarray([self._reader.find(name) for name in unlike], np.int64))
        clean = _cleaned(texts)
        strangers = [paper for paper, found in zip(papers, placed, strict=True) if not found]
        liked = self._reader.papers.get(liked_rows.tolist())
        likes = None
        same = {row for text in clean for row in self._rows_saying(text)}
        if by_meaning:
            parts = [self._vectors_of(liked_rows)]
            if others := [*clean, *(paper.text for paper in strangers)]:
                parts.append(self._encoder().encode_documents(others).vectors)
            if question:
                parts.append(self._encoder().encode_queries([question]))
            likes = np.concatenate(parts)
        unliked = self._vectors_of(unliked_rows) if by_meaning else self._no_vectors()
        called = [*(paper.id for paper in liked), *(f"text {n}" for n in range(1, len(clean) + 1)),
                  *(paper.id for paper in strangers), *(["question"] if question else [])]
        given = [*liked, *strangers]
        titles_again = [paper.title for paper in given if not paper.title_stands_in]  # a title says what it is about
        own_words = [*(paper.text for paper in given), *titles_again, *clean, question]
        return Asked(" ".join([question, *(paper.title for paper in given)]).strip(), None,
                     self._reader.lexical.of_texts(own_words),
                     Likes(tuple(called), self._no_vectors() if likes is None else likes, unliked,
                           frozenset({*liked_rows.tolist(), *unliked_rows.tolist(), *same})))

    def _no_vectors(self) -> Vectors:
        return np.zeros((0, self._reader.manifest.encoder.dimension), np.float32)

    def _vectors_of(self, rows: NDArray[np.int64]) -> Vectors:
        self._known.encode(rows)  # those that have no vector yet
        return self._known.vectors_of(rows)

    def _rows_of_paper(self, paper: Paper) -> list[int]:
        """Return the rows of a paper from elsewhere: by its identifiers, else by its title or text."""
        for kind, value in paper.identifiers:
            if not kind.startswith("id:"):  # such an id means something in its own file only
                with suppress(PaperNotFound, AmbiguousPaper):
                    return [self._reader.find(f"{kind}:{value}")]
        titled = [] if paper.title_stands_in else self._reader.papers.rows_titled(paper.title)
        found = titled or self._rows_saying(paper.text)
        return [row for row in found if row not in self._reader.hidden]

    def _rows_saying(self, text: str) -> list[int]:
        """Return the rows of the papers whose abstract, or title and abstract, is this clean text."""
        words = self._reader.lexical.of_texts([text])
        if words.is_empty:
            return self._reader.papers.rows_saying(text)
        depth = _SAME_TEXT_DEPTH
        while True:
            rows = self._reader.lexical.top(words, depth).rows.tolist()
            same = [row for row, paper in zip(rows, self._reader.papers.get(rows), strict=True)
                    if text in (paper.abstract, paper.text)]
            if len(same) < depth:
                return same
            depth *= 4

    def _named(self, question: str) -> tuple[tuple[int, str], ...]:
        """Return the rows of the papers whose id, identifier or title the question is, and which of these."""
        if len(question) > _LONGEST_NAME:
            return ()
        found: list[tuple[int, str]] = []
        with suppress(PaperNotFound, AmbiguousPaper):
            row = self._reader.papers.find(question, self._reader.hidden)
            keys = {alias_key("id", question), *spellings(question)}
            if keys & set(self._reader.papers.keys_of(row)):  # and not the beginning of an id
                found.append((row, "id"))
        titled = [row for row in self._reader.papers.rows_titled(question)
                  if row not in self._reader.hidden and row not in {r for r, _ in found}]
        if len(titled) <= _MOST_OF_ONE_TITLE:  # `Introduction` is no name of a paper
            found += ((row, "title") for row in titled)
        return tuple(found)

    def _deleted_noted(self, question: str) -> tuple[str, ...]:
        """Return a note where the question is the name of a paper that was deleted."""
        deletion = self._reader.state.find_deletion(question) if len(question) <= _LONGEST_NAME else None
        if deletion is None:
            return ()
        return (f"The paper {question!r} was deleted on {deletion.deleted[:10]}; bring it back with: semsearch delete"
                f"{spelt_index(self._reader.folder)} --restore {deletion.id}",)

    def _cut_noted(self, question: str) -> tuple[str, ...]:
        """Return a note where the question has more words, and so more tokens, than the model reads."""
        words, limit = question.count(" ") + 1, self._reader.manifest.encoder.max_tokens
        return (f"The question has {words:,} words; the model reads its first {limit:,} tokens.",) * (words > limit)


def _cleaned(texts: Sequence[str]) -> list[str]:
    """Return texts cleaned as the abstracts of papers were."""
    if not texts:
        return []
    from semsearch.cleaning import clean_abstract  # its patterns take long to compile, and few questions need them

    return [clean_abstract(text, "latex") for text in texts]
