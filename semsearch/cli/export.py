"""semsearch export: papers and vectors to files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.options import PAPER_FORMATS, Output, console_options, index_option, output_file, output_options

if TYPE_CHECKING:
    from semsearch.cli.console import Console
    from semsearch.index.reader import IndexReader
    from semsearch.paper import Paper
    from semsearch.progress import Task

_FORMATS = tuple(name for name in PAPER_FORMATS if name != "table")


@click.command(epilog="""\b
Examples:
  semsearch export -i demo -o demo.bib
  semsearch export --format csv > papers.csv
  semsearch export --vectors vectors.npy      # and vectors.ids.txt: the id of each row
""")
@output_options(_FORMATS)
@click.option("--vectors", "vectors_file", type=output_file, metavar="FILE.npy",
              help="Write the vectors, float32 rows of length 1, as NumPy reads them, and their ids to FILE.ids.txt.")
@index_option
@console_options
def command(output: Output, vectors_file: Path | None, folder: Path, console: Console) -> None:
    """Write the papers of an index, or their vectors, to files.

    Papers go to standard output or to -o FILE, as JSON Lines where no format is named; these can be built into an index
    again. Deleted papers are left out. With --vectors alone, no papers are written.
    """
    if vectors_file is not None and vectors_file.suffix != ".npy":
        raise click.UsageError(f"--vectors writes an .npy file; {str(vectors_file)!r} is named otherwise.")
    if vectors_file is None or output.format or output.path:
        from semsearch.cli.output import write_papers
        from semsearch.index.reader import IndexReader

        with IndexReader(folder) as reader, console.progress().task("Writing", reader.visible, "paper") as task:
            write_papers(_visible_papers(reader, task), Output(output.format or "jsonl", output.path))
    if vectors_file is not None:
        _write_vectors(folder, vectors_file, console)


def _visible_papers(reader: IndexReader, task: Task) -> Iterator[Paper]:
    for row, paper in reader.papers:
        if row not in reader.hidden:
            yield paper
            task.advance(1)


def _write_vectors(folder: Path, file: Path, console: Console) -> None:
    from semsearch.cli.output import open_output
    from semsearch.maintenance import export_vectors

    ids_file = file.with_suffix(".ids.txt")
    ids = export_vectors(folder, file)
    with open_output(ids_file) as stream:
        stream.writelines(f"{paper_id}\n" for paper_id in ids)
    console.note(f"{file}: {len(ids):,} vectors; {ids_file}: the id of each row.")
