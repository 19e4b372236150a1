"""What a build did, in numbers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from semsearch.index.manifest import REJECTS
from semsearch.index.paper_table import SourceCounts, StoredReject
from semsearch.index.paper_tallies import Tallies
from semsearch.index.reader import IndexReader
from semsearch.index.staged_store import Changes
from semsearch.intake import Intake
from semsearch.publish import Published, count_texts


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """The result of `build` or `reindex`.

    `generation` is None where nothing was published (a dry run of a new index). `records`, `merged` and `rejected`
    are sums over `files`, the files of this run; the counts of papers are of the whole index. `encoded` and
    `reused` count distinct texts; `truncated` counts papers whose text is longer than `max_tokens`, `truncated_in` the
    same by source file; `outdated` counts papers that are no longer in their sources; `coverage` is the share of
    papers that have a vector.
    """

    index: str
    generation: int | None
    published: bool
    records: int
    papers: int
    added: int
    updated: int
    unchanged: int
    removed: int
    merged: int
    rejected: int
    renamed: int
    deleted: int
    outdated: int
    without_abstract: int
    encoded: int
    reused: int
    truncated: int
    longest_tokens: int
    max_tokens: int | None
    coverage: float
    factory: str
    recall_at_10: float | None
    seconds: float
    files: tuple[SourceCounts, ...]
    truncated_in: dict[str, int]
    reject_reasons: dict[str, int]
    refused_files: dict[str, str]
    rejects_file: str | None

    def as_dict(self) -> dict[str, object]:
        """Return the summary as it is written to JSON."""
        return asdict(self)


def summarise(reader: IndexReader, intake: Intake, changes: Changes, published: Published, encoded: int, begun: float,
              was_published: bool = True) -> BuildSummary:
    """Return the summary of a run that left `reader`'s generation current; `begun` is its time.monotonic()."""
    manifest, table = published.manifest, reader.papers
    summary = count_papers(table, table.tallies, intake, changes, manifest.papers, reader.folder.name, begun)
    limit = manifest.encoder.max_tokens
    cut = published.rows[published.token_counts > limit].tolist()
    cut_in = Counter(table.first_sources(cut))
    return replace(summary, generation=manifest.generation, published=was_published, encoded=encoded,
                   reused=count_texts(reader.vectors.keys) - encoded,
                   coverage=manifest.vectors / manifest.papers if manifest.papers else 1.0, truncated=len(cut),
                   truncated_in=dict(cut_in), longest_tokens=int(published.token_counts.max(initial=0)),
                   max_tokens=limit, factory=manifest.factory, recall_at_10=manifest.recall_at_10,
                   rejects_file=str(reader.generation.path(REJECTS)) if summary.rejected else None)


class Counted(Protocol):
    """Papers that know what came out of which source: a paper table, staged or not."""

    def source_counts(self) -> list[SourceCounts]:
        """Return what came out of each source file."""
        ...

    def rejects(self) -> Iterator[StoredReject]:
        """Yield the rejected records of all sources."""
        ...


def count_papers(table: Counted, tallies: Tallies, intake: Intake, changes: Changes, papers: int, index: str,
                 begun: float) -> BuildSummary:
    """Return a summary of what was read and merged; what concerns vectors and publishing is left at nothing."""
    files = tuple(c for c in table.source_counts() if c.path in intake.paths)
    names = {c.name for c in files}
    reasons = Counter(reject.reason for reject in table.rejects() if reject.file in names)
    return BuildSummary(
        index=index, generation=None, published=False, records=sum(c.records for c in files), papers=papers,
        added=changes.added, updated=changes.updated, unchanged=papers - changes.added - changes.updated,
        removed=changes.removed, merged=sum(c.merged for c in files), rejected=sum(c.rejected for c in files),
        renamed=changes.renamed, deleted=tallies.waiting, outdated=tallies.outdated,
        without_abstract=tallies.without_abstract, encoded=0,
        reused=0, truncated=0, longest_tokens=0, max_tokens=None, coverage=0.0, factory="", recall_at_10=None,
        seconds=round(time.monotonic() - begun, 3), files=files, truncated_in={}, reject_reasons=dict(reasons),
        refused_files=intake.refused, rejects_file=None)
