"""Inverted lists filled in parts by one trained quantiser, and merged by faiss into the structure of a generation.

A part holds the vectors of one shard; its ids are the positions in that shard. Merged, ids are places in the segments
of the generation, as in a structure that was filled at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import faiss
import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.errors import IndexDamaged, UsageError
from semsearch.index.durable import written_atomically
from semsearch.index.faiss_structure import as_ivf, check_factory, train
from semsearch.index.structure_build import Structure, StructurePlan, finish_structure
from semsearch.index.vector_files import StoredVectors

_BLOCK_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class FilledPart:
    """Lists that were filled for one shard: the file, and the shard's `(m,)` sorted text keys by position."""

    path: Path
    keys: NDArray[Any]


def check_lists_factory(factory: str, dimension: int) -> None:
    """Check that a factory has inverted lists, which can be filled in parts.

    Raises:
        UsageError: it has none, or is no factory.
    """
    check_factory(factory, dimension, 0)
    if "IVF" not in factory or factory.endswith("fs"):  # lists for fast scans are packed, and give no ids to renumber
        raise UsageError(f"The factory {factory!r} has no lists that shards could fill.",
                         "Use one such as IVF65536,SQ8; or encode without --factory, and name it to build.")


def train_lists(path: Path, factory: str, sample: NDArray[Any]) -> None:
    """Write an index of this factory, trained on a random sample of the vectors, `(n, d)`, and empty.

    Raises:
        UsageError: they are too few.
    """
    _write(train(factory, StoredVectors([sample], sample.shape[1])), path)


def fill_lists(trained: Path, blocks: Iterable[Vectors], target: Path) -> None:
    """Write the index in `trained` to `target`, filled with vectors whose ids count from 0."""
    index = _read(trained)
    for block in blocks:
        index.add(block)
    _write(index, target)


def write_merged_structure(plan: StructurePlan, trained: Path, parts: Sequence[FilledPart]) -> Structure:
    """Merge filled parts into the faiss index of a generation, measure its recall, and write it.

    What no part holds is added; what the parts hold beyond the generation is left out.

    Raises:
        IndexDamaged: a part cannot be read, or does not fit.
        DiskFull: there is no room.
    """
    order = np.argsort(plan.keys, kind="stable")
    sorted_keys = plan.keys[order]
    index = _read(trained)
    lists = as_ivf(index)
    waiting = np.ones(len(plan.keys), np.bool_)
    for part in parts:
        positions = _positions(part.keys, sorted_keys, order)
        positions[~waiting[positions]] = -1
        waiting[positions[positions >= 0]] = False
        whole = _read(part.path)  # kept, for it owns the lists
        filled = as_ivf(whole)
        _renumber(filled, positions, part.path)
        try:
            lists.merge_from(filled, 0)
        except RuntimeError as error:
            raise _unreadable(part.path) from error
    index.ntotal = lists.ntotal
    rest = np.flatnonzero(waiting)
    for start in range(0, len(rest), _BLOCK_ROWS):
        ids = rest[start:start + _BLOCK_ROWS]
        index.add_with_ids(plan.stored[ids], ids)
    return finish_structure(plan, index)


def _positions(part_keys: NDArray[Any], sorted_keys: NDArray[Any], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each key of a part the first place of its text in the generation, -1 where it is not there."""
    if not len(sorted_keys):
        return np.full(len(part_keys), -1, np.int64)
    places = np.searchsorted(sorted_keys, part_keys)
    places[places == len(sorted_keys)] = 0
    return np.where(sorted_keys[places] == part_keys, order[places], -1)


def _renumber(lists: Any, positions: NDArray[np.int64], path: Path) -> None:
    """Replace the ids of filled lists, positions in a shard, by places in the generation; drop those that are -1."""
    if lists.ntotal != len(positions):
        raise _unreadable(path)
    inverted = lists.invlists
    for number in range(lists.nlist):
        size = inverted.list_size(number)
        if size:
            ids = faiss.rev_swig_ptr(inverted.get_ids(number), size)
            if ids.min() < 0 or ids.max() >= len(positions):
                raise _unreadable(path)
            ids[:] = positions[ids]
    if (positions < 0).any():
        lists.remove_ids(faiss.IDSelectorRange(-1, 0))


def _read(path: Path) -> Any:
    try:
        return faiss.read_index(str(path))
    except RuntimeError as error:
        raise _unreadable(path) from error


def _write(index: Any, path: Path) -> None:
    with written_atomically(path) as temporary, open(temporary, "wb") as file:
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))


def _unreadable(path: Path) -> IndexDamaged:
    return IndexDamaged(f"The lists of a shard are damaged: {path} is not what was written.",
                        "Remove that file and run the same semsearch encode again for that shard.")
