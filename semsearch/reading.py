"""Source files -> merged papers and a report, without an index: how people check and convert a library."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semsearch.index.manifest import PAPERS
from semsearch.index.paper_table import PaperTable, SourceCounts, StoredReject
from semsearch.index.staged_papers import StagedPapers
from semsearch.intake import list_sources, read_sources
from semsearch.paper import Paper
from semsearch.progress import Progress, Silent


@dataclass(frozen=True, slots=True)
class FileReport:
    """What came out of one file: its counts and every rejected record."""

    counts: SourceCounts
    rejected: tuple[StoredReject, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as it is written to JSON."""
        counts = self.counts
        return {"file": counts.name, "format": counts.format, "encoding": counts.encoding, "detail": counts.detail,
                "records": counts.records, "papers": counts.papers, "with_abstract": counts.with_abstract,
                "merged": counts.merged,
                "rejected": [{"line": r.line, "reason": r.reason, "value": r.value} for r in self.rejected]}


class Library:
    """The papers of some files, merged as an index would merge them.

    `refused` maps files in a folder that are of no known format to the reason. `renamed` counts works that got a suffix
    because another one has their id.
    """

    def __init__(self, table: PaperTable, refused: dict[str, str], renamed: int) -> None:
        self._table, self.refused, self.renamed = table, refused, renamed

    def __len__(self) -> int:
        return self._table.papers

    @property
    def table(self) -> PaperTable:
        """The papers by row; its file is there as long as the library is."""
        return self._table

    def __iter__(self) -> Iterator[Paper]:
        """Yield the papers in the order in which they were first met, in bounded memory."""
        for _, paper in self._table:
            yield paper

    def report(self) -> list[FileReport]:
        """Return what came out of each file."""
        rejected: dict[str, list[StoredReject]] = defaultdict(list)
        for reject in self._table.rejects():
            rejected[reject.file].append(reject)
        return [FileReport(counts, tuple(rejected[counts.name])) for counts in self._table.source_counts()]


@contextmanager
def read_library(sources: Sequence[str | Path], *, from_format: str | None = None, strict: bool = False,
                 progress: Progress | None = None) -> Iterator[Library]:
    """Read files and folders as `build_index` does, and give the papers; they lie in a temporary file meanwhile.

    Raises:
        InputError, UsageError: as `build_index`.
    """
    progress = progress or Silent()
    with tempfile.TemporaryDirectory(prefix="semsearch-") as scratch:
        path = Path(scratch) / PAPERS
        staged = StagedPapers(path, None)
        try:
            intake = read_sources(list_sources(sources, from_format, (), progress), staged, strict=strict,
                                  progress=progress)
            staged.merge(())
            staged.compact()
            papers, renamed = staged.papers, staged.changes.renamed
            staged.close()
        finally:
            staged.abandon()
        with PaperTable(path, papers) as table:
            yield Library(table, intake.refused, renamed)
