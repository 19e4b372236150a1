"""What the writers of a paper table in the making share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semsearch.index.base_papers import BasePapers
from semsearch.index.paper_schema import PAPER_COLUMNS, paper_from_columns
from semsearch.index.source_counts import SourceCounts, StoredReject, read_rejects, read_source_counts
from semsearch.index.staged_file import StagedFile
from semsearch.merging import content_key, from_data, linking_keys, to_data
from semsearch.paper import Paper, text_key

_PAPER: Final = f"SELECT {', '.join(PAPER_COLUMNS)} FROM papers WHERE row = ?"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A record as it was read: the paper, the same as data, the key of its content, and its line."""

    paper: Paper
    data: str
    content: bytes
    line: int


@dataclass
class Changes:
    """How many papers a run added, updated, removed and renamed."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    renamed: int = 0


class StagedStore(StagedFile):
    """A paper table that may be written to: what its writers know and do in common."""

    def __init__(self, path: Path, base: BasePapers | Path | None, *, layered: bool = False) -> None:
        """Begin a table, as `StagedFile` says."""
        super().__init__(path, base, layered=layered)
        self._removed: list[int] = []
        self._dirty: set[int] = set()
        self._held_back: dict[str, list[Incoming]] = {}
        self._taken_ids: frozenset[str] = frozenset()
        self.changes = Changes()

    @property
    def papers(self) -> int:
        """How many papers there are."""
        return int(self._value("SELECT COUNT(*) FROM papers"))

    def source_counts(self) -> list[SourceCounts]:
        """Return what came out of each source file, in the order in which they were first read."""
        tallies = self.tallies()
        with self._errors():
            return read_source_counts(self._connection, tallies)

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

    def _claim_row(self, row: int) -> bool:
        """Claim a row; what goes on from a table that was not read whole must be what was written."""
        is_new = super()._claim_row(row)
        if is_new and text_key(self._paper(row).text) != self._value("SELECT text_key FROM papers WHERE row = ?", row):
            raise self._failure(sqlite3.DatabaseError(f"the paper in row {row} is not what was written"))
        return is_new

    def _claim_record(self, record: int) -> bool:
        """Claim a record, checked as a row is."""
        is_new = super()._claim_record(record)
        if is_new and content_key(self._record_paper(record)) != self._value(
                "SELECT content FROM records WHERE record = ?", record):
            raise self._failure(sqlite3.DatabaseError(f"record {record} is not what was written"))
        return is_new

    def _take_in(self, record: int, new: Incoming) -> None:
        self._do("INSERT OR REPLACE INTO incoming.records_data VALUES (?, ?)", record, new.data)
        self._do_each("INSERT OR IGNORE INTO main.record_keys VALUES (?, ?)",
                      [(key, record) for key in linking_keys(new.paper)])

    def _remove_row(self, row: int) -> None:
        self._claim_row(row)
        self._do("DELETE FROM main.papers WHERE row = ?", row)
        self._do("DELETE FROM main.aliases WHERE row = ?", row)
        self._do("DELETE FROM main.facets WHERE row = ?", row)
        self._removed.append(row)
        self.changes.removed += 1

    def _keep_data(self, row: int) -> None:
        """Write the data of a record that was its whole paper, before the paper changes or goes."""
        self._claim_row(row)
        self._do("UPDATE main.records SET data = ? WHERE paper = ? AND data IS NULL", to_data(self._paper(row)), row)

    def _record_paper(self, record: int) -> Paper:
        data = self._value("SELECT data FROM incoming.records_data WHERE record = ?", record)
        if data is None:
            data, row = self._row("SELECT data, paper FROM records WHERE record = ?", record)
            if data is None:
                return self._paper(row)
        try:
            return from_data(data)
        except (ValueError, TypeError) as error:
            raise self._failure(sqlite3.DatabaseError(f"record {record} cannot be read")) from error

    def _paper(self, row: int) -> Paper:
        values = self._row(_PAPER, row)
        return paper_from_columns(values, self._path)

    def _former_ids(self, row: int) -> list[str]:
        return list(json.loads(self._value("SELECT former_ids FROM papers WHERE row = ?", row)))
