"""However many records are looked up at a time, the same papers come of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from made_papers import papers_in, record, run_build, write_jsonl

from semsearch.index import staged_papers


def made_records(seed: int, count: int) -> list[dict[str, Any]]:
    """Return records of which some are the same work, and some of these say so only by their title."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        number = chance.randrange(count)
        made.append({**record(number), "id": "", "doi": f"10.1000/{number}" if chance.random() < 0.7 else ""})
    return made


@pytest.mark.parametrize("part", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_parts_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, part: int) -> None:
    found = []
    for size in (10_000, part):
        monkeypatch.setattr(staged_papers, "_PART_RECORDS", size)
        index = tmp_path / str(size)
        source = write_jsonl(tmp_path / "papers.jsonl", made_records(seed, 23))
        run_build([source], index)
        write_jsonl(source, made_records(seed + 10, 25))
        run_build([source], index)
        write_jsonl(source, made_records(seed + 20, 14))
        run_build([source], index, prune=True, confirmed=True)
        found.append(list(papers_in(index).items()))
    assert found[0] == found[1]
    assert 2 < len(found[0]) < 14
