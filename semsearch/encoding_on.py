"""A generation that lacks vectors -> one with more of them after the other, until none is missing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Encoder
from semsearch.encoding_pool import TunableEncoder, trial_texts
from semsearch.encoding_queue import EncodingQueue
from semsearch.errors import IndexChanged
from semsearch.first_generation import Standing, Vectorising
from semsearch.index import generations
from semsearch.index.base_papers import BasePapers
from semsearch.index.facet_columns import dates
from semsearch.index.manifest import PAPERS
from semsearch.index.paper_layers import take_over_papers
from semsearch.index.reader import IndexReader
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.staged_store import Changes
from semsearch.index.state import read_state
from semsearch.index.vector_log import VectorLogWriter
from semsearch.index.wanted_texts import forget_wanted, read_wanted
from semsearch.progress import Task
from semsearch.publish import publish_generation, usable_vectors
from semsearch.spelling import spelt_index
from semsearch.vectorise import VectorSources, duration_in_words, encode_rows, missing_rows

PUBLISH_TEXTS: Final = 2_000
PUBLISH_SHARE: Final = 0.25
PUBLISH_SECONDS: Final = 30.0
"""A generation is published when it has so many vectors more, in number and as a share of those before, and no sooner
than so long after the last. By the share all that is written is at most five times what the last one holds."""
WINDOW_SECONDS: Final = 15.0
"""So long is encoded before the logs and the wishes of others are read again."""
_WINDOW_TEXTS: Final = (256, 16_384)
_LONG_SECONDS: Final = 20.0


def encode_on(work: Vectorising, standing: Standing, base: IndexReader | None, changes: Changes) -> Standing:
    """Encode what has no vector, publishing again and again, and return how far the index is then.

    What people asked about comes first, then the newest papers. Vectors that others write to the log meanwhile are
    taken, and papers that were deleted go with the next generation. Whatever ends this early, the last generation
    answers, and the next run goes on. `base` and `changes` are of the run that this belongs to, and so is its lock.

    Raises:
        KeyboardInterrupt: after a note on what there is now.
        ModelError, IndexStoreError: as a build.
    """
    if work.later or not standing.missing:
        return standing
    return _EncodingOn(work, standing, base, changes).run()


class _EncodingOn:
    """Encodes what an index lacks, generation after generation."""

    def __init__(self, work: Vectorising, standing: Standing, base: IndexReader | None, changes: Changes) -> None:
        self._work, self._standing, self._base, self._changes = work, standing, base, changes
        self._plan, self._logs = work.plan, work.follow_logs()
        self._log = _OpenLog(work.log_folder, work.plan.identity.dimension)
        self._texts, self._seconds = 0, 0.0
        self._has_told = not work.is_long(standing.missing)

    def run(self) -> Standing:
        """Go on until every text has a vector."""
        self._tell_that_it_answers()
        try:
            encoder = self._work.load(self._standing.missing)
            with self._work.progress.task("Encoding", self._standing.missing, "abstract") as task:
                while self._standing.missing:
                    with self._reader() as reader:
                        last_published = time.monotonic()
                        self._encode(reader, encoder, task, last_published)
                        self._publish(reader)
                    generations.prune(self._work.folder)
        except KeyboardInterrupt:
            self._tell_what_there_is()
            raise
        finally:
            self._log.end()
        return self._standing

    @contextmanager
    def _reader(self) -> Iterator[IndexReader]:
        with IndexReader(self._work.folder) as reader:
            if reader.manifest.generation != self._standing.published.manifest.generation:
                raise IndexChanged(f"The index {self._work.folder.name!r} was changed by another process while this "
                                   "one worked.", "Nothing was lost: run the same command again.")
            yield reader

    def _encode(self, reader: IndexReader, encoder: Encoder, task: Task, since: float) -> None:
        """Encode until all is, or until it is time for a generation; `since`: when the last was published."""
        queue = self._queue(reader)
        task.advance(max(self._standing.missing - len(queue), 0))
        while len(queue):
            task.advance(queue.drop(self._logs.refresh()))
            rows = queue.take(self._window(encoder), read_wanted(self._work.log_folder))
            begun = time.monotonic()
            if len(rows):
                encode_rows(reader.papers, rows, self._plan.identity, encoder, self._log, _Within(task))
            self._texts, self._seconds = self._texts + len(rows), self._seconds + time.monotonic() - begun
            self._tell_how_long(len(queue))
            if self._is_due(reader, time.monotonic() - since):
                return

    def _queue(self, reader: IndexReader) -> EncodingQueue:
        keys = reader.papers.text_keys()
        waits = ~VectorSources([reader.vectors.as_source(), *self._plan.given.shards, *self._logs.sources()]).has(keys)
        waits[list(reader.hidden)] = False
        rows = np.flatnonzero(waits)
        return EncodingQueue(rows, keys[rows], dates(reader)[rows])

    def _window(self, encoder: Encoder) -> int:
        """Return how many texts are encoded before the logs are read again."""
        least, most = _WINDOW_TEXTS
        if self._texts:
            return min(max(round(self._texts / max(self._seconds, 1e-3) * WINDOW_SECONDS), least), most)
        return max(trial_texts(encoder.settings), least) if isinstance(encoder, TunableEncoder) else least

    def _is_due(self, reader: IndexReader, seconds: float) -> bool:
        self._logs.refresh()
        wanted = max(PUBLISH_TEXTS, PUBLISH_SHARE * reader.manifest.vectors)
        return len(self._logs) >= wanted and seconds >= PUBLISH_SECONDS

    def _publish(self, reader: IndexReader) -> None:
        work = self._work
        self._log.end()
        self._logs.refresh()
        with generations.staging(work.folder) as staging:
            keys = self._stage_papers(reader, staging)
            sources = VectorSources([*usable_vectors(reader, keys, self._plan.identity), *self._plan.given.shards,
                                     *self._logs.sources()])
            missing = len(missing_rows(keys, sources))
            published = publish_generation(work.folder, staging, reader, keys, sources, self._plan, work.progress,
                                           to_come=missing > 0)
        self._logs.remove_read()
        forget_wanted(work.log_folder, lambda wanted: sources.has(wanted) | ~np.isin(wanted, keys))
        self._standing = Standing(published, self._texts, missing)

    def _stage_papers(self, reader: IndexReader, staging: Path) -> NDArray[Any]:
        """Give the next generation its papers, all but those that were deleted meanwhile; return their text keys."""
        deletions = read_state(self._work.folder).deletions
        gone = [paper.id for paper in reader.papers.get(reader.papers.rows_of_ids(deletions))]
        if not gone:
            take_over_papers(reader.generation, staging)
            return reader.papers.text_keys()
        staged = StagedPapers(staging / PAPERS, BasePapers.of(reader.generation))
        try:
            staged.take_out_deleted(deletions)
            staged.merge(deletions.values())
            staged.compact()
            keys = staged.text_keys()
            staged.close()
        finally:
            staged.abandon()
        self._plan = replace(self._plan, deletions=sorted({*self._plan.deletions, *deletions}))
        were_there = len(self._base.papers.rows_of_ids(gone)) if self._base else 0
        self._changes.removed += were_there
        self._changes.added += staged.changes.added - (len(gone) - were_there)
        return keys

    def _tell_that_it_answers(self) -> None:
        if not self._has_told:
            seconds = self._work.seconds_for(self._standing.missing)
            left = f": about {duration_in_words(seconds)} left" if seconds else ""
            self._work.progress.note(f'Ready to ask: semsearch query{spelt_index(self._work.folder)} "..."  '
                                     f"(words now, meaning as encoding goes on{left})")

    def _tell_how_long(self, left: int) -> None:
        """Say once, by what was measured, how long the rest takes."""
        seconds = self._seconds / max(self._texts, 1) * left
        if not self._has_told and seconds > _LONG_SECONDS:
            self._work.progress.note(
                f"Encoding goes on: {left:,} abstracts, about {duration_in_words(seconds)} "
                f"({self._texts / self._seconds:.1f} a second). It can be stopped at any time; the next run goes on "
                "from there.")
        self._has_told = True

    def _tell_what_there_is(self) -> None:
        self._logs.refresh()
        manifest, index = self._standing.published.manifest, spelt_index(self._work.folder)
        self._work.progress.note(
            f'The index answers: semsearch query{index} "..."  {manifest.vectors + len(self._logs):,} of '
            f"{manifest.papers:,} papers are encoded; go on with: semsearch build{index}")


class _OpenLog(VectorLogWriter):
    """A log that stays one file from one piece of work to the next."""

    def close(self) -> None:
        """Checkpoint; the file stays open."""
        self.checkpoint()

    def end(self) -> None:
        """Close the file; what comes after goes to a new one."""
        super().close()


class _Within:
    """Progress of a piece of a task: it counts for the task, and its own estimates are not told."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def note(self, message: str) -> None:
        """Drop the note."""

    @contextmanager
    def task(self, label: str, total: int | None, unit: str) -> Iterator[Task]:
        """Give the task that this belongs to."""
        yield self._task
