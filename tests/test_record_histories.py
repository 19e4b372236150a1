"""Whatever was read when: the papers follow from the records that the sources hold now."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from fakes import FakeProvider

from semsearch.build import BuildOptions, build_index
from semsearch.index.reader import IndexReader
from semsearch.maintenance import verify


def made_record(chance: random.Random, number: int) -> dict[str, object]:
    record: dict[str, object] = {"title": chance.choice(["On whales", "On whales and other animals", "Of birds"]),
                                 "abstract": chance.choice(["", "Whales sing.", "Birds fly south in winter."]),
                                 "authors": [chance.choice(["Ada Lovelace", "Alan Turing"])], "year": 2020}
    if chance.random() < 0.6:
        record["doi"] = f"10.1000/{chance.randint(1, 3)}"
    if chance.random() < 0.3:
        record["arxiv"] = f"2001.0000{chance.randint(1, 3)}"
    if chance.random() < 0.5:
        record["id"] = f"r{number}"
    return record


def write(folder: Path, files: list[list[dict[str, object]]]) -> None:
    for number, records in enumerate(files):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{number}.jsonl").write_text(text, encoding="utf-8")


def works(index: Path) -> list[tuple[object, ...]]:
    with IndexReader(index) as reader:
        return sorted((p.title, p.abstract, p.authors, p.year, p.identifiers) for _, p in reader.papers)


@pytest.mark.parametrize("seed", range(60))
def test_the_papers_follow_from_the_records_alone(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    files = [[made_record(chance, 10 * f + n) for n in range(4)] for f in range(3)]
    folder = tmp_path / "sources"
    folder.mkdir()
    for _ in range(3):
        write(folder, files)
        summary = build_index([folder], tmp_path / "grown", BuildOptions(prune=True, confirmed=True),
                              provider=FakeProvider())
        assert all(f.records == f.papers + f.merged + f.rejected for f in summary.files)
        assert summary.papers == sum(f.papers for f in summary.files)
        changed = chance.randrange(3)
        files[changed][chance.randrange(4)] = made_record(chance, 10 * changed + chance.randrange(4))
        chance.shuffle(files[changed])
    write(folder, files)
    build_index([folder], tmp_path / "grown", BuildOptions(prune=True, confirmed=True), provider=FakeProvider())
    build_index([folder], tmp_path / "fresh", provider=FakeProvider())
    assert works(tmp_path / "grown") == works(tmp_path / "fresh")
    assert verify(tmp_path / "grown").problems == ()
