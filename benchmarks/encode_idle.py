"""A server that encodes while nobody asks, beside one that does not: what a question loses, what the encoding gains.

    semsearch build abstracts/ -i acl --encode later
    python benchmarks/encode_idle.py --index acl --questions scifact/queries.jsonl cranfield/queries.jsonl

Both servers get a copy of the index, one after the other in turns, and the same questions over HTTP, each a pause after
the answer to the one before: after short ones the encoding rests, after long ones it has begun, and the question finds
a step under way. Nothing is encoded for questions (`encode_budget=0`). How fast papers get their vectors in the pauses
is compared with encoding by the same encoder without pauses, at the end of the run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import quote

from record import append_result
from warm_questions import read_questions

from semsearch.progress import Silent
from semsearch.search import Searcher
from semsearch.server.desk import REST_SECONDS

PAUSES = {"short": (0.2, 0.8), "long": (REST_SECONDS + 0.2, REST_SECONDS + 0.8)}
"""Seconds between an answer and the next question, drawn evenly."""
WARMING = 5
BARE_TEXTS = 1024


class Client:
    """Asks a server over one connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def get(self, path: str) -> dict[str, Any]:
        """Return the answer to a request."""
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        document: dict[str, Any] = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{path}: {document}")
        return document


@contextmanager
def server(home: Path, *options: str) -> Any:
    """Run `semsearch serve`, and give a client of it."""
    process = subprocess.Popen([sys.executable, "-m", "semsearch", "serve", "--home", str(home), "--port", "0",
                                *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r":(\d+)/", line)
    if found is None:
        raise SystemExit(line)
    try:
        yield Client(int(found[1]))
    finally:
        process.terminate()
        process.wait()


def ask_all(client: Client, index: str, questions: list[str], pause: tuple[float, float], chance: random.Random
            ) -> tuple[list[float], float, int]:
    """Return milliseconds of each question, seconds in which encoding might go on, and vectors gained meanwhile."""
    for text in questions[:WARMING]:
        client.get(f"/api/indexes/{index}/query?encode_budget=0&q={quote(text)}")
    begun, before = time.perf_counter(), client.get("/api/indexes")["indexes"][0]["vectors"]
    times = []
    for text in questions[WARMING:]:
        time.sleep(chance.uniform(*pause))
        asked = time.perf_counter()
        client.get(f"/api/indexes/{index}/query?encode_budget=0&q={quote(text)}")
        times.append((time.perf_counter() - asked) * 1e3)
    gained = client.get("/api/indexes")["indexes"][0]["vectors"] - before
    idle = time.perf_counter() - begun - len(times) * REST_SECONDS - sum(times) / 1e3
    return times, max(idle, 0.0), gained


def spread(times: list[float]) -> dict[str, float]:
    """Return median and 99th percentile."""
    return {"p50": round(median(times), 1), "p99": round(quantiles(times, n=100)[98], 1)}


def bare_speed(home: Path, index: str) -> float:
    """Return texts a second by the encoder of an index, many at once."""
    with Searcher(home / index) as searcher:
        papers = searcher.reader.papers.get(list(range(BARE_TEXTS)))
        encoder = searcher.encoder()
        encoder.encode_documents([paper.text for paper in papers[:32]])
        begun = time.perf_counter()
        encoder.encode_documents([paper.text for paper in papers])
        return len(papers) / (time.perf_counter() - begun)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("indexes"))
    parser.add_argument("--index", required=True)
    parser.add_argument("--questions", type=Path, nargs="+", required=True, help="JSON Lines with `text`.")
    parser.add_argument("--count", type=int, default=60, help="Questions a turn.")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    questions = read_questions(arguments.questions)
    wanted = {"resting": (), "encoding": ("--encode-idle",)}
    times: dict[str, dict[str, list[float]]] = {pause: {name: [] for name in wanted} for pause in PAUSES}
    idle_seconds, gained = 0.0, 0
    with Searcher(arguments.home / arguments.index) as searcher:  # else the first server exports it meanwhile
        searcher.encoder()
        searcher.prepare_quick_answers(Silent())
    with tempfile.TemporaryDirectory(dir=arguments.home) as folder:
        for turn in range(arguments.turns):
            for pause, bounds in PAUSES.items():
                piece = [questions[n % len(questions)] for n in range(turn * arguments.count,
                                                                     (turn + 1) * arguments.count + WARMING)]
                for name in sorted(wanted, reverse=turn % 2 == 1):
                    home = Path(folder) / f"{turn}-{pause}-{name}"
                    shutil.copytree(arguments.home / arguments.index, home / arguments.index, copy_function=os.link)
                    with server(home, *wanted[name]) as client:
                        found, idle, more = ask_all(client, arguments.index, piece, bounds,
                                                    random.Random(arguments.seed + turn))
                    times[pause][name] += found
                    if name == "encoding" and pause == "long":
                        idle_seconds, gained = idle_seconds + idle, gained + more
                    shutil.rmtree(home)
    with Searcher(arguments.home / arguments.index) as searcher:
        papers = searcher.reader.visible
    result: dict[str, Any] = {"papers": papers, "questions": len(times["long"]["resting"])}
    for pause, found in times.items():
        rest, encoding = spread(found["resting"]), spread(found["encoding"])
        result[pause] = {"resting_ms": rest, "encoding_ms": encoding,
                         "ratio": {p: round(encoding[p] / rest[p], 3) for p in rest}}
    bare = bare_speed(arguments.home, arguments.index)
    result["speed"] = {"texts_a_second_in_pauses": round(gained / max(idle_seconds, 1e-9), 1),
                       "bare_texts_a_second": round(bare, 1),
                       "ratio": round(gained / max(idle_seconds, 1e-9) / bare, 3)}
    append_result("encode_idle", arguments.seed, result)


if __name__ == "__main__":
    main()
