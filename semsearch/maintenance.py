"""What is done to an index besides building and asking: deleting, checking, describing, exporting its vectors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from semsearch.errors import IndexNotFound, IndexStoreError, PaperNotFound, UsageError
from semsearch.index import generations
from semsearch.index.durable import file_sha256, written_atomically
from semsearch.index.locks import BUILD_LOCK, build_lock
from semsearch.index.manifest import MANIFEST
from semsearch.index.paper_table import SourceCounts
from semsearch.index.reader import IndexReader
from semsearch.index.state import Deletion, State, change_state, read_state
from semsearch.index.vector_log import inspect_logs

_BLOCK_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of checking every byte and every count of an index: sound where there are no problems."""

    index: str
    generation: int
    files_checked: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as it is written to JSON."""
        return {**asdict(self), "sound": not self.problems}


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What an index is: when and with what it was made, what it holds, what it takes on disk."""

    name: str
    folder: str
    generation: int
    created: str
    semsearch_version: str
    model: str
    revision: str | None
    dimension: int
    max_tokens: int
    precision: str
    fingerprint: str
    papers: int
    deleted: int
    vectors: int
    coverage: float
    without_abstract: int
    truncated: int
    factory: str
    search_parameters: dict[str, int]
    recall_at_10: float | None
    language: str
    distinct_texts: int
    size_bytes: int
    waiting_vectors: int
    sources: tuple[SourceCounts, ...]
    remembered: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the description as it is written to JSON."""
        return asdict(self)


def delete(index_folder: Path | str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Hide papers from every reader that opens the index from now on, and return (id, title) of each.

    Never waits for a build; the rows go with the next generation, and later builds do not bring the papers back.

    Raises:
        PaperNotFound, AmbiguousPaper: a name fits no paper, or several; then nothing is deleted.
    """
    index_folder = Path(index_folder)
    with IndexReader(index_folder) as reader:
        rows = list(dict.fromkeys(reader.find(name) for name in names))
        papers = reader.papers.get(rows)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        deletions = {p.id: Deletion(p.id, tuple(reader.papers.keys_of(row)), "" if p.title_stands_in else p.title, now)
                     for row, p in zip(rows, papers, strict=True)}
    change_state(index_folder, lambda state: replace(state, deletions={**state.deletions, **deletions}))
    return [(p.id, p.title) for p in papers]


