"""Inverted lists filled in parts: merged, they are those of an index that was filled at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import record, records, write_jsonl
from made_vectors import write_vectors

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncoderRequest
from semsearch.errors import IndexDamaged, UsageError
from semsearch.index.ivf_lists import FilledPart, fill_lists, train_lists, write_merged_structure
from semsearch.index.manifest import Segment
from semsearch.index.reader import IndexReader
from semsearch.index.structure_build import StructurePlan
from semsearch.index.vector_files import open_stored
from semsearch.shards.division import Shard, all_shards
from semsearch.shards.marker import read_marker
from semsearch.shards.run import EncodeOptions, encode_shards

REQUEST = EncoderRequest("fake")
DIMENSION = 32


def unit_vectors(count: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(12, DIMENSION))
    vectors = centres[random.integers(0, 12, count)] + 0.3 * random.normal(size=(count, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def key_of(number: int) -> bytes:
    return bytes([number % 251, number // 251]) * 8


def lists_of(index: Any) -> list[dict[int, bytes]]:
    """Return for each list the code of each id."""
    lists = faiss.extract_index_ivf(index)
    size = lists.invlists.code_size
    held = []
    for number in range(lists.nlist):
        count = lists.invlists.list_size(number)
        ids = faiss.rev_swig_ptr(lists.invlists.get_ids(number), count).tolist() if count else []
        codes = faiss.rev_swig_ptr(lists.invlists.get_codes(number), count * size).tobytes() if count else b""
        held.append({i: codes[n * size:(n + 1) * size] for n, i in enumerate(ids)})
    return held


@pytest.mark.parametrize("factory", ["IVF16,Flat", "IVF16,SQ8", "IVF16,PQ8x4", "OPQ8,IVF16,PQ8x4", "IVF16_HNSW8,Flat"])
def test_merged_parts_are_the_index_filled_at_once(tmp_path: Path, factory: str) -> None:
    """Shards hold texts that the index lacks, the index texts that they lack, and two rows one text."""
    vectors = unit_vectors(600)
    texts = np.array([*range(500), *range(40, 60)])  # by row; 20 texts stand in two rows
    in_shards = {0: np.arange(0, 460, 2), 1: np.arange(1, 600, 2)}  # even ones from 460 on are in none
    keys = np.array([key_of(n) for n in range(600)], "S16")
    folder = tmp_path / "generation"
    folder.mkdir()
    rows = np.arange(len(texts))
    write_vectors(folder, len(rows), DIMENSION, iter(
        [(rows, keys[texts], np.ones(len(rows), np.int32), vectors[texts])]))
    train_lists(tmp_path / "trained.faiss", factory, vectors)
    parts = []
    for number, members in in_shards.items():
        order = members[np.argsort(keys[members])]
        blocks = [vectors[order[:100]], vectors[order[100:]]]
        fill_lists(tmp_path / "trained.faiss", blocks, tmp_path / f"{number}.faiss")
        parts.append(FilledPart(tmp_path / f"{number}.faiss", keys[order]))
    stored = open_stored(folder, (Segment("vectors.npy", len(rows)),), DIMENSION)
    plan = StructurePlan(folder, stored, keys[texts], factory)
    structure = write_merged_structure(plan, tmp_path / "trained.faiss", parts)

    at_once = faiss.read_index(str(tmp_path / "trained.faiss"))
    at_once.add(vectors[texts])
    merged = faiss.read_index(str(folder / "index.faiss"))
    assert merged.ntotal == at_once.ntotal == 520
    assert lists_of(merged) == lists_of(at_once)
    questions = unit_vectors(50, seed=1)
    parameters = faiss.SearchParametersIVF(nprobe=4)
    if factory.startswith("OPQ"):
        parameters = faiss.SearchParametersPreTransform(index_params=parameters)
    expected, found = (i.search(questions, 10, params=parameters)[0] for i in (at_once, merged))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert structure.recall_at_10 is not None
    assert structure.recall_at_10 >= 0.7


def encode(source: Path, output: Path, shards: list[Shard], factory: str = "IVF8,SQ8", **options: Any) -> list[Any]:
    return list(encode_shards([source], shards, output, REQUEST, EncodeOptions(factory=factory),
                              provider=FakeProvider(), **options))


def build(source: Path, index: Path, output: Path, factory: str) -> Any:
    return build_index([source], index, BuildOptions(model="fake", vectors=(output,), factory=factory),
                       provider=FakeProvider())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "papers.jsonl", [*records(300), record(7, id="again", title=record(7)["title"])])


def encoder_folder(output: Path) -> Path:
    return output / FakeEncoder(REQUEST).identity.fingerprint


def test_build_merges_the_lists_that_shards_filled(tmp_path: Path, source: Path) -> None:
    for shard in all_shards(3):
        encode(source, tmp_path / "vectors", [shard])
    summary = build(source, tmp_path / "index", tmp_path / "vectors", "IVF8,SQ8")
    assert (summary.encoded, summary.factory) == (0, "IVF8,SQ8")
    with IndexReader(tmp_path / "index") as reader:
        merged = faiss.read_index(str(reader.generation.path("index.faiss")))
        stored = reader.vectors.vectors_at(np.arange(len(reader.vectors.rows)))
        hits = [reader.vectors.search(stored[row], 5).rows[0] for row in range(0, 300, 13)]
    at_once = faiss.read_index(str(encoder_folder(tmp_path / "vectors") / "trained" / "IVF8-SQ8.faiss"))
    at_once.add(stored)
    assert lists_of(merged) == lists_of(at_once)
    assert hits == list(range(0, 300, 13))


def test_lists_are_filled_once_and_later_too(tmp_path: Path, source: Path) -> None:
    plain = list(encode_shards([source], all_shards(2), tmp_path / "vectors", REQUEST, provider=FakeProvider()))
    filled = encode(source, tmp_path / "vectors", all_shards(2))
    assert [s.encoded for s in filled] == [0, 0]
    assert [s.texts for s in filled] == [s.texts for s in plain]
    files = {p: p.stat().st_mtime_ns for p in (tmp_path / "vectors").rglob("*.faiss")}
    assert len(files) == 3
    encode(source, tmp_path / "vectors", all_shards(2))
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "vectors").rglob("*.faiss")} == files


def test_another_factory_than_that_of_the_lists_is_built_as_ever(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(2))
    assert build(source, tmp_path / "index", tmp_path / "vectors", "IVF4,Flat").factory == "IVF4,Flat"
    assert build(source, tmp_path / "exact", tmp_path / "vectors", "Flat").factory == "Flat"


def test_lists_of_another_quantiser_are_not_mixed_in(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(2))
    folder = encoder_folder(tmp_path / "vectors")
    first = read_marker(folder / Shard(2, 1).folder_name)
    (folder / "trained" / "IVF8-SQ8.faiss").unlink()  # trained anew by the shard that comes next
    encode(source, tmp_path / "vectors", [Shard(2, 2)])
    second = read_marker(folder / Shard(2, 2).folder_name)
    assert first is not None
    assert second is not None
    assert first.lists["IVF8,SQ8"].trained_sha256 != second.lists["IVF8,SQ8"].trained_sha256
    build(source, tmp_path / "index", tmp_path / "vectors", "IVF8,SQ8")
    with IndexReader(tmp_path / "index") as reader:
        merged = faiss.read_index(str(reader.generation.path("index.faiss")))
    assert sorted(i for held in lists_of(merged) for i in held) == list(range(301))


def test_damaged_lists_are_named_and_filled_anew_by_the_same_command(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(2))
    [lists] = (encoder_folder(tmp_path / "vectors") / Shard(2, 1).folder_name).glob("lists-*")
    lists.write_bytes(lists.read_bytes()[:-9])
    with pytest.raises(IndexDamaged, match="lists-") as error:
        build(source, tmp_path / "index", tmp_path / "vectors", "IVF8,SQ8")
    assert "same semsearch encode again" in error.value.way_out
    encode(source, tmp_path / "vectors", all_shards(2))
    assert build(source, tmp_path / "index", tmp_path / "vectors", "IVF8,SQ8").encoded == 0


def test_a_factory_without_lists_or_with_too_many_is_refused(tmp_path: Path, source: Path) -> None:
    with pytest.raises(UsageError, match="has no lists"):
        encode(source, tmp_path / "vectors", all_shards(2), factory="HNSW32")
    with pytest.raises(UsageError, match="has no lists"):
        encode(source, tmp_path / "vectors", all_shards(2), factory="IVF8,PQ8x4fs")
    with pytest.raises(UsageError, match="not one that is built"):
        encode(source, tmp_path / "vectors", all_shards(2), factory="IVFx")
    with pytest.raises(UsageError, match="400 clusters"):
        encode(source, tmp_path / "vectors", all_shards(2), factory="IVF400,Flat")
    assert encode(source, tmp_path / "vectors", all_shards(2), factory="IVF8,Flat")[0].encoded == 0  # vectors stayed
