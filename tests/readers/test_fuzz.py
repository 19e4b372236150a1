"""A few hundred damaged files per format; `tests/fuzz_readers.py` tries as many as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz_readers import GOOD, broken_rules, damaged, non_blank_lines

SEED = 20_250


@pytest.mark.parametrize("kind", GOOD)
def test_damaged_files_break_no_rule(kind: str, tmp_path: Path) -> None:
    broken = [rule for seed in range(SEED, SEED + 200) for rule in broken_rules(kind, seed, tmp_path)]
    assert broken == []


def test_the_damage_depends_on_the_seed_alone() -> None:
    assert damaged("jsonl", 3) == damaged("jsonl", 3)
    assert damaged("jsonl", 3) != damaged("jsonl", 4)


def test_the_independent_count() -> None:
    assert non_blank_lines(b"\xef\xbb\xbfa\r\n\r\n \t\nb\rc", "utf-8") == {3}
    assert non_blank_lines("a\n\nb".encode("utf-16"), "utf-16") == {2}
    assert 2 in non_blank_lines("a\n\nb".encode("utf-16-be"), "utf-16")
