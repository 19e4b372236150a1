"""semsearch remove: remove a whole index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.options import console_options, home_option, index_name, json_option

if TYPE_CHECKING:
    from semsearch.cli.console import Console


@click.command(epilog="""\b
Examples:
  semsearch remove demo
  semsearch remove demo --yes
""")
@click.argument("name", type=index_name)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@home_option
@console_options
def command(name: str, yes: bool, as_json: bool, home: Path, console: Console) -> None:
    """Remove a whole index.

    All that belongs to it goes; the files that it was built from stay. A folder that is not an index is refused.
    """
    from semsearch.cli.output import write_json
    from semsearch.index import generations
    from semsearch.maintenance import remove_index

    folder = home.expanduser() / name
    if not yes and name in generations.index_names(folder.parent):
        from semsearch.cli.confirm import confirm

        confirm(f"Remove the index {name} ({folder}){_papers_of(folder)}?", "Nothing was removed.")
    remove_index(folder)
    if as_json:
        write_json({"index": name, "folder": str(folder), "removed": True})
    else:
        click.echo(f"Removed {folder}")


def _papers_of(folder: Path) -> str:
    from semsearch.errors import SemsearchError
    from semsearch.index.reader import IndexReader

    try:
        with IndexReader(folder) as reader:
            return f" with {reader.visible:,} papers"
    except SemsearchError:
        return ""
