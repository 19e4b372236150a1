"""How much of exact search an approximate structure finds, for the questions that are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.index.reader import IndexReader

CUTOFFS: Final = (10, 100)
EXACT_FACTORY: Final = "Flat"
_BLOCK_ROWS: Final = 65_536
_BLOCK_QUERIES: Final = 64
_ROUNDING: Final = 1e-5
"""Cosines of float32 vectors that were summed in another order differ by less than this."""


def is_approximate(reader: IndexReader) -> bool:
    """Return whether the index is searched by a structure that may miss papers."""
    return reader.manifest.factory != EXACT_FACTORY


def structure_recall(reader: IndexReader, queries: Vectors, cutoffs: Sequence[int] = CUTOFFS) -> dict[int, float]:
    """Return by k which share of the k nearest papers the index finds, as a mean over `(n, d)` float32 unit vectors.

    A paper that is as near as the k-th counts as one of the k nearest.
    """
    depth = min(max(cutoffs), len(reader.vectors.rows))
    if not depth or not len(queries):
        return {}
    exact = exact_cosines(reader, queries, depth)
    found = [reader.vectors.search(query, depth).scores for query in queries]
    recall = {}
    for k in cutoffs:
        nearest = min(k, depth)
        least = exact[:, nearest - 1] - _ROUNDING
        recall[k] = float(np.mean([min((scores[:nearest] >= bound).sum(), nearest) / nearest
                                   for scores, bound in zip(found, least, strict=True)]))
    return recall


def exact_cosines(reader: IndexReader, queries: Vectors, depth: int) -> NDArray[np.float32]:
    """Return the `(n, depth)` largest cosines of each query, falling, by a scan of all stored vectors."""
    positions = np.arange(len(reader.vectors.rows))
    best = np.full((len(queries), depth), -np.inf, np.float32)
    for start in range(0, len(positions), _BLOCK_ROWS):
        vectors = reader.vectors.vectors_at(positions[start:start + _BLOCK_ROWS])
        for first in range(0, len(queries), _BLOCK_QUERIES):
            block = slice(first, first + _BLOCK_QUERIES)
            cosines = np.concatenate([best[block], queries[block] @ vectors.T], axis=1)
            best[block] = np.partition(cosines, -depth, axis=1)[:, -depth:]
    return -np.sort(-best, axis=1)
