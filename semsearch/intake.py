"""Source files -> the paper table of the next generation, with a report of what came out of each."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from semsearch.errors import (
    InputError,
    MissingExtra,
    NothingToIndex,
    RecordRejected,
    SourceNotFound,
    UnknownFormat,
    UnreadableArchive,
    UsageError,
)
from semsearch.index import paper_layers
from semsearch.index.reader import IndexReader
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.staged_records import SourceEntry
from semsearch.index.state import RememberedSource
from semsearch.progress import Progress, Task
from semsearch.readers import FORMATS, SourceReader
from semsearch.readers.archives import MEMBER_MARK
from semsearch.readers.base import Format, Rejected
from semsearch.readers.sources import STDIN, SourceFile, expand_sources, read_file_sha256

_PRUNE_LIMIT_FRACTION: Final = 0.25
_REFUSALS_TOLD: Final = 3
_LITTLE_SHARE: Final = 0.02
"""Of the bytes of the paper table: what is less, in the sources to be read, goes into a second layer."""
_ADVANCE_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class SourceList:
    """The files of a run: what was named (to be remembered), the files found, named places that are gone."""

    named: tuple[RememberedSource, ...]
    files: tuple[tuple[SourceFile, str | None], ...]
    gone: tuple[str, ...]
    _digests: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def sha256(self, file: SourceFile) -> str:
        """Return the SHA-256 of a file's bytes, read once in a run."""
        if file.path not in self._digests:
            self._digests[file.path] = read_file_sha256(file)
        return self._digests[file.path]


@dataclass
class Intake:
    """What a run read: paths of the files read to their end, of those cut short, of those in which nothing changed.

    `refused` maps files inside a folder that are of no known format to the reason.
    """

    complete: set[str] = field(default_factory=set)
    cut_short: set[str] = field(default_factory=set)
    unchanged: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> set[str]:
        """The paths of all files that belong to this run."""
        return self.complete | self.cut_short | self.unchanged


def list_sources(named: Sequence[str | Path], from_format: str | None, remembered: Sequence[RememberedSource],
                 progress: Progress) -> SourceList:
    """Return the files of a run: those named, or where none is named those that the index remembers.

    Raises:
        UsageError: nothing is named and nothing remembered.
        SourceNotFound: a named file is not there, or every remembered one is gone.
    """
    if named:
        files = expand_sources(named)
        keep = tuple(RememberedSource(str(Path(name).expanduser().resolve()), from_format)
                     for name in named if str(name) != STDIN)
        return SourceList(keep, tuple((f, from_format) for f in files), ())
    if not remembered:
        raise UsageError("No source is named, and this index remembers none.",
                         "Name files or folders: semsearch build papers.jsonl more/")
    found: dict[str, tuple[SourceFile, str | None]] = {}
    gone = []
    for source in remembered:
        try:
            found.update((f.path, (f, source.from_format)) for f in expand_sources([source.path])
                         if f.path not in found or not f.in_folder)  # a file named itself keeps its format
        except SourceNotFound:
            gone.append(source.path)
            progress.note(f"{source.path} is no longer there; its papers stay in the index.")
    if not found:
        raise SourceNotFound(f"None of the {len(gone)} remembered sources is there any more ({gone[0]}).",
                             "Name the new place: semsearch build SOURCE...")
    return SourceList(tuple(remembered), tuple(found.values()), tuple(gone))


def note_what_is_gone(sources: SourceList, base: IndexReader, progress: Progress) -> None:
    """Say which files of the folders named are there no more, though the index has papers of them."""
    gone = sorted(_vanished(sources, base.papers.source_signatures()))
    if gone:
        more = f" and {len(gone) - 1:,} more files" if len(gone) > 1 else ""
        progress.note(f"{gone[0]}{more} went from the folder; the papers stay in the index. --prune removes them.")


