"""Asks new questions of an index that lacks vectors, in a process of its own, and stores what it encodes slowly.

    python storing_worker.py INDEX FIRST

asks about study FIRST, FIRST + 1 and so on, ever again; on stdout it says `storing` when half of the vectors that a
question paid for are in the log.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from typing import Any

from fakes import FakeProvider

from semsearch.index.vector_log import VectorLogWriter
from semsearch.ranking import SearchOptions
from semsearch.search import Searcher

BUDGET = 3
HALF_SECONDS = 0.05


class Halving:
    """A file that takes each piece in two halves, with a pause between them."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, piece: bytes) -> None:
        half = len(piece) // 2
        self._file.write(piece[:half])
        self._file.flush()
        print("storing", flush=True)
        time.sleep(HALF_SECONDS)
        self._file.write(piece[half:])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def main() -> None:
    plain = VectorLogWriter._create
    VectorLogWriter._create = lambda self: Halving(plain(self))  # type: ignore[method-assign]
    for number in count(int(sys.argv[2])):
        with Searcher(sys.argv[1], provider=FakeProvider()) as searcher:
            answer = searcher.query(f"study {number % 1000} of orbit", 5, SearchOptions(encode_budget=BUDGET))
            assert len(answer.hits) == 5


if __name__ == "__main__":
    main()
