"""Fusion and diversity against values counted by hand and a plain implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.fusion import (
    CosineEstimate,
    best_first,
    diversified,
    estimate_of,
    fused_scores,
    scaled,
    smoothed,
)

F32 = np.float32
NAN = float("nan")


def test_the_formula_by_hand():
    fused = fused_scores(np.array([0.5, 0.2, NAN, 0.1], F32), np.array([3, 6, 1.5, NAN], F32), 6.0, 0.6)
    assert fused == pytest.approx([0.6 * 0.5 + 0.4 * 0.5, 0.6 * 0.2 + 0.4, 0.4 * 0.25, 0.06])


def test_an_estimate_stands_for_a_cosine_that_is_not_there():
    line = CosineEstimate(0.2, 0.4)
    fused = fused_scores(np.array([0.5, NAN, NAN], F32), np.array([3, 3, 0], F32), 6.0, 0.6, line)
    assert fused == pytest.approx([0.6 * 0.5 + 0.4 * 0.5, 0.6 * (0.2 + 0.4 * 0.5) + 0.4 * 0.5, 0.6 * 0.2])


@given(pairs=st.lists(st.tuples(st.floats(0, 1, width=16), st.floats(-0.25, 1, width=16)), max_size=100))
def test_the_estimate_is_the_line_of_least_squares_and_never_falls(pairs):
    shares, cosines = np.array(pairs, F32).reshape(-1, 2).T
    line = estimate_of(cosines, shares)
    x, y = [*shares, 0, 1], [*cosines, 0.1, 0.6]
    slope, base = np.polyfit(x, y, 1)
    expected = (base, slope) if slope > 0 else (np.mean(y), 0)
    assert (line.base, line.slope) == pytest.approx(expected, abs=1e-6)
    assert (np.diff(line.of(np.linspace(0, 1, 11, dtype=F32))) >= 0).all()


def test_without_any_shared_word_the_share_of_meaning_is_left():
    assert fused_scores(np.array([0.5, -0.5], F32), np.zeros(2, F32), 0.0, 0.6) == pytest.approx([0.3, -0.3])


@pytest.mark.parametrize(("weight", "order"), [(1.0, [0, 1]), (0.0, [1, 0])])
def test_a_weight_at_its_ends_is_one_side_alone(weight, order):
    fused = fused_scores(np.array([0.9, 0.1], F32), np.array([1, 2], F32), 2.0, weight)
    assert best_first(fused, np.arange(2)).tolist() == order


def test_equal_scores_stand_in_the_order_of_rows():
    assert best_first(np.array([1, 2, 1, 2], F32), np.array([9, 8, 3, 4])).tolist() == [3, 1, 2, 0]


def test_smoothing_by_hand():
    # 0 and 1 are near each other (cosine 0.8), 2 is at right angles to both, 3 has no vector.
    vectors = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0, 1], [0, 0, 0]], F32)
    scores = np.array([0.9, 0.5, 0.4, 0.2], F32)
    by_hand = [0.75 * 0.9 + 0.25 * 0.5, 0.75 * 0.5 + 0.25 * 0.9, 0.4, 0.2]
    assert smoothed(scores, vectors, 0.25) == pytest.approx(by_hand)
    assert smoothed(scores, vectors, 0.0).tolist() == scores.tolist()
    assert smoothed(scores[:1], vectors[:1], 0.5).tolist() == scores[:1].tolist()
    assert smoothed(scores[:0], vectors[:0], 0.5).tolist() == []


def test_diversity_by_hand():
    # 0 and 1 are the same, 2 is at a right angle to them, 3 is opposite.
    vectors = np.array([[1, 0], [1, 0], [0, 1], [-1, 0]], F32)
    scores = np.array([0.9, 0.8, 0.5, 0.1], F32)
    assert diversified(scores, vectors, 4, 0.0).tolist() == [0, 1, 2, 3]
    # After 0: 1 is worth 0.7 * 0.8 - 0.3 = 0.26, 2 is worth 0.35, 3 is worth 0.07 + 0.3 = 0.37.
    # Then 1: 0.26; 2: 0.35.
    assert diversified(scores, vectors, 3, 0.3).tolist() == [0, 3, 2]


def plain_mmr(scores, vectors, k, diversity):
    chosen = []
    while len(chosen) < min(k, len(scores)):
        def worth(n):
            likeness = max((float(vectors[n] @ vectors[c]) for c in chosen), default=0.0)
            return (1 - diversity) * float(scores[n]) - diversity * likeness
        chosen.append(max((n for n in range(len(scores)) if n not in chosen), key=worth))
    return chosen


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 8), st.floats(0, 1))
def test_diversity_is_maximal_marginal_relevance(seed, n, k, diversity):
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((n, 5))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(F32)
    scores = np.sort(random.random(n).astype(F32))[::-1]
    ours = diversified(scores, vectors, k, diversity).tolist()
    plain = plain_mmr(scores, vectors, k, diversity)
    assert len(set(ours)) == len(ours) == min(k, n)
    worth = [plain_worth(scores, vectors, chosen, diversity) for chosen in (ours, plain)]
    assert worth[0] == pytest.approx(worth[1], abs=1e-4)  # the same but where two are worth the same


def plain_worth(scores, vectors, chosen, diversity):
    """Return what each choice was worth when it was made."""
    return [(1 - diversity) * float(scores[c]) - diversity * max((float(vectors[c] @ vectors[b]) for b in chosen[:n]),
                                                                 default=0.0) for n, c in enumerate(chosen)]


def test_no_candidates_give_no_hits():
    assert diversified(np.zeros(0, F32), np.zeros((0, 3), F32), 5, 0.5).tolist() == []


def test_scaling():
    assert scaled(np.array([2, 4, 3], F32)).tolist() == [0, 1, 0.5]
    assert scaled(np.array([2, 2], F32)).tolist() == [1, 1]
    assert scaled(np.zeros(0, F32)).tolist() == []
