"""The paper table of a generation in the making: source records in, papers out.

Papers follow from the records of all sources together (`semsearch.merging`). A source that is read again replaces its
own records; a record keeps its place by what it calls itself.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from semsearch.errors import IndexDamaged
from semsearch.identifiers import alias_key
from semsearch.index.durable import disk_full
from semsearch.index.paper_table import (
    PAPER_COLUMNS,
    SCHEMA,
    SourceCounts,
    StoredReject,
    damage_named,
    paper_from_columns,
    paper_to_columns,
    read_rejects,
    read_source_counts,
    read_text_keys,
)
from semsearch.index.state import Deletion
from semsearch.merging import cluster, content_key, from_data, linking_keys, merge, titles_agree, to_data
from semsearch.paper import Paper, comparable, text_key

_PART_RECORDS: Final = 10_000
"""So many records are looked up at a time, so that the memory does not grow with their number."""
_INCOMING: Final = ".incoming.sqlite"
"""Holds the new records until it is known which paper they are, so that most of them are never written twice."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source file as it was read: `signature` names format and reader version, `sha256` its bytes."""

    path: str
    name: str
    signature: str
    format: str
    encoding: str
    detail: str
    sha256: str


@dataclass
class Changes:
    """How many papers a run added, updated (`re_embedded` of them with another text) and removed."""

    added: int = 0
    updated: int = 0
    re_embedded: int = 0
    removed: int = 0
    renamed: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed)


