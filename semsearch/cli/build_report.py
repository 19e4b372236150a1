"""What a build did, in words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from semsearch.cli.progress import duration
from semsearch.index.paper_table import SourceCounts
from semsearch.spelling import spelt_home, spelt_index
from semsearch.summary import BuildSummary
from semsearch.writers.display import printable

_FILES_SHOWN: Final = 20
_USUAL_ENCODINGS: Final = ("", "ascii", "utf-8")


def write_report(summary: BuildSummary, folder: Path, *, dry_run: bool = False, every_file: bool = False) -> None:
    """Write the report of a build of the index in `folder` to standard output."""
    from semsearch.cli.output import open_output

    with open_output(None) as stream:
        for line in report_lines(summary, folder, dry_run=dry_run, every_file=every_file):
            stream.write(printable(line) + "\n")


def report_lines(summary: BuildSummary, folder: Path, *, dry_run: bool = False, every_file: bool = False
                 ) -> Iterator[str]:
    """Yield the lines of a report: files, then papers, then what a user should know, then what to do next."""
    if dry_run:
        yield "Dry run: nothing was written. A build would do this:"
    yield from _file_lines(summary, every_file)
    yield _papers_line(summary)
    yield from _encoding_lines(summary, dry_run)
    yield from _findings(summary, dry_run)
    yield from _coverage_lines(summary, folder, dry_run)
    yield from _truncation_lines(summary, folder)
    yield from _reject_lines(summary, dry_run)
    yield "Leave --dry-run out to build it." if dry_run else f'Ask: semsearch query{spelt_index(folder)} "..."'


def changes_of(summary: BuildSummary) -> str:
    """Return what became of the papers, as `3 added, 175 unchanged`."""
    counts = [(summary.added, "added"), (summary.updated, "updated"), (summary.unchanged, "unchanged"),
              (summary.removed, "removed")]
    return ", ".join(f"{count:,} {word}" for count, word in counts if count) or "none"


def count_of(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _file_lines(summary: BuildSummary, every_file: bool) -> Iterator[str]:
    files = summary.files
    few = every_file or len(files) <= _FILES_SHOWN
    for file in files if few else [f for f in files if f.rejected]:
        yield f"{file.name}: {_sum(file.records, file.papers, file.merged, file.rejected)} ({_manner(file)})"
    if len(files) > 1:
        papers = sum(file.papers for file in files)
        yield f"{len(files):,} files: {_sum(summary.records, papers, summary.merged, summary.rejected)}"
    for name, reason in summary.refused_files.items():
        yield f"{name}: not read. {reason}"


def _sum(records: int, papers: int, merged: int, rejected: int) -> str:
    parts = [count_of(papers, "paper")]
    parts += [f"{merged:,} merged"] if merged else []
    parts += [f"{rejected:,} rejected"] if rejected else []
    return f"{count_of(records, 'record')} = {' + '.join(parts)}"


def _manner(file: SourceCounts) -> str:
    encoding = "" if file.encoding in _USUAL_ENCODINGS else file.encoding
    return ", ".join(part for part in (file.format, file.detail, encoding) if part)


def _papers_line(summary: BuildSummary) -> str:
    generation = f", generation {summary.generation}" if summary.generation is not None else ""
    return f"Index {summary.index}{generation}: {count_of(summary.papers, 'paper')} ({changes_of(summary)})"


def _encoding_lines(summary: BuildSummary, dry_run: bool) -> Iterator[str]:
    if dry_run:
        yield f"To be encoded: {count_of(summary.encoded, 'text')}"
    elif not summary.published:
        yield "Nothing has changed since the last build."
    else:
        reused = f", {summary.reused:,} reused" if summary.reused else ""
        yield f"Encoded {count_of(summary.encoded, 'text')}{reused}, in {duration(summary.seconds)}"
    if summary.recall_at_10 is not None:
        yield f"Search by {summary.factory} finds {summary.recall_at_10:.1%} of the ten nearest papers."


def _findings(summary: BuildSummary, dry_run: bool) -> Iterator[str]:
    if summary.renamed:
        yield f"{count_of(summary.renamed, 'paper')} came under an id that another work has, and got a suffix."
    if summary.deleted:
        yield f"{count_of(summary.deleted, 'record')} of deleted papers stayed out; --restore brings them back."
    if summary.outdated:
        their = "its" if summary.outdated == 1 else "their"
        yield f"{count_of(summary.outdated, 'paper')} no longer in {their} sources stayed; --prune removes such papers."
    if summary.without_abstract:
        yield f"{count_of(summary.without_abstract, 'paper')} without an abstract: found by title alone."


def _coverage_lines(summary: BuildSummary, folder: Path, dry_run: bool) -> Iterator[str]:
    if summary.coverage < 1 and not dry_run:
        yield (f"{round(summary.coverage * summary.papers):,} of {count_of(summary.papers, 'paper')} are encoded; the "
               "others are found by their words, and encoded when a question needs them.")
        yield f"  To encode them all: semsearch build{spelt_index(folder)}"


def _truncation_lines(summary: BuildSummary, folder: Path) -> Iterator[str]:
    if not summary.truncated:
        return
    now, then = ("is", "was") if summary.truncated == 1 else ("are", "were")
    yield (f"{summary.truncated:,} of {count_of(summary.papers, 'abstract')} {now} longer than "
           f"{summary.max_tokens} tokens and {then} cut there (longest {summary.longest_tokens:,}): "
           f"{_by_file(summary.truncated_in)}")
    yield ("  To read more of them, as far as the model can: "
           f"semsearch reindex{spelt_home(folder.parent)} {summary.index} --max-tokens {summary.longest_tokens}")


def _by_file(counts: dict[str, int]) -> str:
    """Return `name count` of each file, without folders where the names alone tell them apart."""
    bare = [os.path.basename(name) for name in counts]
    names = bare if len(set(bare)) == len(bare) else list(counts)
    shown = [f"{name} {count:,}" for name, count in zip(names, counts.values(), strict=True)]
    more = [f"and {len(shown) - _FILES_SHOWN} more files"] if len(shown) > _FILES_SHOWN else []
    return ", ".join(shown[:_FILES_SHOWN] + more)


def _reject_lines(summary: BuildSummary, dry_run: bool) -> Iterator[str]:
    if not summary.rejected:
        return
    yield f"Rejected {count_of(summary.rejected, 'record')}:"
    for reason, count in sorted(summary.reject_reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        yield f"  {count:,} x {reason}"
    if summary.rejects_file:
        yield f"  Each with file and line: {summary.rejects_file}"
    elif dry_run:
        yield "  --rejects FILE writes them with file and line."
