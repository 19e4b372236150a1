"""Exact search without a structure: the scores of vectors to one question, by numpy alone.

Importing faiss takes a tenth of the time of a cold question, and a scan for one vector is no faster with it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors


def nearest(query: Vectors, vectors: NDArray[Any], count: int, permitted: NDArray[np.bool_] | None = None
            ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the places and scores of the nearest of `(n, d)` vectors to one `(1, d)`, best first.

    Those that are no numbers are left out, and those that `permitted`, `(n,)` bool, does not allow. Equal vectors have
    equal scores, wherever they stand: each row is summed by itself, which a matrix product does not do.
    """
    with np.errstate(invalid="ignore"):
        scores = np.vecdot(vectors, query[0])
    places = np.arange(len(scores)) if permitted is None else np.flatnonzero(permitted)
    if permitted is not None:
        scores = scores[places]
    numbers = np.isfinite(scores)
    if not numbers.all():
        places, scores = places[numbers], scores[numbers]
    best = np.argpartition(scores, len(scores) - count)[len(scores) - count:] if count < len(scores) else slice(None)
    places, scores = places[best], scores[best]
    order = np.argsort(-scores, kind="stable")
    return places[order], scores[order]


def threads() -> int:
    """Return how many threads may scan: the cores that this process may use, fewer where `OMP_NUM_THREADS` says so."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(asked)) if asked.isdecimal() and int(asked) else allowed
