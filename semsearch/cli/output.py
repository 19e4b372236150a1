"""Papers and hits to standard output or a file, in the format that was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO, cast

from semsearch.cli.console import look_of
from semsearch.cli.options import Output
from semsearch.errors import UsageError
from semsearch.index.durable import written_atomically
from semsearch.paper import Paper
from semsearch.ranking import Hit
from semsearch.writers import bibtex, csl_json, ids, jsonl, ris, table, tabular, trec

BATCH_FORMATS: Final = ("jsonl", "csv", "trec")
_PAPER_WRITERS: Final[dict[str, Callable[[Iterable[Paper], TextIO], None]]] = {
    "jsonl": jsonl.write_papers, "csv": tabular.write_papers, "bibtex": bibtex.write_papers, "ris": ris.write_papers,
    "csl-json": csl_json.write_papers, "ids": ids.write_papers,
}


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
    with written_atomically(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
        yield stream


def is_for_people(output: Output) -> bool:
    """Return whether the output is a list for people to read, and not data."""
    return (output.format or "table") == "table"


def write_hits(hits: Sequence[Hit], output: Output) -> None:
    """Write the hits of one question."""
    with open_output(output.path) as stream:
        match output.format or "table":
            case "table":
                table.write_hits(hits, stream, look_of(stream))
            case "jsonl":
                jsonl.write_hits(hits, stream)
            case "csv":
                tabular.write_hits(hits, stream)
            case "trec":
                trec.write_hits(hits, stream)
            case other:
                _PAPER_WRITERS[other]((hit.paper for hit in hits), stream)


def write_answers(answers: Iterable[tuple[str, Sequence[Hit]]], output: Output) -> None:
    """Write the hits of several questions, (query id, hits), as they come.

    Raises:
        UsageError: the format cannot tell questions apart.
    """
    form = output.format or "jsonl"
    if form not in BATCH_FORMATS:
        raise UsageError(f"--format {form} cannot tell the answers to several questions apart.",
                         f"Choose one of: {', '.join(BATCH_FORMATS)}.")
    with open_output(output.path) as stream:
        if form == "csv":
            tabular.write_answers(answers, stream)
            return
        for query_id, hits in answers:
            (trec if form == "trec" else jsonl).write_hits(hits, stream, query_id)


def write_papers(papers: Iterable[Paper], output: Output) -> None:
    """Write papers."""
    with open_output(output.path) as stream:
        if (output.format or "table") == "table":
            table.write_papers(papers, stream, look_of(stream))
        else:
            _PAPER_WRITERS[cast(str, output.format)](papers, stream)


def write_json(document: dict[str, object]) -> None:
    """Write one object as a line on standard output."""
    _standard_output().write(jsonl.json_line(document) + "\n")


def _standard_output() -> TextIO:
    """Return standard output, which carries UTF-8 whatever the locale says: so do all formats that are written here."""
    if sys.stdout is None:  # the shell closed it
        return open(os.devnull, "w", encoding="utf-8")
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout
