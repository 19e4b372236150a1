"""Kill a build with SIGKILL at random moments, resume it each time, and count what was lost.

    python benchmarks/kill_and_resume.py --source papers.jsonl.gz --home /tmp/killed

First an index of the first 300 papers is built. Then the build of all of them is killed `--kills` times. After each
kill the generation before must answer three questions with the same hits and the same scores. In the end the encodings
are counted at the encoder itself: the baseline is one encoding per distinct text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from record import append_result

from semsearch import Encoder, EncoderRequest, Searcher, build_index, verify
from semsearch.build import LocalModels
from semsearch.encoding import EncodedTexts, EncoderIdentity, Vectors
from semsearch.readers import SourceReader
from semsearch.readers.base import Located
from semsearch.readers.sources import expand_sources
from semsearch.writers.jsonl import write_papers

QUESTIONS = ("sentiment analysis of news", "translating between languages with little data",
             "what makes a word hard to read?")
BASE_PAPERS = 300


class CountingEncoder:
    """An encoder that appends to a file how many texts it has encoded, after each call."""

    def __init__(self, encoder: Encoder, file: Path) -> None:
        self.encoder, self.file = encoder, file
        self.identity, self.device = encoder.identity, encoder.device

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode, then count."""
        encoded = self.encoder.encode_documents(texts)
        with open(self.file, "a", encoding="ascii") as out:
            out.write(f"{len(texts)}\n")
        return encoded

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode questions, which are not counted."""
        return self.encoder.encode_queries(texts)


class CountingModels(LocalModels):
    """Local models whose encodings are counted."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def load_quick(self, request: EncoderRequest, identity: EncoderIdentity) -> Encoder | None:
        """Return nothing: the encoder in another form would not be counted."""
        return None

    def load(self, request: EncoderRequest) -> Encoder:
        """Load a local model."""
        return CountingEncoder(super().load(request), self.file)


def main() -> None:
    """Run the benchmark, or one build of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    home = arguments.home or Path(tempfile.mkdtemp(prefix="semsearch-"))
    counts = home / "encoded.txt"
    if arguments.work:
        build_index([arguments.source, home / "base.jsonl"], home / "killed", provider=CountingModels(counts))
        return
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    measure(arguments.source, home, counts, arguments.kills, arguments.seed)


def measure(source: Path, home: Path, counts: Path, kills: int, seed: int) -> None:
    """Build, kill, resume, compare, record."""
    items = SourceReader(expand_sources([source])[0])
    papers = [item.paper for item in items if isinstance(item, Located)]
    base = home / "base.jsonl"
    with open(base, "w", encoding="utf-8") as file:
        write_papers(papers[:BASE_PAPERS], file)
    begun = time.monotonic()
    build_index([base], home / "killed", provider=CountingModels(counts))
    seconds_each = (time.monotonic() - begun) / BASE_PAPERS
    expected = answers(home / "killed")
    texts = {p.text_key for p in papers} - {p.text_key for p in papers[:BASE_PAPERS]}
    counts.unlink()
    moments = random.Random(seed)
    span = 2 * seconds_each * len(texts) / kills
    delays, wrong, finished_early = [], 0, 0
    for _ in range(kills):
        worker = start(source, home)
        delays.append(round(moments.uniform(0.2, span), 2))
        try:
            worker.wait(delays[-1])
            finished_early += 1
        except subprocess.TimeoutExpired:
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()
            wrong += answers(home / "killed") != expected
        if finished_early:
            break
    if start(source, home).wait() != 0:
        raise SystemExit("the last build failed")
    encoded = sum(map(int, counts.read_text(encoding="ascii").split()))
    report = verify(home / "killed")
    with Searcher(home / "killed") as searcher:
        held = searcher.reader.manifest.papers
    append_result("kill_and_resume", seed, {
        "source": source.name, "papers": len(papers), "papers_in_index": held,
        "kills": len(delays) - finished_early, "kill_after_seconds": delays,
        "wrong_answers_after_a_kill": wrong, "distinct_texts_to_encode": len(texts),
        "encodings_finished": encoded, "ratio": round(encoded / len(texts), 4),
        "problems_found_by_verify": report.problems})


def start(source: Path, home: Path) -> subprocess.Popen[bytes]:
    """Start a build in a process of its own."""
    return subprocess.Popen([sys.executable, __file__, "--work", "--source", str(source), "--home", str(home)])


def answers(index: Path) -> str:
    """Return all that three questions and one related search answer, as text."""
    with Searcher(index) as searcher:
        found = searcher.query_many(QUESTIONS, 10)
        found.append(searcher.related([found[0].hits[0].paper.id], 10))
    return json.dumps([[hit.as_dict() for hit in answer.hits] for answer in found])


if __name__ == "__main__":
    main()
