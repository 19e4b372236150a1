"""Vectors of the log become a generation without a source, an encoder or a build."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import FakeProvider
from made_papers import generation_folder, records, run_build, write_jsonl

from semsearch import folding
from semsearch.build import BuildOptions, build_index
from semsearch.errors import IndexBusy
from semsearch.folding import fold_logged_vectors
from semsearch.index.locks import build_lock
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER
from semsearch.maintenance import delete, verify
from semsearch.search import Searcher

COUNT = 80


@pytest.fixture
def bare(tmp_path):
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(COUNT))], tmp_path / "index", encode="later")
    return tmp_path / "index"


def pay_for(index, rows):
    """Have the vectors of rows in the log."""
    with Searcher(index, provider=FakeProvider()) as searcher:
        searcher.vectors.encode(np.asarray(rows))


def test_a_part_of_the_vectors(bare):
    before = generation_folder(bare)
    pay_for(bare, range(10))
    assert fold_logged_vectors(bare)
    with IndexReader(bare) as reader:
        assert reader.manifest.generation == 2
        assert reader.vectors.rows.tolist() == list(range(10))
    assert verify(bare).problems == ()
    assert not before.exists() and not list((bare / FOLDER).glob("*/*.log"))
    pay_for(bare, range(5, 15))
    assert fold_logged_vectors(bare)
    with IndexReader(bare) as reader:
        assert reader.vectors.rows.tolist() == list(range(15))


def test_papers_and_words_are_linked(bare):
    links = {path.name: path.stat().st_ino for path in generation_folder(bare).iterdir()}
    pay_for(bare, range(COUNT))
    fold_logged_vectors(bare)
    now = {path.name: path.stat().st_ino for path in generation_folder(bare).iterdir()}
    assert links["papers.sqlite"] == now["papers.sqlite"]
    provider = FakeProvider()
    summary = build_index([], bare, BuildOptions(), provider=provider)
    assert (summary.encoded, summary.coverage, provider.loaded, summary.generation) == (0, 1.0, 0, 2)


def test_nothing_in_the_log_is_nothing_to_do(bare):
    assert not fold_logged_vectors(bare)
    assert generation_folder(bare).name == "1"
    pay_for(bare, range(COUNT))
    assert fold_logged_vectors(bare) and not fold_logged_vectors(bare)


def test_deleted_papers_stay_deleted(bare):
    delete(bare, ["p3"])
    pay_for(bare, range(10))
    fold_logged_vectors(bare)
    with Searcher(bare, provider=FakeProvider()) as searcher:
        assert "p3" not in {hit.paper.id for hit in searcher.query("Study 3", COUNT).hits}
    assert build_index([], bare, BuildOptions(), provider=FakeProvider()).papers == COUNT - 1


def test_a_build_at_work_is_left_alone(bare):
    pay_for(bare, range(10))
    with build_lock(bare, "build"), pytest.raises(IndexBusy):
        fold_logged_vectors(bare)
    assert generation_folder(bare).name == "1"


def test_the_structure_of_a_large_index_is_left_to_a_build(bare, monkeypatch):
    monkeypatch.setattr(folding, "EXACT_UP_TO", COUNT - 1)
    pay_for(bare, range(COUNT - 1))
    assert fold_logged_vectors(bare)
    pay_for(bare, range(COUNT))
    assert not fold_logged_vectors(bare)
    assert build_index([], bare, BuildOptions(), provider=FakeProvider()).coverage == 1.0


def test_an_index_whose_factory_was_chosen_keeps_it(tmp_path):
    index = tmp_path / "index"
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(COUNT))], index, encode="later", factory="HNSW8")
    pay_for(index, range(COUNT - 1))
    assert fold_logged_vectors(index)
    pay_for(index, range(COUNT))
    assert not fold_logged_vectors(index)
    build_index([], index, BuildOptions(), provider=FakeProvider())
    with IndexReader(index) as reader:
        assert (reader.manifest.factory, reader.manifest.vectors) == ("HNSW8", COUNT)
