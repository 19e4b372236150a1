"""semsearch list: the indexes that are there, and the state that each is in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.options import console_options, home_option, json_option
from semsearch.errors import IndexFormatUnsupported, IndexNotFound, SemsearchError

if TYPE_CHECKING:
    from semsearch.cli.console import Console
    from semsearch.maintenance import IndexInfo


@dataclass(frozen=True, slots=True)
class ListedIndex:
    """An index and its state; `info` is None where it cannot be opened."""

    name: str
    state: str
    info: IndexInfo | None

    def as_dict(self) -> dict[str, object]:
        """Return the line of JSON for this index."""
        info = self.info
        return {"name": self.name, "state": self.state, "papers": info and info.papers, "model": info and info.model,
                "created": info and info.created, "size_bytes": info and info.size_bytes,
                "generation": info and info.generation, "coverage": info and info.coverage}


@click.command(epilog="""\b
Examples:
  semsearch list
  semsearch list --home /data/indexes --json
""")
@json_option
@home_option
@console_options
def command(as_json: bool, home: Path, console: Console) -> None:
    """List the indexes, with papers, model, size and state."""
    from semsearch.cli.output import open_output, write_json

    found = list_indexes(home.expanduser())
    if not found:
        from semsearch.spelling import spelt_home

        console.note(f"There is no index in {home}. Make one with: semsearch build{spelt_home(home)} SOURCE...")
    if as_json:
        for listed in found:
            write_json(listed.as_dict())
    elif found:
        from semsearch.cli.console import look_of
        from semsearch.writers.table import write_columns

        with open_output(None) as stream:
            write_columns(("name", "papers", "model", "created", "size", "state"), [_cells(i) for i in found], stream,
                          look_of(stream))


def list_indexes(home: Path) -> list[ListedIndex]:
    """Return the indexes of a folder by name; one that cannot be opened says why."""
    from semsearch.index.generations import index_names

    return [_listed(home / name) for name in index_names(home)]


def _listed(folder: Path) -> ListedIndex:
    from semsearch.maintenance import describe
    from semsearch.spelling import spelt_index

    try:
        info = describe(folder)
    except IndexNotFound:
        return ListedIndex(folder.name, f"unfinished: go on with semsearch build{spelt_index(folder)}", None)
    except IndexFormatUnsupported as error:
        return ListedIndex(folder.name, f"of another format: {error.message}", None)
    except SemsearchError as error:
        return ListedIndex(folder.name, f"damaged: {error.message.removeprefix('The index is damaged: ')}", None)
    waiting = f"{info.waiting_vectors:,} vectors wait for the next build" if info.waiting_vectors else ""
    partly = f"{int(100 * info.coverage)}% encoded" if info.coverage < 1 else ""
    return ListedIndex(folder.name, "; ".join(part for part in (partly, waiting) if part) or "ok", info)


def _cells(listed: ListedIndex) -> list[str]:
    from semsearch.cli.progress import size_of

    info = listed.info
    if info is None:
        return [listed.name, "-", "-", "-", "-", listed.state]
    return [listed.name, f"{info.papers:,}", info.model, info.created[:16].replace("T", " "), size_of(info.size_bytes),
            listed.state]
