"""Segments of vectors over many generations, against a plain dictionary of what belongs where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semsearch.encoding import EncoderIdentity
from semsearch.errors import IndexDamaged
from semsearch.index import vector_segments
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.manifest import VECTOR_PLACES, VECTORS, Manifest, Segment, describe_file
from semsearch.index.vector_files import StoredVectors, open_stored, write_entries, write_segment
from semsearch.index.vector_index import VectorIndex
from semsearch.index.vector_segments import MOST_SEGMENTS, match_keys, plan_segments

D = 4

pytestmark = pytest.mark.usefixtures("one_thread")


def keys_of(numbers: list[int]) -> np.ndarray:
    return np.array([(n + 1).to_bytes(16, "big") for n in numbers], KEY_DTYPE)


def segments_of(*sizes: int) -> tuple[Segment, ...]:
    return tuple(Segment(f"vectors-{n}.npy" if n > 1 else VECTORS, size) for n, size in enumerate(sizes, 1))


@pytest.fixture
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_segments, "WRITTEN_AT_ONCE", 0)


@pytest.mark.parametrize("seed", range(20))
def test_keys_are_matched_one_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, wanted = (keys_of(rng.integers(0, 30, size=rng.integers(0, 60)).tolist()) for _ in range(2))
    found = match_keys(before, wanted)
    given = found[found >= 0]
    assert len(np.unique(given)) == len(given)
    assert (before[given] == wanted[found >= 0]).all()
    for key in np.unique(wanted):  # as many as there are on both sides
        assert (found[wanted == key] >= 0).sum() == min((before == key).sum(), (wanted == key).sum())


def test_a_few_new_vectors_leave_all_others_where_they_are(nothing_is_small: None) -> None:
    old = list(range(1000))
    plan = plan_segments(segments_of(1000), keys_of(old), np.arange(1000), keys_of([*old, *range(5000, 5010)]))
    assert plan.segments == (Segment(VECTORS, 1000), Segment("vectors-2.npy", 10))
    assert plan.places.tolist() == [*range(1000), *[-1] * 10]
    assert plan.kept_vectors(segments_of(1000)) == 1000
    assert plan.read_before == ()


def test_vectors_of_papers_that_went_stay_until_they_are_a_quarter(nothing_is_small: None) -> None:
    old = list(range(1000))
    kept = [n for n in old if n % 5]  # a fifth went
    plan = plan_segments(segments_of(1000), keys_of(old), np.arange(1000), keys_of(kept))
    assert plan.segments == segments_of(1000)
    assert plan.places.tolist() == kept
    fewer = [n for n in old if n % 3]
    plan = plan_segments(segments_of(1000), keys_of(old), np.arange(1000), keys_of(fewer))
    assert plan.segments == segments_of(len(fewer))
    assert set(plan.places.tolist()) == {-1}
    assert plan.read_before == (VECTORS,)


def test_a_small_index_is_written_as_one_segment() -> None:
    plan = plan_segments(segments_of(100), keys_of(list(range(100))), np.arange(100), keys_of(list(range(101))))
    assert plan.segments == segments_of(101)
    assert plan.read_before == (VECTORS,)


def test_there_are_never_many_segments(nothing_is_small: None) -> None:
    """A thousand builds, each with some more papers and some fewer."""
    rng = np.random.default_rng(0)
    numbers = list(range(20_000))
    segments, keys, places = segments_of(20_000), keys_of(numbers), np.arange(20_000)
    written = []
    for build in range(1000):
        numbers = [*numbers[:-5], *range(100_000 + 100 * build, 100_000 + 100 * build + int(rng.integers(1, 30)))]
        plan = plan_segments(segments, keys, places, keys_of(numbers))
        total = sum(segment.vectors for segment in plan.segments)
        start = total - (plan.written.vectors if plan.written else 0)
        places = plan.places.copy()
        anew = places < 0
        places[anew] = start + np.arange(anew.sum())
        assert len(np.unique(places)) == len(places) <= total
        assert len({segment.name for segment in plan.segments}) == len(plan.segments) <= MOST_SEGMENTS
        written.append(int(anew.sum()))
        segments, keys = plan.segments, keys_of(numbers)
    assert sum(segment.vectors for segment in segments) <= len(numbers) / 0.7
    assert np.median(written) < 200  # though in all, 10,000 came and went


def grown(folder: Path, rng: np.random.Generator) -> tuple[VectorIndex, np.ndarray]:
    """Return an index of three segments, in which some vectors are of nobody, and the `(papers, d)` vectors by row."""
    sizes = (50, 20, 7)
    stored = rng.normal(size=(sum(sizes), D)).astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    places = rng.permutation(sum(sizes))[:60]
    keys = keys_of(list(range(60)))
    start = 0
    for segment in segments_of(*sizes):
        part = stored[start:start + segment.vectors]
        start += len(part)
        write_segment(folder / segment.name, len(part), D, [
            (np.arange(len(part)), np.zeros(len(part), KEY_DTYPE), np.zeros(len(part), np.int32), part)])
    entries = np.zeros(60, [("row", "<i8"), ("tokens", "<i4"), ("key", KEY_DTYPE)])
    entries["row"], entries["tokens"], entries["key"] = np.arange(60), np.arange(60) % 9, keys
    write_entries(folder, entries, places)
    manifest = Manifest(
        generation=1, created="", semsearch_version="", encoder=EncoderIdentity("m", None, D, 9, "float32", "f"),
        papers=60, vectors=60, factory="Flat", search_parameters={}, recall_at_10=None,
        files={path.name: describe_file(path) for path in folder.iterdir()}, segments=segments_of(*sizes))
    return VectorIndex(folder, manifest), stored[places]


def test_search_and_reading_go_across_segments(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    index, vectors = grown(tmp_path, rng)
    assert (index.vectors_at(np.arange(60)) == vectors).all()
    assert (np.concatenate([block for _, block in index.blocks()]) == vectors).all()
    source = index.as_source()
    found = source.find(index.keys[::-1])
    assert found.tolist() == list(range(60))[::-1]
    assert (source.take(found).vectors == vectors[::-1]).all()
    for query in rng.normal(size=(10, D)).astype(np.float32):
        query /= np.linalg.norm(query)
        scores = vectors @ query
        for allowed in (None, rng.random(60) < 0.5):
            order = [row for row in np.argsort(-scores).tolist() if allowed is None or allowed[row]]
            hits = index.search(query, 12, allowed)
            assert hits.rows.tolist() == order[:12]
            assert hits.scores == pytest.approx(scores[order[:12]], abs=1e-6)
            assert len(index.search(query, 100, allowed).rows) == len(order)


def test_places_that_do_not_exist_are_damage(tmp_path: Path) -> None:
    index, _ = grown(tmp_path, np.random.default_rng(2))
    stored = np.load(tmp_path / VECTOR_PLACES)
    for wrong in (-1, 77, int(stored[1])):
        places = stored.copy()
        places[0] = wrong
        np.save(tmp_path / VECTOR_PLACES, places)
        with pytest.raises(IndexDamaged, match=VECTOR_PLACES):
            VectorIndex(tmp_path, index._manifest)


def test_blocks_do_not_cross_segments(tmp_path: Path) -> None:
    stored = StoredVectors([np.full((5, 2), 1.0, "f4"), np.full((0, 2), 0.0, "f4"), np.full((3, 2), 2.0, "f4")], 2)
    assert [(first, len(block)) for first, block in stored.blocks(4)] == [(0, 4), (4, 1), (5, 3)]
    assert [(first, len(block)) for first, block in stored.blocks(4, 4, 7)] == [(4, 1), (5, 2)]
    assert stored[np.array([7, 0, 5])][:, 0].tolist() == [2, 1, 2]
    with pytest.raises(IndexDamaged, match=r"vectors\.npy"):
        open_stored(tmp_path, segments_of(1), 2)
