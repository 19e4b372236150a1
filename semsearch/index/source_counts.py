"""What came out of each source file: counts, and the records that were rejected."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from semsearch.index.paper_tallies import Tallies


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """What came out of one source file. records = papers + merged + rejected, always.

    `with_abstract` says how many of the papers have one; `deleted` how many were deleted and are not in the index.
    """

    name: str
    path: str
    format: str
    encoding: str
    detail: str
    records: int
    papers: int
    merged: int
    rejected: int
    with_abstract: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class StoredReject:
    """A rejected record: the file, the line where it begins (from 1), why, and the beginning of it."""

    file: str
    line: int
    reason: str
    value: str

    def to_json(self) -> str:
        """Return it as one line of a rejects file."""
        return json.dumps(asdict(self), ensure_ascii=False)


def read_source_counts(connection: sqlite3.Connection, tallies: Tallies) -> list[SourceCounts]:
    """Return what came out of each source file, in the order in which they were first read."""
    rejected = dict(connection.execute("SELECT source, COUNT(*) FROM rejects GROUP BY source"))
    counted = {source: numbers for source, *numbers in tallies.sources}
    counts = []
    for source, name, path, form, encoding, detail in connection.execute(
            "SELECT source, name, path, format, encoding, detail FROM sources ORDER BY source"):
        total, papers, described, deleted = counted.get(source, (0, 0, 0, 0))
        lost = rejected.get(source, 0)
        counts.append(SourceCounts(name, path, form, encoding, detail, total + lost, papers, total - papers, lost,
                                   described, deleted))
    return counts


def read_rejects(connection: sqlite3.Connection) -> Iterator[StoredReject]:
    """Yield the rejected records of all sources, by source and line."""
    for values in connection.execute("SELECT name, line, reason, value FROM rejects JOIN sources USING (source) "
                                     "ORDER BY source, line"):
        yield StoredReject(*values)
