"""Scores of a scan: against numpy in double precision, equal for equal vectors, without what is no number."""

from __future__ import annotations

import numpy as np
import pytest

from semsearch.index.scan import nearest, threads


def unit_vectors(count: int, dimension: int = 384) -> np.ndarray:
    vectors = np.random.default_rng(3).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("count", [1, 7, 100, 1000])
def test_the_nearest_are_those_of_numpy(count: int) -> None:
    vectors, query = unit_vectors(1000), unit_vectors(1001)[1000:]
    places, scores = nearest(query, vectors, count)
    exact = vectors.astype(np.float64) @ query[0].astype(np.float64)
    assert places.tolist() == np.argsort(-exact)[:count].tolist()
    np.testing.assert_allclose(scores, exact[places], atol=1e-6)
    assert scores.dtype == np.float32


def test_only_what_is_permitted_with_the_same_scores() -> None:
    vectors, query = unit_vectors(500), unit_vectors(501)[500:]
    permitted = np.arange(500) % 3 == 1
    places, scores = nearest(query, vectors, 20, permitted)
    every, all_scores = nearest(query, vectors, 500)
    kept = permitted[every]
    assert places.tolist() == every[kept][:20].tolist()
    assert scores.tolist() == all_scores[kept][:20].tolist()


@pytest.mark.parametrize("dimension", [1, 3, 8, 100, 384, 1023])
def test_equal_vectors_have_equal_scores_wherever_they_stand(dimension: int) -> None:
    vectors, query = unit_vectors(300, dimension), unit_vectors(301, dimension)[300:]
    vectors[[0, 17, 118, 299]] = vectors[5]
    found = {place: score for part in ([5], [0, 1, 17], list(range(3, 40)), list(range(300)))
             for place, score in zip(np.array(part)[nearest(query, vectors[part], len(part))[0]].tolist(),
                                     nearest(query, vectors[part], len(part))[1].tolist(), strict=True)
             if place in (0, 5, 17, 118, 299)}
    assert len(found) == 5 and len(set(found.values())) == 1
    shifted = nearest(query, vectors[1:], 299)  # other addresses of the same numbers
    whole = nearest(query, vectors, 300)
    assert dict(zip((shifted[0] + 1).tolist(), shifted[1].tolist(), strict=True)).items() <= dict(
        zip(whole[0].tolist(), whole[1].tolist(), strict=True)).items()


def test_what_is_no_number_is_left_out() -> None:
    vectors, query = unit_vectors(50), unit_vectors(51)[50:]
    vectors[3], vectors[7] = np.nan, np.inf
    places, scores = nearest(query, vectors, 50)
    assert len(places) == 48 and not {3, 7} & set(places.tolist()) and np.isfinite(scores).all()
    assert nearest(query, vectors, 5)[0].tolist() == places[:5].tolist()


def test_threads_are_as_many_as_the_environment_says_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = threads()
    assert cores >= 1
    for value, expected in (("1", 1), ("999", cores), ("0", cores), ("two", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert threads() == expected
