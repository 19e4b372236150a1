"""How much of exact search an approximate structure finds, and the search parameters that make it enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.index.faiss_structure import BLOCK_ROWS, as_ivf, candidates, is_hnsw, knn
from semsearch.index.vector_files import StoredVectors

OVERSAMPLE: Final = "oversample"
"""The search parameter that is not of faiss: so many times the hits wanted are scored again with the stored vectors."""
LEAST_OVERSAMPLE: Final = 4
_OVERSAMPLES: Final = (LEAST_OVERSAMPLE, 16, 64)
_SAMPLE: Final = 200
_K: Final = 10
_STEP: Final = 0.4
"""A question lies near no paper as closely as papers of one topic lie together: so far it is moved from one."""


def calibrate(index: Any, stored: StoredVectors, min_recall: float) -> tuple[dict[str, int], float]:
    """Return the cheapest search parameters that reach a recall@10, and the recall; else those that come nearest.

    `index` holds the first of the `stored` vectors, and the recall is among those. Candidates are those that a search
    for ten hits scores again with the stored vectors.
    """
    queries = sample_queries(stored)
    indexed = int(index.ntotal)
    k = min(_K, indexed)
    truth = _exact(queries, stored, k, indexed)
    rungs = list(_parameter_ladder(index))

    def recall_of(parameters: dict[str, int]) -> float:
        count = min(parameters.get(OVERSAMPLE, LEAST_OVERSAMPLE) * k, indexed)
        found = candidates(index, queries, count, parameters)
        assert found is not None  # only a mask can be too much for an index
        return float(np.mean([len(np.intersect1d(t, f)) / k for t, f in zip(truth, found, strict=True)]))

    best: tuple[dict[str, int], float] = ({}, -1.0)
    for oversample in _OVERSAMPLES:
        extra = {} if oversample == LEAST_OVERSAMPLE else {OVERSAMPLE: oversample}
        recall = recall_of({**rungs[-1], **extra})
        if recall > best[1]:
            best = ({**rungs[-1], **extra}, recall)
        if recall >= min_recall:
            break
    extra = {OVERSAMPLE: best[0][OVERSAMPLE]} if OVERSAMPLE in best[0] else {}
    for rung in rungs[:-1] if best[1] >= min_recall else []:
        recall = recall_of({**rung, **extra})
        if recall >= min_recall:
            return {**rung, **extra}, round(recall, 4)
    return best[0], round(best[1], 4)


def sample_queries(stored: StoredVectors) -> Vectors:
    """Return `(n, d)` float32 unit vectors like those of questions: some of the stored, each moved.

    Each is moved by a part of the difference of two others, which keeps it among what the encoder makes.
    """
    rng = np.random.default_rng(0)
    size = min(len(stored), _SAMPLE)
    origins = np.linspace(0, len(stored) - 1, size).astype(np.int64)
    queries = stored[origins] + np.float32(_STEP) * (stored[rng.integers(0, len(stored), size)]
                                                     - stored[rng.integers(0, len(stored), size)])
    lengths = np.linalg.norm(queries, axis=1, keepdims=True)
    moved: Vectors = np.where(lengths > 0, queries / np.maximum(lengths, 1e-9), stored[origins]).astype(np.float32)
    return moved


def _exact(queries: Vectors, stored: StoredVectors, k: int, end: int) -> NDArray[np.int64]:
    """Return the `(n, k)` of the first `end` places that are nearest to the queries, by a scan."""
    places, scores = np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0), np.float32)
    for first, block in stored.blocks(BLOCK_ROWS, 0, end):
        found, found_scores = knn(queries, block, min(k, len(block)))
        places, scores = np.hstack([places, first + found]), np.hstack([scores, found_scores])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        places, scores = np.take_along_axis(places, order, 1), np.take_along_axis(scores, order, 1)
    return places


def _parameter_ladder(index: Any) -> Iterator[dict[str, int]]:
    """Yield search parameters from the cheapest to the most thorough."""
    ivf = as_ivf(index)
    if ivf is not None:
        nprobe = 1
        while nprobe < ivf.nlist:
            yield {"nprobe": nprobe}
            nprobe *= 2
        yield {"nprobe": int(ivf.nlist)}
    elif is_hnsw(index):
        for ef_search in (16, 32, 64, 128, 256, 512, 1024):
            yield {"efSearch": ef_search}
    else:
        yield {}
