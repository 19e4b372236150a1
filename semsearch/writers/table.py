"""Hits and papers as a list for people to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from semsearch.paper import Paper
from semsearch.ranking import Highlight, Hit
from semsearch.writers.display import display_width, pad, printable, wrap
from semsearch.writers.marking import Piece, wrap_marked

BEST_SENTENCE: Final = "» "
"""Stands before the sentence that is nearest to the question, with colour and without."""
_AUTHORS_SHOWN: Final = 3
_ABSTRACT_LINES: Final = 3
_SENTENCE_LINES: Final = 5
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

    def cyan(self, text: str) -> str:
        """Return `text` in cyan where colour is wanted."""
        return f"\x1b[36m{text}\x1b[0m" if self.colour else text

    def underlined(self, text: str) -> str:
        """Return `text` bold and underlined where colour is wanted."""
        return f"\x1b[1;4m{text}\x1b[0m" if self.colour else text

    def green(self, text: str) -> str:
        """Return `text` in green where colour is wanted."""
        return f"\x1b[32m{text}\x1b[0m" if self.colour else text


def write_hits(hits: Sequence[Hit], stream: TextIO, look: Look) -> None:
    """Write ranked hits, best first: rank, score, title, authors, year, venue, id, and of the abstract its beginning.

    Where a sentence is highlighted, it stands there after a mark and with what is around it, in the place of the
    beginning; on a terminal the words that it shares with the question are underlined.
    """
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
    shown = list(fields)
    columns = max([_LABEL_COLUMNS, *(display_width(label) + 1 for label, _ in shown)])
    for label, text in shown:
        for number, line in enumerate(wrap(text, max(look.width - columns, _NARROWEST))):
            stream.write(f"{look.dim(pad('' if number else label, columns))}{line}\n")


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
    in_title = _words_in_title(hit)
    title = BEST_SENTENCE + paper.title if _title_is_best(hit) else paper.title or "(no title)"
    shift = len(title) - len(paper.title)
    spans = [(start + shift, end + shift) for start, end in in_title]
    for number, line in enumerate(wrap_marked(title, spans, width)):
        stream.write(f"{_INDENT if number else head}{_styled(line, look.bold, look)}\n")
    about = " · ".join(part for part in (authors_line(paper.authors), str(paper.year or ""), paper.venue) if part)
    for text in wrap(about, width):
        stream.write(f"{_INDENT}{text}\n")
    stream.write(f"{_INDENT}{look.dim(printable(paper.id))}\n")
    if hit.highlight is not None and hit.highlight.field == "abstract" and not _title_is_best(hit):
        _write_highlight(paper.abstract, hit.highlight, width, stream, look)
        return
    for text in wrap(_rest_of_abstract(paper), width, _ABSTRACT_LINES):
        stream.write(f"{_INDENT}{look.dim(text)}\n")


def _write_highlight(abstract: str, highlight: Highlight, width: int, stream: TextIO, look: Look) -> None:
    """Write the sentence, and where it is short some of what follows it, or precedes it where nothing follows."""
    width -= len(BEST_SENTENCE)
    spans = [(start - highlight.start, end - highlight.start) for start, end in highlight.words
             if highlight.start <= start and end <= highlight.end]
    lines = wrap_marked(highlight.text, spans, width, _SENTENCE_LINES)
    left = _ABSTRACT_LINES - len(lines)
    after = wrap(abstract[highlight.end:], width, left) if left > 0 else []
    before = _tail(abstract[:highlight.start], width, left) if left > 0 and not after else []
    margin = _INDENT + " " * len(BEST_SENTENCE)
    for text in before:
        stream.write(f"{margin}{look.dim(text)}\n")
    for number, line in enumerate(lines):
        stream.write(f"{margin if number else _INDENT + look.cyan(BEST_SENTENCE)}{_styled(line, look.cyan, look)}\n")
    for text in after:
        stream.write(f"{margin}{look.dim(text)}\n")


def _tail(text: str, width: int, lines: int) -> list[str]:
    """Return the end of a text in `lines` lines; where it begins before them, an ellipsis stands first."""
    words = text[-lines * width:].split()
    cut = len(text) > lines * width
    while len(found := wrap(" ".join(["…", *words] if cut else words), width)) > lines:
        cut = True
        words = words[1:]
    return found


def _styled(line: Sequence[Piece], style: Callable[[str], str], look: Look) -> str:
    """Return a line in one style, its marked pieces underlined in bold."""
    return "".join(look.underlined(piece.text) if piece.marked else style(piece.text) for piece in line)


def _title_is_best(hit: Hit) -> bool:
    """Return whether the title stands in for the first sentence and that is the highlighted one."""
    shown = len(hit.paper.title.removesuffix(" ..."))
    return (hit.highlight is not None and hit.paper.title_stands_in and hit.highlight.field == "abstract"
            and hit.highlight.start < shown and hit.paper.abstract.startswith(hit.paper.title[:shown]))


def _words_in_title(hit: Hit) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the matched words that the title shows."""
    if hit.highlight is None or not (hit.highlight.field == "title" or _title_is_best(hit)):
        return []
    shown = len(hit.paper.title.removesuffix(" ...") if hit.paper.title_stands_in else hit.paper.title)
    return [(start, end) for start, end in hit.highlight.words if end <= shown]


def _rest_of_abstract(paper: Paper) -> str:
    """Return the abstract without the sentence that stands in as the title and was shown there."""
    if not paper.title_stands_in:
        return paper.abstract
    shown = paper.title.removesuffix(" ...")
    return paper.abstract.removeprefix(shown).lstrip(" ,;:")
