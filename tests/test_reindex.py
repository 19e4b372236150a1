"""Reindexing: the next generation from what an index stores itself."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from fakes import FakeProvider
from made_papers import answers, generation_folder, papers_in, record, records, run_build, write_jsonl

from semsearch.errors import IndexFormatUnsupported, IndexNotFound, UsageError
from semsearch.index.reader import IndexReader
from semsearch.maintenance import delete, describe, restore, verify
from semsearch.reindex import ReindexOptions, reindex_index


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of 40 papers whose source is gone."""
    source = write_jsonl(tmp_path / "papers.jsonl", records(40))
    run_build([source], tmp_path / "index", model="first")
    source.unlink()
    return tmp_path / "index"


def inodes(index: Path) -> dict[str, int]:
    return {path.name: os.stat(path).st_ino for path in generation_folder(index).iterdir()}


def dumped(index: Path) -> list[str]:
    connection = sqlite3.connect(f"file:{generation_folder(index)}/papers.sqlite?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_another_factory_encodes_nothing_and_links_the_vectors(index, fake_provider):
    before, table, hits = inodes(index), dumped(index), answers(index)
    summary = reindex_index(index, ReindexOptions(factory="HNSW8"), provider=fake_provider)
    after = inodes(index)
    assert (summary.encoded, summary.reused, fake_provider.loaded, summary.papers) == (0, 40, 0, 40)
    assert (summary.factory, summary.generation) == ("HNSW8", 2)
    assert summary.recall_at_10 is not None and 0.95 <= summary.recall_at_10 <= 1
    assert {name for name in after if after[name] == before.get(name)} == {"vectors.npy", "vector_keys.npy"}
    assert "index.faiss" in after
    assert dumped(index) == table
    assert verify(index).problems == ()
    assert reindex_index(index, ReindexOptions(factory="Flat"), provider=fake_provider).factory == "Flat"
    assert "index.faiss" not in inodes(index)
    assert answers(index) == hits


def test_the_same_factory_links_the_structure(index, fake_provider):
    reindex_index(index, ReindexOptions(factory="HNSW8"), provider=fake_provider)
    before = inodes(index)
    summary = reindex_index(index, provider=fake_provider)
    assert summary.factory == "HNSW8"
    assert {name: inodes(index)[name] for name in ("vectors.npy", "vector_keys.npy", "index.faiss")} == {
        name: before[name] for name in ("vectors.npy", "vector_keys.npy", "index.faiss")
    }


def test_another_model_encodes_everything_and_an_old_reader_goes_on(index, fake_provider):
    with IndexReader(index) as reader:
        summary = reindex_index(index, ReindexOptions(model="second"), provider=fake_provider)
        assert (summary.encoded, len(fake_provider.encoded), summary.generation) == (40, 40, 2)
        assert (describe(index).model, reader.manifest.encoder.model) == ("second", "first")
        assert len(reader.papers.get([0, 39])) == 2
    assert verify(index).problems == ()
    assert list((index / "vectors").glob("*/*")) == []


def test_another_limit_counts_what_it_cuts(index):
    summary = reindex_index(index, ReindexOptions(max_tokens=20), provider=FakeProvider())
    assert (summary.encoded, summary.max_tokens, summary.truncated) == (40, 20, 40)
    assert describe(index).model == "first"
    assert reindex_index(index, ReindexOptions(max_tokens=100), provider=FakeProvider()).truncated == 0


def test_it_takes_out_deleted_papers_and_brings_back_restored_ones(index, fake_provider):
    delete(index, ["p3", "p7"])
    summary = reindex_index(index, provider=fake_provider)
    assert (summary.papers, summary.removed, summary.encoded, summary.deleted) == (38, 2, 0, 2)
    restore(index, ["p7"])
    summary = reindex_index(index, provider=fake_provider)
    assert (summary.papers, summary.added, fake_provider.encoded) == (
        39,
        1,
        [f"{record(7)['title']} {record(7)['abstract']}"],
    )
    assert "p7" in papers_in(index) and "p3" not in papers_in(index)
    assert verify(index).problems == ()


def test_what_makes_no_sense_changes_nothing(index, fake_provider, tmp_path):
    before = answers(index)
    for factory in ("Nonsense", "IVF41,Flat"):
        with pytest.raises(UsageError, match=factory):
            reindex_index(index, ReindexOptions(factory=factory), provider=fake_provider)
    with pytest.raises(IndexNotFound, match="nothing"):
        reindex_index(tmp_path / "nothing", provider=fake_provider)
    assert not (tmp_path / "nothing").exists()
    assert (answers(index), describe(index).generation) == (before, 1)


def make_format_1(index: Path) -> None:
    """Take out of an index what the first format did not have."""
    folder = generation_folder(index)
    shutil.rmtree(folder / "lexical")
    with sqlite3.connect(folder / "papers.sqlite") as connection:
        connection.execute("DROP TABLE facets")
    connection.close()
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["language"]
    content = (folder / "papers.sqlite").read_bytes()
    entry = {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(),
             "head_sha256": hashlib.sha256(content[:256]).hexdigest()}
    files = {name: entry for name, entry in manifest["files"].items() if not name.startswith("lexical/")}
    manifest |= {"format": 1, "files": {**files, "papers.sqlite": entry}}
    written = json.dumps(manifest).encode()
    (folder / "manifest.json").write_bytes(written)
    (index / "CURRENT").write_text(f"{folder.name} {hashlib.sha256(written).hexdigest()}\n")


def test_an_index_of_the_first_format_is_brought_up_to_date(index, fake_provider, tmp_path):
    hits = answers(index)
    make_format_1(index)
    source = write_jsonl(tmp_path / "papers.jsonl", records(40))
    before = inodes(index)
    for act in (IndexReader, describe, lambda i: delete(i, ["p1"]), lambda i: run_build([source], i)):
        with pytest.raises(IndexFormatUnsupported, match="has format 1") as caught:
            act(index)
        assert f"semsearch reindex --home {tmp_path} index" in caught.value.way_out
    assert "has format 1" in verify(index).problems[0]
    summary = reindex_index(index, provider=fake_provider)
    assert (summary.encoded, summary.reused, summary.papers, fake_provider.loaded) == (0, 40, 40, 0)
    assert {name: inodes(index)[name] for name in ("vectors.npy", "vector_keys.npy")} == {
        name: before[name] for name in ("vectors.npy", "vector_keys.npy")
    }
    assert verify(index).problems == verify(index).notes == ()
    assert answers(index) == hits
    assert run_build([source], index).encoded == 0


def test_a_rebuild_of_the_first_format_keeps_its_model(index, tmp_path):
    make_format_1(index)
    source = write_jsonl(tmp_path / "papers.jsonl", records(40))
    run_build([source], index, rebuild=True)
    assert (describe(index).model, describe(index).papers) == ("first", 40)
