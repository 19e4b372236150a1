"""Which search structure suits how many vectors: exact scans, inverted lists, a graph.

    semsearch export --vectors real.npy            # of any index: the vectors that others are made from
    python benchmarks/structures.py --vectors real.npy --sizes 100000 300000

For each size the vectors are real ones, each moved by half the difference of two others. Each structure is built, asked
for a recall@10 of 0.95 and written as a build does it, then opened in a new process, which is timed up to its first
answer: inverted lists are memory-mapped, a graph is read whole. The baseline is an exact scan with one thread. The
memory that a new process has of its own afterwards is told, beside pages of mapped files.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import faiss
import numpy as np
from made_corpus import MadeEncoder
from numpy.typing import NDArray
from record import append_result

from semsearch.index import faiss_structure
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.manifest import FAISS
from semsearch.index.structure_build import StructurePlan, build_structure
from semsearch.index.structure_recall import sample_queries
from semsearch.index.vector_files import StoredVectors

K = 10
QUESTIONS = 200
OPENINGS = 5


def factories(vectors: int) -> tuple[str, ...]:
    """Return the structures that are compared for so many vectors of 384 dimensions."""
    lists = 2 ** round(math.log2(4 * math.sqrt(vectors)))
    return f"IVF{lists},SQ8", f"IVF{lists},PQ96", "HNSW32,SQ8", "HNSW32,Flat"


def milliseconds(search: Callable[[NDArray[np.float32]], object], queries: NDArray[np.float32]) -> float:
    """Return the median time of one question."""
    times = []
    for query in queries:
        begun = time.perf_counter()
        search(query[None])
        times.append((time.perf_counter() - begun) * 1e3)
    return round(median(times), 3)


def measure_exact(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> dict[str, float]:
    """Return the time of an exact scan with one thread and with all."""
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    found = {}
    for threads in (1, os.cpu_count() or 1):
        faiss.omp_set_num_threads(threads)
        found[f"ms_with_{threads}_threads"] = milliseconds(lambda query: flat.search(query, K), queries[:50])
    return found


def measure_structure(factory: str, stored: StoredVectors, queries: NDArray[np.float32]) -> dict[str, Any]:
    """Build a structure; return what it costs, finds, and how long a question takes."""
    faiss.omp_set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(prefix="semsearch-structures-") as scratch:
        folder = Path(scratch)
        keys = np.zeros(len(stored), KEY_DTYPE)
        begun = time.perf_counter()
        built = build_structure(StructurePlan(folder, stored, keys, factory))
        seconds = time.perf_counter() - begun
        np.save(folder / "query.npy", queries[:1])
        opened = [opening(folder, built.search_parameters) for _ in range(OPENINGS)]
        index = faiss_structure.read(folder / FAISS)
        count = K * built.search_parameters.get("oversample", 4)
        return {"build_seconds": round(seconds, 1), "recall_at_10": built.recall_at_10,
                "parameters": built.search_parameters, "bytes_per_vector": round(
                    (folder / FAISS).stat().st_size / len(stored), 1),
                "ms": milliseconds(lambda query: faiss_structure.candidates(
                    index, query, count, built.search_parameters), queries),
                "open_and_first_ms": median(o["ms"] for o in opened), "own_memory_mb": median(o["mb"] for o in opened)}


def opening(folder: Path, parameters: dict[str, int]) -> dict[str, float]:
    """Open a structure in a new process and ask it once."""
    done = subprocess.run([sys.executable, __file__, "--open", str(folder), json.dumps(parameters)],
                          capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def open_and_ask(folder: Path, parameters: dict[str, int]) -> dict[str, float]:
    """Open a structure as an index does, its lists memory-mapped, and ask it once; return the time and the memory."""
    query = np.load(folder / "query.npy")
    begun = time.perf_counter()
    index = faiss.read_index(str(folder / FAISS), faiss.IO_FLAG_MMAP if "nprobe" in parameters else 0)
    faiss_structure.candidates(index, query, 4 * K, parameters)
    seconds = time.perf_counter() - begun
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    own = next((int(line.split()[1]) for line in status if line.startswith("RssAnon")), 0)
    return {"ms": round(seconds * 1e3, 1), "mb": round(own / 1e3)}


def measure(real: NDArray[np.float32], sizes: Sequence[int], seed: int) -> None:
    """Append a line of results for each size."""
    encoder = MadeEncoder(real)
    for size in sorted(sizes):
        names = [f"{seed} {number}" for number in range(size)]
        vectors = np.concatenate([encoder.encode_queries(names[start:start + 10_000])
                                  for start in range(0, size, 10_000)])
        stored = StoredVectors([vectors], vectors.shape[1])
        queries = sample_queries(stored)[:QUESTIONS]
        exact = measure_exact(vectors, queries)
        found = {factory: measure_structure(factory, stored, queries) for factory in factories(size)}
        append_result("structures", seed, {"vectors": size, "dimension": vectors.shape[1], "exact": exact,
                                           "structures": found, "load": round(os.getloadavg()[0], 1)})


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, nargs="+", help="npy files of real unit vectors")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--open", nargs=2, metavar=("FOLDER", "PARAMETERS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.open:
        print(json.dumps(open_and_ask(Path(arguments.open[0]), json.loads(arguments.open[1]))))
        return
    if not arguments.vectors:
        parser.error("--vectors is missing")
    real = np.concatenate([np.load(file, allow_pickle=False) for file in arguments.vectors])
    measure(real, arguments.sizes, arguments.seed)


if __name__ == "__main__":
    main()
