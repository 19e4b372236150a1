"""The paper table of a generation in the making: source records in, papers out.

Papers follow from the records of all sources together (`semsearch.merging`), whatever was read when.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.identifiers import alias_key
from semsearch.index.facets import write_facets
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.paper_schema import PAPER_COLUMNS, paper_to_columns
from semsearch.index.staged_records import StagedRecords
from semsearch.index.state import Deletion
from semsearch.merging import cluster, content_key, merge, titles_agree, to_data
from semsearch.paper import TEXT_KEY_BYTES, Paper, comparable, text_key

_WRITE_PAPER: Final = (f"INSERT OR REPLACE INTO main.papers (row, {', '.join(PAPER_COLUMNS)}, text_key, former_ids) "
                       f"VALUES ({', '.join('?' * (len(PAPER_COLUMNS) + 3))})")
_PART_RECORDS: Final = 10_000
"""So many records are looked up at a time, so that the memory does not grow with their number."""
MOST_MOVES: Final = 10_000
"""Where more papers than this get another row, they are not brought into a second layer: one whole table is written."""


class StagedPapers(StagedRecords):
    """A paper table that may be written to, whose papers are brought up to date by `merge`."""

    def take_out_deleted(self, ids: Collection[str]) -> None:
        """Remove the rows of deleted papers; their records stay, without a paper."""
        for paper_id in sorted(ids):
            row = self._value("SELECT row FROM papers WHERE id = ?", paper_id)
            if row is None:
                continue
            self._keep_data(row)
            self._do("UPDATE main.records SET paper = NULL WHERE paper = ?", row)
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
        removed = set(self._removed)
        gone = sorted(removed)
        self._removed.clear()
        if not gone:
            return
        self._keys = bytearray(np.delete(self.text_keys(), gone).tobytes())
        left = [row for row in range(gone[0], self._next_row) if row not in removed]
        moves = [(new, old) for new, old in enumerate(left, gone[0]) if new != old]
        self._next_row = gone[0] + len(left)
        if len(moves) > MOST_MOVES:
            self._become_whole()
        for _, row in moves:
            self._claim_row(row)
        for table, column in (("papers", "row"), ("aliases", "row"), ("facets", "row"), ("records", "paper")):
            self._do_each(f"UPDATE main.{table} SET {column} = ? WHERE {column} = ?", moves)

    def text_keys(self) -> NDArray[Any]:
        """Return the `(papers,)` text keys by row."""
        return np.frombuffer(bytes(self._keys), KEY_DTYPE)

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[str, str, bytes]]:
        """Yield (id, text, text key) of the papers in these rows."""
        for row in rows:
            paper = self._paper(row)
            yield paper.id, paper.text, paper.text_key

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
                self._place(record, row, int(record == min(records)), data)

    def _place(self, record: int, row: int | None, first: int, data: str | None) -> None:
        """Write of which paper a record is; one that waits for its deleted paper is not written again each time."""
        if row is None and self._row("SELECT paper, first, data FROM records WHERE record = ?", record) == (
                row, first, data):
            return
        self._claim_record(record)
        self._do("UPDATE main.records SET paper = ?, first = ?, data = ? WHERE record = ?", row, first, data, record)

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
                self._claim_row(other)
                self._do("UPDATE main.records SET paper = NULL WHERE paper = ?", other)
                self._remove_row(other)
                claimed.add(other)
        if held:
            row, old = held[0], self._paper(held[0])
            self._claim_row(row)
            former = sorted({*self._former_ids(row), *former})
            paper = _called(merged, old.id)
            if paper != old:
                self.changes.updated += 1
        else:
            row, self._next_row = self._next_row, self._next_row + 1
            paper = _called(merged, self._free_id(merged))
            self.changes.added += 1
        key = text_key(paper.text)
        self._keys[row * TEXT_KEY_BYTES:(row + 1) * TEXT_KEY_BYTES] = key
        self._do(_WRITE_PAPER, row, *paper_to_columns(paper), key, json.dumps(former) if former else "[]")
        if held:
            self._do("DELETE FROM main.aliases WHERE row = ?", row)
        keys = {alias_key("id", paper.id), *(alias_key("id", f) for f in former),
                *(alias_key(kind, value) for kind, value in paper.identifiers),
                *(alias_key("id", value) for kind, value in paper.identifiers if kind.startswith("id:"))}
        self._do_each("INSERT OR IGNORE INTO main.aliases VALUES (?, ?)", [(key, row) for key in sorted(keys)])
        with self._errors():
            write_facets(self._connection, [(row, paper)], self._now)
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
        if paper_id in self._taken_ids:
            return False
        named = self._rows("SELECT row FROM aliases WHERE key = ?", alias_key("id", paper_id))  # its id is one
        return not any(paper_id == self._value("SELECT id FROM papers WHERE row = ?", row)
                       or paper_id in self._former_ids(row) for (row,) in named)

    def _component(self, record: int) -> list[int]:
        """Return all records that hang together with one, by keys or by being one paper, sorted."""
        linked = self._rows("SELECT record FROM record_keys WHERE key IN "
                            "(SELECT key FROM record_keys WHERE record = ?)", record)
        companions = self._companions(record)
        if all(other == record for (other,) in linked) and companions == [record]:
            return companions
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

    def _is_deleted(self, paper: Paper, deletions: dict[str, list[Deletion]], *, whatever_title: bool) -> bool:
        """Return whether a work that has no row is one that was deleted.

        `whatever_title`: its records were those of a deleted paper before, so that a corrected title changes nothing.
        """
        keys = {alias_key("id", paper.id), *(alias_key(kind, value) for kind, value in paper.identifiers)}
        named = [deletion for key in sorted(keys) for deletion in deletions.get(key, ())]
        title = "" if paper.title_stands_in else comparable(paper.title)
        return bool(named) and (whatever_title or any(titles_agree(title, comparable(d.title)) for d in named))


def _called(paper: Paper, paper_id: str) -> Paper:
    return paper if paper.id == paper_id else replace(paper, id=paper_id)
