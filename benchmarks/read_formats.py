"""Records per second for each format that is read, and what of it parsing JSON Lines costs.

    python benchmarks/read_formats.py --papers 2000

The same generated papers are written in each format. Every format is read in turns with plain JSON Lines of the same
papers (the baseline) in the same run; the ratio is the median over the turns. For JSON Lines, parsing alone (bytes to
lines to objects, as the reader does it) is compared with `json.loads` of the same lines, which lie decoded in memory;
mapping the fields and cleaning the text are measured beside it. Times are CPU seconds of this one process, so that
other programs disturb them less.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from generated_files import FILES, jsonl, made_papers
from record import append_result

from semsearch.cleaning import clean_abstract, clean_title
from semsearch.readers import Located, SourceFile, SourceReader
from semsearch.readers import jsonl as jsonl_reader
from semsearch.readers.text import TextLines

JSONL_PAPERS = 20_000


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that `work` took."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def read_all(path: Path) -> tuple[str, int]:
    """Read a file as every command does; return its format and how many papers came."""
    reader = SourceReader(SourceFile(str(path), path.name))
    return reader.format.name, sum(isinstance(item, Located) for item in reader)


def measure_formats(count: int, turns: int, seed: int) -> dict[str, Any]:
    """Return for each format records per second, and the ratio to JSON Lines in the same run."""
    papers = made_papers(count, seed)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        baseline = Path(folder) / "baseline.jsonl"
        baseline.write_text(jsonl(papers), encoding="utf-8")
        for expected, (name, make) in FILES.items():
            path = Path(folder) / name
            content = make(papers)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            found, given = read_all(path)
            if (found, given) != (expected.split()[0], count):
                raise SystemExit(f"{name}: {given} papers of {count} as {found}, expected {expected}")
            pairs = [(cpu_seconds(lambda: read_all(baseline)), cpu_seconds(lambda p=path: read_all(p)))  # type: ignore[misc]
                     for _ in range(turns)]
            figures[expected] = {
                "records_per_second": round(count / median(own for _, own in pairs)),
                "jsonl_records_per_second": round(count / median(base for base, _ in pairs)),
                "speed_beside_jsonl": round(median(base / own for base, own in pairs), 2),
                "bytes_per_record": path.stat().st_size // count}
    return figures


def measure_jsonl(count: int, turns: int, seed: int) -> dict[str, Any]:
    """Return what parsing, mapping and cleaning cost, and parsing beside plain `json.loads`."""
    data = jsonl(made_papers(count, seed)).encode()
    lines = data.decode().splitlines(keepends=True)

    def plain() -> None:
        for line in lines:
            json.loads(line)

    def parse_alone() -> None:
        for line in TextLines(io.BytesIO(data)):
            jsonl_reader.parse(line)

    def read() -> None:
        for _ in jsonl_reader.read(io.BytesIO(data), "papers.jsonl"):
            pass

    records = [json.loads(line) for line in lines]

    def clean() -> None:
        for record in records:
            clean_title(record["title"], "latex")
            clean_abstract(record["abstract"], "latex")

    runs = [(cpu_seconds(plain), cpu_seconds(parse_alone)) for _ in range(turns)]
    whole, cleaning = (median(cpu_seconds(work) for _ in range(3)) for work in (read, clean))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "papers.jsonl"
        path.write_bytes(data)
        from_disk = median(cpu_seconds(lambda: read_all(path)) for _ in range(3))
    parsing = median(own for _, own in runs)

    def micros(seconds: float) -> float:
        return round(seconds / count * 1e6, 2)

    return {"records": count, "turns": turns, "speed_beside_json_loads": round(median(p / own for p, own in runs), 2),
            "microseconds_per_record": {
                "json_loads": micros(median(base for base, _ in runs)), "parsing": micros(parsing),
                "mapping_fields": micros(whole - cleaning - parsing), "cleaning": micros(cleaning),
                "hashing_counting_disk": micros(from_disk - whole), "all": micros(from_disk)}}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=2000, help="records in the file of each format")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    append_result("read_formats", options.seed, {
        "papers": options.papers, "turns": options.turns, "baseline": "JSON Lines of the same papers",
        "jsonl": measure_jsonl(JSONL_PAPERS, 7, options.seed),
        "formats": measure_formats(options.papers, options.turns, options.seed)})


if __name__ == "__main__":
    main()
