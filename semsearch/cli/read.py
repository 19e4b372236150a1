"""semsearch read: files to papers, without an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.options import PAPER_FORMATS, Output, console_options, output_file, output_options

if TYPE_CHECKING:
    from semsearch.cli.console import Console
    from semsearch.reading import FileReport, Library

RECORDS_REJECTED = 3
_REJECTS_SHOWN = 5
_FORMATS = tuple(name for name in PAPER_FORMATS if name != "table")


@click.command(epilog="""\b
Examples:
  semsearch read library.bib                        # JSON Lines, the report beside it
  semsearch read exports/ --format bibtex -o all.bib
  semsearch read scopus.csv --format ids --report report.json > ids.txt
""")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--from", "from_format", metavar="FORMAT",
              help="What the files are, where looking into them is not enough.")
@output_options(_FORMATS)
@click.option("--report", "report_file", type=output_file, metavar="FILE",
              help="Write the report here as JSON, with every rejected record.")
@click.option("--strict", is_flag=True, help="Stop at the first record that cannot be used.")
@console_options
@click.pass_context
def command(ctx: click.Context, sources: tuple[str, ...], from_format: str | None, output: Output,
            report_file: Path | None, strict: bool, console: Console) -> None:
    """Read files and print their papers.

    It reads as `build` does: to check a library, or to convert it. Papers go to standard output or to -o FILE, as JSON
    Lines where no format is named; the report goes to standard error. Records of one work are merged. Exit status 3
    says that some records were rejected.
    """
    from semsearch.cli.output import write_papers
    from semsearch.reading import read_library

    with read_library(sources, from_format=from_format, strict=strict, progress=console.progress()) as library:
        report = library.report()
        for line in _lines(library, report):
            console.note(line)
        if report_file is not None:
            _write_report(report, library, report_file)
        write_papers(library, Output(output.format or "jsonl", output.path))
    if any(file.rejected for file in report):
        ctx.exit(RECORDS_REJECTED)


def _lines(library: Library, report: list[FileReport]) -> Iterator[str]:
    from semsearch.cli.build_report import count_of

    for file in report:
        c = file.counts
        detail = f"; {c.detail}" if c.detail else ""
        yield (f"{c.name}: {count_of(c.records, 'record')} = {count_of(c.papers, 'paper')} + {c.merged:,} merged + "
               f"{c.rejected:,} rejected; "
               f"{c.with_abstract:,} with abstract ({c.format}, {c.encoding}{detail})")
        for reject in file.rejected[:_REJECTS_SHOWN]:
            yield f"  line {reject.line}: {reject.reason}" + (f": {reject.value[:80]}" if reject.value else "")
        more = len(file.rejected) - _REJECTS_SHOWN
        if more > 0:
            yield f"  and {more:,} more; --report FILE has them all"
    for name, reason in library.refused.items():
        yield f"{name}: not read. {reason}"
    if library.renamed:
        yield f"{count_of(library.renamed, 'work')} got a suffix, because another work in these files has their id."


def _write_report(report: list[FileReport], library: Library, file: Path) -> None:
    import json

    from semsearch.cli.output import open_output

    with open_output(file) as stream:
        json.dump({"files": [r.as_dict() for r in report], "not_read": library.refused}, stream, ensure_ascii=False,
                  indent=1)
        stream.write("\n")
