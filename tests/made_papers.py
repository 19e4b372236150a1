"""Small corpora made by counting, and ways to look at an index from outside."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fakes import FakeProvider

from semsearch.build import BuildOptions, build_index
from semsearch.index.reader import IndexReader
from semsearch.paper import Paper
from semsearch.ranking import SearchOptions
from semsearch.search import Searcher
from semsearch.summary import BuildSummary

WORDS = (
    "graph neural attention protein galaxy market language vision robot memory quantum climate enzyme theorem network "
    "policy signal speech sparse kernel bayes gene plasma crystal ocean orbit tensor cipher packet cache"
).split()


def record(number: int, **changes: Any) -> dict[str, Any]:
    """Return a JSON Lines record that follows from its number; its title and abstract are no other number's."""
    rng = random.Random(number)
    return {
        "id": f"p{number}",
        "title": f"Study {number} of {' '.join(rng.sample(WORDS, 3))}",
        "abstract": f"Finding {number}: {' '.join(rng.choices(WORDS, k=20))}.",
        **changes,
    }


def records(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [record(number) for number in range(start, start + count)]


def write_jsonl(path: Path, items: Iterable[Mapping[str, Any] | str]) -> Path:
    """Write records, one a line; strings are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((i if isinstance(i, str) else json.dumps(i)) + "\n" for i in items), encoding="utf-8")
    return path


def text_of(item: Mapping[str, Any]) -> str:
    """Return the text of a record that is embedded."""
    return f"{item['title']} {item['abstract']}"


def run_build(
    sources: Iterable[Path | str], index: Path, provider: FakeProvider | None = None, **options: Any
) -> BuildSummary:
    summary = build_index(list(sources), index, BuildOptions(**options), provider=provider or FakeProvider())
    assert_counts_add_up(summary)
    return summary


def assert_counts_add_up(summary: BuildSummary) -> None:
    """Check that records = papers + merged + rejected, in each file and in all."""
    for file in summary.files:
        assert file.records == file.papers + file.merged + file.rejected, file
    assert summary.records == sum(file.records for file in summary.files)
    assert summary.merged == sum(file.merged for file in summary.files)
    assert summary.rejected == sum(file.rejected for file in summary.files) == sum(summary.reject_reasons.values())


def papers_in(index: Path) -> dict[str, Paper]:
    """Return the papers that can be found, by id."""
    with IndexReader(index) as reader:
        found = [paper for row, paper in reader.papers if row not in reader.hidden]
    assert len({paper.id for paper in found}) == len(found)
    return {paper.id: paper for paper in found}


def works_in(index: Path) -> list[tuple[str, str]]:
    """Return the papers that can be found without their ids, as something that compares and sorts."""
    return sorted((paper.title, repr(replace(paper, id=""))) for paper in papers_in(index).values())


def answers(
    index: Path,
    questions: Iterable[str] = ("graph attention", "protein gene", "study 3 of orbit"),
    k: int = 8,
    options: SearchOptions | None = None,
) -> list[list[tuple[int, str, float]]]:
    """Return (rank, id, score) of the hits of some questions."""
    with Searcher(index, provider=FakeProvider()) as searcher:
        return [
            [(hit.rank, hit.paper.id, hit.score) for hit in answer.hits]
            for answer in searcher.query_many(list(questions), k, options or SearchOptions())
        ]


def listing(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return size, time of change and SHA-256 of everything under a folder, by relative path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (status.st_size if path.is_file() else 0, status.st_mtime_ns, digest)
    return found


def generation_folder(index: Path) -> Path:
    """Return the folder of the current generation."""
    return index / "generations" / (index / "CURRENT").read_text().split()[0]
