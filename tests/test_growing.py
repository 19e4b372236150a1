"""What a build keeps of the generation before: segments of vectors, and a faiss index that lacks the newest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import faiss
import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import generation_folder, record, records, run_build, text_of, write_jsonl

from semsearch import publish_vectors
from semsearch.encoding import EncoderRequest
from semsearch.errors import IndexDamaged
from semsearch.index import structure_choice, vector_segments
from semsearch.index.manifest import Manifest
from semsearch.index.reader import IndexReader
from semsearch.maintenance import delete, verify
from semsearch.reindex import ReindexOptions, reindex_index
from semsearch.search import Searcher

COUNT = 200


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(vector_segments, "WRITTEN_AT_ONCE", 0)
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # threads that wait for each other take longer than these small sums
    yield
    faiss.omp_set_num_threads(threads)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(COUNT))], tmp_path / "index")
    return tmp_path / "index"


def inodes(index: Path) -> dict[str, int]:
    return {path.name: os.stat(path).st_ino for path in generation_folder(index).iterdir()}


def manifest(index: Path) -> Manifest:
    with IndexReader(index) as reader:
        return reader.manifest


def sound(index: Path) -> None:
    """Check that each row has the vector and the token count of its text, and that it is found by it."""
    assert verify(index).problems == ()
    with IndexReader(index) as reader:
        texts = [paper.text for _, paper in reader.papers]
        encoded = FakeEncoder(EncoderRequest()).encode_documents(texts)
        positions = np.arange(len(texts))
        assert (reader.vectors.vectors_at(positions) == encoded.vectors).all()
        assert (reader.vectors.token_counts == encoded.token_counts).all()
        assert reader.vectors.rows.tolist() == positions.tolist()
        for row in range(0, len(texts), 17):
            assert reader.vectors.search(encoded.vectors[row], 3).scores[0] == pytest.approx(1, abs=1e-6)


def add(index: Path, start: int, end: int) -> None:
    run_build([write_jsonl(index.parent / f"from{start}.jsonl", records(end - start, start=start))], index)


def test_ten_more_papers_leave_the_other_vectors_alone(index: Path) -> None:
    before = inodes(index)
    add(index, COUNT, COUNT + 10)
    after = inodes(index)
    assert after["vectors.npy"] == before["vectors.npy"]
    assert [(s.name, s.vectors) for s in manifest(index).segments] == [("vectors.npy", COUNT), ("vectors-2.npy", 10)]
    assert "vector_places.npy" not in after
    sound(index)


def test_many_small_builds_make_few_segments(index: Path) -> None:
    for start in range(COUNT, COUNT + 24, 3):
        add(index, start, start + 3)
    assert len(manifest(index).segments) <= 4
    sound(index)


def test_changed_and_deleted_papers_leave_their_vectors_until_they_are_many(index: Path) -> None:
    before = inodes(index)
    delete(index, ["p0", "p17", f"p{COUNT - 1}"])
    changed = [record(n, abstract=f"Something else was found in study {n} of it.") for n in (3, 90)]
    write_jsonl(index.parent / "papers.jsonl", [*records(3), changed[0], *records(86, start=4), changed[1],
                                                *records(COUNT - 91, start=91)])
    run_build([index.parent / "papers.jsonl"], index)
    assert inodes(index)["vectors.npy"] == before["vectors.npy"]
    assert [s.vectors for s in manifest(index).segments] == [COUNT, 2]
    assert "vector_places.npy" in inodes(index)
    sound(index)
    with Searcher(index, provider=FakeProvider()) as searcher:
        hit = searcher.query(text_of(changed[1]), 1).hits[0]
        assert hit.paper.id == "p90"
    delete(index, [f"p{n}" for n in range(20, 80)])
    reindex_index(index, provider=FakeProvider())
    assert [s.vectors for s in manifest(index).segments] == [COUNT - 63]
    assert inodes(index)["vectors.npy"] != before["vectors.npy"]
    sound(index)


def test_a_structure_goes_on_beside_what_it_lacks(index: Path) -> None:
    reindex_index(index, ReindexOptions(factory="IVF4,SQ8"), provider=FakeProvider())
    before = inodes(index)
    add(index, COUNT, COUNT + 10)
    assert inodes(index)["index.faiss"] == before["index.faiss"]
    assert manifest(index).indexed_vectors == COUNT
    delete(index, ["p4", "p5", f"p{COUNT + 1}"])
    sound(index)
    with IndexReader(index) as reader:
        vectors = reader.vectors.vectors_at(np.arange(COUNT + 10))
        allowed = np.arange(COUNT + 10) % 3 > 0
        for row in (*range(COUNT, COUNT + 10), 8):  # what is scanned beside it, and what is in it
            for mask in (None, allowed):
                scores = vectors.astype(np.float64) @ vectors[row]
                best = [r for r in np.lexsort((np.arange(len(scores)), -scores.round(6))) if mask is None or mask[r]]
                assert reader.vectors.search(vectors[row], 1, mask).rows.tolist() == best[:1]


def test_a_structure_is_extended_when_it_lacks_much(index: Path) -> None:
    reindex_index(index, ReindexOptions(factory="IVF4,SQ8"), provider=FakeProvider())
    add(index, COUNT, COUNT + 40)
    found = manifest(index)
    assert (found.indexed_vectors, [s.vectors for s in found.segments]) == (COUNT + 40, [COUNT, 40])
    sound(index)


def test_a_damaged_structure_is_not_extended(index: Path) -> None:
    reindex_index(index, ReindexOptions(factory="IVF4,SQ8"), provider=FakeProvider())
    path = generation_folder(index) / "index.faiss"
    content = path.read_bytes()
    path.write_bytes(content[:-40] + bytes(40))
    with pytest.raises(IndexDamaged, match=r"index\.faiss"):
        add(index, COUNT, COUNT + 40)


def test_damaged_vectors_are_not_written_again(index: Path) -> None:
    path = generation_folder(index) / "vectors.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-400] + bytes(400))
    delete(index, [f"p{n}" for n in range(60)])
    with pytest.raises(IndexDamaged, match=r"vectors\.npy"):
        reindex_index(index, provider=FakeProvider())


def test_the_recall_asked_for_is_kept_and_told(index: Path) -> None:
    notes: list[str] = []

    class Heard:
        note = staticmethod(notes.append)

        def __init__(self) -> None:
            from semsearch.progress import Silent

            self.task = Silent().task

    low = reindex_index(index, ReindexOptions(factory="IVF16,Flat", min_recall=0.1), provider=FakeProvider())
    before, few = inodes(index), manifest(index)
    assert low.recall_at_10 is not None
    high = reindex_index(index, ReindexOptions(min_recall=1.0), provider=FakeProvider(), progress=Heard())
    many = manifest(index)
    assert inodes(index)["index.faiss"] == before["index.faiss"]
    assert few.search_parameters["nprobe"] < many.search_parameters["nprobe"]
    assert (few.min_recall, many.min_recall, high.recall_at_10) == (0.1, 1.0, 1.0)
    assert not [n for n in notes if "less than" in n]
    reindex_index(index, ReindexOptions(factory="SQ4"), provider=FakeProvider(), progress=Heard())
    assert manifest(index).min_recall == 1.0


def test_what_no_parameters_reach_is_said(index: Path) -> None:
    class Heard:
        def __init__(self) -> None:
            from semsearch.progress import Silent

            self.notes: list[str] = []
            self.note, self.task = self.notes.append, Silent().task

    heard = Heard()
    many = write_jsonl(index.parent / "more.jsonl", records(1000))
    run_build([many], index)
    reindex_index(index, ReindexOptions(factory="PQ1x4", min_recall=1.0), provider=FakeProvider(), progress=heard)
    assert manifest(index).recall_at_10 < 1
    assert any("less than the recall of 1 that was asked for" in note and "--factory" in note for note in heard.notes)


def test_a_large_index_gets_a_structure_by_itself(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure_choice, "EXACT_UP_TO", 205)
    add(index, COUNT, COUNT + 10)
    found = manifest(index)
    assert (found.factory, found.notes["factory_asked"]) == ("IVF64,SQ8", "auto")
    assert found.recall_at_10 is not None
    assert found.recall_at_10 >= found.min_recall == 0.95
    sound(index)
    monkeypatch.setattr(publish_vectors, "_SCANNED_MOST", 0)
    add(index, COUNT + 10, COUNT + 12)
    assert manifest(index).indexed_vectors == COUNT + 12
    sound(index)