def find_nothing_new(sources: SourceList, base: IndexReader, prune: bool) -> Intake | None:
    """Return the intake of a run in which no file changed, None where there is something to read or to prune."""
    known = base.papers.source_signatures()
    intake = Intake()
    for file, from_format in sources.files:
        if _is_unchanged(sources, file, from_format, known):
            intake.unchanged.add(file.path)
        elif (refusal := _refusal(file, from_format)) is not None:
            intake.refused[_shown(file.name)] = refusal
        else:
            return None
    if prune and (_vanished(sources, known) or base.papers.outdated_sources() & intake.unchanged):
        return None
    return intake


def changes_little(sources: SourceList, base: IndexReader) -> bool:
    """Return whether what is to be read is so little that the papers of `base` are better taken over than copied."""
    if not base.papers.may_get_layer or base.papers.size_bytes <= paper_layers.LEAST_BYTES:
        return False
    known = base.papers.source_signatures()
    changed = [file for file, from_format in sources.files
               if not _is_unchanged(sources, file, from_format, known) and _refusal(file, from_format) is None]
    return all(file.path != STDIN for file in changed) and (
        sum(map(_size_bytes, changed)) < _LITTLE_SHARE * base.papers.size_bytes)


def read_sources(sources: SourceList, staged: StagedPapers, *, strict: bool, progress: Progress) -> Intake:
    """Read all files that changed into the staged table.

    Raises:
        RecordRejected: at the first unusable record, where `strict`.
        UnknownFormat, UnreadableArchive: a file named explicitly is of no known format, or cannot be unpacked.
    """
    intake = Intake()
    known = staged.source_signatures()
    sizes = [_size_bytes(file) for file, _ in sources.files]
    with progress.task("Reading", sum(sizes) or None, "B") as task:
        for (file, from_format), size in zip(sources.files, sizes, strict=True):
            if _is_unchanged(sources, file, from_format, known):
                intake.unchanged.add(file.path)
                task.advance(size)
                continue
            refusal = _refusal(file, from_format)
            if refusal is not None:
                intake.refused[_shown(file.name)] = refusal
                if len(intake.refused) <= _REFUSALS_TOLD:
                    progress.note(f"Skipped {_shown(file.name)}: {refusal}")
                task.advance(size)
                continue
            reader = SourceReader(file, from_format)
            _read_one(file, from_format, reader, staged, task, strict)
            (intake.cut_short if reader.incomplete else intake.complete).add(file.path)
    return intake


def _read_one(file: SourceFile, from_format: str | None, reader: SourceReader, staged: StagedPapers, task: Task,
              strict: bool) -> None:
    source = staged.begin_source(file.path, file.name)
    told = 0
    for item in reader:
        if isinstance(item, Rejected):
            if strict:
                value = f": {item.value}" if item.value else "."
                raise RecordRejected(f"{file.name}, line {item.line}: {item.reason}{value}",
                                     "Nothing was changed. Without --strict such records are counted, listed and left "
                                     "out.")
            staged.reject(source, item.line, item.reason, item.value)
        else:
            staged.put(source, item.paper, item.line)
        if reader.bytes_read - told > _ADVANCE_BYTES:
            task.advance(reader.bytes_read - told)
            told = reader.bytes_read
    task.advance(reader.bytes_read - told)
    staged.end_source(source, SourceEntry(file.path, file.name, _signature(reader.format, from_format),
                                          reader.format.name, reader.encoding, reader.detail, reader.sha256),
                      is_stream=file.path == STDIN)


