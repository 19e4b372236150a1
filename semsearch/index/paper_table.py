"""Row <-> paper: the SQLite file of a generation, read-only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import AmbiguousPaper, IndexDamaged, PaperNotFound
from semsearch.identifiers import alias_key, spellings
from semsearch.index import manifest as manifests
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.paper import Paper, comparable, text_key

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
"""
_BLOCK_ROWS: Final = 1000
_CANDIDATES: Final = 10


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


class PaperTable:
    """The papers of a generation. Rows that `hidden` names (deleted since) are not found by any look-up."""

    def __init__(self, path: Path, papers: int) -> None:
        self._path = path
        self.papers = papers
        with damage_named(path):
            self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True,
                                               check_same_thread=False)
            self._connection.execute("PRAGMA trusted_schema = OFF")
            if self._one("PRAGMA application_id") != APPLICATION_ID:
                raise sqlite3.DatabaseError("not a paper table")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def get(self, rows: Sequence[int]) -> list[Paper]:
        """Return the papers of these rows, in their order.

        Raises:
            IndexDamaged: a row is missing or unreadable.
        """
        found: dict[int, Paper] = {}
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = [int(r) for r in rows[start:start + _BLOCK_ROWS]]
            marks = ",".join("?" * len(block))
            for row, *values in self._all(f"SELECT row, {', '.join(PAPER_COLUMNS)} FROM papers WHERE row IN ({marks})",
                                          block):
                found[row] = self._paper(values)
        try:
            return [found[int(row)] for row in rows]
        except KeyError as error:
            raise manifests.damaged(self._path, f"lacks row {error.args[0]}") from error

    def __iter__(self) -> Iterator[tuple[int, Paper]]:
        """Yield (row, paper) in the order of rows, in bounded memory."""
        with damage_named(self._path):
            for row, *values in self._connection.execute(
                    f"SELECT row, {', '.join(PAPER_COLUMNS)} FROM papers ORDER BY row"):
                yield row, self._paper(values)

    def rows_saying(self, text: str) -> list[int]:
        """Return the rows of the papers whose abstract, or title and abstract, is this clean text."""
        return [row for (row,) in self._all("SELECT row FROM papers WHERE abstract = ? OR text_key = ?",
                                            [text, text_key(text)])]

    def ids(self) -> list[str]:
        """Return the ids of all papers by row."""
        return [paper_id for (paper_id,) in self._all("SELECT id FROM papers ORDER BY row", [])]

    def text_keys(self) -> NDArray[Any]:
        """Return the `(papers,)` text keys by row."""
        return read_text_keys(self._connection, self._path)

    def rows_of_ids(self, ids: Collection[str]) -> list[int]:
        """Return the rows of papers by their exact ids, sorted; ids that are not there are passed over."""
        rows = []
        listed = list(ids)
        for start in range(0, len(listed), _BLOCK_ROWS):
            block = listed[start:start + _BLOCK_ROWS]
            marks = ",".join("?" * len(block))
            rows += [row for (row,) in self._all(f"SELECT row FROM papers WHERE id IN ({marks})", block)]
        return sorted(rows)

    def keys_of(self, row: int) -> list[str]:
        """Return the look-up keys of a paper."""
        return [key for (key,) in self._all("SELECT key FROM aliases WHERE row = ? ORDER BY key", [row])]

    def find(self, name: str, hidden: Collection[int] = ()) -> int:
        """Return the row of the paper called `name`: its id, an alias in any spelling, or a unique beginning of an id.

        Raises:
            PaperNotFound: there is none.
            AmbiguousPaper: there are several.
        """
        name = name.encode("utf-8", "replace").decode("utf-8")  # bytes of a command line that are no text
        exact = [r for (r,) in self._all("SELECT row FROM papers WHERE id = ?", [name.strip()]) if r not in hidden]
        if exact:
            return int(exact[0])
        known_as = self._all("SELECT row, former_ids FROM papers JOIN aliases USING (row) WHERE key = ?",
                             [alias_key("id", name)])
        former = [row for row, ids in known_as if json.dumps(name.strip()) in ids and row not in hidden]
        if len(former) == 1:
            return int(former[0])
        for key in spellings(name):
            rows = [r for (r,) in self._all("SELECT row FROM aliases WHERE key = ?", [key]) if r not in hidden]
            if rows:
                return self._only(rows, f"{name!r} names {len(rows)} papers:")
        beginning = name.strip()
        if beginning:
            rows = [r for (r,) in self._all("SELECT row FROM papers WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
                                            [beginning, beginning + "\U0010ffff", _CANDIDATES + 1 + len(hidden)])
                    if r not in hidden]
            if rows:
                return self._only(rows, f"{len(rows) if len(rows) <= _CANDIDATES else f'more than {_CANDIDATES}'} ids "
                                        f"begin with {beginning!r}:")
        raise PaperNotFound(f"No paper has the id or alias {name!r}.",
                            "Find its id with: semsearch query \"...\"  or name it with --title \"words of it\".")

    def find_title(self, words: str, hidden: Collection[int] = ()) -> int:
        """Return the row of the paper whose title is `words`, or else the only one whose title holds all of them.

        Case, diacritics and punctuation do not count.

        Raises:
            PaperNotFound: there is none.
            AmbiguousPaper: there are several.
        """
        wanted = comparable(words)
        needed = set(wanted.split())
        equal, holding = [], []
        if needed:
            for row, title in self._all("SELECT row, title FROM papers ORDER BY row", []):
                title = comparable(title)
                if row in hidden or not needed.issubset(title.split()):
                    continue
                holding.append(row)
                if title == wanted:
                    equal.append(row)
        rows = equal or holding
        if not rows:
            raise PaperNotFound(f"No title holds all the words of {words!r}.", "Try fewer or other words.")
        return self._only(rows, f"{len(rows)} titles {'are' if equal else 'hold all the words of'} {words!r}:")

    def source_counts(self) -> list[SourceCounts]:
        """Return what came out of each source file, in the order in which they were first read."""
        with damage_named(self._path):
            return read_source_counts(self._connection)

    def source_signatures(self) -> dict[str, tuple[str, str]]:
        """Return for each source path how it was read (format and reader version) and the SHA-256 of its bytes."""
        return {path: (signature, sha256) for path, signature, sha256 in self._all(
            "SELECT path, signature, sha256 FROM sources", [])}

    def outdated_sources(self) -> set[str]:
        """Return the paths of the sources of which records are kept that are no longer in them."""
        return {path for (path,) in self._all("SELECT DISTINCT path FROM records JOIN sources USING (source) "
                                              "WHERE records.run != sources.run", [])}

    def outdated(self) -> int:
        """Return how many papers are no longer in any of their sources, as these were when they were last read."""
        return int(self._one("SELECT COUNT(*) FROM papers WHERE row NOT IN (SELECT paper FROM records JOIN sources "
                             "USING (source) WHERE records.run = sources.run AND paper IS NOT NULL)"))

    def waiting_records(self) -> int:
        """Return how many records belong to no paper because theirs was deleted."""
        return int(self._one("SELECT COUNT(*) FROM records WHERE paper IS NULL"))

    def source_of_rows(self) -> Iterator[tuple[int, str]]:
        """Yield (row, name of the source) of each paper's first record."""
        yield from self._all("SELECT paper, name FROM records JOIN sources USING (source) "
                             "WHERE first AND paper IS NOT NULL", [])

    def rejects(self) -> Iterator[StoredReject]:
        """Yield the rejected records of all sources."""
        with damage_named(self._path):
            yield from read_rejects(self._connection)

    def without_abstract(self) -> int:
        """Return how many papers are there by their title alone."""
        return int(self._one("SELECT COUNT(*) FROM papers WHERE abstract = ''"))

    def check(self) -> list[str]:
        """Return what is wrong inside the file, nothing where all is well."""
        try:
            problems = [str(text) for (text,) in self._all("PRAGMA integrity_check", []) if text != "ok"]
            return problems + self.count_problems()
        except IndexDamaged as error:
            return [error.message]

    def count_problems(self) -> list[str]:
        """Return which counts inside the file disagree, nothing where all agree."""
        problems = []
        count, low, high = self._all("SELECT COUNT(*), MIN(row), MAX(row) FROM papers", [])[0]
        if count != self.papers or (count and (low, high) != (0, count - 1)):
            problems.append(f"{count} papers in rows {low} to {high} where {self.papers} were written")
        for table, column in (("records", "paper"), ("aliases", "row")):
            lost = self._one(f"SELECT COUNT(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN "
                             "(SELECT row FROM papers)")
            if lost:
                problems.append(f"{lost} {table} belong to no paper")
        firsts = self._one("SELECT COUNT(*) FROM records WHERE first AND paper IS NOT NULL")
        if firsts != count:
            problems.append(f"{firsts} first records for {count} papers")
        return problems

    def _only(self, rows: list[int], what: str) -> int:
        if len(rows) == 1:
            return rows[0]
        papers = self.get(rows[:_CANDIDATES])
        raise AmbiguousPaper(what, [(p.id, p.title) for p in papers], "Name one of them by its full id.")

    def _paper(self, values: Sequence[Any]) -> Paper:
        return paper_from_columns(values, self._path)

    def _all(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        with damage_named(self._path):
            return self._connection.execute(statement, parameters).fetchall()

    def _one(self, statement: str) -> Any:
        return self._all(statement, [])[0][0]


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about a file that is not what it should be into `IndexDamaged`."""
    try:
        yield
    except (sqlite3.DatabaseError, OverflowError) as error:
        raise manifests.damaged(path, f"cannot be read ({error})") from error


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


def read_text_keys(connection: sqlite3.Connection, path: Path) -> NDArray[Any]:
    """Return the text keys of all papers by row, `(papers,)`."""
    with damage_named(path):
        keys = b"".join(key for (key,) in connection.execute("SELECT text_key FROM papers ORDER BY row"))
    if len(keys) % KEY_DTYPE.itemsize:
        raise manifests.damaged(path, "holds text keys of a wrong length")
    return np.frombuffer(keys, KEY_DTYPE)


def read_source_counts(connection: sqlite3.Connection) -> list[SourceCounts]:
    """Return what came out of each source file, in the order in which they were first read."""
    rejected = dict(connection.execute("SELECT source, COUNT(*) FROM rejects GROUP BY source"))
    counted = {source: numbers for source, *numbers in connection.execute(
        "SELECT source, COUNT(*), SUM(first), SUM(first AND COALESCE(abstract, '') != ''), "
        "SUM(first AND paper IS NULL) FROM records "
        "JOIN sources USING (source) LEFT JOIN papers ON papers.row = records.paper "
        "WHERE records.run = sources.run GROUP BY source")}
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


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))
