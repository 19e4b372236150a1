"""A second build over files that did not change, beside reading and parsing them alone.

    python benchmarks/nothing_changed.py abstracts/ --vectors real.npy

The first build (with made vectors, `made_corpus.py`; only its result counts here) makes the index. Then, in turns and
in one process, the same files are built again and are read and parsed alone, by the same readers; the ratio is the
median over the turns. A build finds by their checksums that nothing changed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from made_corpus import MadeProvider
from record import append_result

from semsearch.build import build_index
from semsearch.readers import Located, SourceReader, expand_sources


def seconds(work: Callable[[], object]) -> float:
    """Return how long `work` took."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def parse(source: Path) -> int:
    """Read and parse all files as a build does; return how many papers came."""
    count = 0
    for file in expand_sources([source]):
        if file.path.endswith(".txt"):
            continue
        count += sum(isinstance(item, Located) for item in SourceReader(file))
    return count


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--vectors", type=Path, nargs="+", required=True, help="npy files of real unit vectors")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    provider = MadeProvider(arguments.vectors)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        first = seconds(lambda: build_index([arguments.source], index, provider=provider))
        again, alone = [], []
        for _ in range(arguments.turns):
            alone.append(seconds(lambda: parse(arguments.source)))
            again.append(seconds(lambda: build_index([arguments.source], index, provider=provider)))
        summary = build_index([arguments.source], index, provider=provider)
    assert not summary.published
    append_result("nothing_changed", 0, {
        "papers": summary.papers, "first_build_seconds": round(first, 1),
        "parsing_alone_seconds": round(median(alone), 2), "second_build_seconds": round(median(again), 2),
        "ratio": round(median(a / p for a, p in zip(again, alone, strict=True)), 3),
        "load": round(os.getloadavg()[0], 1)})


if __name__ == "__main__":
    main()
