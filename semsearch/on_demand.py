"""Abstracts encoded for a question, where they had no vector yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Encoder
from semsearch.errors import DiskFull
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER
from semsearch.index.wanted_texts import append_wanted
from semsearch.known_vectors import KnownVectors

if TYPE_CHECKING:
    from semsearch.index.lexical_index import LexicalQuery

LEAST_BUDGET: Final = 20
MOST_BUDGET: Final = 100
"""Of an index without any vector (benchmarks/partial_coverage.py), 20 give 98 % of the complete index's nDCG@10 on
Cranfield and 99 % on SciFact, 50 give 99.9 % and 99.4 %."""
_SECONDS: Final = 1.0
_STEP: Final = 10
_WANTED: Final = 200
"""How many candidates beyond the budget are left to the build as what people ask about."""


class OnDemand:
    """Encodes the best candidates of a question that have no vector, within a budget."""

    def __init__(self, reader: IndexReader, known: KnownVectors, encoder: Callable[[], Encoder],
                 clock: Callable[[], float] = time.perf_counter) -> None:
        """Take an index, its vectors, and who loads its encoder. `clock` gives seconds."""
        self._reader, self._known, self._encoder, self._clock = reader, known, encoder, clock

    def encode_for(self, words: LexicalQuery, allowed: NDArray[np.bool_] | None, budget: int | None
                   ) -> NDArray[np.int64]:
        """Encode the best of the allowed rows by BM25 that have no vector, and return them, in that order.

        It is also the order of what they would score without a vector, since their cosine is estimated from their BM25.
        `budget`: how many at most; None for as many as about a second allows, at least `LEAST_BUDGET` and at most
        `MOST_BUDGET`. What is left of the candidates is noted for the build, which takes it first.
        """
        if self._known.is_complete or budget == 0:
            return np.zeros(0, np.int64)
        lacking = self._known.lacking()
        if allowed is not None:
            lacking &= allowed
        most = MOST_BUDGET if budget is None else budget
        rows = self._reader.lexical.top(words, most + _WANTED, lacking).rows
        if not len(rows):
            return rows
        self._encoder()  # loading it is no part of the budget
        begun, done = self._clock(), 0
        while done < min(most, len(rows)):
            if budget is None and done >= LEAST_BUDGET and self._clock() - begun >= _SECONDS:
                break
            step = rows[done:min(done + _STEP, most)]
            self._known.encode(step)
            done += len(step)
        if done < len(rows):
            self._leave_to_build(rows[done:done + _WANTED])
        return rows[:done]

    def _leave_to_build(self, rows: NDArray[np.int64]) -> None:
        papers = self._reader.papers.get(rows.tolist())
        folder = self._reader.folder / FOLDER / self._reader.manifest.encoder.fingerprint
        with suppress(OSError, DiskFull):
            append_wanted(folder, [paper.text_key for paper in papers])
