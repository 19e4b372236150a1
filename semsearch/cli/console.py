"""What a command says to people: notes and progress on standard error, how things look on standard output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

import click

if TYPE_CHECKING:
    from semsearch.progress import Progress
    from semsearch.writers.table import Look

PIPED_WIDTH: Final = 100
_WIDEST: Final = 120
_NARROWEST: Final = 40


@dataclass(frozen=True, slots=True)
class Console:
    """How talkative a command is; `quiet` silences everything but errors."""

    quiet: bool = False
    verbose: bool = False

    def note(self, message: str) -> None:
        """Say one line, unless quiet."""
        if not self.quiet:
            from semsearch.writers.display import printable

            click.echo(printable(message), err=True)

    def notes(self, notes: Iterable[str], seconds: Mapping[str, float]) -> None:
        """Say notes a line each, and with `--verbose` what took how long."""
        for note in notes:
            self.note(note)
        if self.verbose and seconds:
            spent = ", ".join(f"{what} {1000 * took:.1f} ms" for what, took in seconds.items())
            click.echo(f"Of that: {spent}", err=True)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Say at the end, where `--verbose` was given, how long `what` took."""
        begun = time.monotonic()
        yield
        if self.verbose:
            from semsearch.writers.display import printable

            click.echo(f"{printable(what)} in {time.monotonic() - begun:.2f} s", err=True)

    def hush_libraries(self) -> None:
        """Keep a download from drawing bars where nobody wants or sees them."""
        if self.quiet or not sys.stderr.isatty():
            os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

    def progress(self) -> Progress:
        """Return who shows progress: bars on a terminal, a line now and then elsewhere, nothing when quiet."""
        from semsearch.cli.progress import Bars, Lines
        from semsearch.progress import Silent

        if self.quiet:
            return Silent()
        return Bars() if sys.stderr.isatty() else Lines(sys.stderr)


def look_of(stream: TextIO) -> Look:
    """Return how lists look on a stream: its terminal's width, and colour where that is wanted."""
    import shutil

    from semsearch.writers.table import Look

    if not stream.isatty():
        return Look(PIPED_WIDTH)
    columns = min(max(shutil.get_terminal_size((PIPED_WIDTH, 24)).columns, _NARROWEST), _WIDEST)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Look(columns, colour=not plain)
