"""A test collection: questions, judgments and, where it is a folder, the corpus that was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semsearch.errors import InputError, SourceNotFound, UsageError
from semsearch.evaluation.judgments import Qrels, read_judgments, relevant_of
from semsearch.evaluation.topics import Topic, read_topics

DEFAULT_SPLIT: Final = "test"
_CORPORA: Final = ("corpus.jsonl", "corpus.jsonl.gz")
_TOPICS: Final = ("queries.jsonl", "queries.tsv", "topics.jsonl", "topics.tsv", "topics.txt")
_LAYOUT: Final = "A collection is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv, as BEIR lays it out."


@dataclass(frozen=True, slots=True)
class Collection:
    """Questions with judgments.

    `topics`: the questions to ask, those that have a relevant paper; empty where no questions were wanted. `qrels`: the
    judgments of these questions and of those without a relevant paper. `corpus`: the file of the papers, None where
    there is none. `unjudged`: questions that have no judgment; `without_text`: judged questions that are not among the
    questions, and whose judgments are left out; `repeated`: judgments that stand twice.
    """

    name: str
    topics: tuple[Topic, ...]
    qrels: Qrels
    corpus: Path | None = None
    split: str | None = None
    unjudged: int = 0
    without_text: int = 0
    repeated: int = 0

    @property
    def judgments(self) -> int:
        """How many pairs of question and paper were judged."""
        return sum(map(len, self.qrels.values()))

    @property
    def with_relevant(self) -> list[str]:
        """The ids of the questions that have a relevant paper: those that are measured."""
        return [question for question, grades in self.qrels.items() if relevant_of(grades)]


def load_collection(folder: Path | str | None = None, *, split: str = DEFAULT_SPLIT, queries: Path | str | None = None,
                    qrels: Sequence[Path | str] = (), with_topics: bool = True) -> Collection:
    """Return the collection in a folder laid out as BEIR does, or that of single files, which override the folder's.

    `with_topics=False` reads judgments alone, which is enough for runs that exist.

    Raises:
        SourceNotFound, InputError: something is missing or cannot be read.
        UsageError: neither a folder nor files were given.
    """
    place = None if folder is None else Path(folder).expanduser()
    if place is not None and not place.is_dir():
        raise SourceNotFound(f"There is no folder {str(folder)!r}.", _LAYOUT)
    judged = [Path(path).expanduser() for path in qrels] or [_qrels_file(place, split)]
    judgments = read_judgments(judged)
    name = judged[0].stem if place is None else place.resolve().name
    chosen = None if qrels else split
    corpus = None if place is None else next((place / c for c in _CORPORA if (place / c).is_file()), None)
    if not with_topics:
        _check_relevant(judgments.qrels, judged)
        return Collection(name, (), judgments.qrels, corpus, chosen, repeated=judgments.repeated)
    asked = Path(queries).expanduser() if queries is not None else _topics_file(place)
    topics = read_topics(asked)
    known = {topic.id for topic in topics}
    kept = {question: grades for question, grades in judgments.qrels.items() if question in known}
    if not kept:
        raise InputError(f"No question of {asked} is judged in {', '.join(map(str, judged))}.",
                         f"The ids must be the same in both: there {next(iter(judgments.qrels))!r}, here "
                         f"{topics[0].id!r}.")
    _check_relevant(kept, judged)
    answerable = tuple(topic for topic in topics if relevant_of(kept.get(topic.id, {})))
    return Collection(name, answerable, kept, corpus, chosen, unjudged=len(known - kept.keys()),
                      without_text=len(judgments.qrels) - len(kept), repeated=judgments.repeated)


def _check_relevant(qrels: Qrels, files: Sequence[Path]) -> None:
    if not any(relevant_of(grades) for grades in qrels.values()):
        raise InputError(f"{', '.join(map(str, files))}: no paper is relevant to any question, so there is nothing to "
                         "measure.", "A relevant paper has a grade above 0.")


def _qrels_file(folder: Path | None, split: str) -> Path:
    if folder is None:
        raise UsageError("There are no judgments to measure by.",
                         "Name the folder of a collection, or --queries FILE and --qrels FILE.")
    path = folder / "qrels" / f"{split}.tsv"
    if not path.is_file():
        there = sorted(file.stem for file in (folder / "qrels").glob("*.tsv"))
        raise SourceNotFound(f"{folder} has no judgments {split!r}: there is no file {path}.",
                             f"There are: {', '.join(there)}. Choose one with --split." if there else
                             f"{_LAYOUT} Or name a file with --qrels FILE.")
    return path


def _topics_file(folder: Path | None) -> Path:
    if folder is None:
        raise UsageError("There are no questions to ask.", "Name their file with --queries FILE.")
    found = next((folder / name for name in _TOPICS if (folder / name).is_file()), None)
    if found is None:
        raise SourceNotFound(f"{folder} has no questions: there is no file {folder / _TOPICS[0]}.",
                             f"{_LAYOUT} Or name a file with --queries FILE.")
    return found
