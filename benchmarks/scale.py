"""One index grown from ten thousand papers to a million: what building, asking, adding ten and verifying cost.

    semsearch export --vectors real.npy            # of any index: the vectors that others are made from
    python benchmarks/scale.py --texts abstracts.jsonl.gz --vectors real.npy --sizes 10000 100000 300000 1000000

All but the encoder is the real path, `build_index` from JSON Lines to a published generation: texts are varied from
real abstracts, vectors have the distribution of real ones (`made_corpus.py`). Each size adds to the index of the one
before. Every step runs in a process of its own, whose peak memory is told: in all, and without the pages of
memory-mapped files, which the system takes back when it needs them. The baselines of a question are one call of faiss
(the same structure and parameters, or a plain exact search) and one of tantivy, on the same vectors and files.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import faiss
import numpy as np
from made_corpus import MadeProvider, made_papers, made_questions, read_abstracts, write_papers
from record import append_result

from semsearch.build import build_index
from semsearch.index import faiss_structure
from semsearch.index.reader import IndexReader
from semsearch.maintenance import verify
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher

QUESTIONS = 200
RECALL_QUESTIONS = 100
ADDED = 10
K = 10


class Phases:
    """A progress that adds up the seconds of each task."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def note(self, message: str) -> None:
        """Do nothing."""

    @contextmanager
    def task(self, label: str, total: int | None, unit: str) -> Iterator[Phases]:
        """Time a task."""
        begun = time.perf_counter()
        try:
            yield self
        finally:
            self.seconds[label] = round(self.seconds.get(label, 0) + time.perf_counter() - begun, 2)

    def advance(self, amount: int) -> None:
        """Do nothing."""


class Memory:
    """Watches how much memory this process has of its own, beside the pages of files."""

    def __init__(self) -> None:
        self._peak_kb = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            for line in Path("/proc/self/status").read_text("ascii").splitlines():
                if line.startswith("RssAnon"):
                    self._peak_kb = max(self._peak_kb, int(line.split()[1]))
            time.sleep(0.05)

    def figures(self) -> dict[str, float]:
        """Return the peaks in megabytes."""
        return {"peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
                "peak_without_mapped_files_mb": round(self._peak_kb / 1e3)}


def generation_of(index: Path) -> Path:
    """Return the folder of the current generation."""
    return index / "generations" / (index / "CURRENT").read_text("ascii").split()[0]


def grow(index: Path, source: Path, provider: MadeProvider) -> dict[str, Any]:
    """Build a file into the index; return the seconds, by phase, and the bytes written and linked."""
    memory, phases = Memory(), Phases()
    before = {p.stat().st_ino for p in generation_of(index).rglob("*")} if (index / "CURRENT").exists() else set()
    begun = time.perf_counter()
    summary = build_index([source], index, provider=provider, progress=phases)
    seconds = time.perf_counter() - begun
    files = [p for p in generation_of(index).rglob("*") if p.is_file()]
    sizes = {p.relative_to(generation_of(index)).as_posix(): p.stat().st_size for p in files}
    written = {name: size for name, size in sizes.items()
               if (generation_of(index) / name).stat().st_ino not in before}
    return {"papers": summary.papers, "added": summary.added, "seconds": round(seconds, 1), "phases": phases.seconds,
            "papers_per_second": round(summary.added / seconds), "factory": summary.factory,
            "recall_on_paper": summary.recall_at_10, "mb_written": round(sum(written.values()) / 1e6, 1),
            "mb_linked": round((sum(sizes.values()) - sum(written.values())) / 1e6, 1),
            "written": {n: round(s / 1e6, 2) for n, s in sorted(written.items(), key=lambda item: -item[1])[:5]},
            **memory.figures()}


def bytes_per_paper(index: Path, papers: int) -> dict[str, float]:
    """Return what the files of the current generation take, by kind."""
    kinds: dict[str, float] = {}
    folder = generation_of(index)
    for path in folder.rglob("*"):
        if path.is_file():
            name = path.relative_to(folder).parts[0]
            kind = "lexical" if name == "lexical" else "vectors" if name.startswith("vectors") else name
            kinds[kind] = kinds.get(kind, 0) + path.stat().st_size / papers
    return {kind: round(size, 1) for kind, size in sorted({**kinds, "all": sum(kinds.values())}.items())}


def milliseconds(calls: Sequence[Callable[[], object]]) -> dict[str, float]:
    """Return p50 and p99 of some calls."""
    times = []
    for call in calls:
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1e3)
    return {"p50": round(median(times), 2), "p99": round(quantiles(times, n=100)[98], 2)}


def ask(index: Path, questions: list[str], provider: MadeProvider) -> dict[str, Any]:
    """Return the latency of warm questions beside that of bare faiss and tantivy, and the recall."""
    memory = Memory()
    begun = time.perf_counter()
    with Searcher(index, provider=provider) as searcher:
        searcher.query(questions[0], K)
        opened = time.perf_counter() - begun
        figures: dict[str, Any] = {"open_and_first_question_seconds": round(opened, 2)}
        encoder, reader = searcher.encoder(), searcher.reader
        bare_faiss, bare_words = faiss_call(reader), tantivy_call(reader)
        calls = {
            "dense": lambda text: searcher.query(text, K, SearchOptions(mode=Mode.DENSE)),
            "dense_baseline": lambda text: bare_faiss(encoder.encode_queries([text])),
            "hybrid": lambda text: searcher.query(text, K),
            "hybrid_baseline": lambda text: (bare_faiss(encoder.encode_queries([text])), bare_words(text)),
        }
        for name, call in calls.items():
            for text in questions[:5]:
                call(text)
            figures[name] = milliseconds([lambda text=text, call=call: call(text) for text in questions[1:]])
        for mode in ("dense", "hybrid"):
            figures[f"{mode}_ratio"] = {p: round(figures[mode][p] / figures[f"{mode}_baseline"][p], 2)
                                        for p in ("p50", "p99")}
        figures["recall_at_10"] = measured_recall(reader, encoder.encode_queries(questions[:RECALL_QUESTIONS]))
    return {**figures, **memory.figures()}


