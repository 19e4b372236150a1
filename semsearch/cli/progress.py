"""Progress on standard error: bars on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

from semsearch.progress import Task
from semsearch.writers.display import printable

LINE_SECONDS: Final = 30.0
"""How often a log hears of a task."""
_MINUTE: Final = 60


class _BarTask:
    """A task shown by a bar."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def advance(self, amount: int) -> None:
        """Move the bar on."""
        self._bar.update(amount)


class Bars:
    """Progress as a bar with rate and time left, for a terminal."""

    def note(self, message: str) -> None:
        """Print a line above the bar."""
        from tqdm import tqdm

        tqdm.write(printable(message), file=sys.stderr)

    @contextmanager
    def task(self, label: str, total: int | None, unit: str) -> Iterator[Task]:
        """Show a bar until the task ends; it leaves nothing behind."""
        from tqdm import tqdm

        in_bytes = unit == "B"
        with tqdm(total=total, desc=label, unit=unit if in_bytes else f" {unit}s", unit_scale=in_bytes, leave=False,
                  dynamic_ncols=True, file=sys.stderr) as bar:
            yield _BarTask(bar)


class Lines:
    """Progress as lines: one when a task begins, then one in thirty seconds, and one at the end of a long task."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock

    def note(self, message: str) -> None:
        """Print a line."""
        self._say(message)

    @contextmanager
    def task(self, label: str, total: int | None, unit: str) -> Iterator[Task]:
        """Print how far the task is, rarely."""
        task = _LineTask(label, total, unit, self._say, self._clock)
        yield task
        task.end()

    def _say(self, message: str) -> None:
        self._stream.write(printable(message) + "\n")
        self._stream.flush()


class _LineTask:
    """A task told in lines."""

    def __init__(self, label: str, total: int | None, unit: str, say: Callable[[str], None],
                 clock: Callable[[], float]) -> None:
        self._label, self._total, self._unit, self._say, self._clock = label, total, unit, say, clock
        self._done = 0
        self._begun = self._told = clock()
        self._long = False
        if total != 0:
            say(f"{label}: {amount_of(total, unit)} ..." if total is not None else f"{label} ...")

    def advance(self, amount: int) -> None:
        """Count, and say a line when the last one is long ago."""
        self._done += amount
        now = self._clock()
        if now - self._told >= LINE_SECONDS:
            self._told, self._long = now, True
            self._say(self._line(now - self._begun))

    def end(self) -> None:
        """Say how long it took, where it took long."""
        if self._long:
            self._say(f"{self._label}: {amount_of(self._done, self._unit)} in {duration(self._clock() - self._begun)}")

    def _line(self, seconds: float) -> str:
        rate = self._done / seconds
        each = f"{amount_of(round(rate), self._unit)} a second" if rate >= 1 else f"{rate:.2f} {self._unit}s a second"
        if not self._total:
            return f"{self._label}: {amount_of(self._done, self._unit)}, {each}"
        left = f", about {duration((self._total - self._done) / rate)} left" if 0 < self._done < self._total else ""
        share = min(100 * self._done // self._total, 100)
        return f"{self._label}: {self._done:,} of {amount_of(self._total, self._unit)} ({share} %), {each}{left}" \
            if self._unit != "B" else f"{self._label}: {share} % of {amount_of(self._total, 'B')}, {each}{left}"


def amount_of(amount: int, unit: str) -> str:
    """Return an amount in words: `1,200 abstracts`, `3.4 MB`."""
    if unit == "B":
        return size_of(amount)
    return f"{amount:,} {unit}" + ("" if amount == 1 else "s")


def size_of(size_bytes: int) -> str:
    """Return a number of bytes in words, decimal as disks are sold: `999 B`, `1.5 kB`, `123 MB`."""
    size, unit = float(size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if round(size) < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"


def duration(seconds: float) -> str:
    """Return a time in words: `3.4 s`, `12 s`, `3 min`, `2 h 5 min`."""
    if round(seconds) < _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / _MINUTE)
    return f"{minutes} min" if minutes < _MINUTE else f"{minutes // _MINUTE} h {minutes % _MINUTE} min"
