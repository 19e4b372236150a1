"""A few hundred damaged files per format; `tests/fuzz_readers.py` tries as many as one likes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from semsearch.readers import FORMATS, Located, SourceReader, expand_sources
from tests.fuzz_readers import broken_rules, damaged, non_blank_lines
from tests.fuzz_samples import KINDS

SEED = 20_250


def test_every_format_is_tried() -> None:
    assert {known.name for known in FORMATS} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_break_no_rule(kind: str, tmp_path: Path) -> None:
    broken = [rule for seed in range(SEED, SEED + 200) for rule in broken_rules(kind, seed, tmp_path)]
    assert broken == []


@pytest.mark.parametrize("kind", KINDS)
def test_sound_files_give_just_what_is_in_them(kind: str, tmp_path: Path) -> None:
    for seed in range(SEED, SEED + 30):
        chance = random.Random(seed)
        sample = KINDS[kind].make(chance, True)
        path = tmp_path / chance.choice(KINDS[kind].names)
        path.write_bytes(sample.data)
        reader = SourceReader(expand_sources([path])[0])
        papers = [item.paper if isinstance(item, Located) else item for item in reader]
        assert reader.format.name == kind, (path.name, seed)
        assert len(papers) == len(sample.texts), (path.name, seed)
        assert reader.counted == len(papers) or (kind == "text" and reader.counted is None), (path.name, seed)
        found = [("" if paper.title_stands_in else paper.title, paper.abstract) for paper in papers]
        assert found == sample.texts, (path.name, seed)
        path.unlink()


def test_the_damage_depends_on_the_seed_alone() -> None:
    assert damaged("jsonl", 3) == damaged("jsonl", 3)
    assert damaged("jsonl", 3) != damaged("jsonl", 4)


def test_the_independent_count() -> None:
    assert non_blank_lines(b"\xef\xbb\xbfa\r\n\r\n \t\nb\rc", "utf-8") == {3}
    assert non_blank_lines("a\n\nb".encode("utf-16"), "utf-16") == {2}
    assert 2 in non_blank_lines("a\n\nb".encode("utf-16-be"), "utf-16")
