"""How long work tells how far it is, without knowing who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Task(Protocol):
    """A piece of work under way."""

    def advance(self, amount: int) -> None:
        """Say that `amount` more units are done."""
        ...


class Progress(Protocol):
    """Hears of notes and of tasks."""

    def note(self, message: str) -> None:
        """Hear one line that a user wants to know: a finding, an estimate, a warning."""
        ...

    @contextmanager
    def task(self, label: str, total: int | None, unit: str) -> Iterator[Task]:
        """Hear of a task of `total` units (None: unknown) from its begin to its end."""
        ...


class Silent:
    """Hears all and says nothing."""

    def note(self, message: str) -> None:
        """Drop the note."""

    @contextmanager
    def task(self, label: str, total: int | None, unit: str) -> Iterator[Task]:
        """Give a task that counts for nobody."""
        yield self

    def advance(self, amount: int) -> None:
        """Drop the amount."""
