"""semsearch duplicates: papers that are in an index more than once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from semsearch.cli.console import Console
from semsearch.cli.filter_options import filter_options
from semsearch.cli.options import Output, console_options, index_option, output_options

if TYPE_CHECKING:
    from semsearch.duplicates import DuplicatePair
    from semsearch.filters import Filter
    from semsearch.paper import Paper
    from semsearch.writers.table import Look

_INDENT: Final = "  "


@click.command(epilog="""\b
Examples:
  semsearch duplicates
  semsearch duplicates --threshold 0.9 --year 2020..
  semsearch duplicates --json | jq -r 'select(.cosine > 0.99) | .ids[1]' | semsearch delete --yes -
""")
@click.option("--threshold", type=click.FloatRange(0, 1, min_open=True), metavar="COSINE", default=0.95,
              show_default=True, help="From which cosine on two papers are nearly the same.")
@output_options(("table", "jsonl"))
@filter_options
@index_option
@console_options
def command(threshold: float, output: Output, filter: Filter, folder: Path, console: Console) -> None:
    """List papers that may be in the index more than once.

    These are papers of nearly the same text, or of the same title.

    A build merges records where identifiers or title, year and author say that they are one work. Here are those that
    it kept apart and that may be one all the same: a preprint and the article, a paper without a DOI. Look at them
    before you delete one. Titles are compared without case, accents and punctuation; titles of one or two words, and
    titles that more than 20 papers have, count only where the texts are near as well. --json writes a pair a line.
    """
    from semsearch.cli.output import open_output
    from semsearch.cli.progress import amount_of
    from semsearch.duplicates import find_duplicates
    from semsearch.index.reader import IndexReader
    from semsearch.spelling import spelt_index
    from semsearch.writers.jsonl import json_line

    with IndexReader(folder) as reader:
        allowed = None if filter.is_empty else reader.allowed(filter).mask
        with console.timed(f"Compared {reader.visible:,} papers"):
            found = find_duplicates(reader, threshold, allowed, console.progress())
        with open_output(output.path) as stream:
            if (output.format or "table") == "jsonl":
                stream.writelines(json_line(pair.as_dict()) + "\n" for pair in found.pairs)
            else:
                _write_groups(found.pairs, stream)
    for note in found.notes:
        console.note(note)
    groups = len({pair.group for pair in found.pairs})
    console.note(f"{amount_of(groups, 'group')} of papers that may be one. To take one out: semsearch delete ID"
                 f"{spelt_index(folder)}" if groups else "No duplicates were found.")


def _write_groups(pairs: tuple[DuplicatePair, ...], stream: TextIO) -> None:
    """Write groups for people: why its papers are together, then each of them."""
    from itertools import groupby

    from semsearch.cli.console import look_of

    look = look_of(stream)
    for number, group in groupby(pairs, lambda pair: pair.group):
        linked = list(group)
        papers = {paper.id: paper for pair in linked for paper in pair.papers}
        stream.write(("\n" if number > 1 else "") + look.bold(f"Group {number}: {_reason(linked)}") + "\n")
        for paper in papers.values():
            _write_paper(paper, stream, look)


def _reason(pairs: list[DuplicatePair]) -> str:
    cosines = [pair.cosine for pair in pairs if pair.cosine is not None]
    titles = sum(pair.same_title for pair in pairs)
    lowest, highest = (f"{min(cosines):.3f}", f"{max(cosines):.3f}") if cosines else ("", "")
    parts = [f"cosine {lowest}" if lowest == highest else f"cosines {lowest} to {highest}"] if cosines else []
    if titles:
        parts.append("same title" if titles == len(pairs) else "some with the same title")
    return ", ".join(parts)


def _write_paper(paper: Paper, stream: TextIO, look: Look) -> None:
    from semsearch.writers.display import printable, wrap

    about = " · ".join(part for part in (str(paper.year or ""), paper.venue, paper.doi) if part)
    stream.write(f"{_INDENT}{printable(paper.id)}\n")
    for text in (paper.title or "(no title)", about):
        for line in wrap(text, max(look.width - 2 * len(_INDENT), 24)):
            stream.write(f"{_INDENT * 2}{look.dim(line) if text == about else line}\n")
