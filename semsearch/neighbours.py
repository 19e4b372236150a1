"""The nearest papers of every paper of an index, in bounded memory.

Vectors are read in blocks and multiplied with each other. The nearest of each block are kept with some to spare and
scored again in double precision, since the last bits of a matrix product depend on where in it a vector stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.errors import UsageError
from semsearch.index.reader import IndexReader
from semsearch.index.vector_index import VectorIndex

EXACT_UP_TO: Final = 200_000
"""Vectors up to which all are compared with all, whatever structure there is; that takes minutes and misses nothing."""
_BLOCK_ROWS: Final = 1_024
_TILE_ROWS: Final = 8_192
_TIE_SLACK: Final = 16
_DIGITS: Final = 6
"""Cosines are rounded to what single precision is good for, so that equal ones are ordered by row."""
_RESCORED: Final = 8_192


def all_neighbours(reader: IndexReader, k: int, mask: NDArray[np.bool_] | None = None,
                   advance: Callable[[int], None] = lambda papers: None
                   ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
    """Yield (row, its k nearest rows `(k,)` int64, their cosines `(k,)` float32) of each paper, in the order of rows.

    Nearest first, ties by row, never the paper itself; fewer where fewer there are. `mask`: `(papers,)` bool, the rows
    that are asked about and that may be answers. Deleted papers and those without a vector are neither. `advance` hears
    how many papers are done. Beyond `EXACT_UP_TO` papers the structure of the index is searched, if it has one.

    Raises:
        UsageError: k is less than 1.
    """
    if k < 1:
        raise UsageError(f"{k} papers cannot be asked for.", "Ask for at least 1, as in -k 10.")
    positions = positions_permitted(reader, mask)
    if is_approximate(reader, len(positions)):
        yield from _through_structure(reader, positions, k, advance)
    else:
        yield from _exactly(reader.vectors, positions, k, advance)


def is_approximate(reader: IndexReader, papers: int) -> bool:
    """Return whether neighbours among so many papers are found through the index's approximate structure."""
    return papers > EXACT_UP_TO and reader.manifest.indexed_vectors > 0


def positions_permitted(reader: IndexReader, mask: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Return the `(n,)` positions of the vectors of papers that the mask allows and that are not deleted."""
    permitted = np.ones(reader.manifest.papers, np.bool_) if mask is None else mask.copy()
    permitted[list(reader.hidden)] = False
    return np.flatnonzero(permitted[reader.vectors.rows])


def cosines_of_pairs(vectors: VectorIndex, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the `(n,)` float64 cosines of the unit vectors at positions `first` and `second`, both `(n,)`, rounded."""
    cosines = np.empty(len(first), np.float64)
    for start in range(0, len(first), _RESCORED):
        part = slice(start, start + _RESCORED)
        cosines[part] = np.einsum("nd,nd->n", vectors.vectors_at(first[part]), vectors.vectors_at(second[part]),
                                  dtype=np.float64)
    return np.clip(np.round(cosines, _DIGITS), -1.0, 1.0)


def _exactly(vectors: VectorIndex, positions: NDArray[np.int64], k: int, advance: Callable[[int], None]
             ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
    depth = min(k + _TIE_SLACK, max(len(positions) - 1, 0))
    for start in range(0, len(positions), _BLOCK_ROWS):
        block = positions[start:start + _BLOCK_ROWS]
        asked, found = _candidates(vectors, positions, start, depth)
        cosines = cosines_of_pairs(vectors, block[asked], positions[found])
        order = np.lexsort((found, -cosines, asked))
        asked, rows, scores = asked[order], vectors.rows[positions[found[order]]], cosines[order].astype(np.float32)
        ends = np.searchsorted(asked, np.arange(len(block) + 1))
        for place, position in enumerate(block):
            nearest = slice(ends[place], min(ends[place] + k, ends[place + 1]))
            yield int(vectors.rows[position]), rows[nearest], scores[nearest]
        advance(len(block))


def _candidates(vectors: VectorIndex, positions: NDArray[np.int64], start: int, depth: int
                ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs (place in the block that begins at `start`, place in `positions`): the `depth` nearest of each."""
    block = vectors.vectors_at(positions[start:start + _BLOCK_ROWS])
    asked, found, scores = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    if not depth:
        return asked, found
    floor = np.full(len(block), -np.inf, np.float32)
    for tile in range(0, len(positions), _TILE_ROWS):
        products = block @ vectors.vectors_at(positions[tile:tile + _TILE_ROWS]).T
        _forget_themselves(products, start - tile)
        if not len(asked):
            floor = _first_floor(products, depth)
        places, columns = np.nonzero(products > floor[:, None])
        asked = np.concatenate((asked, places))
        found = np.concatenate((found, columns + tile))
        scores = np.concatenate((scores, products[places, columns]))
        order = np.lexsort((found, -np.round(scores, _DIGITS), asked))
        order = order[_ranks(asked[order]) < depth]
        asked, found, scores = asked[order], found[order], scores[order]
        full = np.bincount(asked, minlength=len(block)) == depth
        last = np.searchsorted(asked, np.flatnonzero(full), side="right") - 1
        floor[full] = scores[last]
    return asked, found


def _forget_themselves(products: Vectors, offset: int) -> None:
    """Take each paper's product with itself out; that of the block's first paper would stand in column `offset`."""
    places = np.arange(len(products))
    inside = places[(places + offset >= 0) & (places + offset < products.shape[1])]
    products[inside, inside + offset] = -np.inf


def _first_floor(products: Vectors, depth: int) -> NDArray[np.float32]:
    """Return for each row a score that its `depth` nearest surely reach, from a part of the columns."""
    sample = products[:, :_BLOCK_ROWS]
    if sample.shape[1] < depth:
        return np.full(len(products), -np.inf, np.float32)
    least: NDArray[np.float32] = np.partition(sample, -depth, axis=1)[:, -depth] - np.float32(10.0**-_DIGITS)
    return least


def _ranks(sorted_keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each entry among those of its key, from 0."""
    return np.arange(len(sorted_keys)) - np.searchsorted(sorted_keys, sorted_keys)


def _through_structure(reader: IndexReader, positions: NDArray[np.int64], k: int, advance: Callable[[int], None]
                       ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
    vectors, allowed = reader.vectors, None
    if len(positions) < len(vectors.rows):
        allowed = np.zeros(reader.manifest.papers, np.bool_)
        allowed[vectors.rows[positions]] = True
    for position in positions:
        row = int(vectors.rows[position])
        ranking = vectors.search(vectors.vectors_at(np.array([position]))[0], k + 1, allowed)
        others = np.flatnonzero(ranking.rows != row)[:k]
        yield row, ranking.rows[others], ranking.scores[others]
        advance(1)
