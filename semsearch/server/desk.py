"""One thread that answers questions one after the other, and does other work while none waits."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from semsearch.errors import SemsearchError

T = TypeVar("T")

MOST_WAITING: Final = 64
"""More questions than this are turned away: the last of them would wait for seconds."""
REST_SECONDS: Final = 2.0
"""So long after a question spare work begins: people ask several in a row."""
_LOOK_AGAIN_SECONDS: Final = 5.0


class Overloaded(SemsearchError):
    """More questions wait than can be answered in a reasonable time."""

    def __init__(self) -> None:
        super().__init__(f"{MOST_WAITING} questions wait already.", "Ask again in a moment.")


@dataclass(frozen=True, slots=True)
class _Job:
    """Work, and who waits for its result."""

    future: Future[Any]
    work: Callable[[], Any]
    is_question: bool

    def do(self) -> None:
        """Work, unless whoever asked has gone; an error goes to them."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.work())
        except BaseException as error:
            self.future.set_exception(error)


class ShuttingDown(SemsearchError):
    """The server is about to end."""

    def __init__(self) -> None:
        super().__init__("The server is about to end.", "Ask again when it is back.")


class SpareWork(Protocol):
    """Work for when nobody asks, done in small steps."""

    def step(self, is_wanted: Callable[[], bool]) -> bool:
        """Do a little, well under a second's worth; return whether there is more to do now.

        `is_wanted` says whether somebody has come meanwhile, and waits.
        """
        ...

    def interrupt(self) -> None:
        """Let a step end as soon as it can, since a question has come. Called by other threads, at any time."""
        ...


class Desk:
    """Answers in the order of asking, in one thread: what it works with need not be safe for several.

    Both cores of a laptop are busy with one question already, so a second thread would answer no sooner.
    """

    def __init__(self, spare: SpareWork | None = None, rest_seconds: float = REST_SECONDS,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Open the desk. `spare` is worked at once nobody has asked for `rest_seconds`. `clock` gives seconds."""
        self._spare, self._rest_seconds, self._clock = spare, rest_seconds, clock
        self._jobs: queue.Queue[_Job | None] = queue.Queue()
        self._turns_away = False
        self._thread = threading.Thread(target=self._work, name="semsearch-desk", daemon=True)
        self._thread.start()

    @property
    def has_spare_work(self) -> bool:
        """Whether something is done while nobody asks."""
        return self._spare is not None

    def ask(self, work: Callable[[], T]) -> Future[T]:
        """Return what will be the result of a question, answered in the thread of the desk; spare work rests then.

        Raises:
            Overloaded, ShuttingDown: too many wait, or nobody is served any more.
        """
        return self._put(work, is_question=True)

    def look(self, work: Callable[[], T]) -> Future[T]:
        """Return what will be the result of a glance at the state of things, which spare work need not rest for.

        Raises:
            Overloaded, ShuttingDown: as `ask`.
        """
        return self._put(work, is_question=False)

    def turn_away(self) -> None:
        """Answer what waits, and all that comes, with `ShuttingDown`."""
        self._turns_away = True
        waiting: list[_Job] = []
        with suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    waiting.append(job)
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(ShuttingDown())

    def close(self, last: Callable[[], object] = lambda: None) -> None:
        """Answer what was asked, do a last thing in the thread of the desk, and end."""
        self._jobs.put(_Job(Future(), last, is_question=False))
        self._jobs.put(None)
        self._thread.join()

    def _put(self, work: Callable[[], T], *, is_question: bool) -> Future[T]:
        if self._turns_away:
            raise ShuttingDown
        if self._jobs.qsize() >= MOST_WAITING:
            raise Overloaded
        future: Future[T] = Future()
        self._jobs.put(_Job(future, work, is_question))
        spare = self._spare
        if is_question and spare is not None:
            spare.interrupt()
        return future

    def _work(self) -> None:
        next_step = self._clock() + self._rest_seconds
        while True:
            try:
                job = self._jobs.get(timeout=max(next_step - self._clock(), 0.0)) if self._spare else self._jobs.get()
            except queue.Empty:
                next_step = self._clock() if self._step() else self._clock() + _LOOK_AGAIN_SECONDS
                continue
            if job is None:
                return
            job.do()
            if job.is_question:
                next_step = self._clock() + self._rest_seconds

    def _step(self) -> bool:
        try:
            return self._spare is not None and self._spare.step(lambda: not self._jobs.empty())
        except Exception:  # a fault of ours must not end the answering
            logging.getLogger(__name__).exception("Spare work failed and is not tried again.")
            self._spare = None
            return False
