"""A staged paper table, sources of vectors and a factory -> the next generation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncoderIdentity
from semsearch.index import generations
from semsearch.index.manifest import FAISS, PAPERS, REJECTS, VECTOR_KEYS, VECTORS, FileEntry, Manifest
from semsearch.index.paper_table import PaperTable
from semsearch.index.reader import IndexReader
from semsearch.index.vector_index import Structure, choose_factory, write_structure, write_vectors
from semsearch.index.vector_log import FOLDER, remove_logs
from semsearch.progress import Progress
from semsearch.vectorise import RowBlocks, VectorSources

AUTO_FACTORY = "auto"


@dataclass(frozen=True, slots=True)
class Published:
    """The manifest of a new generation and the `(m,)` int32 token counts of its embedded texts."""

    manifest: Manifest
    rows: NDArray[np.int64]
    token_counts: NDArray[np.int32]


def publish_generation(index_folder: Path, staged: Path, base: IndexReader | None, keys: NDArray[Any],
                       sources: VectorSources, identity: EncoderIdentity, factory: str, deletions: list[str],
                       progress: Progress) -> Published:
    """Write what is missing in a staged folder that holds the paper table, and make it the current generation.

    `keys`: `(papers,)` text keys by row. Rows whose key no source knows get no vector. `factory` is `auto` or a faiss
    factory string; `deletions` are the ids that were left out. Files that would be the same as in `base` are hard links
    to it.
    """
    covered = np.flatnonzero(sources.has(keys))
    chosen = choose_factory(len(keys)) if factory == AUTO_FACTORY else factory
    same_vectors = base is not None and has_same_vectors(base, covered, keys, identity)
    if base is not None and same_vectors:
        for name in (VECTORS, VECTOR_KEYS):
            generations.take_over(base.generation, name, staged)
    else:
        write_vectors(staged, len(covered), identity.dimension,
                      RowBlocks(covered, keys[covered], sources, identity.dimension))
    structure = _structure(staged, base, chosen, same_vectors, progress)
    _write_rejects(staged, len(keys))

    def describe(generation: int, files: dict[str, FileEntry]) -> Manifest:
        return Manifest(generation=generation, created=datetime.now(UTC).isoformat(timespec="seconds"),
                        semsearch_version=_own_version(), encoder=identity, papers=len(keys), vectors=len(covered),
                        factory=structure.factory, search_parameters=structure.search_parameters,
                        recall_at_10=structure.recall_at_10, files=files,
                        notes={"factory_asked": factory, "deletions": deletions})

    _check_counts(staged, len(keys), len(covered), structure)
    manifest = generations.publish(index_folder, staged, base.generation if base else None, describe)
    published = index_folder / generations.GENERATIONS / str(manifest.generation)
    entries = np.load(published / VECTOR_KEYS, allow_pickle=False)
    if len(covered) == len(keys):
        remove_logs(index_folder / FOLDER / identity.fingerprint)
    return Published(manifest, entries["row"], entries["tokens"])


def has_same_vectors(base: IndexReader, covered: NDArray[np.int64], keys: NDArray[Any],
                     identity: EncoderIdentity) -> bool:
    """Return whether `base` holds just the vectors of the `covered` rows of these text keys."""
    if base.manifest.encoder.fingerprint != identity.fingerprint:
        return False
    rows, stored = base.vectors.rows, base.vectors.keys
    return len(rows) == len(covered) and bool((rows == covered).all() and (stored == keys[covered]).all())


def _structure(staged: Path, base: IndexReader | None, factory: str, same_vectors: bool, progress: Progress
               ) -> Structure:
    if same_vectors and base is not None and base.manifest.factory == factory:
        if FAISS in base.manifest.files:
            generations.take_over(base.generation, FAISS, staged)
        return Structure(factory, base.manifest.search_parameters, base.manifest.recall_at_10)
    structure = write_structure(staged, factory)
    if structure.recall_at_10 is not None:
        progress.note(f"Built {factory}: recall@10 {structure.recall_at_10:.3f} against exact search with "
                      f"{structure.search_parameters or 'its own parameters'}.")
    return structure


def _write_rejects(staged: Path, papers: int) -> None:
    with PaperTable(staged / PAPERS, papers) as table, open(staged / REJECTS, "w", encoding="utf-8") as file:
        for reject in table.rejects():
            file.write(reject.to_json() + "\n")


def _check_counts(staged: Path, papers: int, vectors: int, structure: Structure) -> None:
    """Compare the counts of all stores; a difference is a fault of this program."""
    with PaperTable(staged / PAPERS, papers) as table:
        problems = table.count_problems()
    counted = len(np.load(staged / VECTORS, mmap_mode="r" if vectors else None, allow_pickle=False))
    if counted != vectors:
        problems.append(f"{counted} vectors where {vectors} belong")
    if problems:
        raise AssertionError(f"the staged stores disagree ({structure.factory}): {'; '.join(problems)}")


def _own_version() -> str:
    try:
        return version("semsearch")
    except PackageNotFoundError:
        return "unknown"

