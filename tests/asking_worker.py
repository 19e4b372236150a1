"""Asks an index over and over, in a process of its own.

    python asking_worker.py INDEX STOP

says each answer on stdout, a line of JSON [generation, ids, scores], until the file STOP is there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fakes import FakeProvider

from semsearch.index.reader import IndexReader
from semsearch.maintenance import describe
from semsearch.search import Searcher

QUESTIONS = ["graph attention", "study 3 of orbit"]


def ask(searcher: Searcher) -> tuple[int, list[str], list[float]]:
    """Return the generation, the ids and the scores of an answer, and check that all papers are of one corpus."""
    hits = [hit for answer in searcher.query_many(QUESTIONS, 6) for hit in answer.hits]
    hits += searcher.related([hits[0].paper.id], 3).hits
    return searcher.reader.manifest.generation, [hit.paper.id for hit in hits], [hit.score for hit in hits]


def main() -> None:
    index, stop = Path(sys.argv[1]), Path(sys.argv[2])
    while not stop.exists():
        with Searcher(index, provider=FakeProvider()) as searcher:
            first, second = ask(searcher), ask(searcher)
            assert first == second, (first, second)
        print(json.dumps(first), flush=True)
        describe(index)
        with IndexReader(index) as reader:
            (venue,) = {paper.venue for _, paper in reader.papers}
            assert venue == ("even", "odd")[reader.manifest.generation % 2], (venue, reader.manifest.generation)


if __name__ == "__main__":
    main()
