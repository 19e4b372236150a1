"""Row <-> paper: the SQLite file of a generation, read-only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

from numpy.typing import NDArray

from semsearch.errors import AmbiguousPaper, IndexDamaged, PaperNotFound
from semsearch.identifiers import alias_key, spellings
from semsearch.index import manifest as manifests
from semsearch.index.paper_schema import (
    APPLICATION_ID,
    PAPER_COLUMNS,
    damage_named,
    open_read_only,
    paper_from_columns,
    read_text_keys,
)
from semsearch.index.source_counts import SourceCounts, StoredReject, read_rejects, read_source_counts
from semsearch.paper import Paper, comparable, text_key

__all__ = ["PaperTable", "SourceCounts", "StoredReject"]

_BLOCK_ROWS: Final = 1000
_CANDIDATES: Final = 10


class PaperTable:
    """The papers of a generation. Rows that `hidden` names (deleted since) are not found by any look-up."""

    def __init__(self, path: Path, papers: int) -> None:
        self._path = path
        self.papers = papers
        with damage_named(path):
            self._connection = open_read_only(path)
            if self._one("PRAGMA application_id") != APPLICATION_ID:
                raise sqlite3.DatabaseError("not a paper table")

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

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

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[str, str, bytes]]:
        """Yield (id, text, text key) of the papers in these rows, in bounded memory."""
        wanted = list(rows)
        for start in range(0, len(wanted), _BLOCK_ROWS):
            for paper in self.get(wanted[start:start + _BLOCK_ROWS]):
                yield paper.id, paper.text, paper.text_key

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
        named = self.rows_named(name, hidden)
        if named:
            return self._only(named, f"{name!r} names {len(named)} papers:")
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

    def rows_named(self, name: str, hidden: Collection[int] = ()) -> list[int]:
        """Return the rows of the papers that are called `name`: by id, else by former id, else by an alias."""
        name = name.encode("utf-8", "replace").decode("utf-8").strip()
        exact = [r for (r,) in self._all("SELECT row FROM papers WHERE id = ?", [name]) if r not in hidden]
        if exact:
            return exact
        known_as = self._all("SELECT row, former_ids FROM papers JOIN aliases USING (row) WHERE key = ?",
                             [alias_key("id", name)])
        former = [row for row, ids in known_as if json.dumps(name) in ids and row not in hidden]
        if len(former) == 1:
            return former
        for key in spellings(name):
            rows = [r for (r,) in self._all("SELECT row FROM aliases WHERE key = ?", [key]) if r not in hidden]
            if rows:
                return rows
        return []

    def find_title(self, words: str, hidden: Collection[int] = ()) -> int:
        """Return the row of the paper whose title is `words`, or else the only one whose title holds all of them.

        Case, diacritics and punctuation do not count.

        Raises:
            PaperNotFound: there is none.
            AmbiguousPaper: there are several.
        """
        wanted = comparable(words)
        needed = dict.fromkeys(wanted.split())
        equal = self._rows_titled("title = ?", [wanted], hidden) if needed else []
        rows = equal
        if needed and not equal:
            rows = self._rows_titled(" AND ".join(["instr(' ' || title || ' ', ?)"] * len(needed)),
                                     [f" {word} " for word in needed], hidden)
        if not rows:
            raise PaperNotFound(f"No title holds all the words of {words!r}.", "Try fewer or other words.")
        return self._only(rows, f"{len(rows)} titles {'are' if equal else 'hold all the words of'} {words!r}:")

    def rows_titled(self, words: str) -> list[int]:
        """Return the rows of the papers whose title is `words`, without regard to case, diacritics and punctuation.

        Sentences that stand in for a title are none.
        """
        wanted = comparable(words)
        rows = self._rows_titled("title = ?", [wanted]) if wanted else []
        return [row for row in rows
                if not self._all("SELECT title_stands_in FROM papers WHERE row = ?", [row])[0][0]]

    def _rows_titled(self, condition: str, parameters: Sequence[Any], hidden: Collection[int] = ()) -> list[int]:
        return [row for row in sorted(self.rows_by_facets(condition, parameters)) if row not in hidden]

    def facets(self, columns: str, condition: str, parameters: Sequence[Any]) -> Iterator[Any]:
        """Yield columns of the facets that meet an SQL condition of ours, in the order of rows."""
        with damage_named(self._path):
            yield from self._connection.execute(f"SELECT {columns} FROM facets WHERE {condition} ORDER BY row",
                                                parameters)

    def rows_by_facets(self, condition: str, parameters: Sequence[Any]) -> Iterator[int]:
        """Yield the rows whose facets meet an SQL condition of ours; in no order, which would cost a sort."""
        with damage_named(self._path):
            for (row,) in self._connection.execute(f"SELECT row FROM facets WHERE {condition}", parameters):
                yield row

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
        for table, column in (("records", "paper"), ("aliases", "row"), ("facets", "row")):
            lost = self._one(f"SELECT COUNT(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN "
                             "(SELECT row FROM papers)")
            if lost:
                problems.append(f"{lost} {table} belong to no paper")
        facets = self._one("SELECT COUNT(*) FROM facets")
        if facets != count:
            problems.append(f"{facets} rows of facets for {count} papers")
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
