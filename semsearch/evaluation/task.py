"""The questions of a collection, put to an index."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from semsearch.errors import EmptyQuery, UsageError
from semsearch.evaluation.collections import Collection
from semsearch.evaluation.measures import LEAST_DEPTH
from semsearch.evaluation.naming import PaperNames
from semsearch.evaluation.runs import RankedList, Run
from semsearch.evaluation.topics import Topic
from semsearch.index.reader import IndexReader
from semsearch.paper import comparable
from semsearch.progress import Progress, Silent
from semsearch.ranking import Hit, SearchOptions
from semsearch.search import Answer, Searcher

_BLOCK_QUESTIONS: Final = 64
"""How many questions are encoded together."""
_SAMPLE: Final = 20
"""How many questions tell what all of them are."""
_OPERATORS: Final = "Quotes, and - before a word, are taken for phrases and exclusions, as in every question."
_DIGITS: Final = re.compile(r"[\d.,]*\d")
_FACET_MARKS: Final = "-_"
"""What parts a paper's id from a facet of it, as in CSFCube's 10014168-background."""


class Task(StrEnum):
    """What a question is: words to be answered, or a paper of the corpus to which others are to be related."""

    QUERY = "query"
    RELATED = "related"


class Pool(StrEnum):
    """Which papers are ranked: all of the index, or those judged for the question."""

    ALL = "all"
    JUDGED = "judged"


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run, and what happened on the way.

    `missing`: judgments about papers that are not in the index, `missing_relevant` of them relevant; they stay in the
    measures. `renamed`: judged papers that have another id in the index. `unasked`: questions that could not be asked:
    their paper is not in the index, their pool is empty, or they say nothing. `notes`: what the searches noted, and how
    often; of notes that differ in their numbers the first. `seconds`: the time that it took. `encoded`: how many papers
    had a vector before the first question and after the last one, which differ where questions had some encoded.
    """

    run: Run
    missing: int
    missing_relevant: int
    renamed: int
    unasked: int
    notes: Mapping[str, int]
    seconds: float
    encoded: tuple[int, int]


def make_run(searcher: Searcher, collection: Collection, options: SearchOptions | None = None, *,
             name: str = "semsearch", depth: int = LEAST_DEPTH, task: Task = Task.QUERY, pool: Pool = Pool.ALL,
             progress: Progress | None = None) -> AskedRun:
    """Return the best `depth` answers of an index to each question of a collection.

    As a `related` task a question is a paper of the index, which is never among its own answers: the one that its
    `paper` names, else the one with the question's own id, else with the beginning of that id before a `-` or `_`. In
    the judged pool every judged paper is ranked, whatever the depth.

    Raises:
        UsageError: the collection has no questions, none is about a paper of the index, or no judged paper is in it.
    """
    if not collection.topics:
        raise UsageError("There are no questions to ask.", "Name their file with --queries FILE.")
    begun, encoded = time.monotonic(), searcher.vectors.count
    asking = _Asking(searcher, collection, options or SearchOptions(), depth, task, pool)
    lists: dict[str, RankedList] = {}
    notes: Counter[str] = Counter()
    examples: dict[str, str] = {}
    with (progress or Silent()).task(f"Asking {name}", len(collection.topics), "question") as told:
        for block in asking.answers():
            for topic, answer in block:
                if answer is not None:
                    for note in answer.notes:
                        notes[examples.setdefault(_DIGITS.sub("", note), note)] += 1
                    lists[topic.id] = asking.ranked(topic, answer.hits)
            told.advance(len(block))
    if restricted := asking.with_operators():
        notes[_OPERATORS] = restricted
    missing, missing_relevant = asking.names.missing(collection.qrels)
    return AskedRun(Run(name, lists), missing, missing_relevant, asking.names.renamed(collection.qrels),
                    len(collection.topics) - len(lists), dict(notes), time.monotonic() - begun,
                    (encoded, searcher.vectors.count))


