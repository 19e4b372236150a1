"""semsearch show: all that an index knows about a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.options import PAPER_FORMATS, Output, console_options, index_option, output_options

if TYPE_CHECKING:
    from semsearch.cli.console import Console
    from semsearch.index.reader import IndexReader
    from semsearch.paper import Paper


@click.command(epilog="""\b
Examples:
  semsearch show vaswani2017attention
  semsearch show 1706.03762 https://doi.org/10.1145/3292500.3330701 --format bibtex
  semsearch query "graph kernels" --format ids | semsearch show - --json
""")
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@output_options(PAPER_FORMATS)
@index_option
@console_options
def command(names: tuple[str, ...], output: Output, folder: Path, console: Console) -> None:
    """Show papers with all their fields.

    ID is an id, a DOI, an arXiv or PubMed id with or without its URL, or the unique beginning of an id; `-` reads ids
    from standard input.
    """
    from semsearch.cli.console import look_of
    from semsearch.cli.output import open_output, write_papers
    from semsearch.cli.questions import read_names
    from semsearch.index.reader import IndexReader
    from semsearch.writers.table import write_paper

    with IndexReader(folder) as reader:
        rows = [reader.find(name) for name in read_names(names)]
        papers = reader.papers.get(rows)
        if output.format not in (None, "table"):
            write_papers(papers, output)
            return
        with open_output(output.path) as stream:
            for position, (row, paper) in enumerate(zip(rows, papers, strict=True)):
                if position:
                    stream.write("\n")
                write_paper(paper, stream, look_of(stream), [("known as", _other_names(reader, row, paper))])


def _other_names(reader: IndexReader, row: int, paper: Paper) -> str:
    """Return the names that find the paper and are not shown as fields of it."""
    shown = {f"id:{paper.id}".casefold(), *(f"{kind}:{value}".casefold() for kind, value in paper.identifiers)}
    shown |= {f"doi:{paper.doi}".casefold(), *(f"id:{value}".casefold() for _, value in paper.identifiers)}
    return ", ".join(key for key in reader.papers.keys_of(row) if key not in shown)
