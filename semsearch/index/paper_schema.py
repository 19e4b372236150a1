"""The SQLite file of the papers: its tables, and how a paper becomes a row and a row a paper."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from semsearch.errors import IndexDamaged
from semsearch.index import manifest as manifests
from semsearch.index.facets import FACETS_SCHEMA
from semsearch.index.manifest import PAPERS_NEW
from semsearch.paper import Paper

APPLICATION_ID: Final = 0x53454D53
PAPER_COLUMNS: Final = ("id", "title", "abstract", "authors", "year", "date", "venue", "categories", "url", "doi",
                        "language", "identifiers", "title_stands_in", "raw_title", "raw_abstract", "markup")
SCHEMA: Final = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {manifests.FORMAT};
CREATE TABLE papers (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, abstract TEXT NOT NULL,
    authors TEXT NOT NULL, year INTEGER, date TEXT NOT NULL, venue TEXT NOT NULL, categories TEXT NOT NULL,
    url TEXT NOT NULL,
    doi TEXT NOT NULL, language TEXT NOT NULL, identifiers TEXT NOT NULL, title_stands_in INTEGER NOT NULL,
    raw_title TEXT NOT NULL, raw_abstract TEXT NOT NULL, markup TEXT NOT NULL,
    text_key BLOB NOT NULL, former_ids TEXT NOT NULL DEFAULT '[]');
-- Look-up keys of each paper: its ids and identifiers, folded.
CREATE TABLE aliases (key TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, row)) WITHOUT ROWID;
CREATE INDEX aliases_row ON aliases (row);
CREATE TABLE sources (
    source INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, signature TEXT NOT NULL,
    format TEXT NOT NULL, encoding TEXT NOT NULL, detail TEXT NOT NULL, sha256 TEXT NOT NULL, run INTEGER NOT NULL);
-- Every source record. `own` is what it calls itself; `occurrence` tells apart those of one name in one source.
-- `data` is NULL where the record is its whole paper, which is nearly always. `paper` is NULL for a deleted paper.
-- `first` marks the one record of a paper that is counted as that paper; the others are counted as merged.
-- A record whose `run` is not that of its source is no longer in it, and stays until it is pruned.
CREATE TABLE records (
    record INTEGER PRIMARY KEY, source INTEGER NOT NULL, own TEXT NOT NULL, occurrence INTEGER NOT NULL,
    line INTEGER NOT NULL, content BLOB NOT NULL, data TEXT, paper INTEGER, first INTEGER NOT NULL DEFAULT 1,
    run INTEGER NOT NULL, UNIQUE (source, own, occurrence));
CREATE INDEX records_paper ON records (paper);
CREATE TABLE record_keys (key TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (key, record)) WITHOUT ROWID;
CREATE INDEX record_keys_record ON record_keys (record);
CREATE TABLE rejects (source INTEGER NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL, value TEXT NOT NULL);
{FACETS_SCHEMA}"""
ADDED_SCHEMA: Final = """
CREATE INDEX IF NOT EXISTS papers_without_abstract ON papers (row) WHERE abstract = '';
-- One row: what a count of everything gives, in JSON (see `paper_tallies`).
CREATE TABLE IF NOT EXISTS tallies (content TEXT NOT NULL);
-- The text keys of all papers in the order of rows, in blocks that begin with row `first`: papers are too wide to be
-- read for them. In a second layer there are none; its papers count before them.
CREATE TABLE IF NOT EXISTS text_keys (first INTEGER PRIMARY KEY, keys BLOB NOT NULL);
"""
"""What tables of this format had not from the beginning; it is added to a table that is written to."""


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about a file that is not what it should be into `IndexDamaged`."""
    try:
        yield
    except (sqlite3.DatabaseError, OverflowError) as error:
        raise paper_damage(path, error) from error


def paper_damage(path: Path, error: Exception) -> IndexDamaged:
    """Return the error for a paper table that cannot be read, naming the second layer where that is to blame."""
    layer = path.with_name(PAPERS_NEW)
    to_blame = layer if layer.exists() and not _is_sound(layer) else path
    return manifests.damaged(to_blame, f"cannot be read ({error})")


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection that never writes, to one file that nobody changes."""
    connection = sqlite3.connect(unchanging(path), uri=True, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def unchanging(path: Path) -> str:
    """Return the address by which SQLite opens a file that nobody changes."""
    return f"{path.resolve().as_uri()}?mode=ro&immutable=1"


def _is_sound(path: Path) -> bool:
    try:
        with closing(open_file(path)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


def paper_from_columns(values: Sequence[Any], path: Path) -> Paper:
    """Return the paper that a row's columns, in the order of `PAPER_COLUMNS`, spell."""
    (paper_id, title, abstract, authors, year, date, venue, categories, url, doi, language, identifiers, stands_in,
     *raw) = values
    try:
        return Paper(paper_id, title, abstract, tuple(json.loads(authors)), year, date, venue,
                     tuple(json.loads(categories)), url, doi, language,
                     tuple((kind, value) for kind, value in json.loads(identifiers)), bool(stands_in),
                     *raw)
    except (ValueError, TypeError) as error:
        raise manifests.damaged(path, f"holds an unreadable paper ({paper_id!r})") from error


def paper_to_columns(paper: Paper) -> tuple[Any, ...]:
    """Return the columns of a paper in the order of `PAPER_COLUMNS`."""
    return (paper.id, paper.title, paper.abstract, _json(paper.authors), paper.year, paper.date, paper.venue,
            _json(paper.categories), paper.url, paper.doi, paper.language, _json(paper.identifiers),
            int(paper.title_stands_in), paper.raw_title, paper.raw_abstract, paper.markup)


_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
