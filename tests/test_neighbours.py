"""Neighbour lists of a whole index, against numpy in double precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder
from made_papers import record, records, run_build, text_of, write_jsonl

from semsearch import neighbours
from semsearch.encoding import EncoderRequest
from semsearch.errors import UsageError
from semsearch.index.reader import IndexReader
from semsearch.maintenance import delete
from semsearch.neighbours import all_neighbours

COUNT, TWINS = 90, 30
ITEMS = records(COUNT - TWINS) + [
    record(0, id=f"twin{n}", title="Twins", abstract="graph graph protein") for n in range(TWINS)
]


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    """90 papers, the last 30 of them with one text; two are deleted."""
    folder = tmp_path_factory.mktemp("neighbours")
    run_build([write_jsonl(folder / "papers.jsonl", ITEMS)], folder / "index")
    delete(folder / "index", ["p7", "twin3"])
    return folder / "index"


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks and tiles that do not divide each other or the papers."""
    monkeypatch.setattr(neighbours, "_BLOCK_ROWS", 13)
    monkeypatch.setattr(neighbours, "_TILE_ROWS", 17)
    monkeypatch.setattr(neighbours, "_RESCORED", 19)
    monkeypatch.setattr(neighbours, "_TIE_SLACK", TWINS)


def truth(k: int, permitted: np.ndarray) -> list[tuple[int, list[int], np.ndarray]]:
    vectors = FakeEncoder(EncoderRequest()).encode_documents([text_of(item) for item in ITEMS]).vectors
    cosines = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    lists = []
    for row in np.flatnonzero(permitted):
        others = [other for other in np.flatnonzero(permitted) if other != row]
        best = sorted(others, key=lambda other: (-round(cosines[row, other], 6), other))[:k]
        lists.append((int(row), [int(other) for other in best], cosines[row, best]))
    return lists


def check(found, expected) -> None:
    found = list(found)
    assert [row for row, _, _ in found] == [row for row, _, _ in expected]
    for (_, rows, scores), (_, best, cosines) in zip(found, expected, strict=True):
        assert rows.tolist() == best
        assert scores == pytest.approx(cosines, abs=1e-6)
        assert (rows.dtype, scores.dtype) == (np.int64, np.float32)


def visible() -> np.ndarray:
    permitted = np.ones(COUNT, bool)
    permitted[[7, COUNT - TWINS + 3]] = False
    return permitted


@pytest.mark.parametrize("k", [1, 5, 40, 1000])
def test_each_paper_gets_its_nearest_in_order(index, small_blocks, k):
    heard = []
    with IndexReader(index) as reader:
        check(all_neighbours(reader, k, advance=heard.append), truth(k, visible()))
    assert sum(heard) == COUNT - 2


def test_one_block_gives_the_same_as_many(index, monkeypatch):
    monkeypatch.setattr(neighbours, "_TIE_SLACK", TWINS)
    with IndexReader(index) as reader:
        check(all_neighbours(reader, 5), truth(5, visible()))


def test_a_mask_limits_who_is_asked_about_and_who_answers(index, small_blocks):
    mask = np.arange(COUNT) % 3 == 0
    with IndexReader(index) as reader:
        check(all_neighbours(reader, 4, mask), truth(4, mask & visible()))
        assert mask.sum() == 30  # it is not changed
        nobody = list(all_neighbours(reader, 4, np.zeros(COUNT, bool)))
        [(row, rows, scores)] = all_neighbours(reader, 4, np.arange(COUNT) == 5)
    assert nobody == [] and row == 5 and len(rows) == len(scores) == 0


@pytest.mark.parametrize("factory", ["HNSW16", "IVF4,Flat"])
def test_a_large_index_is_searched_through_its_structure(tmp_path, factory, monkeypatch):
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(60))], tmp_path / "index", factory=factory)
    delete(tmp_path / "index", ["p7"])
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", 50)
    vectors = FakeEncoder(EncoderRequest()).encode_documents([text_of(record(n)) for n in range(60)]).vectors
    with IndexReader(tmp_path / "index") as reader:
        lists = list(all_neighbours(reader, 5))
        monkeypatch.setattr(neighbours, "EXACT_UP_TO", 60)
        exact = list(all_neighbours(reader, 5))
    assert [row for row, _, _ in lists] == [row for row, _, _ in exact] == [n for n in range(60) if n != 7]
    shared = [len(set(rows.tolist()) & set(best.tolist())) for (_, rows, _), (_, best, _) in
              zip(lists, exact, strict=True)]
    assert sum(shared) >= 0.9 * 5 * 59  # the recall that such a structure is built for is 0.95
    for row, rows, scores in lists:
        assert row not in rows and 7 not in rows and len(rows) == 5
        assert scores == pytest.approx(vectors[rows] @ vectors[row], abs=1e-6)


def test_less_than_one_neighbour_cannot_be_asked_for(index):
    with IndexReader(index) as reader, pytest.raises(UsageError, match="0 papers"):
        next(all_neighbours(reader, 0))


def test_papers_without_a_vector_are_left_out(index):
    with IndexReader(index) as reader:
        vectors = reader.vectors
        kept = np.arange(COUNT) % 2 == 0
        vectors.rows, vectors.places = vectors.rows[kept], vectors.places[kept]
        check(all_neighbours(reader, 3), truth(3, kept & visible()))


