"""Search over vectors against brute force in numpy, for every kind of faiss structure."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from made_vectors import write_vectors

from semsearch.encoding import EncoderIdentity
from semsearch.errors import IndexDamaged, UsageError
from semsearch.index import vector_index
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.manifest import FAISS, VECTOR_KEYS, VECTORS, Manifest, Segment, describe_file
from semsearch.index.structure_build import Structure, StructurePlan, build_structure
from semsearch.index.vector_files import open_stored
from semsearch.index.vector_index import VectorIndex, check_factory

D = 16
FACTORIES = (
    "Flat",
    "HNSW",
    "HNSW2",
    "HNSW32",
    "HNSW16,Flat",
    "HNSW16,SQ8",
    "HNSW16,PQ8x4",
    "IVF1,Flat",
    "IVF8,Flat",
    "IVF8,SQ8",
    "IVF8,SQ4",
    "IVF4,PQ2",
    "IVF4,PQ8x4",
    "IVF8,PQ8x4fs",
    "IVF8_HNSW4,Flat",
    "SQ4",
    "SQ6",
    "SQ8",
    "SQfp16",
    "SQbf16",
    "PQ2",
    "PQ8x4",
    "PQ8x4fs",
    "PQ2np",
    "PCA8,Flat",
    "PCA8,IVF8,Flat",
    "PCA8,SQ8",
    "OPQ8,PQ8x4",
    "OPQ8_8,IVF4,PQ8x4",
)
REFUSED = (
    "",
    "Flatt",
    "IVF8",
    "IVF,Flat",
    "PQ7",
    "PQ16x99",
    "flat",
    "Flat;",
    "IVF0,Flat",
    "IVF-1,Flat",
    "HNSW0",
    "HNSW1",
    "NSG0",
    "NSG16",
    "PQ0",
    "PQ8x0",
    "PQ8x1",
    "IVF8_HNSW0,Flat",
    "SQ99",
    "é",
    "IDMap",
    "IDMap,Flat",
    "PCA99,Flat",
    "RCQ2x4",
    "IVF99999999,Flat",
    "IVF8,Flat,RFlat",
    "HNSW8_2+PQ8",
    "IVF8,PQ8+16",
    "LSH",
    "IVF51,Flat",
    "HNSW99999",
    "OPQ7,PQ8",
)
N = 700


pytestmark = pytest.mark.usefixtures("one_thread")


def unit(rng: np.random.Generator, count: int, dimension: int = D) -> np.ndarray:
    vectors = rng.normal(size=(count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def exact(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return vectors whose products float32 holds exactly, so that many are equal and none nearly."""
    return rng.integers(-2, 3, size=(count, D)).astype(np.float32) / 4


def make(
    folder: Path, vectors: np.ndarray, factory: str = "Flat", rows: np.ndarray | None = None, papers: int | None = None
) -> VectorIndex:
    """Write vectors in blocks of 100 and open them."""
    rows = np.arange(len(vectors)) if rows is None else rows
    keys = np.frombuffer(b"".join(int(row).to_bytes(16, "big") for row in rows), KEY_DTYPE)
    tokens = (rows % 7).astype(np.int32)
    blocks = [
        (rows[i : i + 100], keys[i : i + 100], tokens[i : i + 100], vectors[i : i + 100])
        for i in range(0, len(rows), 100)
    ]
    folder.mkdir(exist_ok=True)
    write_vectors(folder, len(vectors), vectors.shape[1], blocks)
    segments = (Segment(VECTORS, len(vectors)),)
    structure = build_structure(StructurePlan(folder, open_stored(folder, segments, vectors.shape[1]), keys, factory))
    names = [VECTORS, VECTOR_KEYS, *([FAISS] if (folder / FAISS).exists() else [])]
    identity = EncoderIdentity("m", None, vectors.shape[1], 10, "float32", "f")
    index = VectorIndex(
        folder,
        Manifest(
            generation=1,
            created="",
            semsearch_version="",
            encoder=identity,
            papers=papers or len(vectors),
            vectors=len(vectors),
            factory=structure.factory,
            search_parameters=structure.search_parameters,
            recall_at_10=structure.recall_at_10,
            files={name: describe_file(folder / name) for name in names},
            segments=segments,
            indexed_vectors=structure.indexed_vectors,
            skeleton_bytes=structure.skeleton_bytes,
            skeleton_sha256=structure.skeleton_sha256,
        ),
    )
    assert index.rows.tolist() == rows.tolist() and (index.keys == keys).all() and (index.token_counts == tokens).all()
    return index


def truth(
    vectors: np.ndarray, query: np.ndarray, k: int, rows: np.ndarray | None = None, allowed: np.ndarray | None = None
) -> tuple[list[int], np.ndarray]:
    """Return rows and scores of the k best, ties by row."""
    rows = np.arange(len(vectors)) if rows is None else rows
    scores = vectors.astype(np.float64) @ query.astype(np.float64)
    kept = [p for p in range(len(rows)) if (allowed is None or allowed[rows[p]]) and np.isfinite(scores[p])]
    order = sorted(kept, key=lambda p: (-round(scores[p], 6), rows[p]))[:k]
    return rows[order].tolist(), scores[order]


@pytest.mark.parametrize("busy", [False, True])
def test_several_threads_find_what_one_finds_and_none_is_waited_for_that_has_not_begun(tmp_path, monkeypatch, busy):
    vectors = unit(np.random.default_rng(8), N)
    index = make(tmp_path / "g", vectors)
    one = index.search(vectors[5], 50)
    for name, value in (("_THREAD_ROWS", 10), ("_PART_ROWS", 7), ("threads", lambda: 3)):
        monkeypatch.setattr(vector_index, name, value)
    released = threading.Event()
    if busy:
        for _ in range(2):
            index._threads(2).submit(released.wait)
    try:
        several = index.search(vectors[5], 50)
    finally:
        released.set()
    assert (several.rows.tolist(), several.scores.tolist()) == (one.rows.tolist(), one.scores.tolist())
    monkeypatch.setattr(vector_index.os, "getpid", lambda: -1)  # as in a process that was forked
    assert index.search(vectors[5], 50).rows.tolist() == one.rows.tolist()


