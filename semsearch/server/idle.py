"""What indexes lack of vectors, encoded while nobody asks."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from semsearch.encoding import CanBeStopped, EncodingStopped, StoppableEncoder
from semsearch.encoding_on import PUBLISH_SHARE, PUBLISH_TEXTS
from semsearch.encoding_queue import EncodingQueue
from semsearch.errors import DiskFull, IndexBusy, IndexNotFound, SemsearchError
from semsearch.folding import fold_logged_vectors, tidy
from semsearch.index.facet_columns import dates
from semsearch.index.locks import IDLE_LOCK, Claim, is_build_running
from semsearch.index.vector_log import FOLDER
from semsearch.index.wanted_texts import read_wanted
from semsearch.server.shelf import OpenIndex, Shelf

STEP_SECONDS: Final = 0.02
"""A question that comes meanwhile waits about so long at most, where the encoder cannot be stopped."""
STOPPABLE_STEP_SECONDS: Final = 0.1
"""So much encoding a question can undo where it can: the step ends at once, and its texts wait again."""
_MOST_TEXTS: Final = 64
_LOOK_SECONDS: Final = 2.0
"""How often it is looked whether a build is at work, which encodes faster and should have the machine."""
_CHECKPOINT_SECONDS: Final = 15.0
_CLOSE_SECONDS: Final = 5.0
"""So long the end of the server waits for a generation that is being published; one cut short harms nothing."""


@dataclass(slots=True)
class _Line:
    """The texts of one generation that wait, and how many are encoded a step.

    `offered`: how many vectors there were when a generation with them was last begun, 0 where it came to nothing.
    """

    index: OpenIndex
    queue: EncodingQueue
    checkpointed: float
    texts: int = 1
    offered: int = 0

    @property
    def waiting(self) -> int:
        """How many vectors are in no generation, and have not been offered to one."""
        reader = self.index.searcher.reader
        return self.index.searcher.vectors.count - max(reader.manifest.vectors, self.offered)


class IdleEncoding:
    """Encodes a text or a few a step: what people asked about first, then the newest papers.

    Vectors go to the log, where other processes find them. When many have come, and when all have, a generation is
    published with them, in a thread of its own; a build that begins meanwhile waits for that. While a build of any of
    the indexes is at work, this is not. An index where it went wrong is left alone until it has changed.
    """

    def __init__(self, shelf: Shelf, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        """Take the indexes, and who hears of what a user should know. `clock` gives seconds."""
        self._shelf, self._note, self._clock = shelf, note, clock
        self._lines: dict[str, _Line] = {}
        self._claims: dict[str, Claim] = {}
        self._given_up: dict[str, object] = {}
        self._folding: threading.Thread | None = None
        self._running: StoppableEncoder | None = None
        self._looked = -_LOOK_SECONDS
        self._is_building = False

    @property
    def is_folding(self) -> bool:
        """Whether a generation is being published."""
        return self._folding is not None and self._folding.is_alive()

    def is_for(self, name: str) -> bool:
        """Return whether an index is encoded while nobody asks, as it is now."""
        return name not in self._given_up or self._given_up[name] != self._shelf.stamp(name)

    def step(self, is_wanted: Callable[[], bool] = lambda: False) -> bool:
        """Encode a little, or begin to publish; return whether there is more to do now.

        `is_wanted` says whether somebody has come since the step began: then nothing is encoded.
        """
        names = self._by_last_asked()
        if self.is_folding or self._sees_a_build(names):
            return False
        for name in names:
            try:
                line = self._line(name)
                if line is not None:
                    self._advance(line, is_wanted)
                    return True
            except IndexNotFound:
                continue  # its first build is at work, or it has just been removed
            except (SemsearchError, OSError) as error:
                if name in self._shelf.names():  # and has not been removed meanwhile
                    self._give_up(name, str(error).splitlines()[0])
        return False

    def interrupt(self) -> None:
        """Let a step that encodes end at once, where the encoder can; its texts wait again. For other threads."""
        running = self._running
        if running is not None:
            running.stop()

    def close(self) -> None:
        """Wait a little for what is being published."""
        if self._folding is not None:
            self._folding.join(_CLOSE_SECONDS)
        for claim in self._claims.values():
            claim.release()

    def _by_last_asked(self) -> list[str]:
        names = self._shelf.names()
        for name in self._lines.keys() - set(names):  # it was removed
            del self._lines[name]
            self._claims.pop(name, Claim(Path())).release()
        return sorted(filter(self.is_for, names), key=lambda name: (-self._shelf.last_asked(name), name))

    def _sees_a_build(self, names: list[str]) -> bool:
        if self._clock() - self._looked >= _LOOK_SECONDS:
            self._looked = self._clock()
            self._is_building = any(is_build_running(self._shelf.home / name) for name in names)
        return self._is_building or (len(names) > 0 and is_build_running(self._shelf.home / names[0]))

    def _line(self, name: str) -> _Line | None:
        """Return what is to be done for an index; None where that is nothing."""
        index = self._shelf.open(name)
        line = self._lines.get(name)
        if line is None or line.index is not index:
            if line is not None:
                with suppress(OSError):  # until now the generation before was open, and its log
                    tidy(self._shelf.home / name)
            line = self._lines[name] = _Line(index, _queue(index), self._clock())
        return line if (len(line.queue) or line.waiting) and self._claim(name).is_held() else None

    def _claim(self, name: str) -> Claim:
        if name not in self._claims:
            self._claims[name] = Claim(self._shelf.home / name / IDLE_LOCK)
        return self._claims[name]

    def _advance(self, line: _Line, is_wanted: Callable[[], bool]) -> None:
        searcher = line.index.searcher
        if len(line.queue):
            encoder = searcher.encoder()  # loading it is no part of the step
            try:
                self._running = encoder.stoppable() if isinstance(encoder, CanBeStopped) else None
                if is_wanted():  # asked from here on, it interrupts
                    return
                self._encode(line)
            except EncodingStopped:
                line.queue.put_back()
                return
            finally:
                self._running = None
        if not len(line.queue) or line.waiting >= max(PUBLISH_TEXTS, PUBLISH_SHARE * searcher.reader.manifest.vectors):
            self._fold(line)

    def _encode(self, line: _Line) -> None:
        reader, vectors = line.index.searcher.reader, line.index.searcher.vectors
        begun = self._clock()
        wanted = read_wanted(reader.folder / FOLDER / reader.manifest.encoder.fingerprint)
        rows = line.queue.take(line.texts, wanted)
        rows = rows[~vectors.has(rows)]  # others may have encoded some meanwhile
        if not len(rows):
            return
        if not vectors.encode(rows, self._running):
            raise DiskFull(f"What was encoded cannot be written to {reader.folder}.")
        seconds = max(self._clock() - begun, 1e-6)
        aim = STEP_SECONDS if self._running is None else STOPPABLE_STEP_SECONDS
        line.texts = min(max(int(len(rows) * aim / seconds), 1), 2 * line.texts, _MOST_TEXTS)
        if self._clock() - line.checkpointed >= _CHECKPOINT_SECONDS:
            vectors.checkpoint()
            line.checkpointed = self._clock()

    def _fold(self, line: _Line) -> None:
        """Begin to publish what the log holds; the index is opened anew once that is done."""
        line.offered = line.index.searcher.vectors.count
        line.index.searcher.vectors.close()  # a log that is written to stays
        name, folder = line.index.name, line.index.searcher.reader.folder

        def fold() -> None:
            try:
                fold_logged_vectors(folder)
            except IndexBusy:
                line.offered = 0  # a build has begun, which takes them; if it does not, this will
            except IndexNotFound:
                pass  # it was removed
            except (SemsearchError, OSError) as error:
                self._give_up(name, str(error).splitlines()[0])
            except Exception:  # a fault of ours must be seen, and must not come again and again
                logging.getLogger(__name__).exception("A generation of %r could not be published.", name)
                self._give_up(name, "see the error above.")

        self._folding = threading.Thread(target=fold, name="semsearch-fold", daemon=True)
        self._folding.start()

    def _give_up(self, name: str, reason: str) -> None:
        self._given_up[name] = self._shelf.stamp(name)
        self._note(f"The index {name!r} is not encoded any further while nobody asks: {reason}")


def _queue(index: OpenIndex) -> EncodingQueue:
    reader, vectors = index.searcher.reader, index.searcher.vectors
    waits = np.zeros(0, np.int64)
    if not vectors.is_complete:
        lacking = vectors.lacking()
        lacking[list(reader.hidden)] = False
        waits = np.flatnonzero(lacking)
    if not len(waits):
        return EncodingQueue(waits, reader.papers.text_keys()[:0], np.zeros(0, np.str_))
    return EncodingQueue(waits, reader.papers.text_keys()[waits], dates(reader)[waits])
