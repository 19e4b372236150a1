"""The questions of a collection, in the forms in which ideas for ranking ask them, and the index they are put to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semsearch.candidates import Words
from semsearch.encoding import Encoder, Vectors
from semsearch.evaluation import Collection, Pool, Task, Topic
from semsearch.evaluation.naming import PaperNames
from semsearch.evaluation.task import paper_of
from semsearch.index.lexical_analysis import Analyser
from semsearch.index.lexical_query import LexicalQuery, parse_question, query_of_texts
from semsearch.index.reader import IndexReader
from semsearch.known_vectors import KnownVectors
from semsearch.paper import Paper

PLAIN = "plain"
STOP = "longer stop list"
TITLE = "title once more"
SHIPPED = "longer stop list, title once more"
"""Which words a question asks for: all but the stop words of the language; without the habitual words of English
abstracts, too; those of a paper's title once more than the text says them; both."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a collection.

    `vector`: `(d,)`. `words`: what is asked of words, by the forms above. `own`: the row of the paper it is about.
    `mask`: `(papers,)` bool, the rows that may be answers, None for all.
    """

    topic: Topic
    vector: Vectors
    words: Mapping[str, LexicalQuery]
    own: int | None
    mask: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of one kind with judgments, as `semsearch eval COLLECTION --task TASK --pool POOL` asks them."""

    name: str
    collection: Collection
    task: Task
    pool: Pool


class Ground:
    """An index, and what ideas need of it beside its vectors and words."""

    def __init__(self, reader: IndexReader, encoder: Callable[[], Encoder]) -> None:
        self.reader, self._encoder = reader, encoder
        self.vectors = KnownVectors(reader, encoder)
        self.papers = reader.manifest.papers
        self.rows = np.arange(self.papers)
        self.names = PaperNames(reader)
        self.ids = reader.papers.ids()
        self._place = {paper_id: row for row, paper_id in enumerate(self.ids)}
        self.analyser = Analyser(reader.manifest.language)
        self._plain = Analyser(reader.manifest.language)
        self._plain.habitual = frozenset()

    def words(self, question: Question, form: str) -> Words:
        """Return the words of a question with its best BM25, its own paper left out, as search takes them."""
        query = question.words[form]
        without = () if question.own is None else (question.own,)
        return Words(self.reader.lexical, query, self.reader.lexical.best_score(query, without))

    @cached_property
    def document_frequencies(self) -> Mapping[str, int]:
        """In how many papers each term stands."""
        found: dict[str, int] = defaultdict(int)
        for _, paper in self.reader.papers:
            for term in set(self.analyser.terms(paper.text)):
                found[term] += 1
        return found

    def questions(self, asked: QuestionSet) -> list[Question]:
        """Return the questions that can be asked, encoded together."""
        topics = asked.collection.topics
        if asked.task is Task.QUERY:
            forms = [self._of_text(topic.text) for topic in topics]
            vectors = self._encoder().encode_queries([words[PLAIN].text for words in forms])
            return [Question(topic, vector, words, None, self._mask(asked, topic, words[PLAIN], None))
                    for topic, vector, words in zip(topics, vectors, forms, strict=True)]
        return list(self._about_papers(asked))

    def _about_papers(self, asked: QuestionSet) -> Iterator[Question]:
        for topic in asked.collection.topics:
            own_id = paper_of(topic, self.names)
            if own_id is not None:
                own = self._place[own_id]
                [paper] = self.reader.papers.get([own])
                words = self._of_paper(paper)
                yield Question(topic, self.vectors.vectors_of(np.array([own]))[0], words, own,
                               self._mask(asked, topic, words[PLAIN], own))

    def _of_text(self, text: str) -> Mapping[str, LexicalQuery]:
        line = " ".join(text.split())
        plain = parse_question(line, self._plain, dict)
        telling = self.reader.lexical.parse(line)
        return {PLAIN: plain, TITLE: plain, STOP: telling, SHIPPED: telling}

    def _of_paper(self, paper: Paper) -> Mapping[str, LexicalQuery]:
        titled = [paper.text, *([] if paper.title_stands_in else [paper.title])]
        return {PLAIN: query_of_texts([paper.text], self._plain, dict),
                TITLE: query_of_texts(titled, self._plain, dict),
                STOP: self.reader.lexical.of_texts([paper.text]),
                SHIPPED: self.reader.lexical.of_texts(titled)}

    def _mask(self, asked: QuestionSet, topic: Topic, words: LexicalQuery, own: int | None
              ) -> NDArray[np.bool_] | None:
        if asked.pool is Pool.ALL and own is None and not words.restricts:
            return None
        mask = np.ones(self.papers, np.bool_)
        if asked.pool is Pool.JUDGED:
            judged = {self.names.id_of(name) for name in asked.collection.qrels[topic.id]} - {None}
            mask[:] = False
            mask[[self._place[own_id] for own_id in judged if own_id is not None]] = True
        if own is not None:
            mask[own] = False
        return mask & self.reader.lexical.rows_permitted(words)


def papers_of_one_question(collection: Collection, name: str) -> Collection:
    """Return the collection in which each paper asks for those that answer some question together with it."""
    wanted: dict[str, dict[str, int]] = defaultdict(dict)
    for grades in collection.qrels.values():
        relevant = [paper for paper, grade in grades.items() if grade > 0]
        for paper in relevant:
            wanted[paper].update({other: 1 for other in relevant if other != paper})
    qrels = {paper: others for paper, others in sorted(wanted.items()) if others}
    return Collection(name, tuple(Topic(paper, "", paper) for paper in qrels), qrels, collection.corpus)
