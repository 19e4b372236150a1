"""What a first answer costs: a new process for each question, on a warm disk.

    python benchmarks/cold_start.py --home indexes --index demo

Baselines, each run in turns with what is compared to it in the same run: a plain script that imports
sentence-transformers, loads the model, and the vectors into a faiss index, and asks the same question; and
`python -c "import click"` for the help texts. The figures are medians of the ratios of neighbouring runs. The model is
found offline.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from record import append_result

from semsearch.cli.app import COMMANDS
from semsearch.index.reader import IndexReader
from semsearch.models import resolve_model

QUESTION = "How can computers agree on a value when one of them fails?"
PLAIN = """
import sys
import faiss
import numpy as np
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
index = faiss.IndexFlatIP(model.get_embedding_dimension())
index.add(np.load(sys.argv[2]))
scores, rows = index.search(model.encode([sys.argv[3]], normalize_embeddings=True), 10)
print(rows[0].tolist())
"""


def seconds_of(command: list[str]) -> float:
    """Return how long a command takes, from its start to its end."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    return time.perf_counter() - begun


def ratios(baseline: list[str], others: dict[str, list[str]], runs: int) -> dict[str, Any]:
    """Return for each command its median seconds and its median ratio to the baseline run before it."""
    for command in (baseline, *others.values()):
        seconds_of(command)  # the disk is warm from here on
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in others}
    for _ in range(runs):
        plain = seconds_of(baseline)
        for name, command in others.items():
            taken[name].append((plain, seconds_of(command)))
    return {name: {"seconds": round(median(own for _, own in pairs), 3),
                   "baseline_seconds": round(median(plain for plain, _ in pairs), 3),
                   "ratio": round(median(own / plain for plain, own in pairs), 4)} for name, pairs in taken.items()}


def main() -> None:
    """Measure questions and help texts, and append the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("indexes"))
    parser.add_argument("--index", default="demo")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    ours = [sys.executable, "-m", "semsearch"]
    where = ["--home", str(arguments.home), "-i", arguments.index]
    with IndexReader(arguments.home / arguments.index) as reader, tempfile.TemporaryDirectory() as scratch:
        vectors = Path(scratch) / "vectors.npy"
        np.save(vectors, np.concatenate([block for _, block in reader.vectors.blocks()]))
        identity, papers, [paper] = reader.manifest.encoder, reader.manifest.papers, reader.papers.get([0])
        model = resolve_model(identity.model, identity.revision, allow_download=False).folder
        plain = [sys.executable, "-c", PLAIN, str(model), str(vectors), QUESTION]
        figures = ratios(plain, {
            "query, as people read it": [*ours, "query", *where, QUESTION],
            "query --json": [*ours, "query", *where, "--json", QUESTION],
            "query --mode lexical --json": [*ours, "query", *where, "--mode", "lexical", "--json", QUESTION],
            "related by id --json": [*ours, "related", *where, "--json", paper.id],
        }, arguments.runs)
    click_alone = [sys.executable, "-c", "import click"]
    helps = {"--help": [*ours, "--help"], **{f"{name} --help": [*ours, name, "--help"] for name in COMMANDS}}
    help_ratios = ratios(click_alone, helps, arguments.runs)
    slowest = max(help_ratios, key=lambda name: help_ratios[name]["ratio"])
    append_result("cold_start", 0, {"papers": papers, "beside_plain_script": figures,
                                    "help_beside_import_click": {"--help": help_ratios["--help"],
                                                                 "slowest": {slowest: help_ratios[slowest]}},
                                    "load": round(os.getloadavg()[0], 1)})


if __name__ == "__main__":
    main()
