"""The papers of a generation in two layers: a file that is taken over as it is, and a small one of what changed since.

`papers-new.sqlite` has the tables of `papers.sqlite`, and its rows and records count before those of the first: its
`gone_rows` and `gone_records` name what is replaced or is no more. Its tables of sources and rejects are whole. Views
stand for both layers together, so that one SQL reads one file or two.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from semsearch.index import generations
from semsearch.index.generations import Generation
from semsearch.index.manifest import PAPERS, PAPERS_NEW
from semsearch.index.paper_schema import PAPER_COLUMNS, open_file, unchanging

LEAST_BYTES: Final = 64_000_000
"""A smaller table is copied in a fraction of a second; a second layer may become so large whatever the first is."""
MOST_SHARE: Final = 0.05
"""A second layer that is a larger share of the first is folded into it."""
LAYER_SCHEMA: Final = """
CREATE TABLE gone_rows (row INTEGER PRIMARY KEY);
CREATE TABLE gone_records (record INTEGER PRIMARY KEY);
"""
ROW_TABLES: Final = {
    "papers": ("row", *PAPER_COLUMNS, "text_key", "former_ids"),
    "aliases": ("key", "row"),
    "facets": ("row", "year", "date", "authors", "venue", "categories", "title", "added")}
RECORD_TABLES: Final = {
    "records": ("record", "source", "own", "occurrence", "line", "content", "data", "paper", "first", "run"),
    "record_keys": ("key", "record")}
WHOLE_TABLES: Final = ("sources", "rejects", "tallies")
"""Those of which a second layer has all."""
LAYERED: Final = (*((table, "row", "gone_rows", columns) for table, columns in ROW_TABLES.items()),
                   *((table, "record", "gone_records", columns) for table, columns in RECORD_TABLES.items()))
CLAIM_ROW: Final = tuple(
    f"INSERT INTO main.{table} ({', '.join(columns)}) SELECT {', '.join(columns)} FROM base.{table} WHERE row = ?"
    for table, columns in ROW_TABLES.items())
CLAIM_RECORD: Final = tuple(
    f"INSERT INTO main.{table} ({', '.join(columns)}) SELECT {', '.join(columns)} FROM base.{table} WHERE record = ?"
    for table, columns in RECORD_TABLES.items())


def take_over_papers(base: Generation, staged: Path) -> None:
    """Make the papers of a generation, all layers of them, part of the next; raises as `generations.take_over`."""
    for name in (PAPERS, PAPERS_NEW):
        if name in base.manifest.files:
            generations.take_over(base, name, staged)


def layer_beside(path: Path) -> Path | None:
    """Return the second layer of a paper table, None where it has none."""
    layer = path.with_name(PAPERS_NEW)
    return layer if path.name != PAPERS_NEW and layer.exists() else None


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that never writes, to a paper table that nobody changes, in one layer or two."""
    layer = layer_beside(path)
    if layer is None:
        return open_file(path)
    connection = open_file(layer)
    try:
        attach_base(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def attach_base(connection: sqlite3.Connection, path: Path) -> None:
    """Put the first layer under a connection to the second: `base` names it, and views of both hide their tables."""
    connection.execute("ATTACH ? AS base", [unchanging(path)])
    for table, key, gone, columns in LAYERED:
        listed = ", ".join(columns)
        connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {listed} FROM base.{table} WHERE {key} NOT IN "
                           f"(SELECT {key} FROM main.{gone}) UNION ALL SELECT {listed} FROM main.{table}")


def layers_of(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return what a connection calls its layers, the newest first: `main`, and `base` where there are two."""
    names = {name for _, name, _ in connection.execute("PRAGMA database_list")}
    return ("main", "base") if "base" in names else ("main",)
