"""semsearch verify: check every byte of indexes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.app import tell_error
from semsearch.cli.options import console_options, index_name, index_option, json_option, named_or_all
from semsearch.errors import SemsearchError

if TYPE_CHECKING:
    from semsearch.cli.console import Console
    from semsearch.maintenance import VerifyReport


@click.command(epilog="""\b
Examples:
  semsearch verify
  semsearch verify demo other --json
  semsearch verify --all
""")
@click.argument("names", nargs=-1, metavar="[NAME]...", type=index_name)
@click.option("--all", "every", is_flag=True, help="All indexes.")
@json_option
@index_option
@console_options
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], every: bool, as_json: bool, folder: Path,
            console: Console) -> None:
    """Check every checksum and every count of an index.

    Exit status 1 says that something is wrong; each problem is named.
    """
    from semsearch.cli.output import write_json
    from semsearch.maintenance import verify

    home = folder.parent
    chosen = named_or_all(names, every, home) if names or every else [folder.name]
    unsound = 0
    for name in chosen:
        try:
            report = verify(home / name)
        except SemsearchError as error:
            unsound += 1
            tell_error(f"{name}: {error.message}" if len(chosen) > 1 else error.message, error.way_out)
            continue
        unsound += bool(report.problems)
        for note in report.notes:
            console.note(note)
        if as_json:
            write_json(report.as_dict())
        else:
            _write_report(report, home)
    if unsound:
        ctx.exit(1)


def _write_report(report: VerifyReport, home: Path) -> None:
    from semsearch.cli.build_report import count_of
    from semsearch.spelling import spelt_index
    from semsearch.writers.display import printable

    found = count_of(len(report.problems), "problem") if report.problems else "sound"
    checked = f"{count_of(report.files_checked, 'file')} checked"
    click.echo(f"{report.index}: generation {report.generation}, {checked}, {found}")
    for problem in report.problems:
        click.echo(f"  {printable(problem)}")
    if report.problems:
        click.echo("  Restore what is damaged from a copy, or build the index again from its sources: "
                   f"semsearch build --rebuild{spelt_index(home / report.index)}")