class StagedPapers:
    """A paper table that may be written to; begun empty or as a copy of the one before."""

    def __init__(self, path: Path, base: Path | None) -> None:
        self._path = path
        self._incoming = path.with_name(_INCOMING)
        if base is not None:
            shutil.copyfile(base, path)
        self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            with self._errors():
                self._prepare(new=base is None)
        except BaseException:
            self.abandon()
            raise
        self._run = 1 + (self._value("SELECT MAX(run) FROM records") or 0)
        self._next_row = 1 + self._value("SELECT COALESCE(MAX(row), -1) FROM papers")
        self._last_record = int(self._value("SELECT COALESCE(MAX(record), 0) FROM records"))
        self._dirty: set[int] = set()
        self._held_back: dict[str, list[tuple[Paper, bytes, int]]] = {}
        self._taken_ids: frozenset[str] = frozenset()
        self.changes = Changes()
        self.changed = base is None

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

    # Sources

    def source_signatures(self) -> dict[str, tuple[str, str]]:
        """Return for each source path how it was read (format and reader version) and the SHA-256 of its bytes."""
        return {path: (signature, sha256)
                for path, signature, sha256 in self._rows("SELECT path, signature, sha256 FROM sources")}

    def begin_source(self, path: str, name: str) -> int:
        """Return the number of a source whose records are about to come; its rejects of the last time are forgotten."""
        self._do("INSERT OR IGNORE INTO sources (path, name, signature, format, encoding, detail, sha256, run) "
                 "VALUES (?, ?, '', '', '', '', '', 0)", path, name)
        source = int(self._value("SELECT source FROM sources WHERE path = ?", path))
        self._do("UPDATE sources SET run = ? WHERE source = ?", self._run, source)
        self._do("DELETE FROM rejects WHERE source = ?", source)
        self.changed = True
        return source

    def end_source(self, source: int, entry: SourceEntry, *, is_stream: bool = False) -> None:
        """Note how a source was read.

        `is_stream`: it was standard input, which may be another file each time: a name in it is no reason to replace
        a work of another title.
        """
        self._place_held_back(source, replaces=not is_stream)
        self._do("UPDATE sources SET name = ?, signature = ?, format = ?, encoding = ?, detail = ?, sha256 = ? "
                 "WHERE source = ?", entry.name, entry.signature, entry.format, entry.encoding, entry.detail,
                 entry.sha256, source)

    def reject(self, source: int, line: int, reason: str, value: str) -> None:
        """Keep a rejected record for the report."""
        value = value.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate, which JSON can spell
        self._do("INSERT INTO rejects VALUES (?, ?, ?, ?)", source, line, reason, value)

    def put(self, source: int, paper: Paper, line: int) -> None:
        """Take a record of a source: a new one, or one that replaces what this source said under the same name."""
        paper = _storable(paper)
        content = content_key(paper)
        known = self._rows("SELECT record, content, run, occurrence FROM records WHERE source = ? AND own = ? "
                           "ORDER BY occurrence", source, paper.id)
        waiting = [(record, stored) for record, stored, run, _ in known if run != self._run]
        same = next((record for record, stored in waiting if stored == content), None)
        if same is not None:
            self._do("UPDATE records SET run = ?, line = ? WHERE record = ?", self._run, line, same)
            return
        title = comparable(paper.title)
        agreeing = (r for r, _ in waiting if titles_agree(comparable(self._record_paper(r).title), title))
        record = next(agreeing, None)
        if record is not None:
            self._replace(record, paper, content, line)
        elif waiting:
            self._held_back.setdefault(paper.id, []).append((paper, content, line))
        else:
            self._insert(source, 1 + max((k[3] for k in known), default=-1), paper, content, line)

    def _insert(self, source: int, occurrence: int, paper: Paper, content: bytes, line: int) -> None:
        record = int(self._do("INSERT INTO records (source, own, occurrence, line, content, run) "
                              "VALUES (?, ?, ?, ?, ?, ?)", source, paper.id, occurrence, line, content,
                              self._run).lastrowid or 0)
        self._take_in(record, paper)

    def _place_held_back(self, source: int, replaces: bool) -> None:
        """Place the records that share a name with others of the source and a title with none of those.

        Where one stands against one, it is that record with a new title; else each is another work under that name.
        """
        for own, held_back in self._held_back.items():
            known = self._rows("SELECT record, run, occurrence FROM records WHERE source = ? AND own = ?", source, own)
            waiting = [record for record, run, _ in known if run != self._run]
            if replaces and len(known) == len(waiting) == len(held_back) == 1:
                self._replace(waiting[0], *held_back[0])
                continue
            last = max(occurrence for _, _, occurrence in known)
            for number, (paper, content, line) in enumerate(held_back, 1):
                self._insert(source, last + number, paper, content, line)
        self._held_back.clear()

    def unseen_papers(self, sources: Collection[int]) -> int:
        """Return how many papers would go if the records went that are no longer in these sources."""
        self._mark_unseen(sources)
        return int(self._value(
            "SELECT COUNT(*) FROM papers "
            "WHERE row IN (SELECT paper FROM records WHERE record IN (SELECT record FROM temp.unseen)) "
            "AND row NOT IN (SELECT paper FROM records WHERE paper IS NOT NULL "
            "AND record NOT IN (SELECT record FROM temp.unseen))"))

    def drop_unseen(self, sources: Collection[int]) -> None:
        """Forget the records that are no longer in these sources."""
        self._mark_unseen(sources)
        for (record,) in self._rows("SELECT record FROM temp.unseen ORDER BY record"):
            self._forget(record)

    def source_counts(self) -> list[SourceCounts]:
        """Return what came out of each source file, in the order in which they were first read."""
        with self._errors():
            return read_source_counts(self._connection)

    def rejects(self) -> Iterator[StoredReject]:
        """Yield the rejected records of all sources."""
        with self._errors():
            yield from read_rejects(self._connection)

    def source_numbers(self) -> dict[str, int]:
        """Return the number of each known source by its path."""
        return dict(self._rows("SELECT path, source FROM sources"))

    def empty_source(self, source: int) -> None:
        """Note that a source is gone, and with it all that it held."""
        self._do("UPDATE sources SET run = ? WHERE source = ?", self._run, source)

    def drop_source(self, source: int) -> None:
        """Forget a source that is gone, with its rejects; its records must have been dropped."""
        self._do("DELETE FROM rejects WHERE source = ?", source)
        self._do("DELETE FROM sources WHERE source = ?", source)
        self.changed = True

    # Papers

    def take_out_deleted(self, ids: Collection[str]) -> None:
        """Remove the rows of deleted papers; their records stay, without a paper."""
        for paper_id in sorted(ids):
            row = self._value("SELECT row FROM papers WHERE id = ?", paper_id)
            if row is None:
                continue
            self._keep_data(row)
            self._do("UPDATE records SET paper = NULL WHERE paper = ?", row)
            self._remove_row(row)

    def merge(self, deletions: Iterable[Deletion]) -> None:
        """Bring the papers up to date with the records; records of deleted papers stay without one."""
        keys: dict[str, list[Deletion]] = defaultdict(list)
        deletions = list(deletions)
        for deletion in deletions:
            for key in deletion.keys:
                keys[key].append(deletion)
        self._taken_ids = frozenset(deletion.id for deletion in deletions)  # or another work would be hidden with it
        done: set[int] = set()
        for record in self._unsettled():
            if record in done:
                continue
            members = self._component(record)
            if len(members) > 1:
                done.update(members)
            self._settle(members, keys)
        self._dirty.clear()

    def compact(self) -> None:
        """Close the gaps that removed papers left, so that rows are 0 to n-1 again; the order stays."""
        papers, end = self._row("SELECT COUNT(*), 1 + COALESCE(MAX(row), -1) FROM papers")
        if papers == end:
            self._next_row = end
            return
        rows = [row for (row,) in self._rows("SELECT row FROM papers ORDER BY row")]
        moves = [(new, old) for new, old in enumerate(rows) if new != old]
        if moves:
            with self._errors():
                for table, column in (("papers", "row"), ("aliases", "row"), ("records", "paper")):
                    self._connection.executemany(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", moves)
        self._next_row = len(rows)

    def text_keys(self) -> NDArray[Any]:
        """Return the `(papers,)` text keys by row."""
        with self._errors():
            return read_text_keys(self._connection, self._path)

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[str, str, bytes]]:
        """Yield (id, text, text key) of the papers in these rows."""
        for row in rows:
            paper = self._paper(row)
            yield paper.id, paper.text, paper.text_key

    # Inside

    def _unsettled(self) -> Iterator[int]:
        """Yield in order the records without a paper and those that changed, a part at a time: they may be all."""
        dirty = sorted(self._dirty)
        last = -1
        while True:
            part = self._rows("SELECT record FROM records WHERE paper IS NULL AND record > ? ORDER BY record LIMIT ?",
                              last, _PART_RECORDS)
            whole = len(part) < _PART_RECORDS
            end = part[-1][0] if part and not whole else None
            reached = len(dirty) if end is None else bisect_right(dirty, end)
            yield from sorted({*dirty[:reached], *(record for (record,) in part)})
            del dirty[:reached]
            if end is None:
                return
            last = end

    def _settle(self, members: list[int], deletions: dict[str, list[Deletion]]) -> None:
        """Cluster records that hang together and write their papers."""
        papers = [self._record_paper(record) for record in members]
        old_rows = {r: self._value("SELECT paper FROM records WHERE record = ?", r) for r in members}
        groups = sorted(cluster(papers)) if len(members) > 1 else [[0]]  # the oldest record keeps the row
        claimed: set[int] = set()
        settled = []
        for group in sorted(groups, key=lambda group: not self._named_by(group, members, papers, old_rows)):
            held = sorted({row for i in group if (row := old_rows[members[i]]) is not None} - claimed)
            claimed.update(held[:1])
            settled.append((group, held))
        whole = dict(zip(members, papers, strict=True))
        for group, held in settled:
            merged = merge([papers[i] for i in group])
            records = [members[i] for i in group]
            was_deleted = all(r <= self._last_record and old_rows[r] is None for r in records)
            deleted = not held and self._is_deleted(merged, deletions, whatever_title=was_deleted)
            row, paper_id = (None, "") if deleted else self._write(merged, held, claimed)
            is_whole_paper = len(records) == 1 and paper_id == merged.id
            for record in records:
                data = None if is_whole_paper else to_data(whole[record])
                self._do("UPDATE records SET paper = ?, first = ?, data = ? WHERE record = ?", row,
                         int(record == min(records)), data, record)

    def _named_by(self, group: list[int], members: list[int], papers: list[Paper], old_rows: dict[int, Any]) -> bool:
        """Return whether the paper that a group's records were has its id from one of them.

        Where a paper falls apart, that part keeps the row and the id.
        """
        ids = {self._value("SELECT id FROM papers WHERE row = ?", row) for i in group
               if (row := old_rows[members[i]]) is not None}
        return any(papers[i].id in ids for i in group)

    def _write(self, merged: Paper, held: list[int], claimed: set[int]) -> tuple[int, str]:
        """Write a paper to the row that it holds or to a new one, and return the row and the paper's id."""
        former: list[str] = []
        for other in held[1:]:
            if other not in claimed:
                former += [self._value("SELECT id FROM papers WHERE row = ?", other), *self._former_ids(other)]
                self._do("UPDATE records SET paper = NULL WHERE paper = ?", other)
                self._remove_row(other)
                claimed.add(other)
        if held:
            row, old = held[0], self._paper(held[0])
            former = sorted({*self._former_ids(row), *former})
            paper = Paper(**{**_fields(merged), "id": old.id})
            if paper != old:
                self.changes.updated += 1
                self.changes.re_embedded += paper.text_key != old.text_key
        else:
            row, self._next_row = self._next_row, self._next_row + 1
            paper = Paper(**{**_fields(merged), "id": self._free_id(merged)})
            self.changes.added += 1
        marks = ", ".join("?" * (len(PAPER_COLUMNS) + 3))
        self._do(f"INSERT OR REPLACE INTO papers (row, {', '.join(PAPER_COLUMNS)}, text_key, former_ids) "
                 f"VALUES ({marks})", row, *paper_to_columns(paper), text_key(paper.text), json.dumps(former))
        if held:
            self._do("DELETE FROM aliases WHERE row = ?", row)
        keys = {alias_key("id", paper.id), *(alias_key("id", f) for f in former),
                *(alias_key(kind, value) for kind, value in paper.identifiers),
                *(alias_key("id", value) for kind, value in paper.identifiers if kind.startswith("id:"))}
        with self._errors():
            self._connection.executemany("INSERT OR IGNORE INTO aliases VALUES (?, ?)",
                                         [(key, row) for key in sorted(keys)])
        self.changed = True
        return row, paper.id

    def _free_id(self, paper: Paper) -> str:
        """Return the paper's own id, with a suffix of its content where another work has it."""
        if self._is_free(paper.id):
            return paper.id
        self.changes.renamed += 1
        digest = content_key(paper).hex()
        lengths = range(4, len(digest) + 1)
        candidates = (f"{paper.id}~{digest[:length]}" for length in lengths)
        return next(c for c in candidates if self._is_free(c))

    def _is_free(self, paper_id: str) -> bool:
        if paper_id in self._taken_ids or self._value("SELECT 1 FROM papers WHERE id = ?", paper_id) is not None:
            return False
        named = self._rows("SELECT row FROM aliases WHERE key = ?", alias_key("id", paper_id))
        return not any(paper_id in self._former_ids(row) for (row,) in named)

    def _component(self, record: int) -> list[int]:
        """Return all records that hang together with one, by keys or by being one paper, sorted."""
        members, seen_keys, waiting = {record}, set[str](), [record]
        while waiting:
            reached = waiting.pop()
            found = set(self._companions(reached))
            for (key,) in self._rows("SELECT key FROM record_keys WHERE record = ?", reached):
                if key not in seen_keys:
                    seen_keys.add(key)
                    found.update(r for (r,) in self._rows("SELECT record FROM record_keys WHERE key = ?", key))
            waiting += found - members
            members |= found
        return sorted(members)

    def _companions(self, record: int) -> list[int]:
        """Return the records of the same paper, this one among them."""
        row = self._value("SELECT paper FROM records WHERE record = ?", record)
        if row is None:
            return [record]
        return [r for (r,) in self._rows("SELECT record FROM records WHERE paper = ? ORDER BY record", row)]

    def _is_deleted(self, paper: Paper, deletions: dict[str, list[Deletion]], *, whatever_title: bool) -> bool:
        """Return whether a work that has no row is one that was deleted.

        `whatever_title`: its records were those of a deleted paper before, so that a corrected title changes nothing.
        """
        keys = {alias_key("id", paper.id), *(alias_key(kind, value) for kind, value in paper.identifiers)}
        named = [deletion for key in sorted(keys) for deletion in deletions.get(key, ())]
        title = "" if paper.title_stands_in else comparable(paper.title)
        return bool(named) and (whatever_title or any(titles_agree(title, comparable(d.title)) for d in named))

    def _replace(self, record: int, paper: Paper, content: bytes, line: int) -> None:
        row = self._value("SELECT paper FROM records WHERE record = ?", record)
        if row is not None:
            self._dirty.update(self._companions(record))
            self._keep_data(row)
        self._do("UPDATE records SET content = ?, data = NULL, line = ?, run = ? WHERE record = ?", content, line,
                 self._run, record)
        self._do("DELETE FROM record_keys WHERE record = ?", record)
        self._dirty.add(record)
        self._take_in(record, paper)

    def _forget(self, record: int) -> None:
        row = self._value("SELECT paper FROM records WHERE record = ?", record)
        if row is not None:
            others = [r for r in self._companions(record) if r != record]
            self._keep_data(row)
            self._dirty.update(others)
            if not others:
                self._remove_row(row)
        self._dirty.discard(record)
        self._do("DELETE FROM record_keys WHERE record = ?", record)
        self._do("DELETE FROM records WHERE record = ?", record)
        self.changed = True

    def _take_in(self, record: int, paper: Paper) -> None:
        self._do("INSERT OR REPLACE INTO incoming.records_data VALUES (?, ?)", record, to_data(paper))
        with self._errors():
            self._connection.executemany("INSERT OR IGNORE INTO record_keys VALUES (?, ?)",
                                         [(key, record) for key in linking_keys(paper)])

    def _remove_row(self, row: int) -> None:
        self._do("DELETE FROM papers WHERE row = ?", row)
        self._do("DELETE FROM aliases WHERE row = ?", row)
        self.changes.removed += 1
        self.changed = True

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

    def _mark_unseen(self, sources: Collection[int]) -> None:
        self._do("CREATE TEMP TABLE IF NOT EXISTS unseen (record INTEGER PRIMARY KEY)")
        self._do("DELETE FROM temp.unseen")
        for source in sorted(sources):
            self._do("INSERT INTO temp.unseen SELECT record FROM records JOIN sources USING (source) "
                     "WHERE source = ? AND records.run != sources.run", source)

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


def _storable(paper: Paper) -> Paper:
    """Return a paper as a row gives it back: identifiers in order, no lone surrogates, which JSON can spell."""
    paper = replace(paper, identifiers=tuple(sorted(paper.identifiers)))
    data = to_data(paper)
    try:
        data.encode("utf-8")
    except UnicodeEncodeError:
        return from_data(data.encode("utf-8", "replace").decode("utf-8"))
    return paper


def _fields(paper: Paper) -> dict[str, Any]:
    return {name: getattr(paper, name) for name in PAPER_COLUMNS}
