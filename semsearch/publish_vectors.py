"""The vectors and the faiss index of the next generation: as much as can be from that before, the rest written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncoderIdentity
from semsearch.index import faiss_structure, generations
from semsearch.index.manifest import FAISS, Manifest, Segment
from semsearch.index.reader import IndexReader
from semsearch.index.structure_build import Structure, StructurePlan, build_structure, extend_structure
from semsearch.index.structure_choice import EXACT, choose_factory
from semsearch.index.structure_recall import calibrate
from semsearch.index.vector_files import open_stored, vector_file_names, write_entries, write_segment
from semsearch.index.vector_segments import SegmentPlan, plan_new, plan_segments
from semsearch.progress import Progress
from semsearch.shards.lists import merged_structure
from semsearch.shards.vectors import GivenVectors
from semsearch.vectorise import RowBlocks, VectorSources

AUTO_FACTORY: Final = "auto"
_SCANNED_SHARE: Final = 0.1
_SCANNED_MOST: Final = 100_000
"""So many vectors beside a structure are scanned in under 20 ms; more are added to it."""


@dataclass(frozen=True, slots=True)
class NextVectors:
    """The vectors of a staged generation.

    `kept`: how many of the first in the segments of the generation before are at the same places; `entries`, `places`:
    `(vectors,)` as `vector_files` has them.
    """

    segments: tuple[Segment, ...]
    kept: int
    entries: NDArray[Any]
    places: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StructureWanted:
    """What kind of structure a generation is to have: `auto` or a faiss factory, and the recall@10 it is to reach."""

    factory: str
    min_recall: float
    given: GivenVectors


def has_same_vectors(base: IndexReader, covered: NDArray[np.int64], keys: NDArray[Any],
                     identity: EncoderIdentity) -> bool:
    """Return whether `base` holds just the vectors of the `covered` rows of these text keys."""
    if base.manifest.encoder.fingerprint != identity.fingerprint:
        return False
    rows, stored = base.vectors.rows, base.vectors.keys
    return len(rows) == len(covered) and bool((rows == covered).all() and (stored == keys[covered]).all())


def write_next_vectors(staged: Path, base: IndexReader | None, covered: NDArray[np.int64], keys: NDArray[Any],
                       sources: VectorSources, identity: EncoderIdentity) -> NextVectors:
    """Put the vectors of the `covered` rows, whose `(papers,)` text keys are given, into a staged folder.

    Raises:
        IndexDamaged: vectors of `base` would be written again, and are not what was written before.
        DiskFull: there is no room.
    """
    if base is not None and has_same_vectors(base, covered, keys, identity):
        for name in vector_file_names(base.manifest):
            generations.take_over(base.generation, name, staged)
        segments = base.manifest.segments
        return NextVectors(segments, sum(s.vectors for s in segments), base.vectors.entries, base.vectors.places)
    usable = base if base is not None and base.manifest.encoder.fingerprint == identity.fingerprint else None
    plan = plan_new(len(covered)) if usable is None else plan_segments(
        usable.manifest.segments, usable.vectors.keys, usable.vectors.places, keys[covered])
    entries, places = _write_planned(staged, usable, plan, covered, keys, sources, identity)
    return NextVectors(plan.segments, plan.kept_vectors(usable.manifest.segments) if usable else 0, entries, places)


def _write_planned(staged: Path, usable: IndexReader | None, plan: SegmentPlan, covered: NDArray[np.int64],
                   keys: NDArray[Any], sources: VectorSources, identity: EncoderIdentity
                   ) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if usable is not None:
        for name in plan.read_before:
            usable.generation.checked_path(name)
        for segment in plan.kept:
            generations.take_over(usable.generation, segment.name, staged)
    places = plan.places.copy()
    anew = np.flatnonzero(places < 0)
    rows = covered[anew]
    first = sum(segment.vectors for segment in plan.kept)
    blocks = RowBlocks(rows, keys[rows], sources, identity.dimension)
    places[anew] = first + np.arange(len(anew))
    written = None
    if plan.written is not None:
        written = write_segment(staged / plan.written.name, len(anew), identity.dimension, blocks)
    if usable is None and written is not None:
        entries = written
    else:
        assert usable is not None
        entries = np.zeros(len(covered), usable.vectors.entries.dtype)
        stays = np.flatnonzero(plan.places >= 0)
        entries["tokens"][stays] = usable.vectors.token_counts[plan.positions[stays]]
        entries["row"], entries["key"] = covered, keys[covered]
        if written is not None:
            entries["tokens"][anew] = written["tokens"]
    write_entries(staged, entries, places)
    return entries, places


def write_next_structure(staged: Path, base: IndexReader | None, vectors: NextVectors, identity: EncoderIdentity,
                         wanted: StructureWanted, progress: Progress, *, to_come: bool = False) -> Structure:
    """Put a faiss index over the vectors into a staged folder, where there is to be one, and return what it is.

    One that holds nearly all vectors goes on as it is; what it lacks is scanned beside it, and added when it is much.
    `to_come`: more vectors are about to come, so none is built for these, and one that was there goes on, whatever
    would be chosen now.

    Raises:
        UsageError: the vectors cannot train it.
        IndexDamaged: it would be extended, and is not what was written.
        DiskFull: there is no room.
    """
    stored = open_stored(staged, vectors.segments, identity.dimension)
    automatic = wanted.factory == AUTO_FACTORY
    factory = choose_factory(len(vectors.entries), identity.dimension) if automatic else wanted.factory
    if automatic and to_come and base is not None and base.manifest.indexed_vectors:
        factory = base.manifest.factory
    if factory == EXACT:
        return Structure(EXACT, {}, None)
    text_keys = np.zeros(len(stored), vectors.entries["key"].dtype)
    text_keys[vectors.places] = vectors.entries["key"]
    plan = StructurePlan(staged, stored, text_keys, factory, wanted.min_recall)
    before = base.manifest if base is not None else None
    if base is not None and before is not None and before.factory == factory and (
            0 < before.indexed_vectors <= vectors.kept):
        scanned = len(stored) - before.indexed_vectors
        if to_come or _is_little(scanned, len(stored)):
            return _kept(base, plan, progress)
        return _told(extend_structure(plan, base.generation.checked_path(FAISS)), plan, progress)
    if to_come:
        return Structure(EXACT, {}, None)
    with progress.task(f"Building {factory}", None, "step"):
        structure = merged_structure(wanted.given.lists, plan) or build_structure(plan)
    return _told(structure, plan, progress)


def _kept(base: IndexReader, plan: StructurePlan, progress: Progress) -> Structure:
    """Take the structure of the generation before over, with other search parameters for another recall."""
    before = base.manifest
    generations.take_over(base.generation, FAISS, plan.folder)
    parameters, recall = before.search_parameters, before.recall_at_10
    if before.min_recall != plan.min_recall:
        index = faiss_structure.load(base.generation.folder, before)
        parameters, recall = calibrate(index, plan.stored, plan.min_recall)
    structure = Structure(plan.factory, parameters, recall, before.indexed_vectors, before.skeleton_bytes,
                          before.skeleton_sha256)
    return structure if before.min_recall == plan.min_recall else _told(structure, plan, progress)


def _told(structure: Structure, plan: StructurePlan, progress: Progress) -> Structure:
    """Return the structure after saying what it finds, and whether that is what was asked for."""
    if structure.recall_at_10 is None:
        return structure
    progress.note(f"Built {structure.factory}: recall@10 {structure.recall_at_10:.3f} against exact search with "
                  f"{structure.search_parameters or 'its own parameters'}.")
    if structure.recall_at_10 < plan.min_recall:
        progress.note(f"That is less than the recall of {plan.min_recall:g} that was asked for, and this factory does "
                      "not reach it. --factory with HNSW32 or IVF and SQ8 finds more, --factory Flat all; a lower "
                      "--min-recall accepts it.")
    return structure


def is_structure_due(manifest: Manifest) -> bool:
    """Return whether a build that changes nothing else would train or extend the structure of a generation."""
    asked = str(manifest.notes.get("factory_asked", AUTO_FACTORY))
    factory = choose_factory(manifest.vectors, manifest.encoder.dimension) if asked == AUTO_FACTORY else asked
    scanned = manifest.vectors - manifest.indexed_vectors
    if factory == EXACT or scanned <= 0:
        return False
    return manifest.factory != factory or not _is_little(scanned, manifest.vectors)


def _is_little(scanned: int, vectors: int) -> bool:
    """Return whether so many vectors beside a structure may be scanned."""
    return scanned <= min(_SCANNED_SHARE * vectors, _SCANNED_MOST)


def describe_structure(structure: Structure, min_recall: float) -> dict[str, Any]:
    """Return the fields of a manifest that say what a structure is."""
    return {"factory": structure.factory, "search_parameters": structure.search_parameters,
            "recall_at_10": structure.recall_at_10, "indexed_vectors": structure.indexed_vectors,
            "skeleton_bytes": structure.skeleton_bytes, "skeleton_sha256": structure.skeleton_sha256,
            "min_recall": min_recall}
