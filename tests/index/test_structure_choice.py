"""The factory that is chosen, the recall that it reaches, and the parts of its file that are checked."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np
import pytest

from semsearch.index import faiss_structure
from semsearch.index.faiss_structure import check_factory
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.structure_build import StructurePlan, build_structure, extend_structure
from semsearch.index.structure_choice import EXACT_UP_TO, available_memory, choose_factory
from semsearch.index.structure_recall import OVERSAMPLE, calibrate, sample_queries
from semsearch.index.vector_files import StoredVectors

GB = 10**9
D = 16

pytestmark = pytest.mark.usefixtures("one_thread")


def test_search_is_exact_where_that_is_fast() -> None:
    assert {choose_factory(n, 384) for n in (0, 1, 58_959, EXACT_UP_TO)} == {"Flat"}


@pytest.mark.parametrize("vectors, memory, factory", [
    (EXACT_UP_TO + 1, 16 * GB, "IVF2048,SQ8"),
    (1_000_000, 16 * GB, "IVF4096,SQ8"),
    (1_000_000, GB, "IVF4096,PQ96"),
    (10_000_000, 64 * GB, "IVF16384,SQ8"),
    (100_000_000, 512 * GB, "IVF32768,SQ8"),
    (100_000_000, 64 * GB, "IVF32768,PQ96"),
    (10**9, 64 * GB, "IVF65536,PQ96"),
])
def test_a_factory_follows_from_size_and_memory(vectors: int, memory: int, factory: str) -> None:
    assert choose_factory(vectors, 384, memory) == factory
    check_factory(factory, 384, vectors)


@pytest.mark.parametrize("dimension", [1, 2, 3, 17, 384, 768, 1021])
def test_every_dimension_gets_a_factory_that_faiss_knows(dimension: int) -> None:
    check_factory(choose_factory(10**6, dimension, 1), dimension, 10**6)


def test_the_memory_of_this_machine_is_known() -> None:
    assert 10**8 < available_memory() < 10**14


def clustered(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(40, D))[rng.integers(0, 40, count)] + 0.5 * rng.normal(size=(count, D))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def filled(factory: str, vectors: np.ndarray) -> faiss.Index:
    stored = StoredVectors([vectors], D)
    index = faiss_structure.train(factory, stored)
    faiss_structure.add(index, stored)
    return index


@pytest.mark.parametrize("factory", ["IVF16,SQ8", "IVF16,PQ8x4", "HNSW8", "PQ8x4"])
@pytest.mark.parametrize("aim", [0.5, 0.9, 0.99])
def test_the_recall_on_paper_is_that_against_numpy(factory: str, aim: float) -> None:
    """Counted again from the structure's own candidates; and no cheaper parameters would do."""
    vectors = clustered(3000)
    index, stored = filled(factory, vectors), StoredVectors([vectors[:1200], vectors[1200:]], D)
    parameters, recall = calibrate(index, stored, aim)
    queries = sample_queries(stored)
    assert np.linalg.norm(queries, axis=1) == pytest.approx(np.ones(len(queries)), abs=1e-5)
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]

    def counted(chosen: dict[str, int]) -> float:
        found = faiss_structure.candidates(index, queries, 10 * chosen.get(OVERSAMPLE, 4), chosen)
        return float(np.mean([len(set(t) & set(f)) / 10 for t, f in zip(truth.tolist(), found.tolist(), strict=True)]))

    assert recall == pytest.approx(counted(parameters), abs=1e-3)
    assert recall >= aim  # with enough candidates each of these can
    for name in ("nprobe", "efSearch"):
        if parameters.get(name, 0) > (16 if name == "efSearch" else 1):
            assert counted({**parameters, name: parameters[name] // 2}) < aim


def test_a_recall_that_cannot_be_reached_is_told_as_it_is() -> None:
    vectors = clustered(3000)
    parameters, recall = calibrate(filled("PQ1x4", vectors), StoredVectors([vectors], D), 1.0)
    assert parameters == {OVERSAMPLE: 64}
    assert 0.05 < recall < 1


@pytest.mark.parametrize("factory", ["IVF16,SQ8", "HNSW8", "IVF16_HNSW4,Flat", "IVF16,PQ8x4fs"])
def test_what_is_added_later_is_as_if_it_had_been_there(tmp_path: Path, factory: str) -> None:
    vectors = clustered(3000)
    first, whole = StoredVectors([vectors[:2500]], D), StoredVectors([vectors[:2500], vectors[2500:]], D)
    keys = np.zeros(3000, KEY_DTYPE)
    before = build_structure(StructurePlan(tmp_path, first, keys[:2500], factory))
    (tmp_path / "next").mkdir()
    after = extend_structure(StructurePlan(tmp_path / "next", whole, keys, factory), tmp_path / "index.faiss")
    assert (before.indexed_vectors, after.indexed_vectors) == (2500, 3000)
    assert after.recall_at_10 is not None
    assert after.recall_at_10 >= 0.95
    index = faiss_structure.read(tmp_path / "next" / "index.faiss")
    found = faiss_structure.candidates(index, vectors[2500:2600], 40, after.search_parameters)
    assert found is not None
    assert sum(2500 + n in row for n, row in enumerate(found.tolist())) >= 95


@pytest.mark.parametrize("factory, has_lists", [("IVF16,SQ8", True), ("IVF16,Flat", True), ("PCA8,IVF16,SQ8", True),
                                                ("IVF16_HNSW4,SQ8", True), ("IVF16,PQ8x4", True), ("HNSW8", False),
                                                ("SQ8", False), ("IVF16,PQ8x4fs", False)])
def test_the_skeleton_is_all_that_comes_before_the_lists(tmp_path: Path, factory: str, has_lists: bool) -> None:
    """Whatever stands after it may be wrong: searching gives other places, and nothing worse."""
    vectors = clustered(2000)
    stored = StoredVectors([vectors], D)
    structure = build_structure(StructurePlan(tmp_path, stored, np.zeros(2000, KEY_DTYPE), factory))
    path = tmp_path / "index.faiss"
    content = path.read_bytes()
    assert (structure.skeleton_bytes < len(content)) == has_lists
    if not has_lists:
        assert structure.skeleton_bytes == len(content)
        return
    rng = np.random.default_rng(0)
    for _ in range(10):
        damaged = bytearray(content)
        for at in rng.integers(structure.skeleton_bytes, len(content), 50).tolist():
            damaged[at] = int(rng.integers(0, 256))
        path.write_bytes(damaged)
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
        mask = rng.random(2000) < 0.9
        for permitted in (None, mask):
            assert faiss_structure.candidates(index, vectors[:50], 40, {"nprobe": 16}, permitted) is not None
        del index
