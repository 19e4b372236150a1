"""The papers of some sources, read and merged once for all who encode their shards."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import IndexBusy, NothingToIndex
from semsearch.index.arrays import read_array
from semsearch.index.durable import full_disk_named, make_folder, sync_file, sync_folder, write_atomically
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.locks import waiting_lock, work_lock
from semsearch.index.manifest import PAPERS
from semsearch.index.paper_table import PaperTable
from semsearch.progress import Progress
from semsearch.reading import read_library

FOLDER: Final = "papers"
_KEYS: Final = "keys.npy"
_COUNTS: Final = "papers.json"
_LOCK: Final = "reading.lock"


@dataclass(frozen=True, slots=True)
class StagedTexts:
    """A folder with a paper table and the text keys of its rows, for whoever encodes.

    `papers` counts its rows, `rejected` the records that could not be used; `sources_sha256` stands for the content of
    the source files, `""` where they were a stream.
    """

    folder: Path
    papers: int
    rejected: int
    sources_sha256: str

    def open(self) -> PaperTable:
        """Return the paper table."""
        return PaperTable(self.folder / PAPERS, self.papers)

    def keys(self) -> NDArray[Any]:
        """Return the `(papers,)` text keys by row, memory-mapped."""
        keys = read_array(self.folder / _KEYS, mapped=True)
        if keys.dtype != KEY_DTYPE or keys.shape != (self.papers,):
            raise AssertionError(f"{self.folder} holds {keys.shape} keys of {self.papers} papers")
        return keys


@contextmanager
def staged_texts(output: Path, sources: Sequence[str | Path], from_format: str | None, sources_sha256: str,
                 progress: Progress) -> Iterator[StagedTexts]:
    """Give the papers of the sources, from the folder of shards where someone has put them there, else put there.

    Raises:
        InputError, UsageError: as `build_index`.
        DiskFull: there is no room for them.
    """
    places = output / FOLDER
    make_folder(places)
    if not sources_sha256:  # a stream, which nobody can read again
        folder = places / f"stream-{socket.gethostname()}-{os.getpid()}"
        try:
            yield _stage(folder, sources, from_format, "", progress)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    folder = _folder_of(output, sources_sha256)
    with _reading(places, progress):
        staged = _found(folder, sources_sha256) or _stage(folder, sources, from_format, sources_sha256, progress)
    yield staged


def remove_staged(output: Path, sources_sha256: str) -> None:
    """Remove the papers of some sources when all their shards are finished."""
    if sources_sha256:
        shutil.rmtree(_folder_of(output, sources_sha256), ignore_errors=True)


def _folder_of(output: Path, sources_sha256: str) -> Path:
    return output / FOLDER / sources_sha256[:16]


@contextmanager
def _reading(places: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of whoever reads sources, and say for whom one waits."""
    try:
        with work_lock(places / _LOCK, "read", "reading the sources", ""):
            yield
            return
    except IndexBusy as busy:
        progress.note(f"{busy.message} Waiting for what it reads.")
    with waiting_lock(places / _LOCK):
        yield


def _found(folder: Path, sources_sha256: str) -> StagedTexts | None:
    try:
        counts = json.loads((folder / _COUNTS).read_bytes())
        whole = all((folder / name).stat().st_size == size for name, size in counts["sizes_bytes"].items())
        return StagedTexts(folder, counts["papers"], counts["rejected"], sources_sha256) if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _stage(folder: Path, sources: Sequence[str | Path], from_format: str | None, sources_sha256: str,
           progress: Progress) -> StagedTexts:
    """Read and merge, on a disk of this machine, and copy the result: SQLite is not to write on a network's disk."""
    with read_library(sources, from_format=from_format, progress=progress) as library:
        rejected = sum(file.counts.rejected for file in library.report())
        if not len(library):
            raise NothingToIndex(f"No text was found in the sources; {rejected:,} records were rejected.",
                                 "Look at them with: semsearch read SOURCE")
        shutil.rmtree(folder, ignore_errors=True)  # what was begun and not finished
        folder.mkdir()
        with full_disk_named(folder):
            shutil.copyfile(library.table.path, folder / PAPERS)
            np.save(folder / _KEYS, np.ascontiguousarray(library.table.text_keys()), allow_pickle=False)
        staged = StagedTexts(folder, len(library), rejected, sources_sha256)
    for name in (PAPERS, _KEYS):
        sync_file(folder / name)
    sizes = {name: (folder / name).stat().st_size for name in (PAPERS, _KEYS)}
    counts = {name: value for name, value in asdict(staged).items() if name in ("papers", "rejected")}
    write_atomically(folder / _COUNTS, json.dumps({**counts, "sizes_bytes": sizes}).encode() + b"\n")
    sync_folder(folder.parent)
    return staged