def paper_of(topic: Topic, names: PaperNames) -> str | None:
    """Return the id of the paper of the index that a question is about, None where there is none."""
    if topic.paper:
        return names.id_of(topic.paper)
    beginnings = [topic.id[:place] for place, c in enumerate(topic.id) if c in _FACET_MARKS and place]
    return next((own for name in (topic.id, *reversed(beginnings)) if (own := names.id_of(name)) is not None), None)


def asks_about_papers(collection: Collection, reader: IndexReader) -> bool:
    """Return whether the questions are papers of the index, so that `related` is what is to be measured.

    Seen from some of them: each has the id of a paper, and says its title.
    """
    names = PaperNames(reader)
    for topic in collection.topics[:_SAMPLE]:
        own = paper_of(topic, names)
        titles = [paper.title for paper in reader.papers.get(reader.papers.rows_of_ids([own]))] if own else []
        if not any(title and comparable(title) in comparable(topic.text) for title in titles):
            return False
    return True


class _Asking:
    """One pass over the questions."""

    def __init__(self, searcher: Searcher, collection: Collection, options: SearchOptions, depth: int, task: Task,
                 pool: Pool) -> None:
        self._searcher, self._collection, self._options = searcher, collection, options
        self._task, self._pool = task, pool
        self._depth = max(1, min(depth, searcher.reader.visible - (task is Task.RELATED)))
        self.names = PaperNames(searcher.reader)
        if task is Task.RELATED and all(paper_of(topic, self.names) is None for topic in collection.topics):
            raise UsageError(f"No question is about a paper of the index {searcher.reader.folder.name}: "
                             f"{collection.topics[0].id!r} is not one.",
                             "A question names its paper by its id, by an id of PAPER-FACET, or by `paper_id` in the "
                             "file of questions. Questions in words are asked without --task related.")
        if options.filter.ids is not None and pool is Pool.JUDGED:
            raise UsageError("The judged pool is itself a list of papers.", "Leave --ids or --pool judged away.")

    def answers(self) -> Iterator[Sequence[tuple[Topic, Answer | None]]]:
        """Yield questions with their answers, None where they cannot be asked, in blocks."""
        topics = self._collection.topics
        if self._task is Task.QUERY and self._pool is Pool.ALL:
            for start in range(0, len(topics), _BLOCK_QUESTIONS):
                yield self._block(topics[start:start + _BLOCK_QUESTIONS])
            return
        for topic in topics:
            yield [(topic, self._alone(topic))]

    def with_operators(self) -> int:
        """Return how many questions hold quotes or a word with - before it, which search takes for operators."""
        if self._task is Task.RELATED:
            return 0
        lexical = self._searcher.reader.lexical
        return sum(lexical.parse(topic.text).restricts for topic in self._collection.topics)

    def ranked(self, topic: Topic, hits: Sequence[Hit]) -> RankedList:
        """Return hits as a list of ids, spelt as the question's judgments spell them."""
        spelt = self.names.judged_name(self._collection.qrels[topic.id])
        return RankedList(tuple(spelt.get(hit.paper.id, hit.paper.id) for hit in hits),
                          tuple(hit.score for hit in hits))

    def _block(self, topics: Sequence[Topic]) -> Sequence[tuple[Topic, Answer | None]]:
        try:
            answers = self._searcher.query_many([topic.text for topic in topics], self._depth, self._options)
        except EmptyQuery:
            return [(topic, self._alone(topic)) for topic in topics]
        return list(zip(topics, answers, strict=True))

    def _alone(self, topic: Topic) -> Answer | None:
        """Return the answer to one question, None where it says nothing or nothing may be an answer."""
        options, depth = self._options, self._depth
        paper = paper_of(topic, self.names) if self._task is Task.RELATED else None
        if self._task is Task.RELATED and paper is None:
            return None
        if self._pool is Pool.JUDGED:
            judged = {self.names.id_of(name) for name in self._collection.qrels[topic.id]} - {None, paper}
            ids = tuple(sorted(own for own in judged if own is not None))
            if not ids:
                return None
            options, depth = replace(options, filter=replace(options.filter, ids=ids)), len(ids)
        try:
            if paper is not None:
                return self._searcher.related([paper], depth, options)
            return self._searcher.query(topic.text, depth, options)
        except EmptyQuery:
            return None
