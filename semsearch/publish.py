"""A staged paper table, sources of vectors and a factory -> the next generation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncoderIdentity, EncoderRequest
from semsearch.index import generations
from semsearch.index.keyed_vectors import KeyedVectors
from semsearch.index.lexical_index import documents_of
from semsearch.index.lexical_writer import write_lexical
from semsearch.index.manifest import FAISS, PAPERS, REJECTS, VECTOR_KEYS, VECTORS, FileEntry, Manifest
from semsearch.index.paper_table import PaperTable
from semsearch.index.reader import IndexReader
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.vector_index import Structure, check_factory, choose_factory, write_structure, write_vectors
from semsearch.index.vector_log import FOLDER, VectorLogWriter, read_logs, remove_logs
from semsearch.progress import Progress
from semsearch.provider import EncoderProvider, load_matching
from semsearch.shards.lists import merged_structure
from semsearch.shards.vectors import GivenVectors
from semsearch.vectorise import RowBlocks, VectorSources, check_room, encode_rows, missing_rows

AUTO_FACTORY = "auto"


@dataclass(frozen=True, slots=True)
class Published:
    """The manifest of a new generation and the `(m,)` int32 token counts of its embedded texts."""

    manifest: Manifest
    rows: NDArray[np.int64]
    token_counts: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a generation is made.

    `factory` is `auto` or a faiss factory string, `language` that in which words are stemmed, `deletions` are the ids
    of papers that are left out, `given` vectors that were made elsewhere.
    """

    identity: EncoderIdentity
    factory: str
    language: str
    deletions: list[str]
    given: GivenVectors = field(default_factory=GivenVectors)


def check_language_asked(language: str | None) -> None:
    """Check the language that a user asks for, None for that of the index.

    Raises:
        UsageError: words are not stemmed in it.
    """
    if language is not None:
        from semsearch.index.lexical_analysis import check_language

        check_language(language)


def vectorise_and_publish(folder: Path, staging: Path, staged: StagedPapers, base: IndexReader | None,
                          provider: EncoderProvider, request: EncoderRequest, plan: Plan, progress: Progress
                          ) -> tuple[Published, int]:
    """Encode the texts that no source of vectors knows, publish, and return the result and how many were encoded."""
    keys, identity = staged.text_keys(), plan.identity
    if plan.factory != AUTO_FACTORY:
        check_factory(plan.factory, identity.dimension, len(keys))
    log_folder = folder / FOLDER / identity.fingerprint
    known: list[KeyedVectors] = []
    if base is not None and base.manifest.encoder.fingerprint == identity.fingerprint:
        if not has_same_vectors(base, np.arange(len(keys)), keys, identity):
            for name in (VECTORS, VECTOR_KEYS):
                base.generation.checked_path(name)
        known.append(base.vectors.as_source())
    known += plan.given.shards
    sources = VectorSources([*known, *read_logs(log_folder, identity.dimension)])
    rows = missing_rows(keys, sources)
    if len(rows):
        check_room(len(rows), len(keys), identity.dimension, folder)
        encoder = load_matching(provider, request, identity)
        encode_rows(staged, rows, identity, encoder, VectorLogWriter(log_folder, identity.dimension), progress)
        sources = VectorSources([*known, *read_logs(log_folder, identity.dimension)])
    staged.close()
    published = publish_generation(folder, staging, base, keys, sources, plan, progress)
    return published, len(rows)


def publish_generation(index_folder: Path, staged: Path, base: IndexReader | None, keys: NDArray[Any],
                       sources: VectorSources, plan: Plan, progress: Progress) -> Published:
    """Write what is missing in a staged folder that holds the paper table, and make it the current generation.

    `keys`: `(papers,)` text keys by row. Rows whose key no source knows get no vector. Files that would be the same as
    in `base` are hard links to it.
    """
    identity = plan.identity
    covered = np.flatnonzero(sources.has(keys))
    chosen = choose_factory(len(keys)) if plan.factory == AUTO_FACTORY else plan.factory
    same_vectors = base is not None and has_same_vectors(base, covered, keys, identity)
    if base is not None and same_vectors:
        for name in (VECTORS, VECTOR_KEYS):
            generations.take_over(base.generation, name, staged)
    else:
        write_vectors(staged, len(covered), identity.dimension,
                      RowBlocks(covered, keys[covered], sources, identity.dimension))
    structure = _structure(staged, base, chosen, same_vectors, plan.given, progress)
    documents = _write_words(staged, base, keys, plan.language, progress)
    _write_rejects(staged, len(keys))

    def describe(generation: int, files: dict[str, FileEntry]) -> Manifest:
        return Manifest(generation=generation, created=datetime.now(UTC).isoformat(timespec="seconds"),
                        semsearch_version=_own_version(), encoder=identity, papers=len(keys), vectors=len(covered),
                        factory=structure.factory, search_parameters=structure.search_parameters,
                        recall_at_10=structure.recall_at_10, files=files,
                        language=plan.language,
                        notes={"factory_asked": plan.factory, "deletions": plan.deletions})

    _check_counts(staged, keys, len(covered), documents, structure)
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


def _structure(staged: Path, base: IndexReader | None, factory: str, same_vectors: bool, given: GivenVectors,
               progress: Progress) -> Structure:
    if same_vectors and base is not None and base.manifest.factory == factory:
        if FAISS in base.manifest.files:
            generations.take_over(base.generation, FAISS, staged)
        return Structure(factory, base.manifest.search_parameters, base.manifest.recall_at_10)
    structure = merged_structure(given.lists, staged, factory) or write_structure(staged, factory)
    if structure.recall_at_10 is not None:
        progress.note(f"Built {factory}: recall@10 {structure.recall_at_10:.3f} against exact search with "
                      f"{structure.search_parameters or 'its own parameters'}.")
    return structure


def _write_words(staged: Path, base: IndexReader | None, keys: NDArray[Any], language: str, progress: Progress) -> int:
    with PaperTable(staged / PAPERS, len(keys)) as table:
        return write_lexical(staged, base.generation if base else None, table, keys, language, progress)


def _write_rejects(staged: Path, papers: int) -> None:
    with PaperTable(staged / PAPERS, papers) as table, open(staged / REJECTS, "w", encoding="utf-8") as file:
        for reject in table.rejects():
            file.write(reject.to_json() + "\n")


def _check_counts(staged: Path, keys: NDArray[Any], vectors: int, documents: int, structure: Structure) -> None:
    """Compare the counts of all stores; a difference is a fault of this program."""
    with PaperTable(staged / PAPERS, len(keys)) as table:
        problems = table.count_problems()
    counted = len(np.load(staged / VECTORS, mmap_mode="r" if vectors else None, allow_pickle=False))
    if counted != vectors:
        problems.append(f"{counted} vectors where {vectors} belong")
    texts = len(np.unique(documents_of(keys)))
    if documents != texts:
        problems.append(f"{documents} documents in the lexical index where {texts} belong")
    if problems:
        raise AssertionError(f"the staged stores disagree ({structure.factory}): {'; '.join(problems)}")


def _own_version() -> str:
    try:
        return version("semsearch")
    except PackageNotFoundError:
        return "unknown"

