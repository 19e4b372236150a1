"""Row <-> paper: the SQLite file of a generation, read-only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from numpy.typing import NDArray

from semsearch.errors import AmbiguousPaper, IndexDamaged, PaperNotFound
from semsearch.identifiers import alias_key, spellings
from semsearch.index import manifest as manifests
from semsearch.index.paper_checks import check_all, compare_counts
from semsearch.index.paper_layers import layers_of, open_read_only
from semsearch.index.paper_schema import (
    APPLICATION_ID,
    PAPER_COLUMNS,
    damage_named,
    paper_from_columns,
)
from semsearch.index.paper_tallies import Tallies, count_all, stored_tallies
from semsearch.index.paper_text_keys import read_text_keys
from semsearch.index.source_counts import SourceCounts, StoredReject, read_rejects, read_source_counts
from semsearch.paper import Paper, comparable, text_key

__all__ = ["PaperTable", "SourceCounts", "StoredReject"]

_BLOCK_ROWS: Final = 1000
_CANDIDATES: Final = 10
_WORDS_OF_NAMES: Final = 2
_TO_NAMES: Final = "Find its id with: semsearch query \"...\"  or name it with --title \"words of it\"."
_TO_WORDS: Final = ("It is a text rather than a name. Ask it: semsearch query \"...\"   Or give a title with --title "
                    "\"words of it\", an abstract in a file with --text FILE.")


class PaperTable:
    """The papers of a generation. Rows that `hidden` names (deleted since) are not found by any look-up."""

    def __init__(self, path: Path, papers: int) -> None:
        self._path = path
        self.papers = papers
        with damage_named(path):
            self._connection = open_read_only(path)
            for layer in layers_of(self._connection):
                if self._one(f"PRAGMA {layer}.application_id") != APPLICATION_ID:
                    raise sqlite3.DatabaseError("not a paper table")

    @property
    def path(self) -> Path:
        """Where the file is; what changed since it was written may lie beside it."""
        return self._path

    @property
    def size_bytes(self) -> int:
        """How large that file is."""
        return self._path.stat().st_size

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
        return [paper_id for _, paper_id in self._all("SELECT row, id FROM papers ORDER BY row", [])]

    def text_keys(self) -> NDArray[Any]:
        """Return the `(papers,)` text keys by row."""
        with damage_named(self._path):
            return read_text_keys(self._connection)

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
            rows = [r for r, _ in self._all("SELECT row, id FROM papers WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
                                            [beginning, beginning + "\U0010ffff", _CANDIDATES + 1 + len(hidden)])
                    if r not in hidden]
            if rows:
                return self._only(rows, f"{len(rows) if len(rows) <= _CANDIDATES else f'more than {_CANDIDATES}'} ids "
                                        f"begin with {beginning!r}:")
        raise PaperNotFound(f"No paper has the id or alias {name!r}.",
                            _TO_NAMES if len(beginning.split()) <= _WORDS_OF_NAMES else _TO_WORDS)

    def rows_named(self, name: str, hidden: Collection[int] = ()) -> list[int]:
        """Return the rows of the papers that are called `name`: by id, else by former id, else by an alias."""
        name = name.encode("utf-8", "replace").decode("utf-8").strip()
        exact = [r for (r,) in self._all("SELECT row FROM papers WHERE id = ?", [name]) if r not in hidden]
        if exact:
            return exact
        known_as = [row for (row,) in self._all("SELECT row FROM aliases WHERE key = ?", [alias_key("id", name)])]
        former = [row for row in known_as if row not in hidden and json.dumps(name) in self._all(
            "SELECT former_ids FROM papers WHERE row = ?", [row])[0][0]]
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
        stands_in = self.titles_that_stand_in(rows)
        return [row for row in rows if row not in stands_in]

    def titles_that_stand_in(self, rows: Sequence[int]) -> set[int]:
        """Return which of these rows have a title that stands in for a missing one."""
        found: set[int] = set()
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start:start + _BLOCK_ROWS]
            found.update(row for (row,) in self._all("SELECT row FROM papers WHERE title_stands_in AND row IN "
                                                     f"({','.join('?' * len(block))})", block))
        return found

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

    @cached_property
    def tallies(self) -> Tallies:
        """The counts of papers and records, as they are kept, or counted where they are not."""
        with damage_named(self._path):
            return stored_tallies(self._connection) or count_all(self._connection)

    @property
    def may_get_layer(self) -> bool:
        """Whether what changes can be written to a second layer: a table of an older format must be written anew."""
        with damage_named(self._path):
            return stored_tallies(self._connection) is not None

    def source_counts(self) -> list[SourceCounts]:
        """Return what came out of each source file, in the order in which they were first read."""
        with damage_named(self._path):
            return read_source_counts(self._connection, self.tallies)

    def source_names(self) -> dict[str, str]:
        """Return the name of each source by its path, in the order in which they were first read."""
        return dict(self._all("SELECT path, name FROM sources ORDER BY source", []))

    def source_signatures(self) -> dict[str, tuple[str, str]]:
        """Return for each source path how it was read (format and reader version) and the SHA-256 of its bytes."""
        return {path: (signature, sha256) for path, signature, sha256 in self._all(
            "SELECT path, signature, sha256 FROM sources", [])}

    def outdated_sources(self) -> set[str]:
        """Return the paths of the sources of which records are kept that are no longer in them."""
        return {path for path, source, run in self._all("SELECT path, source, run FROM sources", [])
                if self._all("SELECT 1 FROM records WHERE source = ? AND run != ? LIMIT 1", [source, run])}

    def first_sources(self, rows: Sequence[int]) -> Iterator[str]:
        """Yield the name of the source of the first record of each of these papers, in any order."""
        names = dict(self._all("SELECT source, name FROM sources", []))
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start:start + _BLOCK_ROWS]
            for (source,) in self._all("SELECT source FROM records WHERE first AND paper IN "
                                       f"({','.join('?' * len(block))})", block):
                yield names[source]

    def rejects(self) -> Iterator[StoredReject]:
        """Yield the rejected records of all sources."""
        with damage_named(self._path):
            yield from read_rejects(self._connection)

    def check(self) -> list[str]:
        """Return what is wrong inside the file, nothing where all is well; reads everything."""
        try:
            with damage_named(self._path):
                return check_all(self._connection, self.tallies) + self.count_problems()
        except IndexDamaged as error:
            return [error.message]

    def count_problems(self) -> list[str]:
        """Return which counts inside the file disagree, nothing where all agree; costs little."""
        with damage_named(self._path):
            return compare_counts(self._connection, self.tallies, self.papers)

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
