"""Vectors of a generation in the making -> its faiss index, built, extended or calibrated anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from semsearch.index import faiss_structure
from semsearch.index.faiss_structure import Structure as Structure
from semsearch.index.faiss_structure import check_factory
from semsearch.index.manifest import DEFAULT_MIN_RECALL, FAISS
from semsearch.index.structure_choice import EXACT
from semsearch.index.structure_recall import calibrate
from semsearch.index.vector_files import StoredVectors


@dataclass(frozen=True, slots=True)
class StructurePlan:
    """What a structure is built over and how much of exact search it is to find.

    `folder`: the staged generation; `stored`: its vectors; `keys`: `(places,)` the text key of each, zeros where its
    paper is gone.
    """

    folder: Path
    stored: StoredVectors
    keys: NDArray[Any]
    factory: str
    min_recall: float = DEFAULT_MIN_RECALL


def build_structure(plan: StructurePlan) -> Structure:
    """Build the faiss index over all vectors, measure its recall, and write it.

    Raises:
        UsageError: the vectors cannot train this factory.
        DiskFull: there is no room.
    """
    if plan.factory == EXACT:
        return Structure(EXACT, {}, None)
    check_factory(plan.factory, plan.stored.dimension, len(plan.stored))
    if not len(plan.stored):
        return Structure(plan.factory, {}, None)
    index = faiss_structure.train(plan.factory, plan.stored)
    faiss_structure.add(index, plan.stored)
    return finish_structure(plan, index)


def extend_structure(plan: StructurePlan, before: Path) -> Structure:
    """Add to a faiss index, of which every byte was checked, the vectors after those that it holds, and write it.

    Raises:
        IndexDamaged: it cannot be read.
        DiskFull: there is no room.
    """
    index = faiss_structure.read(before)
    faiss_structure.add(index, plan.stored, int(index.ntotal))
    return finish_structure(plan, index)


def finish_structure(plan: StructurePlan, index: Any) -> Structure:
    """Measure the recall of a filled faiss index and write it.

    Raises:
        DiskFull: there is no room.
    """
    parameters, recall = calibrate(index, plan.stored, plan.min_recall)
    skeleton_bytes, skeleton_sha256 = faiss_structure.write(index, plan.folder / FAISS)
    return Structure(plan.factory, parameters, recall, int(index.ntotal), skeleton_bytes, skeleton_sha256)
