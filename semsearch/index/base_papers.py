"""What a paper table in the making begins with: the files of the one before, to copy, to link or to fold into one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from semsearch.index import generations, paper_layers
from semsearch.index.durable import copy_file
from semsearch.index.generations import Generation
from semsearch.index.manifest import PAPERS, PAPERS_NEW
from semsearch.index.paper_layers import LAYERED, WHOLE_TABLES, open_read_only
from semsearch.index.paper_text_keys import read_text_keys, write_text_keys


@dataclass(frozen=True, slots=True)
class BasePapers:
    """The papers that a table in the making begins with: their files, and the generation that these belong to."""

    papers: Path
    layer: Path | None = None
    generation: Generation | None = None

    @classmethod
    def of(cls, generation: Generation) -> BasePapers:
        """Return the papers of a generation."""
        layer = generation.path(PAPERS_NEW) if PAPERS_NEW in generation.manifest.files else None
        return cls(generation.path(PAPERS), layer, generation)

    def check(self, path: Path) -> Path:
        """Return the path of one of the files, of which every byte is what was written; raises as `checked_path`."""
        return path if self.generation is None else self.generation.checked_path(path.name)

    def copy(self, target: Path) -> None:
        """Write one whole table to `target`.

        Raises:
            IndexDamaged: a file is not what was written.
            DiskFull: there is no room.
        """
        self.check(self.papers)
        if self.layer is None:
            copy_file(self.papers, target)
        else:
            layer = self.check(self.layer)
            with closing(open_read_only(self.papers)) as connection:
                keys = read_text_keys(connection).tobytes()
            fold(self.papers, layer, target, keys)

    def copy_layer(self, target: Path) -> None:
        """Copy the second layer to `target`; raises as `copy`."""
        if self.layer is not None:
            copy_file(self.check(self.layer), target)

    def link(self, staged: Path) -> None:
        """Make the first layer part of a staged folder; raises as `generations.take_over`."""
        if self.generation is not None:
            generations.take_over(self.generation, PAPERS, staged)


def is_too_large(layer: Path, base: Path) -> bool:
    """Return whether a second layer is so large that it is better to write one whole table."""
    return layer.stat().st_size > max(paper_layers.LEAST_BYTES, paper_layers.MOST_SHARE * base.stat().st_size)


def fold(papers: Path, layer: Path, target: Path, keys: bytes) -> None:
    """Write the two layers of a paper table to `target` as one; `keys` are its text keys, one after the other.

    Raises:
        DiskFull: there is no room for the copy of the first.
        sqlite3.Error: they cannot be read, or the disk is full.
    """
    copy_file(papers, target)
    with closing(sqlite3.connect(target.resolve().as_uri(), uri=True, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")  # a crash throws the whole staged file away
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("ATTACH ? AS layer", [layer.resolve().as_uri()])
        connection.execute("BEGIN")
        for table, key, gone, _ in LAYERED:
            connection.execute(f"DELETE FROM main.{table} WHERE {key} IN (SELECT {key} FROM layer.{gone})")
        for table, _, _, columns in LAYERED:
            listed = ", ".join(columns)
            connection.execute(f"INSERT INTO main.{table} ({listed}) SELECT {listed} FROM layer.{table}")
        for table in WHOLE_TABLES:
            connection.execute(f"DELETE FROM main.{table}")
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM layer.{table}")
        write_text_keys(connection, keys)
        connection.execute("COMMIT")