def check_anything_usable(staged: StagedPapers, intake: Intake) -> None:
    """Check that at least one record of the run's files could be used.

    Raises:
        NothingToIndex: naming the commonest reason.
    """
    if staged.holds_any(intake.paths):
        return
    counts = [c for c in staged.source_counts() if c.path in intake.paths]
    rejected = sum(c.rejected for c in counts)
    if not rejected:
        where = ", ".join(c.name for c in counts) or "the named folders"
        raise NothingToIndex(f"No record was found in {where}.",
                             "Check the files, or say what they are with --from FORMAT.")
    reasons: dict[str, int] = {}
    first = None
    for reject in staged.rejects():
        first = first or reject
        reasons[reject.reason] = reasons.get(reject.reason, 0) + 1
    causes = "; ".join(f"{n} x {reason}" for reason, n in sorted(reasons.items(), key=lambda r: -r[1]))
    where = f" First: {first.file}, line {first.line}: {first.value}" if first else ""
    raise NothingToIndex(f"All {rejected:,} records were rejected: {causes}.{where}",
                         "Nothing was changed. --rejects FILE writes them all with file, line and reason.")


def prune_unseen(sources: SourceList, staged: StagedPapers, intake: Intake, *, confirmed: bool) -> None:
    """Forget what the run's sources no longer hold; papers that another source still has stay.

    A file that could not be read to its end takes nothing away.

    Raises:
        UsageError: more than a quarter of all papers would go and `confirmed` is false.
    """
    numbers = staged.source_numbers()
    vanished = _vanished(sources, numbers)
    for path in vanished:
        staged.empty_source(numbers[path])
    affected = [numbers[path] for path in {*intake.complete, *intake.unchanged, *vanished}]
    before = staged.papers
    doomed = staged.unseen_papers(affected)
    if doomed > _PRUNE_LIMIT_FRACTION * before and not confirmed:
        raise UsageError(f"--prune would remove {doomed:,} of {before:,} papers, more than a quarter.",
                         "Nothing was changed. If that is meant, add --yes.")
    staged.drop_unseen(affected)
    for path in vanished:
        staged.drop_source(numbers[path])


def _vanished(sources: SourceList, known: Collection[str]) -> list[str]:
    """Return the known files that lay in a folder or an archive which was named, and are there no more.

    What lay in an archive that cannot be unpacked now is not taken for gone.
    """
    present = {f.path for f, _ in sources.files}
    places = [Path(s.path) for s in sources.named if s.path not in sources.gone]
    folders = [place for place in places if place.is_dir()]
    archives = tuple(f"{place}{MEMBER_MARK}" for place in places if place.is_file())
    unreadable = tuple(f"{f.path}{MEMBER_MARK}" for f, _ in sources.files if f.problem and f.member is None)
    return [path for path in known if path not in present and path != STDIN and not path.startswith(unreadable)
            and (path.startswith(archives) or any(folder in Path(path).parents for folder in folders))]


def _refusal(file: SourceFile, from_format: str | None) -> str | None:
    """Return why a file found in a folder cannot be read, None where it is to be read.

    Raises:
        InputError: the file was named itself, and its name cannot be remembered.
    """
    if _shown(file.path) != file.path:
        reason = f"The name of {_shown(file.path)} is no text in UTF-8."
        if not file.in_folder:
            raise InputError(reason, "Rename it.")
        return reason
    if not file.in_folder:
        return None
    try:
        SourceReader(file, from_format).close()
    except (UnknownFormat, UnreadableArchive) as error:
        return error.message
    except MissingExtra as error:
        return str(error).replace("\n", " ")
    return None


def _is_unchanged(sources: SourceList, file: SourceFile, from_format: str | None,
                  known: Mapping[str, tuple[str, str]]) -> bool:
    """Return whether a file has the bytes it had, and the reader that read them is the same."""
    if file.path == STDIN or file.path not in known or file.problem:
        return False
    signature, sha256 = known[file.path]
    if signature not in {_signature(form, from_format) for form in FORMATS}:
        return False
    return sha256 == sources.sha256(file)


def _shown(name: str) -> str:
    """Return the name of a file so that it can be written anywhere: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _signature(form: Format, from_format: str | None) -> str:
    return f"{form.name}@{form.version}" + (f" --from {from_format}" if from_format else "")


def _size_bytes(file: SourceFile) -> int:
    return 0 if file.path == STDIN else file.size_bytes
