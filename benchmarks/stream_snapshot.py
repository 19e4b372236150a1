"""Read a generated arXiv snapshot of more than a gigabyte: how fast, and in how much memory.

    python benchmarks/stream_snapshot.py --gigabytes 1

Each measurement runs in a process of its own, whose peak memory is that of the process as the system counted it. The
reader alone is measured on the whole file; the reader with the merging stage (all that `semsearch read` does but
printing) on the first quarter of the file and on all of it: the difference is what the merging stage keeps per paper.
The baseline of both is a process that imports the same and reads ten papers.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import append_result

from semsearch.readers import Located, SourceFile, SourceReader
from semsearch.reading import read_library

FEW = 10
WORDS = ("quantum field lattice gauge neutrino spectral cluster galaxy operator manifold random graph network learning "
         "stochastic boundary entropy symmetry measure kernel phase transition magnetic optical photon detector survey "
         "stellar redshift algebra cohomology module sheaf elliptic curve prime convex gradient sample bound estimate "
         "model theory numerical simulation experiment observation system method result we show that the of in for "
         "with and on a is an by from under between large small new general local global finite exact").split()
LATEX = (r"$\alpha$", r"$\mathcal{N}=4$", r"$SU(2)$", r"$\sim 10^{-3}$", r"{\it ab initio}", r"Schr\"odinger",
         r"$H_0$", r"\emph{a priori}", r"$x \in \mathbb{R}^n$", r"Poincar\'e", r"50\%", r"$\sqrt{s}=13$ TeV",
         r"K\"ahler")
CATEGORIES = ("hep-ph", "math.CO", "cs.LG", "astro-ph", "cond-mat.str-el", "quant-ph", "math.AG", "stat.ML", "gr-qc")
FAMILIES = ("Garc\\'ia", "M\\\"uller", "Chen", "van der Berg", "Smith", "Kowalski", "Sato", "O'Neill", "Rossi",
            "Nguyen")


def sentences(chance: random.Random, count: int) -> list[str]:
    """Return sentences of which abstracts are put together, with line breaks and LaTeX as the snapshot has them."""
    made = []
    for _ in range(count):
        words = chance.choices(WORDS, k=chance.randint(12, 30))
        for _ in range(chance.randint(0, 2)):
            words[chance.randrange(len(words))] = chance.choice(LATEX)
        words[8] = words[8] + "\n "
        made.append(" ".join(words).capitalize() + ".")
    return made


def record(number: int, chance: random.Random, stock: list[str]) -> dict[str, Any]:
    """Return one record of the snapshot."""
    year, month = 7 + number // 60_000 % 18, 1 + number // 5_000 % 12
    names = [(chance.choice(FAMILIES), chance.choice("ABCDEFGH") + ".", "") for _ in range(chance.randint(1, 5))]
    first = {"version": "v1", "created": f"Mon, {1 + number % 28} Apr 20{year:02d} 19:18:42 GMT"}
    return {
        "id": f"{year:02d}{month:02d}.{number % 100_000:05d}" if number < 1_080_000 else f"math/{number:07d}",
        "submitter": f"{names[0][1]} {names[0][0]}",
        "authors": ", ".join(f"{given} {family}" for family, given, _ in names),
        "title": " ".join(chance.choices(WORDS, k=8)).capitalize() + f"\n  of order {number}",
        "comments": f"{number % 40 + 4} pages, {number % 9} figures",
        "journal-ref": f"Phys.Rev.D{number % 100}:013009,20{year:02d}" if number % 2 else None,
        "doi": f"10.1103/PhysRevD.{number}" if number % 2 else None,
        "report-no": None,
        "categories": " ".join(dict.fromkeys(chance.choices(CATEGORIES, k=2))),
        "license": "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
        "abstract": "  " + " ".join(chance.choices(stock, k=chance.randint(4, 9))) + "\n",
        "versions": [first, {"version": "v2", "created": first["created"]}][:1 + number % 2],
        "update_date": f"20{year:02d}-{month:02d}-{1 + number % 28:02d}",
        "authors_parsed": names,
    }


def write_snapshot(whole: Path, part: Path, size_bytes: int, seed: int) -> tuple[int, int]:
    """Write the file and its first quarter; return how many records each holds."""
    chance = random.Random(seed)
    stock = sentences(chance, 4000)
    written = number = in_part = 0
    with open(whole, "w", encoding="utf-8") as out, open(part, "w", encoding="utf-8") as beginning:
        while written < size_bytes:
            line = json.dumps(record(number, chance, stock)) + "\n"
            out.write(line)
            if written < size_bytes // 4:
                beginning.write(line)
                in_part += 1
            written += len(line)
            number += 1
    return number, in_part


def read_alone(path: Path) -> Iterator[int]:
    """Read a file as every command does, and keep nothing."""
    for item in SourceReader(SourceFile(str(path), path.name)):
        yield isinstance(item, Located)


def read_and_merge(path: Path) -> Iterator[int]:
    """Read a file and merge its records."""
    with read_library([path]) as library:
        for _ in library:
            yield 1


STAGES = {"read": read_alone, "merge": read_and_merge}


def measure(stage: str, path: Path) -> dict[str, Any]:
    """Run one stage in a process of its own and return what it found."""
    done = subprocess.run([sys.executable, __file__, "--stage", stage, "--file", str(path)], check=True,
                          capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run_stage(stage: str, path: Path) -> None:
    """Print papers, seconds and peak memory of this process."""
    begun = time.monotonic()
    papers = sum(STAGES[stage](path))
    seconds = time.monotonic() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    print(json.dumps({"papers": papers, "seconds": round(seconds, 1), "papers_per_second": round(papers / seconds),
                      "peak_mib": round(peak / 1024, 1)}))


def main() -> None:
    """Run the benchmark, or one stage of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the files are made (default: the system's temporary folder)")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        run_stage(options.stage, options.file)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        whole, part, few = (Path(scratch) / f"{name}.jsonl" for name in ("whole", "part", "few"))
        records, in_part = write_snapshot(whole, part, int(options.gigabytes * 1e9), options.seed)
        with open(part, encoding="utf-8") as lines:
            few.write_text("".join(next(lines) for _ in range(FEW)), encoding="utf-8")
        stages = {"baseline": measure("merge", few), "read": measure("read", whole),
                  "merge_quarter": measure("merge", part), "merge": measure("merge", whole)}
        growth = (stages["merge"]["peak_mib"] - stages["merge_quarter"]["peak_mib"]) / (records - in_part) * 1e6
        append_result("stream_snapshot", options.seed, {
            "size_bytes": whole.stat().st_size, "records": records, "stages": stages,
            "merge_mib_per_million_papers": round(growth, 1)})


if __name__ == "__main__":
    main()
