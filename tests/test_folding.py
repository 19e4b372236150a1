"""Vectors of the log become a generation without a source, an encoder or a build."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import FakeProvider
from made_papers import generation_folder, records, run_build, text_of, write_jsonl

from semsearch import publish_vectors
from semsearch.build import BuildOptions, build_index
from semsearch.errors import IndexBusy
from semsearch.folding import fold_logged_vectors, tidy
from semsearch.index import vector_segments
from semsearch.index.locks import build_lock
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER
from semsearch.maintenance import delete, verify
from semsearch.ranking import Mode, SearchOptions
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


def test_logs_that_a_generation_has_all_of_go(bare):
    held = Searcher(bare, provider=FakeProvider())
    held.vectors.encode(np.arange(10))
    assert fold_logged_vectors(bare)
    pay_for(bare, range(COUNT))
    assert fold_logged_vectors(bare)
    [log] = (bare / FOLDER).glob("*/*.log")  # it is still being written to
    held.close()
    tidy(bare)
    assert not log.exists()
    with Searcher(bare, provider=FakeProvider()) as searcher:
        assert searcher.vectors.is_complete


def test_a_build_without_anything_to_do_removes_logs_too(bare):
    held = Searcher(bare, provider=FakeProvider())
    held.vectors.encode(np.arange(10))
    build_index([], bare, BuildOptions(), provider=FakeProvider())
    held.close()
    assert list((bare / FOLDER).glob("*/*.log"))
    build_index([], bare, BuildOptions(), provider=FakeProvider())
    assert not list((bare / FOLDER).glob("*/*.log"))


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


def structure_of(index):
    with IndexReader(index) as reader:
        manifest = reader.manifest
        return manifest.factory, manifest.indexed_vectors, manifest.vectors


@pytest.mark.parametrize("factory", ["HNSW8", "IVF4,Flat"])
def test_a_structure_is_left_to_a_build_and_made_by_it(tmp_path, factory):
    index = tmp_path / "index"
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(COUNT))], index, encode="later", factory=factory)
    pay_for(index, range(COUNT))
    assert fold_logged_vectors(index)
    assert structure_of(index) == ("Flat", 0, COUNT)
    provider = FakeProvider()
    summary = build_index([], index, BuildOptions(), provider=provider)
    assert (summary.encoded, summary.reused) == (0, COUNT)
    assert structure_of(index) == (factory, COUNT, COUNT)
    assert not build_index([], index, BuildOptions(), provider=provider).generation > summary.generation


@pytest.mark.parametrize("factory", ["auto", "HNSW8"])
def test_a_structure_that_is_there_goes_on(tmp_path, monkeypatch, factory):
    """Whatever would be chosen for more vectors: in an index so large that its segments are kept."""
    made = "IVF4,Flat" if factory == "auto" else factory
    monkeypatch.setattr(vector_segments, "WRITTEN_AT_ONCE", 0)
    monkeypatch.setattr(publish_vectors, "choose_factory",
                        lambda vectors, dimension: f"IVF{4 if vectors <= COUNT else 8},Flat")
    index = tmp_path / "index"
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(COUNT))], index, factory=factory)
    assert structure_of(index) == (made, COUNT, COUNT)
    build_index([write_jsonl(tmp_path / "more.jsonl", records(30, COUNT))], index, BuildOptions(encode="later"),
                provider=FakeProvider())
    with IndexReader(index) as reader:
        lacking = np.setdiff1d(np.arange(COUNT + 30), reader.vectors.rows)
    assert len(lacking) == 30
    for rows in (lacking[:10], lacking):
        pay_for(index, rows)
        assert fold_logged_vectors(index)
        assert structure_of(index) == (made, COUNT, COUNT + np.isin(lacking, rows).sum())
    with Searcher(index, provider=FakeProvider()) as searcher:
        assert len(searcher.query("Study", COUNT + 30, SearchOptions(mode=Mode.DENSE)).hits) == COUNT + 30
    build_index([], index, BuildOptions(), provider=FakeProvider())
    assert structure_of(index)[1:] == (COUNT + 30, COUNT + 30)


def test_vectors_of_a_stopped_build_are_kept_for_the_next(bare, tmp_path):
    more = write_jsonl(tmp_path / "more.jsonl", records(300, 1000))

    class Stopping(FakeProvider):
        def load(self, request):
            encoder = super().load(request)
            plain = encoder.encode_documents

            def encode(texts):
                if len(encoder.encoded) >= 128:
                    raise KeyboardInterrupt
                return plain(texts)

            encoder.encode_documents = encode
            return encoder

    stopped = Stopping()
    with pytest.raises(KeyboardInterrupt):
        build_index([more], bare, BuildOptions(), provider=stopped)
    paid = len(stopped.encoded)
    assert paid >= 128 and generation_folder(bare).name == "1"
    pay_for(bare, range(COUNT))
    assert fold_logged_vectors(bare)
    assert structure_of(bare) == ("Flat", 0, COUNT)
    summary = build_index([more], bare, BuildOptions(), provider=FakeProvider())
    assert (summary.encoded, summary.coverage) == (300 + COUNT - len(set(stopped.encoded)) - len(
        set(text_of(each) for each in records(COUNT)) - set(stopped.encoded)), 1.0)
