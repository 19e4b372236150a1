"""Deleting, restoring, describing, verifying, exporting and removing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder
from made_papers import answers, listing, papers_in, record, records, run_build, text_of, write_jsonl

from semsearch.encoding import EncoderRequest
from semsearch.errors import AmbiguousPaper, IndexBusy, IndexNotFound, PaperNotFound, UsageError
from semsearch.index.locks import build_lock
from semsearch.index.state import read_state
from semsearch.maintenance import delete, describe, export_vectors, remove_index, restore, verify


@pytest.fixture
def index(tmp_path: Path) -> Path:
    items = [*records(5), record(5, id="10.1000/Whale", doi="10.1000/Whale", abstract=""), "not json"]
    run_build([write_jsonl(tmp_path / "papers.jsonl", items)], tmp_path / "index", model="mine", max_tokens=22)
    return tmp_path / "index"


def test_describe_counts_what_is_there(index, tmp_path):
    delete(index, ["p0"])
    info = describe(index)
    lengths = [len(text_of(record(n)).split()) for n in range(5)] + [len(record(5)["title"].split())]
    assert (info.name, info.generation, info.papers, info.deleted, info.vectors, info.coverage) == (
        "index",
        1,
        5,
        1,
        6,
        1.0,
    )
    assert (info.model, info.max_tokens, info.dimension, info.factory, info.recall_at_10) == (
        "mine",
        22,
        64,
        "Flat",
        None,
    )
    assert (info.without_abstract, info.truncated) == (1, sum(n > 22 for n in lengths))
    assert [(c.records, c.papers, c.merged, c.rejected, c.format) for c in info.sources] == [(7, 6, 0, 1, "jsonl")]
    assert info.remembered == (str(tmp_path / "papers.jsonl"),)
    assert info.size_bytes == sum(size for size, _, _ in listing(index).values())


def test_looking_writes_nothing(index):
    before = listing(index)
    describe(index)
    verify(index)
    answers(index)
    papers_in(index)
    assert listing(index) == before


def test_delete_takes_aliases_and_all_or_nothing(index):
    with pytest.raises(PaperNotFound, match="nobody"):
        delete(index, ["p0", "nobody"])
    with pytest.raises(AmbiguousPaper):
        delete(index, ["p"])
    assert read_state(index).deletions == {}
    assert delete(index, ["https://doi.org/10.1000/WHALE", "10.1000/whale"]) == [("10.1000/Whale", record(5)["title"])]
    with pytest.raises(PaperNotFound):
        delete(index, ["10.1000/whale"])
    assert set(papers_in(index)) == {f"p{n}" for n in range(5)}


def test_restore_takes_aliases_and_refuses_what_was_not_deleted(index):
    delete(index, ["10.1000/Whale", "p1"])
    with pytest.raises(PaperNotFound):
        restore(index, ["p1", "p2"])
    assert len(read_state(index).deletions) == 2
    assert restore(index, ["doi:10.1000/WHALE"]) == [("10.1000/Whale", record(5)["title"], True)]
    assert list(read_state(index).deletions) == ["p1"]


def test_all_papers_may_be_deleted(index):
    delete(index, list(papers_in(index)))
    assert (describe(index).papers, answers(index)) == (0, [[], [], []])
    summary = run_build([], index)
    assert (summary.papers, summary.removed, summary.coverage) == (0, 6, 1.0)
    assert (answers(index), verify(index).problems) == ([[], [], []], ())
    assert run_build([], index).published is False
    assert run_build([], index, restore=True).papers == 6


def test_names_that_no_encoding_can_write_are_no_papers(index):
    with pytest.raises(PaperNotFound):
        delete(index, ["\udcff"])
    with pytest.raises(PaperNotFound):
        restore(index, ["\udcff"])


def test_exported_vectors_are_those_of_the_papers_in_their_order(index, tmp_path):
    delete(index, ["p2"])
    ids = export_vectors(index, tmp_path / "out.npy")
    assert ids == ["p0", "p1", "p3", "p4", "10.1000/Whale"]
    texts = [text_of(record(n)) for n in (0, 1, 3, 4)] + [record(5)["title"]]
    expected = FakeEncoder(EncoderRequest(max_tokens=22)).encode_documents(texts).vectors
    assert (np.load(tmp_path / "out.npy") == expected).all()


def test_verify_finds_a_sound_index_sound_and_names_strangers(index):
    report = verify(index)
    held = sum(path.is_file() for path in (index / "generations" / "1").rglob("*")) - 1  # all but the manifest
    assert (report.problems, report.notes, report.files_checked, report.as_dict()["sound"]) == ((), (), held, True)
    (index / "generations" / "1" / "stranger").write_text("x")
    (index / "generations" / "1" / "lexical" / "another").write_text("x")
    notes = verify(index).notes
    assert ("another" in notes[0], "stranger" in notes[1], len(notes)) == (True, True, 2)


def test_remove_takes_the_folder_and_nothing_else(index, tmp_path):
    with build_lock(index, "build"), pytest.raises(IndexBusy):
        remove_index(index)
    assert len(papers_in(index)) == 6
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("x")
    with pytest.raises(UsageError):
        remove_index(other)
    remove_index(index)
    assert not index.exists() and (other / "thesis.txt").exists() and (tmp_path / "papers.jsonl").exists()
    with pytest.raises(IndexNotFound):
        remove_index(index)


@pytest.mark.parametrize(
    "look", [describe, verify, papers_in, answers, lambda i: delete(i, ["p0"]), lambda i: restore(i, ["p0"])]
)
def test_an_index_that_is_not_there_is_named_with_those_that_are(index, look):
    with pytest.raises(IndexNotFound, match=r"'nothing'.*There: index"):
        look(index.parent / "nothing")
    assert not (index.parent / "nothing").exists()
