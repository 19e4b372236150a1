"""What a build did, in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from semsearch.index.paper_table import SourceCounts


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """The result of `build` or `reindex`.

    `generation` is None where nothing was published (a dry run of a new index). `records`, `papers_read`, `merged` and
    `rejected` are sums over `files`, the files of this run; the counts of papers are of the whole index. `encoded` and
    `reused` count distinct texts; `truncated` counts papers whose text is longer than `max_tokens`, `truncated_in` the
    same by source file; `coverage` is the share of papers that have a vector.
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