def restore(index_folder: Path | str, names: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Take deletions back and return (id, title, whether it is found again at once) of each.

    A paper whose row has gone already comes back with the next `build` or `reindex`.

    Raises:
        PaperNotFound: a name is of no deleted paper; then nothing changes.
    """
    index_folder = Path(index_folder)
    with IndexReader(index_folder) as reader:
        chosen = [_deleted_as(name, reader.state) for name in names]
        present = {p.id for p in reader.papers.get(sorted(reader.hidden))}
    ids = {deletion.id for deletion in chosen}
    change_state(index_folder, lambda state: replace(
        state, deletions={k: v for k, v in state.deletions.items() if k not in ids}))
    return [(d.id, d.title, d.id in present) for d in dict.fromkeys(chosen)]


def verify(index_folder: Path | str) -> VerifyReport:
    """Check every checksum and every count of an index.

    Raises:
        IndexNotFound: there is nothing to check.
    """
    index_folder = Path(index_folder)
    pointer = None
    problems: list[str] = []
    notes: list[str] = []
    checked = 0
    try:
        read_state(index_folder)
    except IndexStoreError as error:
        problems.append(error.message)
    try:
        pointer = generations.read_pointer(index_folder)
        generation = generations.open_current(index_folder)
    except IndexNotFound:
        raise
    except IndexStoreError as error:
        problems.append(error.message)
        return VerifyReport(index_folder.name, pointer.generation if pointer else 0, 0, tuple(problems), ())
    try:
        for name, entry in sorted(generation.manifest.files.items()):
            checked += 1
            if file_sha256(generation.path(name)) != entry.sha256:
                problems.append(f"{generation.path(name)} is not what was written (its checksum differs)")
        known = {MANIFEST, *generation.manifest.files}
        notes += [f"{generation.path(name)} does not belong to the index"
                  for name in generations.file_names(generation.folder) if name not in known]
        if not problems:
            problems += _count_problems(index_folder)
    finally:
        generation.close()
    log_problems, log_notes = _check_logs(index_folder, {generation.manifest.encoder.fingerprint:
                                                         generation.manifest.encoder.dimension})
    return VerifyReport(index_folder.name, generation.manifest.generation, checked,
                        tuple(problems + log_problems), tuple(notes + log_notes))


def describe(index_folder: Path | str) -> IndexInfo:
    """Return what an index is.

    Raises:
        IndexNotFound, IndexDamaged, IndexFormatUnsupported: it cannot be read.
    """
    from semsearch.index.lexical_writer import count_documents

    index_folder = Path(index_folder)
    with IndexReader(index_folder) as reader:
        manifest, encoder = reader.manifest, reader.manifest.encoder
        logs = inspect_logs(index_folder, {encoder.fingerprint: encoder.dimension})
        return IndexInfo(
            name=index_folder.name, folder=str(index_folder), generation=manifest.generation, created=manifest.created,
            semsearch_version=manifest.semsearch_version, model=encoder.model, revision=encoder.revision,
            dimension=encoder.dimension, max_tokens=encoder.max_tokens, precision=encoder.precision,
            fingerprint=encoder.fingerprint, papers=reader.visible, deleted=len(reader.state.deletions),
            vectors=manifest.vectors, coverage=manifest.vectors / manifest.papers if manifest.papers else 1.0,
            without_abstract=reader.papers.tallies.without_abstract,
            truncated=int((reader.vectors.token_counts > encoder.max_tokens).sum()), factory=manifest.factory,
            search_parameters=manifest.search_parameters, recall_at_10=manifest.recall_at_10,
            language=manifest.language, distinct_texts=count_documents(reader.generation.folder),
            size_bytes=_size_bytes(index_folder),
            waiting_vectors=sum(log.records for log in logs), sources=tuple(reader.papers.source_counts()),
            remembered=tuple(s.path for s in reader.state.sources))


def export_vectors(index_folder: Path | str, file: Path | str) -> list[str]:
    """Write the vectors of all papers that can be found and have one to an npy file, and return their ids in its order.

    The file holds `(n, d)` float32 unit rows.

    Raises:
        DiskFull: there is no room.
    """
    index_folder, file = Path(index_folder), Path(file)
    with IndexReader(index_folder) as reader:
        rows = reader.vectors.rows
        kept = np.flatnonzero(~np.isin(rows, np.fromiter(reader.hidden, np.int64, len(reader.hidden))))
        with written_atomically(file) as temporary, open(temporary, "wb") as out:
            header = {"descr": "<f4", "fortran_order": False, "shape": (len(kept), reader.manifest.encoder.dimension)}
            np.lib.format.write_array_header_1_0(out, header)
            for start in range(0, len(kept), _BLOCK_ROWS):
                out.write(reader.vectors.vectors_at(kept[start:start + _BLOCK_ROWS]).tobytes())
        ids = reader.papers.ids()
        return [ids[row] for row in rows[kept].tolist()]


def remove_index(index_folder: Path | str) -> None:
    """Remove an index and all that belongs to it.

    Raises:
        IndexNotFound: there is none.
        UsageError: the folder is no index.
        IndexBusy: a build is writing to it.
    """
    index_folder = Path(index_folder)
    if not index_folder.is_dir():
        raise generations.not_found(index_folder)
    if index_folder.name not in generations.index_names(index_folder.parent):
        raise UsageError(f"{index_folder} is not an index of semsearch.", "Nothing was removed.")
    with build_lock(index_folder, "remove"):
        (index_folder / generations.CURRENT).unlink(missing_ok=True)
        for path in sorted(index_folder.iterdir()):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != BUILD_LOCK:
                path.unlink()
        (index_folder / BUILD_LOCK).unlink()
        index_folder.rmdir()


def _size_bytes(folder: Path) -> int:
    """Return what the files under a folder take; those that a build removes meanwhile do not count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.path.getsize(os.path.join(parent, name))
    return total


def _deleted_as(name: str, state: State) -> Deletion:
    deletion = state.find_deletion(name)
    if deletion is None:
        raise PaperNotFound(f"No deleted paper is called {name!r}.", "semsearch info shows how many were deleted.")
    return deletion


def _count_problems(index_folder: Path) -> list[str]:
    try:
        with IndexReader(index_folder) as reader:
            problems = reader.papers.check()
            keys = reader.papers.text_keys()
            if not (keys[reader.vectors.rows] == reader.vectors.keys).all():
                problems.append("some vectors belong to other texts than their rows have")
            positions = np.arange(len(reader.vectors.rows))
            blocks = [positions[start:start + _BLOCK_ROWS] for start in range(0, len(positions), _BLOCK_ROWS)]
            if not all(np.allclose(np.linalg.norm(reader.vectors.vectors_at(block), axis=1), 1.0, atol=1e-3)
                       for block in blocks):
                problems.append("some vectors are not of length 1")
            return problems + reader.lexical.count_problems(keys)
    except IndexStoreError as error:
        return [error.message]


def _check_logs(index_folder: Path, dimension_of: dict[str, int]) -> tuple[list[str], list[str]]:
    problems, notes = [], []
    for log in inspect_logs(index_folder, dimension_of):
        if not log.readable:
            problems.append(f"{log.path} is not a vector log; its vectors are lost and will be encoded again")
        elif log.damaged:
            problems.append(f"{log.path}: {log.damaged} of {log.records + log.damaged} vectors are damaged; they will "
                            "be encoded again")
        if log.readable and log.records:
            notes.append(f"{log.path}: {log.records} vectors wait for the next build")
        if log.torn_bytes:
            notes.append(f"{log.path}: an unfinished record at its end is ignored")
    return problems, notes