def faiss_call(reader: IndexReader) -> Callable[[Any], object]:
    """Return a bare search by faiss: through the structure, or exact over the vectors as one array."""
    faiss.omp_set_num_threads(1)  # for one query more are slower
    manifest = reader.manifest
    if manifest.indexed_vectors:
        structure = faiss_structure.load(reader.generation.folder, manifest)
        parameters = faiss.SearchParametersIVF(nprobe=manifest.search_parameters["nprobe"])
        return lambda vector: structure.search(vector, K, params=parameters)
    vectors = reader.vectors.vectors_at(np.arange(len(reader.vectors.rows)))
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    return lambda vector: flat.search(vector, K)


def tantivy_call(reader: IndexReader) -> Callable[[str], object]:
    """Return a bare search by tantivy for the words of a question."""
    lexical = reader.lexical

    def search(text: str) -> object:
        query = lexical._terms(lexical.parse(text).terms)
        return lexical._searcher.search(query, K, count=False).hits

    return search


def measured_recall(reader: IndexReader, queries: Any) -> float:
    """Return how many of the ten nearest papers are found, against products in numpy."""
    best_rows, best_scores = np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0), np.float32)
    for rows, vectors in reader.vectors.blocks():
        best_rows = np.hstack([best_rows, np.broadcast_to(rows, (len(queries), len(rows)))])
        best_scores = np.hstack([best_scores, queries @ vectors.T])
        order = np.argsort(-best_scores, axis=1)[:, :K]
        best_rows, best_scores = (np.take_along_axis(a, order, 1) for a in (best_rows, best_scores))
    found = [reader.vectors.search(query, K).rows for query in queries]
    return round(float(np.mean([len(np.intersect1d(f, t)) / K for f, t in zip(found, best_rows, strict=True)])), 4)


def check(index: Path) -> dict[str, Any]:
    """Return how long it takes to verify the index."""
    begun = time.perf_counter()
    report = verify(index)
    if report.problems:
        raise AssertionError(report.problems)
    return {"seconds": round(time.perf_counter() - begun, 1)}


def step(name: str, arguments: argparse.Namespace, size: int) -> dict[str, Any]:
    """Run one step in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--work", str(arguments.work), "--step", name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} {size}: {done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(name, size, json.dumps(figures), os.getloadavg(), file=sys.stderr, flush=True)
    return figures


def run_step(name: str, arguments: argparse.Namespace, size: int) -> dict[str, Any]:
    """Do one step in this process."""
    index, provider = arguments.work / "index", MadeProvider(arguments.vectors)
    if name == "grow":
        return grow(index, arguments.work / f"to{size}.jsonl", provider)
    if name == "add":
        return grow(index, arguments.work / f"ten{size}.jsonl", provider)
    if name == "ask":
        return ask(index, made_questions(read_abstracts(arguments.texts), QUESTIONS, arguments.seed), provider)
    return check(index)


def measure(arguments: argparse.Namespace) -> None:
    """Grow the index through all sizes; append a line of results for each."""
    real = read_abstracts(arguments.texts)
    start = 0
    for size in sorted(arguments.sizes):
        grown, ten = arguments.work / f"to{size}.jsonl", arguments.work / f"ten{size}.jsonl"
        write_papers(grown, made_papers(real, start, size, arguments.seed))
        write_papers(ten, made_papers(real, 10**8 + size, 10**8 + size + ADDED, arguments.seed))
        begun_load = os.getloadavg()[0]
        figures: dict[str, Any] = {"size": size, "questions": QUESTIONS}
        figures["build"] = step("grow", arguments, size)
        figures["bytes_per_paper"] = bytes_per_paper(arguments.work / "index", figures["build"]["papers"])
        figures["ask"] = step("ask", arguments, size)
        figures["add_ten"] = step("add", arguments, size)
        figures["verify"] = step("verify", arguments, size)
        figures["load"] = {"before": round(begun_load, 1), "after": round(os.getloadavg()[0], 1)}
        append_result("scale", arguments.seed, figures)
        grown.unlink()
        start = size


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="JSON Lines with real abstracts")
    parser.add_argument("--vectors", type=Path, nargs="+", required=True, help="npy files of real unit vectors")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--work", type=Path, help="where the index grows; a temporary folder where not said")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--step", nargs=2, metavar=("NAME", "SIZE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        print(json.dumps(run_step(arguments.step[0], arguments, int(arguments.step[1]))))
        return
    with tempfile.TemporaryDirectory(prefix="semsearch-scale-") as scratch:
        arguments.work = arguments.work or Path(scratch)
        arguments.work.mkdir(parents=True, exist_ok=True)
        measure(arguments)


if __name__ == "__main__":
    main()
