"""semsearch delete: take papers out of an index, and take that back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.options import console_options, index_option, json_option

if TYPE_CHECKING:
    from semsearch.cli.console import Console


@click.command(epilog="""\b
Examples:
  semsearch delete vaswani2017attention
  semsearch delete 1706.03762 10.18653/v1/N19-1423 --yes
  semsearch delete --restore vaswani2017attention
""")
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@click.option("--restore", is_flag=True, help="Take the deletion of these papers back.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask. Only a terminal is asked anyway.")
@json_option
@index_option
@console_options
def command(names: tuple[str, ...], restore: bool, yes: bool, as_json: bool, folder: Path, console: Console) -> None:
    """Take papers out of an index.

    They are gone for the next command, and later builds do not bring them back. ID is anything that finds the paper;
    `-` reads ids from standard input. All of them or, where one is not found, none.
    """
    from semsearch.cli.questions import read_names

    wanted = read_names(names)
    if restore:
        _restore(folder, wanted, as_json)
        return
    if not yes and stdin_is_terminal():
        _ask(folder, wanted)
    from semsearch.cli.output import write_json
    from semsearch.maintenance import delete

    deleted = delete(folder, wanted)
    for paper_id, title in deleted:
        if as_json:
            write_json({"id": paper_id, "title": title, "deleted": True})
        else:
            _say("Deleted", paper_id, title)
    if not as_json:
        from semsearch.spelling import spelt_index

        console.note(f"To take it back: semsearch delete{spelt_index(folder)} --restore ID...")


def stdin_is_terminal() -> bool:
    """Return whether somebody is there to answer."""
    return sys.stdin.isatty()


def _restore(folder: Path, names: list[str], as_json: bool) -> None:
    from semsearch.cli.output import write_json
    from semsearch.maintenance import restore

    for paper_id, title, at_once in restore(folder, names):
        if as_json:
            write_json({"id": paper_id, "title": title, "deleted": False, "at_once": at_once})
        else:
            _say("Restored" if at_once else "Comes back with the next build or reindex:", paper_id, title)


def _ask(folder: Path, names: list[str]) -> None:
    from semsearch.cli.confirm import confirm
    from semsearch.index.reader import IndexReader

    with IndexReader(folder) as reader:
        rows = dict.fromkeys(reader.find(name) for name in names)
        papers = reader.papers.get(list(rows))
    for paper in papers:
        _say(" ", paper.id, paper.title, on_stderr=True)
    confirm(f"Delete {'this paper' if len(papers) == 1 else f'these {len(papers)} papers'}?", "Nothing was deleted.")


def _say(what: str, paper_id: str, title: str, on_stderr: bool = False) -> None:
    from semsearch.writers.display import printable

    click.echo(f"{what} {printable(paper_id)}  {printable(title)}".rstrip(), err=on_stderr)
