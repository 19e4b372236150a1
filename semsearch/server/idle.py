"""What indexes lack of vectors, encoded while nobody asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from semsearch.encoding_on import PUBLISH_SHARE, PUBLISH_TEXTS
from semsearch.encoding_queue import EncodingQueue
from semsearch.errors import IndexBusy, SemsearchError
from semsearch.folding import fold_logged_vectors
from semsearch.index.facet_columns import dates
from semsearch.index.locks import is_build_running
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER
from semsearch.index.wanted_texts import read_wanted
from semsearch.server.shelf import OpenIndex, Shelf

STEP_SECONDS: Final = 0.02
"""A question that comes meanwhile waits about so long at most. On a laptop that is one text a step: 52 a second, where
five a step gave 60, and questions then waited for 90 ms."""
_MOST_TEXTS: Final = 64
_LOOK_SECONDS: Final = 2.0
"""How often it is looked whether a build is at work, which encodes faster and should have the machine."""


@dataclass(slots=True)
class _Line:
    """The texts of one generation that wait, and what was encoded of them."""

    index: OpenIndex
    queue: EncodingQueue
    encoded: int = 0
    looked: float = field(default=-_LOOK_SECONDS)
    is_building: bool = False


class IdleEncoding:
    """Encodes a few texts a step: what people asked about first, then the newest papers.

    Vectors go to the log, where other processes find them. When many have come, and when all have, a generation is
    published with them, in a thread of its own; a build that begins meanwhile waits for that. While a build is at
    work, this is not.
    """

    def __init__(self, shelf: Shelf, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        """Take the indexes, and who hears of what a user should know. `clock` gives seconds."""
        self._shelf, self._note, self._clock = shelf, note, clock
        self._lines: dict[str, _Line] = {}
        self._given_up: set[str] = set()
        self._folding: threading.Thread | None = None
        self._texts = 1

    @property
    def is_folding(self) -> bool:
        """Whether a generation is being published."""
        return self._folding is not None and self._folding.is_alive()

    def step(self) -> bool:
        """Encode a little; return whether there is more to do now."""
        if self.is_folding:
            return False
        for name in self._by_last_asked():
            try:
                line = self._line(name)
                if line is not None:
                    self._advance(line)
                    return True
            except SemsearchError as error:
                self._give_up(name, error.message)
        return False

    def close(self) -> None:
        """Wait for what is being published."""
        if self._folding is not None:
            self._folding.join()

    def _by_last_asked(self) -> list[str]:
        names = [name for name in self._shelf.names() if name not in self._given_up]
        return sorted(names, key=lambda name: (-self._shelf.last_asked(name), name))

    def _line(self, name: str) -> _Line | None:
        """Return what waits of an index; None where that is nothing, or a build is at work on it."""
        index = self._shelf.open(name)
        line = self._lines.get(name)
        if line is None or line.index is not index:
            line = self._lines[name] = _Line(index, _queue(index))
        if self._clock() - line.looked >= _LOOK_SECONDS:
            line.looked, line.is_building = self._clock(), is_build_running(index.searcher.reader.folder)
        return line if len(line.queue) and not line.is_building else None

    def _advance(self, line: _Line) -> None:
        searcher = line.index.searcher
        reader = searcher.reader
        searcher.encoder()  # loading it is no part of the step
        begun = self._clock()
        wanted = read_wanted(reader.folder / FOLDER / reader.manifest.encoder.fingerprint)
        rows = line.queue.take(self._texts, wanted)
        if not searcher.vectors.encode(rows):
            self._give_up(line.index.name, "its vectors cannot be written to disk")
            return
        line.encoded += len(rows)
        seconds = max(self._clock() - begun, 1e-6)
        most = min(2 * self._texts, _MOST_TEXTS)
        self._texts = min(max(int(len(rows) * STEP_SECONDS / seconds), 1), most)
        if not len(line.queue) or line.encoded >= max(PUBLISH_TEXTS, PUBLISH_SHARE * reader.manifest.vectors):
            self._fold(line)

    def _fold(self, line: _Line) -> None:
        """Begin to publish what the log holds; the index is opened anew once that is done."""
        line.encoded = 0
        line.index.searcher.vectors.close()  # a log that is written to stays
        folder = line.index.searcher.reader.folder

        def fold() -> None:
            try:
                fold_logged_vectors(folder)
            except IndexBusy:
                pass  # a build has begun, which takes them
            except SemsearchError as error:
                self._give_up(line.index.name, error.message)

        self._folding = threading.Thread(target=fold, name="semsearch-fold")
        self._folding.start()

    def _give_up(self, name: str, reason: str) -> None:
        if name not in self._given_up:
            self._given_up.add(name)
            self._note(f"The index {name!r} is not encoded any further while idle: {reason}")


def _queue(index: OpenIndex) -> EncodingQueue:
    reader: IndexReader = index.searcher.reader
    if index.searcher.vectors.is_complete:
        waits = np.zeros(0, np.int64)
    else:
        lacking = index.searcher.vectors.lacking()
        lacking[list(reader.hidden)] = False
        waits = np.flatnonzero(lacking)
    if not len(waits):
        return EncodingQueue(waits, reader.papers.text_keys()[:0], np.zeros(0, np.str_))
    return EncodingQueue(waits, reader.papers.text_keys()[waits], dates(reader)[waits])
