"""Time from `semsearch build` to the first answer, beside the time until all is encoded, in one run.

    python benchmarks/first_answer.py --source acl-01.jsonl.gz acl-02.jsonl.gz acl-03.jsonl.gz

The index is new. As soon as it has a generation a question is asked, by a process of its own, while the build goes on.
The build is stopped when `--encoded` texts have a vector; from these the time of the complete encoding is extrapolated,
unless it was done before. The question competes for the processor with the build, as it would for a user.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from record import append_result

from semsearch import describe
from semsearch.errors import IndexNotFound
from semsearch.index import generations
from semsearch.readers import SourceReader
from semsearch.readers.base import Located
from semsearch.readers.sources import expand_sources
from semsearch.writers.jsonl import write_papers

QUESTION = "parsing languages for which there is little annotated text"
NAME = "first-answer"
POLL_SECONDS = 0.02
COUNT_SECONDS = 5.0


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, nargs="+", required=True)
    parser.add_argument("--papers", type=int, help="only so many")
    parser.add_argument("--encoded", type=int, default=5_000, help="texts from which the rest is extrapolated")
    parser.add_argument("--home", type=Path)
    arguments = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="semsearch-", dir=arguments.home))
    try:
        sources = [path.resolve() for path in arguments.source]
        if arguments.papers:
            sources = [first_papers(sources, arguments.papers, home / "papers.jsonl")]
        figures = measure(sources, home, arguments.encoded)
        append_result("first_answer", 0, {"sources": [path.name for path in arguments.source],
                                          "load_average": os.getloadavg()[0], **figures})
    finally:
        shutil.rmtree(home)


def first_papers(sources: list[Path], count: int, file: Path) -> Path:
    """Write the first papers of some files to one."""
    papers = (item.paper for source in sources for item in SourceReader(expand_sources([source])[0])
              if isinstance(item, Located))
    with open(file, "w", encoding="utf-8") as out:
        write_papers(islice(papers, count), out)
    return file


@dataclass
class Build:
    """A build at work, and when it began."""

    process: subprocess.Popen[bytes]
    begun: float
    index: Path

    def seconds(self) -> float:
        """Return the time since it began."""
        return time.perf_counter() - self.begun

    def encoded(self) -> int:
        """Return how many texts have a vector."""
        info = describe(self.index)
        return info.vectors + info.waiting_vectors


def measure(sources: list[Path], home: Path, enough: int) -> dict[str, Any]:
    """Build, ask as soon as there is something to ask, count, stop."""
    begun = time.perf_counter()
    build = Build(subprocess.Popen(command(home, "build", *map(str, sources)), stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL), begun, home / NAME)
    while not has_generation(build.index):
        if build.process.poll() is not None:
            raise SystemExit("the build ended before it had a generation")
        time.sleep(POLL_SECONDS)
    ready = build.seconds()
    answer = subprocess.run(command(home, "query", QUESTION, "--json", "-k", "10"), capture_output=True, text=True,
                            check=True)
    answered = build.seconds()
    first = [json.loads(line)["id"] for line in answer.stdout.splitlines()]
    while build.process.poll() is None and build.encoded() < enough:
        time.sleep(COUNT_SECONDS)
    done = build.process.poll() == 0
    seconds, encoded, info = build.seconds(), build.encoded(), describe(build.index)
    if not done:
        build.process.send_signal(signal.SIGINT)
        build.process.wait()
    complete = seconds if done else ready + (seconds - ready) * info.distinct_texts / max(encoded, 1)
    after = subprocess.run(command(home, "query", QUESTION, "--json", "-k", "10"), capture_output=True, text=True,
                           check=True)
    return {"papers": info.papers, "first_generation_seconds": round(ready, 1),
            "first_answer_seconds": round(answered, 1), "texts_encoded": encoded,
            "complete_encoding": "measured" if done else "extrapolated", "complete_seconds": round(complete, 1),
            "complete_over_first_answer": round(complete / answered, 1), "ids_of_first_answer": first,
            "ids_at_the_end": [json.loads(line)["id"] for line in after.stdout.splitlines()]}


def has_generation(index: Path) -> bool:
    """Return whether there is something to ask."""
    try:
        generations.read_manifest(index)
    except IndexNotFound:
        return False
    return True


def command(home: Path, name: str, *arguments: str) -> list[str]:
    """Return a command line of semsearch."""
    return [sys.executable, "-m", "semsearch", name, *arguments, "-i", NAME, "--home", str(home)]


if __name__ == "__main__":
    main()
