"""A paper table in the making: records in, papers out, counts that add up."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch.errors import IndexDamaged
from semsearch.index.paper_table import PaperTable
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.staged_records import SourceEntry
from semsearch.index.state import Deletion
from semsearch.paper import Paper


def paper(name: str, title: str = "", **more: object) -> Paper:
    return Paper(name, title or f"Title {name}", f"Abstract {name}.", identifiers=(("id:jsonl", name),), **more)


class Run:
    """One run over some sources: what each holds now."""

    def __init__(self, folder: Path, number: int) -> None:
        base = folder / f"{number - 1}.sqlite"
        self.path = folder / f"{number}.sqlite"
        self.staged = StagedPapers(self.path, base if base.exists() else None)

    def read(self, name: str, *papers: Paper) -> int:
        source = self.staged.begin_source(name, name)
        for line, one in enumerate(papers, 1):
            self.staged.put(source, one, line)
        self.staged.end_source(source, SourceEntry(name, name, "jsonl@1", "jsonl", "utf-8", "", "0" * 64))
        return source

    def finish(self, *deletions: Deletion) -> list[tuple[str, str]]:
        self.staged.merge(deletions)
        self.staged.compact()
        count = self.staged.papers
        self.staged.close()
        with PaperTable(self.path, count) as table:
            assert table.check() == []
            self.counts = [(c.records, c.papers, c.merged) for c in table.source_counts()]
            return [(p.id, p.title) for _, p in table]


def changes(run: Run) -> tuple[int, int, int, int]:
    found = run.staged.changes
    return found.added, found.updated, found.removed, found.renamed


def test_rows_keep_their_order_and_gaps_are_closed(tmp_path):
    first = Run(tmp_path, 1)
    first.read("a", *map(paper, "abcde"))
    assert [i for i, _ in first.finish()] == list("abcde")
    second = Run(tmp_path, 2)
    source = second.read("a", *map(paper, "eca"))
    assert second.staged.unseen_papers([source]) == 2
    second.staged.drop_unseen([source])
    assert [i for i, _ in second.finish()] == list("ace")
    assert (changes(second), second.counts) == ((0, 0, 2, 0), [(3, 3, 0)])
    third = Run(tmp_path, 3)
    third.read("b", paper("b"), paper("c", venue="ACL"))
    assert [i for i, _ in third.finish()] == list("aceb")
    assert (changes(third), third.counts) == ((1, 1, 0, 0), [(3, 3, 0), (2, 1, 1)])


def test_a_record_twice_in_a_file_is_one_paper_and_stays_so(tmp_path):
    for number in (1, 2):
        run = Run(tmp_path, number)
        run.read("a", paper("a"), paper("a"), paper("a", venue="ACL"))
        assert run.finish() == [("a", "Title a")]
        assert run.counts == [(3, 1, 2)]
    assert changes(run) == (0, 0, 0, 0)


def test_two_works_under_one_name_keep_their_ids_when_they_change_places(tmp_path):
    first = Run(tmp_path, 1)
    first.read("a", paper("a", "Whales sing"), paper("a", "Bees dance"))
    before = first.finish()
    assert before[0] == ("a", "Whales sing") and before[1][0].startswith("a~")
    second = Run(tmp_path, 2)
    second.read("a", paper("a", "Bees dance"), paper("a", "Whales sing"), paper("a", "Ants walk"))
    assert second.finish()[:2] == before
    assert changes(second) == (1, 0, 0, 1)


def test_deletions_hold_by_key_and_title_and_reserve_the_id(tmp_path):
    deletion = Deletion("a", ("id:a", "id:jsonl:a"), "Whales sing", "")
    first = Run(tmp_path, 1)
    first.read("a", paper("a", "Whales sing"), paper("a", "Bees dance"), paper("b"))
    found = first.finish(deletion)
    assert [title for _, title in found] == ["Bees dance", "Title b"] and found[0][0] != "a"
    assert first.counts[0][0] == 3
    second = Run(tmp_path, 2)
    second.staged.take_out_deleted(["b"])
    assert second.finish(deletion, Deletion("b", ("id:b",), "Title b", "")) == found[:1]
    third = Run(tmp_path, 3)
    assert sorted(title for _, title in third.finish()) == ["Bees dance", "Title b", "Whales sing"]


def test_former_ids_still_find_the_paper(tmp_path):
    first = Run(tmp_path, 1)
    first.read("a", Paper("x", "Whales sing in the sea", authors=("Ada",), year=2020, identifiers=(("id:csv", "x"),)))
    first.read("b", Paper("y", "Whales sing in the sea", "Long.", identifiers=(("id:jsonl", "y"),)))
    assert len(first.finish()) == 2
    second = Run(tmp_path, 2)
    second.read(
        "b",
        Paper("y", "Whales sing in the sea", "Long.", authors=("Ada",), year=2020, identifiers=(("id:jsonl", "y"),)),
    )
    assert [i for i, _ in second.finish()] == ["x"]
    with PaperTable(second.path, 1) as table:
        assert table.find("y") == table.find("x") == 0


def test_an_unreadable_base_is_damage_and_leaves_no_file_open(tmp_path):
    (tmp_path / "0.sqlite").write_bytes(b"garbage" * 1000)
    with pytest.raises(IndexDamaged):
        Run(tmp_path, 1)
