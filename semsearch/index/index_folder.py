"""Where an index may be made, and what is left of one that never came to be."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from semsearch.errors import UsageError
from semsearch.index import generations
from semsearch.index.locks import BUILD_LOCK, PUBLISH_LOCK


def check_place(index_folder: Path) -> None:
    """Check that an index may be made or changed here.

    Raises:
        UsageError: the name is empty, hidden or no plain name, or the folder holds something that is no index.
    """
    name = index_folder.name
    if not name or name.startswith(".") or any(c in name for c in '/\\:*?"<>|\0\n'):
        raise UsageError(f"An index cannot be named {name!r}.", "Use letters, digits, - and _, as in -i my-papers.")
    if index_folder.is_dir():
        held = {p.name for p in index_folder.iterdir()}
        if held and not held & {generations.CURRENT, generations.GENERATIONS, BUILD_LOCK}:
            raise UsageError(f"{index_folder} is a folder of something else, not an index.",
                             "Choose another name with -i, or another folder with --home.")


def remove_if_bare(index_folder: Path) -> None:
    """Remove the folder of an index in which a first build that failed left nothing but locks; its lock is held."""
    holds = {p.name for p in index_folder.iterdir()} if index_folder.is_dir() else {"nothing"}
    staging = index_folder / generations.GENERATIONS
    if holds <= {BUILD_LOCK, PUBLISH_LOCK, generations.GENERATIONS}:
        with suppress(OSError):
            if staging.is_dir():
                staging.rmdir()
            for name in (PUBLISH_LOCK, BUILD_LOCK):
                (index_folder / name).unlink(missing_ok=True)
            index_folder.rmdir()
