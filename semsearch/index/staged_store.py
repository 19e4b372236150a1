"""The SQLite file of a paper table in the making, and what its writers share."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from semsearch.errors import IndexDamaged
from semsearch.index.durable import copy_file, disk_full
from semsearch.index.facets import FACETS_SCHEMA, has_facets, write_facets
from semsearch.index.manifest import FORMAT
from semsearch.index.paper_schema import PAPER_COLUMNS, SCHEMA, damage_named, paper_from_columns
from semsearch.index.source_counts import SourceCounts, StoredReject, read_rejects, read_source_counts
from semsearch.merging import from_data, linking_keys, to_data
from semsearch.paper import Paper

_INCOMING: Final = ".incoming.sqlite"
"""Holds the new records until it is known which paper they are, so that most of them are never written twice."""


@dataclass
class Changes:
    """How many papers a run added, updated, removed and renamed."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    renamed: int = 0


class StagedStore:
    """A paper table that may be written to; begun empty or as a copy of the one before."""

    def __init__(self, path: Path, base: Path | None) -> None:
        self._path = path
        self._incoming = path.with_name(_INCOMING)
        if base is not None:
            copy_file(base, path)
        self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            with self._errors():
                self._prepare(new=base is None)
                if base is not None and not has_facets(self._connection):
                    self._make_facets(added=int(base.stat().st_mtime))
        except BaseException:
            self.abandon()
            raise
        # Later than all before, whatever the clock says: by this number it is known what came in since.
        self._now = max(int(time.time()), 1 + (self._value("SELECT MAX(added) FROM facets") or 0))
        self._run = 1 + (self._value("SELECT MAX(run) FROM records") or 0)
        self._next_row = 1 + self._value("SELECT COALESCE(MAX(row), -1) FROM papers")
        self._last_record = int(self._value("SELECT COALESCE(MAX(record), 0) FROM records"))
        self._dirty: set[int] = set()
        self._held_back: dict[str, list[tuple[Paper, bytes, int]]] = {}
        self._taken_ids: frozenset[str] = frozenset()
        self.changes = Changes()

    def _prepare(self, new: bool) -> None:
        self._connection.execute("PRAGMA journal_mode = OFF")  # a crash throws the whole staged file away
        self._connection.execute("PRAGMA synchronous = OFF")  # publishing syncs it once
        self._connection.execute("PRAGMA cache_size = -65536")
        if new:
            self._connection.executescript(SCHEMA)
        self._connection.execute("ATTACH ? AS incoming", [str(self._incoming)])
        self._connection.execute("PRAGMA incoming.journal_mode = OFF")
        self._connection.execute("CREATE TABLE incoming.records_data (record INTEGER PRIMARY KEY, data TEXT NOT NULL)")
        self._connection.execute("BEGIN")

    def _make_facets(self, added: int) -> None:
        """Give facets to the copy of a table of format 1, which has none and does not say when papers were added."""
        for statement in filter(str.strip, FACETS_SCHEMA.split(";")):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")
        rows = self._connection.execute(f"SELECT row, {', '.join(PAPER_COLUMNS)} FROM papers ORDER BY row")
        write_facets(self._connection, ((row, paper_from_columns(values, self._path)) for row, *values in rows), added)

    def close(self) -> None:
        """Commit and close the file, whole on disk but not yet synced."""
        with self._errors():
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
        self.abandon()

    def abandon(self) -> None:
        """Close the file without caring for its content."""
        self._connection.close()
        self._incoming.unlink(missing_ok=True)

    @property
    def papers(self) -> int:
        """How many papers there are."""
        return int(self._value("SELECT COUNT(*) FROM papers"))

    def source_counts(self) -> list[SourceCounts]:
        """Return what came out of each source file, in the order in which they were first read."""
        with self._errors():
            return read_source_counts(self._connection)

    def rejects(self) -> Iterator[StoredReject]:
        """Yield the rejected records of all sources."""
        with self._errors():
            yield from read_rejects(self._connection)

    def _companions(self, record: int) -> list[int]:
        """Return the records of the same paper, this one among them."""
        row = self._value("SELECT paper FROM records WHERE record = ?", record)
        if row is None:
            return [record]
        return [r for (r,) in self._rows("SELECT record FROM records WHERE paper = ? ORDER BY record", row)]

    def _take_in(self, record: int, paper: Paper) -> None:
        self._do("INSERT OR REPLACE INTO incoming.records_data VALUES (?, ?)", record, to_data(paper))
        with self._errors():
            self._connection.executemany("INSERT OR IGNORE INTO record_keys VALUES (?, ?)",
                                         [(key, record) for key in linking_keys(paper)])

    def _remove_row(self, row: int) -> None:
        self._do("DELETE FROM papers WHERE row = ?", row)
        self._do("DELETE FROM aliases WHERE row = ?", row)
        self._do("DELETE FROM facets WHERE row = ?", row)
        self.changes.removed += 1

    def _keep_data(self, row: int) -> None:
        """Write the data of a record that was its whole paper, before the paper changes or goes."""
        self._do("UPDATE records SET data = ? WHERE paper = ? AND data IS NULL", to_data(self._paper(row)), row)

    def _record_paper(self, record: int) -> Paper:
        data, row = self._row("SELECT COALESCE(i.data, r.data), r.paper FROM records r LEFT JOIN "
                              "incoming.records_data i USING (record) WHERE r.record = ?", record)
        if data is None:
            return self._paper(row)
        with self._errors():
            try:
                return from_data(data)
            except (ValueError, TypeError) as error:
                raise sqlite3.DatabaseError(f"record {record} cannot be read") from error

    def _paper(self, row: int) -> Paper:
        values = self._row(f"SELECT {', '.join(PAPER_COLUMNS)} FROM papers WHERE row = ?", row)
        return paper_from_columns(values, self._path)

    def _former_ids(self, row: int) -> list[str]:
        return list(json.loads(self._value("SELECT former_ids FROM papers WHERE row = ?", row)))

    def _rows(self, statement: str, *parameters: Any) -> list[Any]:
        with self._errors():
            return self._connection.execute(statement, parameters).fetchall()

    def _row(self, statement: str, *parameters: Any) -> Any:
        with self._errors():
            return self._connection.execute(statement, parameters).fetchone()

    def _value(self, statement: str, *parameters: Any) -> Any:
        row = self._row(statement, *parameters)
        return None if row is None else row[0]

    def _do(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        with self._errors():
            return self._connection.execute(statement, parameters)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with damage_named(self._path):
                yield
        except IndexDamaged as error:
            cause = error.__cause__
            if isinstance(cause, sqlite3.OperationalError) and ("full" in str(cause) or "I/O" in str(cause)):
                raise disk_full(self._path.parent) from cause
            raise
