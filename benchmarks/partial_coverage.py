"""How good answers are while an index is not encoded to the end, and what a question costs then.

    python benchmarks/partial_coverage.py ../shared/data/collections/scifact ../shared/data/collections/cranfield

For each collection a complete index is made (or brought up to date) in `--home`, and beside it one of the same papers
without a vector. A share of the vectors is then put into the vector log, chosen by chance, and every question is asked
for each budget, each as if no other had been asked: what it encoded is forgotten before the next. The baseline is the
complete index, asked in the same run.

For the scores, an abstract that has to be encoded gets its vector from the complete index by its text, which is what
encoding it gives; questions are encoded once. For the latency, `TIMED_QUESTIONS` questions of each cell are asked again
with the real encoder, warm in one process (the p99 of so few is their slowest) and `COLD_QUESTIONS` in a new process
each. `--quality` leaves the latency away.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
from record import append_result

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncodedTexts, Encoder, EncoderIdentity, EncoderRequest, Vectors
from semsearch.evaluation import Collection, RankedList, Run, Topic, evaluate, load_collection, parse_measures
from semsearch.index.keyed_vectors import KeyedVectors
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER, VectorLogWriter
from semsearch.paper import text_key
from semsearch.provider import LocalModels, load_for_questions, request_for
from semsearch.ranking import SearchOptions
from semsearch.search import Answer, Searcher

COVERAGES = (0.0, 0.1, 0.5)
"""And the complete index."""
BUDGETS = (0, 10, 20, 50, 100)
MEASURES = ("nDCG@10", "R@100")
TIMED_QUESTIONS = 25
WARM_UP = 1
COLD_QUESTIONS = 2


class Stored:
    """An encoder that knows the vectors of a complete index; questions are encoded by the real one."""

    device = "cpu"

    def __init__(self, identity: EncoderIdentity, vectors: KeyedVectors, real: Encoder) -> None:
        self.identity, self._vectors, self._real = identity, vectors, real
        self._questions: dict[str, Vectors] = {}

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        """Return stored vectors."""
        return self._vectors.take(self._vectors.find(np.array([text_key(text) for text in texts])))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions, each encoded once."""
        for text in texts:
            if text not in self._questions:
                self._questions[text] = self._real.encode_queries([text])[0]
        return np.stack([self._questions[text] for text in texts])


class Given:
    """Gives one encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        """Return its identity."""
        return self._encoder.identity

    def load(self, request: EncoderRequest) -> Encoder:
        """Return it."""
        return self._encoder


def cover(index: Path, complete: IndexReader, share: float, seed: int) -> None:
    """Make the vector log of an index hold the vectors of a share of the papers, and nothing else."""
    shutil.rmtree(index / FOLDER, ignore_errors=True)
    rows = np.sort(np.random.default_rng(seed).permutation(complete.manifest.vectors)[:round(
        share * complete.manifest.vectors)])
    if not len(rows):
        return
    source = complete.vectors.as_source()
    encoder = complete.manifest.encoder
    writer = VectorLogWriter(index / FOLDER / encoder.fingerprint, encoder.dimension)
    keys = source.keys_by_position[rows]
    writer.append([bytes(key).ljust(16, b"\0") for key in keys.tolist()], source.take(rows))
    writer.close()


@contextmanager
def nothing_kept(index: Path) -> Iterator[None]:
    """Remove the vector logs that are written until the end of the block."""
    before = set((index / FOLDER).glob("*/*"))
    try:
        yield
    finally:
        for path in set((index / FOLDER).glob("*/*")) - before:
            path.unlink()


def answers(index: Path, topics: Sequence[Topic], k: int, provider: Given, options: SearchOptions
            ) -> Iterator[tuple[Answer, float]]:
    """Yield the answer to each question in words and its seconds; what one encoded, the next does not find."""
    with nothing_kept(index), Searcher(index, provider=provider) as searcher:
        known = searcher.vectors
        assert known.count >= 0  # the log is read now
        held = known._rows, known._vectors
        for topic in topics:
            begun = time.perf_counter()
            answer = searcher.query(topic.text, k, options)
            yield answer, time.perf_counter() - begun
            known._rows, known._vectors = held


def quality(index: Path, collection: Collection, provider: Given, options: SearchOptions) -> dict[str, float]:
    """Return the measures of all questions."""
    lists = {}
    for topic, (answer, _) in zip(collection.topics, answers(index, collection.topics, 100, provider, options),
                                  strict=True):
        lists[topic.id] = RankedList(tuple(hit.paper.id for hit in answer.hits),
                                     tuple(hit.score for hit in answer.hits))
    scores = evaluate(Run("partial", lists), collection.qrels, parse_measures(MEASURES))
    return {str(measure): round(float(mean), 4) for measure, mean in scores.means.items()}


def latency(index: Path, collection: Collection, real: Encoder, options: SearchOptions) -> dict[str, float]:
    """Return milliseconds with the real encoder, warm and cold."""
    asked = collection.topics[:TIMED_QUESTIONS + WARM_UP]
    taken = [1000 * seconds for _, seconds in answers(index, asked, 10, Given(real), options)][WARM_UP:]
    cold = [cold_ms(index, topic.text, options.encode_budget) for topic in collection.topics[:COLD_QUESTIONS]]
    p99 = quantiles(taken, n=100, method="inclusive")[98]
    return {"warm_p50_ms": round(median(taken), 1), "warm_p99_ms": round(p99, 1), "cold_ms": round(median(cold), 1)}


def cold_ms(index: Path, question: str, budget: int | None) -> float:
    """Return the milliseconds of `semsearch query` as a process of its own."""
    command = [sys.executable, "-m", "semsearch", "query", "--home", str(index.parent), "-i", index.name,
               *(() if budget is None else ("--encode-budget", str(budget))), "--json", "-q", question]
    with nothing_kept(index):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return 1000 * (time.perf_counter() - begun)


def measure(folder: Path, home: Path, seed: int, *, quality_only: bool) -> dict[str, Any]:
    """Return all figures of one collection."""
    collection = load_collection(folder)
    whole, part = home / f"complete-{folder.name}", home / f"partial-{folder.name}"
    build_index([folder / "corpus.jsonl"], whole)
    shutil.rmtree(part, ignore_errors=True)
    build_index([folder / "corpus.jsonl"], part, BuildOptions(encode="later"))
    with IndexReader(whole) as complete:
        identity = complete.manifest.encoder
        real = load_for_questions(LocalModels(), request_for(identity), identity)
        provider = Given(Stored(identity, complete.vectors.as_source(), real))

        def cell(index: Path, options: SearchOptions) -> dict[str, float]:
            timed = {} if quality_only else latency(index, collection, real, options)
            return {**quality(index, collection, provider, options), **timed}

        figures: dict[str, Any] = {"complete": cell(whole, SearchOptions())}
        for share in COVERAGES:
            cover(part, complete, share, seed)
            for budget in BUDGETS:
                found = cell(part, replace(SearchOptions(), encode_budget=budget))
                of_complete = {f"{name}_of_complete": round(found[name] / figures["complete"][name], 4)
                               for name in MEASURES}
                figures[f"{share:.0%} encoded, budget {budget}"] = {**found, **of_complete}
                print(folder.name, f"{share:.0%}", budget, found, of_complete, file=sys.stderr)
    return figures


def main() -> None:
    """Measure each collection and append the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--home", type=Path, default=Path("indexes"))
    parser.add_argument("--quality", action="store_true", help="scores only, no latency")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    arguments.home.mkdir(exist_ok=True)
    figures = {folder.name: measure(folder, arguments.home, arguments.seed, quality_only=arguments.quality)
               for folder in arguments.collections}
    append_result("partial_coverage", arguments.seed, {
        "scores": "vectors of abstracts encoded on demand taken from the complete index",
        "latency": "left away" if arguments.quality else
        f"real encoder, {TIMED_QUESTIONS} warm and {COLD_QUESTIONS} cold questions a cell", **figures})


if __name__ == "__main__":
    main()
