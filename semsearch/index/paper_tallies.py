"""What a count of all papers and records gives, kept beside them, and brought up to date by what changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Final, Self

from semsearch.index.paper_layers import layers_of

_NOT_GONE: Final = "NOT IN (SELECT {0} FROM main.gone_{0}s)"


@dataclass(frozen=True, slots=True)
class Tallies:
    """Counts of a paper table.

    `firsts`: records that stand for a paper; `waiting`: records whose paper was deleted; `outdated`: papers that are no
    longer in any of their sources; `last_added`: no paper was added after it (UTC seconds). `sources` gives for each
    source what it holds now: records, those that stand for a paper, those of them with an abstract, those whose paper
    was deleted.
    """

    papers: int = 0
    facets: int = 0
    firsts: int = 0
    waiting: int = 0
    outdated: int = 0
    without_abstract: int = 0
    last_added: int = 0
    sources: tuple[tuple[int, ...], ...] = ()

    def plus(self, other: Tallies, sign: int = 1) -> Tallies:
        """Return the sum, or with the sign -1 the difference, of two counts; the later of the two times."""
        sources = {source: counts for source, *counts in self.sources}
        for source, *counts in other.sources:
            before = sources.get(source, [0] * len(counts))
            sources[source] = [a + sign * b for a, b in zip(before, counts, strict=True)]
        return Tallies(
            self.papers + sign * other.papers, self.facets + sign * other.facets, self.firsts + sign * other.firsts,
            self.waiting + sign * other.waiting, self.outdated + sign * other.outdated,
            self.without_abstract + sign * other.without_abstract, max(self.last_added, other.last_added),
            tuple((source, *counts) for source, counts in sorted(sources.items()) if any(counts)))

    def agrees_with(self, counted: Tallies) -> bool:
        """Return whether a count of everything gives these; the paper that was added last may have gone."""
        return self.last_added >= counted.last_added and replace(self, last_added=0) == replace(counted, last_added=0)

    def to_json(self) -> str:
        """Return them as they are stored."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, content: str) -> Self:
        """Return those that `to_json` spelled.

        Raises:
            sqlite3.DatabaseError: it spells none.
        """
        try:
            values = json.loads(content)
            return cls(**{**values, "sources": tuple(tuple(source) for source in values["sources"])})
        except (ValueError, TypeError, KeyError) as error:
            raise sqlite3.DatabaseError("the tallies cannot be read") from error


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the records and rows of one layer: SQL conditions on `r.record` and others, `r.paper` and `row`.

    `sources` and `seen` name where the sources and the companions of a record are looked up.
    """

    layer: str
    records: str = "1"
    outdated: str = "1"
    rows: str = "1"
    sources: str = "main"
    seen: str = "main."


def stored_tallies(connection: sqlite3.Connection, layer: str = "main") -> Tallies | None:
    """Return the tallies that a layer keeps, None where it is of a time when none were kept."""
    if not connection.execute(f"SELECT 1 FROM {layer}.sqlite_master WHERE type = 'table' AND name = 'tallies'"
                              ).fetchone():
        return None
    found = connection.execute(f"SELECT content FROM {layer}.tallies").fetchone()
    return Tallies.from_json(found[0]) if found else None


def store_tallies(connection: sqlite3.Connection, tallies: Tallies) -> None:
    """Keep tallies in the file that is written."""
    connection.execute("DELETE FROM main.tallies")
    connection.execute("INSERT INTO main.tallies VALUES (?)", [tallies.to_json()])


def count_all(connection: sqlite3.Connection) -> Tallies:
    """Return the count of everything, in both layers where there are two."""
    if len(layers_of(connection)) == 1:
        return _count(connection, [_Part("main")])
    old = _Part("base", f"r.record {_NOT_GONE.format('record')}", f"r.record {_NOT_GONE.format('record')}",
                f"row {_NOT_GONE.format('row')}", seen="")
    return _count(connection, [_Part("main", seen=""), old])


def count_changes(connection: sqlite3.Connection) -> Tallies:
    """Return the count of everything from what the first layer keeps, by counting what changed and nothing else.

    What changed: rows and records that were replaced or came, records of sources that were read again, and papers of
    which any of these is a record.
    """
    before = stored_tallies(connection, "base")
    assert before is not None, "no second layer is begun on a table without tallies"
    _note_changes(connection)
    gone = _Part("base", "r.record IN (SELECT record FROM temp.changed_records)",
                 "r.paper IN (SELECT row FROM temp.changed_rows)", "row IN (SELECT row FROM main.gone_rows)",
                 "base", "base.")
    still = f"AND r.record {_NOT_GONE.format('record')}"
    reread = _Part("base", f"r.source IN (SELECT source FROM temp.changed_sources) {still}",
                   f"r.paper IN (SELECT row FROM temp.changed_rows) {still}", "0", seen="")
    return before.plus(_count(connection, [gone]), -1).plus(_count(connection, [_Part("main", seen=""), reread]))


def _note_changes(connection: sqlite3.Connection) -> None:
    for table, column in (("changed_sources", "source"), ("changed_records", "record"), ("changed_rows", "row")):
        connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} ({column} INTEGER PRIMARY KEY)")
        connection.execute(f"DELETE FROM temp.{table}")
    connection.execute(
        "INSERT INTO temp.changed_sources SELECT source FROM (SELECT source, run FROM main.sources EXCEPT "
        "SELECT source, run FROM base.sources) UNION SELECT source FROM base.sources WHERE source NOT IN "
        "(SELECT source FROM main.sources)")
    connection.execute("INSERT INTO temp.changed_records SELECT record FROM main.gone_records UNION SELECT record FROM "
                       "base.records WHERE source IN (SELECT source FROM temp.changed_sources)")
    connection.execute(
        "INSERT INTO temp.changed_rows SELECT row FROM main.gone_rows UNION SELECT row FROM main.papers "
        "UNION SELECT paper FROM main.records WHERE paper IS NOT NULL UNION SELECT paper FROM base.records "
        "WHERE record IN (SELECT record FROM temp.changed_records) AND paper IS NOT NULL")


def _count(connection: sqlite3.Connection, parts: list[_Part]) -> Tallies:
    total = Tallies()
    for part in parts:
        sources = []
        waiting = firsts = 0
        for source, *counts, without_paper, first in _count_records(connection, part):
            waiting, firsts = waiting + without_paper, firsts + first
            sources.append((source, *counts))
        papers, facets, bare = (connection.execute(
            f"SELECT COUNT(*) FROM {part.layer}.{table} WHERE {part.rows}{more}").fetchone()[0]
            for table, more in (("papers", ""), ("facets", ""), ("papers", " AND abstract = ''")))
        added = connection.execute(f"SELECT MAX(added) FROM {part.layer}.facets WHERE {part.rows}").fetchone()[0] or 0
        total = total.plus(Tallies(papers, facets, firsts, waiting, 0, bare, added, tuple(sources)))
    outdated = {paper for part in parts for (paper,) in _outdated(connection, part)}
    return replace(total, outdated=len(outdated))


def _count_records(connection: sqlite3.Connection, part: _Part) -> Iterator[tuple[int, int, int, int, int, int, int]]:
    yield from connection.execute(
        "SELECT source, SUM(current), SUM(current AND first), SUM(current AND first AND paper IS NOT NULL "
        f"AND paper NOT IN (SELECT row FROM {part.seen}papers WHERE abstract = '')), "
        "SUM(current AND first AND paper IS NULL), "
        "SUM(paper IS NULL), SUM(first AND paper IS NOT NULL) FROM (SELECT +r.source AS source, r.first, r.paper, "
        f"r.run = (SELECT s.run FROM {part.sources}.sources s WHERE s.source = r.source) AS current "
        f"FROM {part.layer}.records r WHERE {part.records}) GROUP BY source")


def _outdated(connection: sqlite3.Connection, part: _Part) -> Iterator[tuple[int]]:
    """Yield the papers of a part of which no record is any longer in its source."""
    yield from connection.execute(
        f"SELECT DISTINCT r.paper FROM {part.layer}.records r WHERE {part.outdated} AND r.paper IS NOT NULL "
        f"AND r.run != (SELECT s.run FROM {part.sources}.sources s WHERE s.source = r.source) "
        f"AND NOT EXISTS (SELECT 1 FROM {part.seen}records x WHERE x.paper = r.paper "
        f"AND x.run = (SELECT s.run FROM {part.sources}.sources s WHERE s.source = x.source))")
