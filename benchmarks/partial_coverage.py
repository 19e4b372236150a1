"""How good answers are while an index is not encoded to the end, and what a question costs then.

    python benchmarks/partial_coverage.py ../shared/data/collections/scifact ../shared/data/collections/cranfield

For each collection a complete index is made (or brought up to date) in `--home`, and beside it one of the same papers
without a vector. A share of the vectors is then put into the vector log, chosen by chance, and every question is asked
anew for each budget, each time of an index that no question was asked before. For the scores an abstract that has to be
encoded gets its vector from the complete index, which is what encoding it gives; for the latency some questions are
asked again with the real encoder, cold (a new process) and warm. The baseline is the complete index.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from record import append_result

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncodedTexts, Encoder, EncoderIdentity, EncoderRequest, Vectors
from semsearch.evaluation import Collection, RankedList, Run, evaluate, load_collection, parse_measures
from semsearch.index.keyed_vectors import KeyedVectors
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER, VectorLogWriter
from semsearch.paper import text_key
from semsearch.provider import LocalModels, load_for_questions, request_for
from semsearch.ranking import SearchOptions
from semsearch.search import Searcher

COVERAGES = (0.0, 0.1, 0.5)
BUDGETS = (0, 10, 20, 50, 100)
MEASURES = ("nDCG@10", "R@100")
TIMED_QUESTIONS = 20
COLD_QUESTIONS = 3


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


def ask_each_anew(index: Path, collection: Collection, provider: Given, options: SearchOptions) -> dict[str, float]:
    """Return the measures of questions of which none profits from another."""
    logs = set((index / FOLDER).glob("*/*"))
    lists = {}
    for topic in collection.topics:
        with Searcher(index, provider=provider) as searcher:
            hits = searcher.query(topic.text, 100, options).hits
        lists[topic.id] = RankedList(tuple(hit.paper.id for hit in hits), tuple(hit.score for hit in hits))
        for path in set((index / FOLDER).glob("*/*")) - logs:
            path.unlink()
    scores = evaluate(Run("partial", lists), collection.qrels, parse_measures(MEASURES))
    return {str(measure): round(float(mean), 4) for measure, mean in scores.means.items()}


def warm_ms(index: Path, collection: Collection, real: Encoder, options: SearchOptions) -> float:
    """Return the median milliseconds of questions in one process, each new, with the real encoder."""
    logs = set((index / FOLDER).glob("*/*"))
    taken = []
    for topic in collection.topics[:TIMED_QUESTIONS]:
        with Searcher(index, provider=Given(real)) as searcher:
            searcher.reader.lexical.parse(topic.text)
            begun = time.perf_counter()
            searcher.query(topic.text, 10, options)
            taken.append(1000 * (time.perf_counter() - begun))
        for path in set((index / FOLDER).glob("*/*")) - logs:
            path.unlink()
    return round(median(taken), 1)


def cold_ms(index: Path, collection: Collection, budget: int) -> float:
    """Return the median milliseconds of `semsearch query` as a process of its own."""
    logs = set((index / FOLDER).glob("*/*"))
    taken = []
    for topic in collection.topics[:COLD_QUESTIONS]:
        command = [sys.executable, "-m", "semsearch", "query", "--home", str(index.parent), "-i", index.name,
                   "--encode-budget", str(budget), "--json", "-q", topic.text]
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append(1000 * (time.perf_counter() - begun))
        for path in set((index / FOLDER).glob("*/*")) - logs:
            path.unlink()
    return round(median(taken), 1)


def measure(folder: Path, home: Path, seed: int) -> dict[str, Any]:
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
        figures: dict[str, Any] = {"complete": ask_each_anew(whole, collection, provider, SearchOptions()),
                                   "complete_warm_ms": warm_ms(whole, collection, real, SearchOptions()),
                                   "complete_cold_ms": cold_ms(whole, collection, 0)}
        for share in COVERAGES:
            cover(part, complete, share, seed)
            for budget in BUDGETS:
                options = replace(SearchOptions(), encode_budget=budget)
                found = ask_each_anew(part, collection, provider, options)
                ratio = found["nDCG@10"] / figures["complete"]["nDCG@10"]
                figures[f"{share:.0%} encoded, budget {budget}"] = {
                    **found, "of_complete": round(ratio, 4), "warm_ms": warm_ms(part, collection, real, options),
                    "cold_ms": cold_ms(part, collection, budget)}
                print(folder.name, share, budget, found, round(ratio, 4), file=sys.stderr)
    return figures


def main() -> None:
    """Measure each collection and append the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--home", type=Path, default=Path("indexes"))
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    arguments.home.mkdir(exist_ok=True)
    append_result("partial_coverage", arguments.seed,
                  {folder.name: measure(folder, arguments.home, arguments.seed) for folder in arguments.collections})


if __name__ == "__main__":
    main()
