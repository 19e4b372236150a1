"""Papers and hits to standard output or a file, in the format that was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from semsearch.cli.options import Output
from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.paper import Paper
    from semsearch.ranking import Hit

BATCH_FORMATS: Final = ("jsonl", "csv", "trec")
_WRITERS: Final = {"table": "table", "jsonl": "jsonl", "csv": "tabular", "trec": "trec", "bibtex": "bibtex",
                   "ris": "ris", "csl-json": "csl_json", "ids": "ids"}
"""Format -> the module of `semsearch.writers` that writes it, imported when it is asked for."""


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO]:
    """Give a text stream in UTF-8: standard output, or a file that appears under its name only when all is written."""
    if path is None:
        yield _standard_output()
        return
    if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
        with open(path, "w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    from semsearch.index.durable import written_atomically

    with written_atomically(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
        yield stream


def is_for_people(output: Output) -> bool:
    """Return whether the output is a list for people to read, and not data."""
    return (output.format or "table") == "table"


def write_hits(hits: Sequence[Hit], output: Output) -> None:
    """Write the hits of one question."""
    form = output.format or "table"
    writer = _writer(form)
    with open_output(output.path) as stream:
        if form == "table":
            from semsearch.cli.console import look_of

            writer.write_hits(hits, stream, look_of(stream))
        elif form in BATCH_FORMATS:
            writer.write_hits(hits, stream)
        else:
            writer.write_papers((hit.paper for hit in hits), stream)


def write_answers(answers: Iterable[tuple[str, Sequence[Hit]]], output: Output) -> None:
    """Write the hits of several questions, (query id, hits), as they come.

    Raises:
        UsageError: the format cannot tell questions apart.
    """
    form = output.format or "jsonl"
    if form not in BATCH_FORMATS:
        raise UsageError(f"--format {form} cannot tell the answers to several questions apart.",
                         f"Choose one of: {', '.join(BATCH_FORMATS)}.")
    writer = _writer(form)
    with open_output(output.path) as stream:
        if form == "csv":
            writer.write_answers(answers, stream)
            return
        for query_id, hits in answers:
            writer.write_hits(hits, stream, query_id)


def write_papers(papers: Iterable[Paper], output: Output) -> None:
    """Write papers."""
    form = output.format or "table"
    writer = _writer(form)
    with open_output(output.path) as stream:
        if form == "table":
            from semsearch.cli.console import look_of

            writer.write_papers(papers, stream, look_of(stream))
        else:
            writer.write_papers(papers, stream)


def write_json(document: dict[str, object]) -> None:
    """Write one object as a line on standard output."""
    from semsearch.writers.jsonl import json_line

    _standard_output().write(json_line(document) + "\n")


def _writer(form: str) -> Any:
    return import_module(f"semsearch.writers.{_WRITERS[form]}")


def _standard_output() -> TextIO:
    """Return standard output, which carries UTF-8 whatever the locale says: so do all formats that are written here."""
    if sys.stdout is None:  # the shell closed it
        return open(os.devnull, "w", encoding="utf-8")
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout
