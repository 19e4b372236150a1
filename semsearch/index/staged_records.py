"""Source records into a paper table in the making.

A source that is read again replaces its own records; a record keeps its place by what it calls itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from semsearch.index.staged_store import Incoming, StagedStore
from semsearch.merging import content_key, from_data, titles_agree, to_data
from semsearch.paper import Paper, comparable


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


class StagedRecords(StagedStore):
    """Takes sources and their records; papers follow from them in `semsearch.index.staged_papers`."""

    def source_signatures(self) -> dict[str, tuple[str, str]]:
        """Return for each source path how it was read (format and reader version) and the SHA-256 of its bytes."""
        return {path: (signature, sha256)
                for path, signature, sha256 in self._rows("SELECT path, signature, sha256 FROM sources")}

    def holds_any(self, paths: Collection[str]) -> bool:
        """Return whether any of these sources holds a record now."""
        return any(self._value("SELECT 1 FROM records WHERE source = ? AND run = ? LIMIT 1", source, run) is not None
                   for path, source, run in self._rows("SELECT path, source, run FROM sources") if path in paths)

    def source_numbers(self) -> dict[str, int]:
        """Return the number of each known source by its path."""
        return dict(self._rows("SELECT path, source FROM sources"))

    def begin_source(self, path: str, name: str) -> int:
        """Return the number of a source whose records are about to come; its rejects of the last time are forgotten."""
        self._do("INSERT OR IGNORE INTO main.sources (path, name, signature, format, encoding, detail, sha256, run) "
                 "VALUES (?, ?, '', '', '', '', '', 0)", path, name)
        source = int(self._value("SELECT source FROM sources WHERE path = ?", path))
        self._do("UPDATE main.sources SET run = ? WHERE source = ?", self._run, source)
        self._do("DELETE FROM main.rejects WHERE source = ?", source)
        return source

    def end_source(self, source: int, entry: SourceEntry, *, is_stream: bool = False) -> None:
        """Note how a source was read.

        `is_stream`: it was standard input, which may be another file each time: a name in it is no reason to replace
        a work of another title.
        """
        self._place_held_back(source, replaces=not is_stream)
        self._do("UPDATE main.sources SET name = ?, signature = ?, format = ?, encoding = ?, detail = ?, sha256 = ? "
                 "WHERE source = ?", entry.name, entry.signature, entry.format, entry.encoding, entry.detail,
                 entry.sha256, source)

    def reject(self, source: int, line: int, reason: str, value: str) -> None:
        """Keep a rejected record for the report."""
        value = value.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate, which JSON can spell
        self._do("INSERT INTO main.rejects VALUES (?, ?, ?, ?)", source, line, reason, value)

    def put(self, source: int, paper: Paper, line: int) -> None:
        """Take a record of a source: a new one, or one that replaces what this source said under the same name."""
        paper, data = _storable(paper)
        content = content_key(paper)
        known = self._rows("SELECT record, content, run, occurrence FROM records WHERE source = ? AND own = ? "
                           "ORDER BY occurrence", source, paper.id)
        waiting = [(record, stored) for record, stored, run, _ in known if run != self._run]
        same = next((record for record, stored in waiting if stored == content), None)
        if same is not None:
            self._claim_record(same)
            self._do("UPDATE main.records SET run = ?, line = ? WHERE record = ?", self._run, line, same)
            return
        title = comparable(paper.title)
        agreeing = (r for r, _ in waiting if titles_agree(comparable(self._record_paper(r).title), title))
        record = next(agreeing, None)
        if record is not None:
            self._replace(record, Incoming(paper, data, content, line))
        elif waiting:
            self._held_back.setdefault(paper.id, []).append(Incoming(paper, data, content, line))
        else:
            self._insert(source, 1 + max((k[3] for k in known), default=-1), Incoming(paper, data, content, line))

    def _insert(self, source: int, occurrence: int, new: Incoming) -> None:
        record, self._next_record = self._next_record, self._next_record + 1
        self._do("INSERT INTO main.records (record, source, own, occurrence, line, content, run) "
                 "VALUES (?, ?, ?, ?, ?, ?, ?)", record, source, new.paper.id, occurrence, new.line, new.content,
                 self._run)
        self._take_in(record, new)

    def _place_held_back(self, source: int, replaces: bool) -> None:
        """Place the records that share a name with others of the source and a title with none of those.

        Where one stands against one, it is that record with a new title; else each is another work under that name.
        """
        for own, held_back in self._held_back.items():
            known = self._rows("SELECT record, run, occurrence FROM records WHERE source = ? AND own = ?", source, own)
            waiting = [record for record, run, _ in known if run != self._run]
            if replaces and len(known) == len(waiting) == len(held_back) == 1:
                self._replace(waiting[0], held_back[0])
                continue
            last = max(occurrence for _, _, occurrence in known)
            for number, new in enumerate(held_back, 1):
                self._insert(source, last + number, new)
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

    def _mark_unseen(self, sources: Collection[int]) -> None:
        self._do("CREATE TEMP TABLE IF NOT EXISTS unseen (record INTEGER PRIMARY KEY)")
        self._do("DELETE FROM temp.unseen")
        for source in sorted(sources):
            run = self._value("SELECT run FROM sources WHERE source = ?", source)
            self._do("INSERT INTO temp.unseen SELECT record FROM records WHERE source = ? AND run != ?", source, run)

    def _replace(self, record: int, new: Incoming) -> None:
        row = self._value("SELECT paper FROM records WHERE record = ?", record)
        if row is not None:
            self._dirty.update(self._companions(record))
            self._keep_data(row)
        self._claim_record(record)
        self._do("UPDATE main.records SET content = ?, data = NULL, line = ?, run = ? WHERE record = ?", new.content,
                 new.line, self._run, record)
        self._do("DELETE FROM main.record_keys WHERE record = ?", record)
        self._dirty.add(record)
        self._take_in(record, new)

    def _forget(self, record: int) -> None:
        row = self._value("SELECT paper FROM records WHERE record = ?", record)
        if row is not None:
            others = [r for r in self._companions(record) if r != record]
            self._keep_data(row)
            self._dirty.update(others)
            if not others:
                self._remove_row(row)
        self._dirty.discard(record)
        self._claim_record(record)
        self._do("DELETE FROM main.record_keys WHERE record = ?", record)
        self._do("DELETE FROM main.records WHERE record = ?", record)

    def empty_source(self, source: int) -> None:
        """Note that a source is gone, and with it all that it held."""
        self._do("UPDATE main.sources SET run = ? WHERE source = ?", self._run, source)

    def drop_source(self, source: int) -> None:
        """Forget a source that is gone, with its rejects; its records must have been dropped."""
        self._do("DELETE FROM main.rejects WHERE source = ?", source)
        self._do("DELETE FROM main.sources WHERE source = ?", source)


def _storable(paper: Paper) -> tuple[Paper, str]:
    """Return a paper as a row gives it back, with its data: identifiers in order, no lone surrogates as in JSON."""
    identifiers = tuple(sorted(paper.identifiers))
    if identifiers != paper.identifiers:
        paper = replace(paper, identifiers=identifiers)
    data = to_data(paper)
    try:
        data.encode("utf-8")
    except UnicodeEncodeError:
        data = data.encode("utf-8", "replace").decode("utf-8")
        paper = from_data(data)
    return paper, data