@pytest.mark.parametrize("k", [1, 2, 10, 99, 100, 101, 500, 999, 1000, 5000])
def test_exact_search_is_brute_force(tmp_path, k):
    rng = np.random.default_rng(k)
    vectors = exact(rng, 1000)
    index = make(tmp_path, vectors)
    for query in exact(rng, 5):
        found = index.search(query, k)
        rows, scores = truth(vectors, query, k)
        assert found.rows.tolist() == rows
        assert found.scores == pytest.approx(scores, abs=1e-6)
        assert (found.rows.dtype, found.scores.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize("k", [1, 5, 17, 40, 100, 150, 250])
@pytest.mark.parametrize("copies", [2, 15, 20, 120, 300])
def test_equal_vectors_come_by_row(tmp_path, copies, k):
    """Many copies of a few vectors, scattered: more of them than a search looks at."""
    rng = np.random.default_rng(copies)
    few = exact(rng, max(300 // copies, 2))
    vectors = few[rng.permutation(np.repeat(np.arange(len(few)), copies))]
    index = make(tmp_path, vectors)
    half = np.zeros(len(vectors), bool)
    half[::2] = True
    for query in (few[0], exact(rng, 1)[0]):
        for allowed in (None, half):
            found = index.search(query, k, allowed)
            assert found.rows.tolist() == truth(vectors, query, k, allowed=allowed)[0]


@pytest.mark.parametrize("dimension", [3, 16, 17, 384])
@pytest.mark.parametrize("factory", ["HNSW16", "IVF4,Flat", "SQ8"])
def test_equal_vectors_have_equal_scores_whatever_the_structure(tmp_path, factory, dimension):
    rng = np.random.default_rng(dimension)
    few = unit(rng, 40, dimension)
    vectors = np.repeat(few, 5, axis=0)
    index, flat = make(tmp_path / "a", vectors, factory), make(tmp_path / "b", vectors)
    for query in unit(rng, 20, dimension):
        found, true = index.search(query, 25), flat.search(query, 25)
        assert len(set(found.scores.tolist())) == len({row // 5 for row in found.rows.tolist()})
        known = dict(zip(true.rows.tolist(), true.scores.tolist(), strict=True))
        assert all(
            known.get(row, score) == score
            for row, score in zip(found.rows.tolist(), found.scores.tolist(), strict=True)
        )


@pytest.mark.parametrize("factory", ["Flat", "HNSW16", "IVF8,Flat"])
@pytest.mark.parametrize("count", [0, 1, 2, 9, 50, 69, 70, 71, 200, 699, 700])
def test_a_filter_of_any_size_is_kept_to(tmp_path_factory, filtered, factory, count):
    vectors, indexes = filtered
    rng = np.random.default_rng(count)
    allowed = np.zeros(N, bool)
    allowed[rng.permutation(N)[:count]] = True
    for k in (1, 10, N + 5):
        for query in unit(rng, 3):
            found = indexes[factory].search(query, k, allowed)
            rows, scores = truth(vectors, query, k, allowed=allowed)
            assert allowed[found.rows].all() and len(found.rows) == min(k, count)
            if factory == "Flat" or count < 0.1 * N or k > N:
                assert found.rows.tolist() == rows and found.scores == pytest.approx(scores, abs=1e-6)
            elif k == 10:
                assert len(set(rows) & set(found.rows.tolist())) >= 7


@pytest.fixture(scope="module")
def filtered(tmp_path_factory) -> tuple[np.ndarray, dict[str, VectorIndex]]:
    vectors = unit(np.random.default_rng(1), N)
    return vectors, {f: make(tmp_path_factory.mktemp("filtered"), vectors, f) for f in ("Flat", "HNSW16", "IVF8,Flat")}


@pytest.mark.parametrize("factory", ["Flat", "HNSW16", "IVF4,Flat"])
def test_rows_without_a_vector_are_not_found(tmp_path, factory):
    rng = np.random.default_rng(2)
    rows = np.sort(rng.permutation(900)[:400])
    vectors = unit(rng, 400)
    index = make(tmp_path, vectors, factory, rows, papers=900)
    query = unit(rng, 1)[0]
    assert index.search(query, 1000).rows.tolist() == truth(vectors, query, 1000, rows)[0]
    allowed = np.zeros(900, bool)
    allowed[rng.permutation(900)[:500]] = True
    assert index.search(query, 1000, allowed).rows.tolist() == truth(vectors, query, 1000, rows, allowed)[0]
    asked = np.array([*rows[:5], 899 if 899 not in rows else 898, 0])
    positions = index.positions_of(asked)
    expected = [rows.tolist().index(row) if row in rows else -1 for row in asked]
    assert positions.tolist() == expected
    assert (index.vectors_at(positions[:5]) == vectors[:5]).all()
    source = index.as_source()
    assert source.find(index.keys).tolist() == list(range(400))


@pytest.mark.parametrize("factory", ["Flat", "HNSW16", "SQ8", "IVF8,Flat", "PQ8"])
def test_an_index_without_vectors_finds_nothing(tmp_path, factory):
    index = make(tmp_path, np.zeros((0, D), np.float32), factory, papers=5)
    assert index.search(unit(np.random.default_rng(0), 1)[0], 5).rows.tolist() == []
    assert index.positions_of(np.array([0, 4])).tolist() == [-1, -1]


@pytest.mark.parametrize("factory", FACTORIES)
def test_every_factory_answers(tmp_path, factory, capfd):
    """Scores are true cosines, the order is theirs, the recall on paper is reached; no word on stderr."""
    rng = np.random.default_rng(3)
    vectors = unit(rng, N)
    index = make(tmp_path, vectors, factory)
    recall = index._manifest.recall_at_10
    found_recall = []
    for query in vectors[::7]:
        found = index.search(query, 10)
        rows, _ = truth(vectors, query, 10)
        found_recall.append(len(set(rows) & set(found.rows.tolist())) / 10)
        assert len(set(found.rows.tolist())) == 10
        assert found.scores == pytest.approx(vectors[found.rows] @ query, abs=1e-6)
        assert sorted(zip(-found.scores, found.rows, strict=True)) == list(zip(-found.scores, found.rows, strict=True))
    if recall is not None:
        assert np.mean(found_recall) >= recall - 0.1
    query, half = unit(rng, 1)[0], np.arange(N) % 2 == 0
    assert half[index.search(query, 20, half).rows].all() and len(index.search(query, 20, half).rows) == 20
    assert len(index.search(query, N).rows) == len(index.search(query, N + 50).rows) == N
    assert factory.startswith("OPQ") or capfd.readouterr().err == ""


@pytest.mark.parametrize("factory", REFUSED)
def test_a_factory_that_makes_no_sense_is_refused(tmp_path, factory):
    with pytest.raises(UsageError) as caught:
        make(tmp_path, unit(np.random.default_rng(0), 50), factory)
    assert repr(factory) in caught.value.message and "Flat" in caught.value.way_out


@pytest.mark.parametrize("factory, vectors", [("IVF8,Flat", 7), ("IVF8,PQ8", 100), ("PQ8", 255), ("OPQ8,PQ8", 100)])
def test_too_few_vectors_to_train_are_said_to_be(tmp_path, factory, vectors, capfd):
    with pytest.raises(UsageError, match=f"{factory!r}.*{vectors} vectors|{vectors} vectors.*{factory!r}"):
        make(tmp_path, unit(np.random.default_rng(0), vectors), factory)
    assert capfd.readouterr().err == ""


def test_a_factory_is_checked_before_vectors_are_there():
    check_factory("Flat", D, 0)
    check_factory("HNSW32", D, 1)
    check_factory("IVF8,Flat", D, 8)
    with pytest.raises(UsageError, match="8 clusters, more than the 7 vectors"):
        check_factory("IVF8,Flat", D, 7)


@pytest.mark.parametrize("factory", ["Flat", "HNSW16", "IVF4,Flat", "SQ8"])
def test_a_vector_that_is_no_number_hides_itself_and_nothing_else(tmp_path, factory):
    rng = np.random.default_rng(4)
    vectors = unit(rng, 200)
    index = make(tmp_path, vectors, factory)
    stored = np.load(tmp_path / VECTORS, mmap_mode="r+")
    for row, value in ((3, np.nan), (50, np.nan), (199, np.nan)):
        stored[row] = value
    stored.flush()
    query = unit(rng, 1)[0]
    for allowed in (None, np.arange(200) % 2 == 1):
        found = index.search(query, 200, allowed)
        assert not {3, 50, 199} & set(found.rows.tolist())
        assert np.isfinite(found.scores).all()
        assert len(found.rows) >= (190 if allowed is None else 95)


@pytest.mark.parametrize("factory", ["HNSW16", "IVF8,SQ8", "Flat"])
def test_the_same_vectors_give_the_same_files(tmp_path, factory):
    vectors = unit(np.random.default_rng(5), 2000)
    contents = []
    for name in ("one", "two"):
        make(tmp_path / name, vectors, factory)
        contents.append({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]


def test_a_structure_that_is_not_what_was_written_is_never_loaded(tmp_path):
    vectors = unit(np.random.default_rng(6), 300)
    index = make(tmp_path, vectors, "HNSW16")
    content = bytearray((tmp_path / FAISS).read_bytes())
    content[-100] ^= 1
    (tmp_path / FAISS).write_bytes(content)
    with pytest.raises(IndexDamaged, match=r"index\.faiss"):
        index.search(vectors[0], 5)
    assert index.search(vectors[0], 5, np.arange(300) < 10).rows[0] == 0


def test_keys_that_name_no_rows_are_damage(tmp_path):
    vectors = unit(np.random.default_rng(7), 10)
    for rows in ([0, 1, 2, 3, 4, 5, 6, 7, 9, 8], [*range(9), 10], [-1, *range(1, 10)], [0, *range(9)]):
        with pytest.raises((IndexDamaged, OverflowError), match=r"names rows|convert"):
            make(tmp_path, vectors, rows=np.array(rows))


def test_blocks_must_make_up_what_was_announced(tmp_path):
    with pytest.raises((AssertionError, ValueError)):
        write_vectors(
            tmp_path,
            5,
            D,
            [(np.arange(4), np.zeros(4, KEY_DTYPE), np.zeros(4, np.int32), np.zeros((4, D), np.float32))],
        )


def test_flat_needs_no_structure(tmp_path):
    vectors = unit(np.random.default_rng(8), 5)
    assert make(tmp_path, vectors)
    stored = open_stored(tmp_path, (Segment(VECTORS, 5),), D)
    assert build_structure(StructurePlan(tmp_path, stored, np.zeros(5, KEY_DTYPE), "Flat")) == Structure(
        "Flat", {}, None)
    assert not (tmp_path / FAISS).exists()
