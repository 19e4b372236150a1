"""A staged paper table, sources of vectors and a factory -> the next generation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncoderIdentity
from semsearch.index import generations
from semsearch.index.arrays import read_array
from semsearch.index.keyed_vectors import KeyedVectors
from semsearch.index.lexical_index import documents_of
from semsearch.index.lexical_writer import write_lexical
from semsearch.index.manifest import DEFAULT_MIN_RECALL, PAPERS, REJECTS, VECTOR_KEYS, FileEntry, Manifest
from semsearch.index.paper_table import PaperTable
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER, remove_logs
from semsearch.progress import Progress
from semsearch.publish_vectors import AUTO_FACTORY as AUTO_FACTORY
from semsearch.publish_vectors import (
    StructureWanted,
    describe_structure,
    has_same_vectors,
    write_next_structure,
    write_next_vectors,
)
from semsearch.shards.vectors import GivenVectors
from semsearch.vectorise import VectorSources
from semsearch.version import own_version


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
    of papers that are left out, `given` vectors that were made elsewhere, `min_recall` what an approximate structure
    is to find of the ten nearest.
    """

    identity: EncoderIdentity
    factory: str
    language: str
    deletions: list[str]
    given: GivenVectors = field(default_factory=GivenVectors)
    min_recall: float = DEFAULT_MIN_RECALL


def check_language_asked(language: str | None) -> None:
    """Check the language that a user asks for, None for that of the index.

    Raises:
        UsageError: words are not stemmed in it.
    """
    if language is not None:
        from semsearch.index.lexical_analysis import check_language

        check_language(language)


def count_texts(keys: NDArray[Any]) -> int:
    """Return how many distinct texts have these text keys."""
    return int(np.count_nonzero(np.diff(np.sort(documents_of(keys))))) + bool(len(keys))


def usable_vectors(base: IndexReader | None, keys: NDArray[Any], identity: EncoderIdentity) -> list[KeyedVectors]:
    """Return the vectors of a generation as a source for the next, whose texts have these keys by row; none if unfit.

    Raises:
        IndexDamaged: what says whose they are would be written again, and is not what was written before.
    """
    if base is None or base.manifest.encoder.fingerprint != identity.fingerprint:
        return []
    if not has_same_vectors(base, np.arange(len(keys)), keys, identity):
        base.generation.checked_path(VECTOR_KEYS)
    return [base.vectors.as_source()]


def publish_generation(index_folder: Path, staged: Path, base: IndexReader | None, keys: NDArray[Any],
                       sources: VectorSources, plan: Plan, progress: Progress, *, to_come: bool = False) -> Published:
    """Write what is missing in a staged folder that holds the paper table, and make it the current generation.

    `keys`: `(papers,)` text keys by row. Rows whose key no source knows get no vector. Files that would be the same as
    in `base` are hard links to it. `to_come`: more is about to come, so no approximate structure is built, and no log
    removed.
    """
    identity = plan.identity
    covered = np.flatnonzero(sources.has(keys))
    vectors = write_next_vectors(staged, base, covered, keys, sources, identity)
    wanted = StructureWanted(plan.factory, plan.min_recall, plan.given)
    structure = write_next_structure(staged, base, vectors, identity, wanted, progress, to_come=to_come)
    documents = _write_words(staged, base, keys, plan.language, progress)
    _write_rejects(staged, len(keys))

    def describe(generation: int, files: dict[str, FileEntry]) -> Manifest:
        return Manifest(generation=generation, created=datetime.now(UTC).isoformat(timespec="seconds"),
                        semsearch_version=own_version(), encoder=identity, papers=len(keys), vectors=len(covered),
                        files=files, language=plan.language, segments=vectors.segments,
                        **describe_structure(structure, plan.min_recall),
                        notes={"factory_asked": plan.factory, "deletions": plan.deletions})

    _check_counts(staged, keys, len(covered), documents)
    manifest = generations.publish(index_folder, staged, base.generation if base else None, describe)
    if len(covered) == len(keys) and not to_come:
        remove_logs(index_folder / FOLDER / identity.fingerprint)
    return Published(manifest, covered, np.asarray(vectors.entries["tokens"]))


def _write_words(staged: Path, base: IndexReader | None, keys: NDArray[Any], language: str, progress: Progress) -> int:
    with PaperTable(staged / PAPERS, len(keys)) as table:
        return write_lexical(staged, base.generation if base else None, table, keys, language, progress)


def _write_rejects(staged: Path, papers: int) -> None:
    with PaperTable(staged / PAPERS, papers) as table, open(staged / REJECTS, "w", encoding="utf-8") as file:
        for reject in table.rejects():
            file.write(reject.to_json() + "\n")


def _check_counts(staged: Path, keys: NDArray[Any], vectors: int, documents: int) -> None:
    """Compare the counts of all stores; a difference is a fault of this program."""
    with PaperTable(staged / PAPERS, len(keys)) as table:
        problems = table.count_problems()
    counted = len(read_array(staged / VECTOR_KEYS, mapped=vectors > 0))
    if counted != vectors:
        problems.append(f"{counted} vectors where {vectors} belong")
    texts = count_texts(keys)
    if documents != texts:
        problems.append(f"{documents} documents in the lexical index where {texts} belong")
    if problems:
        raise AssertionError(f"the staged stores disagree: {'; '.join(problems)}")
