"""Hits and papers as a list for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from semsearch.paper import Paper
from semsearch.ranking import Hit
from semsearch.writers.display import display_width, pad, printable, wrap

_AUTHORS_SHOWN: Final = 3
_ABSTRACT_LINES: Final = 3
_INDENT: Final = " " * 12
_LABEL_COLUMNS: Final = 12
_NARROWEST: Final = 24


@dataclass(frozen=True, slots=True)
class Look:
    """How a list may look: columns of a line, and whether colour is wanted."""

    width: int = 100
    colour: bool = False

    def bold(self, text: str) -> str:
        """Return `text` in bold where colour is wanted."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def dim(self, text: str) -> str:
        """Return `text` dimmed where colour is wanted."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def green(self, text: str) -> str:
        """Return `text` in green where colour is wanted."""
        return f"\x1b[32m{text}\x1b[0m" if self.colour else text


def write_hits(hits: Sequence[Hit], stream: TextIO, look: Look) -> None:
    """Write ranked hits, best first: rank, score, title, authors, year, venue, id, the beginning of the abstract."""
    for position, hit in enumerate(hits):
        if position:
            stream.write("\n")
        _write_hit(hit, stream, look)


def write_papers(papers: Iterable[Paper], stream: TextIO, look: Look) -> None:
    """Write papers with all their fields."""
    for position, paper in enumerate(papers):
        if position:
            stream.write("\n")
        write_paper(paper, stream, look)


def write_paper(paper: Paper, stream: TextIO, look: Look, more: Sequence[tuple[str, str]] = ()) -> None:
    """Write one paper with all its fields, then the (label, text) pairs of `more`, then its abstract."""
    title = "" if paper.title_stands_in else paper.title
    identifiers = [f"{kind} {value}" for kind, value in paper.identifiers if kind != "doi" and ":" not in kind]
    fields = [("title", title), ("authors", "; ".join(paper.authors)), ("date", paper.date or str(paper.year or "")),
              ("venue", paper.venue), ("categories", "; ".join(paper.categories)), ("doi", paper.doi),
              ("also", ", ".join(identifiers)), ("url", paper.url), ("language", paper.language), *more,
              ("abstract", paper.abstract or "none")]
    stream.write(f"{look.dim(pad('id', _LABEL_COLUMNS))}{look.bold(printable(paper.id))}\n")
    write_fields(fields, stream, look)


def write_fields(fields: Iterable[tuple[str, str]], stream: TextIO, look: Look) -> None:
    """Write labels in a column and texts beside them, wrapped; empty texts are left out."""
    for label, text in fields:
        for number, line in enumerate(wrap(text, max(look.width - _LABEL_COLUMNS, _NARROWEST))):
            stream.write(f"{look.dim(pad('' if number else label, _LABEL_COLUMNS))}{line}\n")


def write_columns(header: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO, look: Look) -> None:
    """Write a table with columns as wide as their widest cell; the last column is not filled."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(display_width(line[column]) for line in (header, *cells)) for column in range(len(header))]
    for number, line in enumerate((header, *cells)):
        text = "  ".join(pad(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        stream.write((look.dim(text) if number == 0 else text) + "\n")


def authors_line(authors: Sequence[str]) -> str:
    """Return the first three authors, with `et al.` where there are more."""
    shown = ", ".join(authors[:_AUTHORS_SHOWN])
    return f"{shown} et al." if len(authors) > _AUTHORS_SHOWN else shown


def _write_hit(hit: Hit, stream: TextIO, look: Look) -> None:
    paper = hit.paper
    width = max(look.width - len(_INDENT), _NARROWEST)
    head = f"{hit.rank:>3}  {look.green(f'{hit.score:6.3f}')} "
    for number, line in enumerate(wrap(paper.title or "(no title)", width)):
        stream.write(f"{_INDENT if number else head}{look.bold(line)}\n")
    about = " · ".join(part for part in (authors_line(paper.authors), str(paper.year or ""), paper.venue) if part)
    for line in wrap(about, width):
        stream.write(f"{_INDENT}{line}\n")
    stream.write(f"{_INDENT}{look.dim(printable(paper.id))}\n")
    for line in wrap(_rest_of_abstract(paper), width, _ABSTRACT_LINES):
        stream.write(f"{_INDENT}{look.dim(line)}\n")


def _rest_of_abstract(paper: Paper) -> str:
    """Return the abstract without the sentence that stands in as the title and was shown there."""
    if not paper.title_stands_in:
        return paper.abstract
    shown = paper.title.removesuffix(" ...")
    return paper.abstract.removeprefix(shown).lstrip(" ,;:")
