"""The facets follow the papers, whatever happened to the table."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from dated_papers import MADE, made_paper, open_table, write_table

from semsearch.filters import Filter
from semsearch.index.paper_filter import allowed_rows
from semsearch.index.paper_table import PaperTable
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.staged_records import SourceEntry
from semsearch.index.state import Deletion
from semsearch.paper import Paper


def test_titles_that_are_equal_and_those_that_stand_in(tmp_path):
    papers = [
        Paper("a", "Über Gräben", "One."),
        Paper("b", "uber graben!", "Two."),
        Paper("c", "Uber graben", "Uber graben", title_stands_in=True),
        Paper("d", "Uber graben und Wälle", "Four."),
    ]
    with open_table(tmp_path, *papers) as one:
        assert one.rows_titled("Uber Graben") == [0, 1]
        assert one.rows_titled("graben uber") == one.rows_titled("") == one.rows_titled("...") == []
        assert one.find_title("walle graben") == 3
        assert one.find_title("uber graben", hidden={0, 2}) == 1


def facets(path: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT * FROM facets ORDER BY row").fetchall()
    connection.close()
    return rows


def history(folder: Path, chance: random.Random, at: list[int]) -> dict[str, int]:
    """Write tables one on the other, by adding, changing, merging and deleting; return when each paper was added."""
    added: dict[str, int] = {}
    kept: dict[str, list[Paper]] = {"/a": [], "/b": []}
    base = None
    for step, now in enumerate(at):
        path = folder / f"{step}.sqlite"
        staged = StagedPapers(path, base)
        staged._now = now
        name = chance.choice(list(kept))
        for _ in range(chance.randint(1, 6)):
            number = chance.randrange(12)
            paper = made_paper(number, random.Random(chance.randrange(100)))
            kept[name] = [p for p in kept[name] if p.id != paper.id] + [paper]
        if kept[name] and chance.random() < 0.5:
            kept[name].pop(chance.randrange(len(kept[name])))
        source = staged.begin_source(name, name)
        for line, paper in enumerate(kept[name], 1):
            staged.put(source, paper, line)
        staged.end_source(source, SourceEntry(name, name, "jsonl@1", "jsonl", "utf-8", "", "0" * 64))
        staged.drop_unseen([source])
        deletions = []
        if base is not None and chance.random() < 0.4 and added:
            gone = chance.choice(sorted(added))
            deletions = [Deletion(gone, (f"id:{gone}",), f"Paper {gone[1:]}", "")]
            staged.take_out_deleted([gone])
        staged.merge(deletions)
        staged.compact()
        count = staged.papers
        staged.close()
        with PaperTable(path, count) as table:
            assert table.check() == []
            added = {paper.id: added.get(paper.id, now) for _, paper in table}
            assert {table.ids()[row]: when for row, *_, when in facets(path)} == added
        base = path
    return added


@pytest.mark.parametrize("seed", range(25))
def test_facets_follow_the_papers_whatever_happened(tmp_path, seed):
    history(tmp_path, random.Random(seed), [100, 200, 300, 400, 500])
    last = tmp_path / "4.sqlite"
    count = len(facets(last))
    with PaperTable(last, count) as table:
        papers = [paper for _, paper in table]
    (tmp_path / "fresh").mkdir()
    fresh = StagedPapers(tmp_path / "fresh" / "0.sqlite", None)
    for row, paper in enumerate(papers):
        fresh._write(paper, [], set())
        assert fresh._next_row == row + 1
    fresh.close()
    assert [f[:-1] for f in facets(last)] == [f[:-1] for f in facets(tmp_path / "fresh" / "0.sqlite")]


def test_a_table_without_facets_gets_them_when_it_is_copied(tmp_path):
    old = write_table(tmp_path / "old.sqlite", MADE)
    wanted = facets(old)
    connection = sqlite3.connect(old)
    connection.executescript("DROP TABLE facets; PRAGMA user_version = 1; VACUUM;")
    connection.close()
    staged = StagedPapers(tmp_path / "new.sqlite", old)
    staged.compact()
    staged.close()
    got = facets(tmp_path / "new.sqlite")
    assert [f[:-1] for f in got] == [f[:-1] for f in wanted]
    assert {f[-1] for f in got} == {int(old.stat().st_mtime)}
    with PaperTable(tmp_path / "new.sqlite", len(MADE)) as table:
        assert table.check() == []
        by_year = [row for row, paper in enumerate(MADE) if (paper.date or str(paper.year))[:4] == "2021"]
        allowed = allowed_rows(table, Filter(as_of="2021", newer_than="2020"))
        assert allowed.mask.nonzero()[0].tolist() == by_year
