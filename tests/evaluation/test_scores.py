"""Measures counted by hand, intervals, and tests of differences checked by others."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from semsearch.errors import InputError, UsageError
from semsearch.evaluation import (
    DEFAULT_MEASURES,
    RankedList,
    Run,
    Scores,
    compare,
    depth_of,
    evaluate,
    mean_intervals,
    parse_measures,
)
from semsearch.evaluation.measures import deepest_cutoff, split_measures
from semsearch.evaluation.significance import bootstrap_interval, randomisation_p


def run_of(lists: dict[str, str], name: str = "run") -> Run:
    """Return a run of one-letter papers; all scores are equal, since only the order counts."""
    return Run(name, {question: RankedList(tuple(ids), (1.0,) * len(ids)) for question, ids in lists.items()})


def test_measures_counted_by_hand():
    # Relevant are b (3), d (1) and x (2), which was not found: a b c d.
    qrels = {"q": {"a": 0, "b": 3, "d": 1, "x": 2}}
    measures = ["nDCG@10", "nDCG@2", "AP@100", "AP@2", "RR@10", "R@2", "P@10"]
    values = evaluate(run_of({"q": "abcd"}), qrels, measures).means
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert values["nDCG@10"] == pytest.approx((3 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert values["nDCG@2"] == pytest.approx((3 / math.log2(3)) / (3 + 2 / math.log2(3)))
    assert values["AP@100"] == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert values["AP@2"] == pytest.approx((1 / 2) / 3)
    assert values["RR@10"] == 1 / 2
    assert values["R@2"] == pytest.approx(1 / 3)
    assert values["P@10"] == pytest.approx(2 / 10)


def test_reciprocal_rank_is_cut():
    qrels = {"q": {"c": 1}}
    values = evaluate(run_of({"q": "abc"}), qrels, ["RR@2", "RR@3", "RR"]).means
    assert values == {"RR@2": 0, "RR@3": 1 / 3, "RR": 1 / 3}


@pytest.mark.parametrize("order", ["zay", "ayz", "yza", "zya"])
def test_equal_scores_keep_our_order_and_not_that_of_ids(order):
    reciprocal = evaluate(run_of({"q": order}), {"q": {"y": 1}}, ["RR@10", "P@1"])
    assert reciprocal.means == {"RR@10": 1 / (order.index("y") + 1), "P@1": float(order[0] == "y")}


def test_long_lists_keep_their_order():
    ids = tuple(f"d{n:05}" for n in range(20_000))
    run = Run("run", {"q": RankedList(ids, (0.5,) * len(ids))})
    assert evaluate(run, {"q": {ids[17_000]: 1}}, ["RR"]).means["RR"] == pytest.approx(1 / 17_001)


def test_questions_without_answers_count_and_those_without_relevant_papers_do_not():
    qrels = {"full": {"a": 1}, "unanswered": {"b": 1}, "empty": {"c": 1}, "nothing": {"a": 0}, "unwanted": {"a": -1}}
    run = run_of({"full": "a", "empty": "", "nothing": "a", "unwanted": "a", "unasked": "a"})
    scores = evaluate(run, qrels, DEFAULT_MEASURES)
    assert scores.questions == ("full", "unanswered", "empty")
    assert (scores.without_relevant, scores.without_hits) == (2, 2)
    assert scores.means == pytest.approx(dict.fromkeys(DEFAULT_MEASURES, 1 / 3) | {"P@10": 1 / 30})
    assert scores.by_question()["unanswered"] == dict.fromkeys(DEFAULT_MEASURES, 0.0)
    with pytest.raises(InputError, match="nothing to measure"):
        evaluate(run, {"nothing": {"a": 0}}, ["P@1"])


def test_a_run_without_any_answer_scores_nothing():
    assert evaluate(run_of({}), {"q": {"a": 1}}, DEFAULT_MEASURES).means == dict.fromkeys(DEFAULT_MEASURES, 0.0)


def test_grades_below_zero_are_not_relevant():
    measures = ["nDCG@10", "AP@100", "RR@10", "P@10", "R@100", "Judged@2"]
    with_minus = evaluate(run_of({"q": "ab"}), {"q": {"a": -1, "b": 1}}, measures)
    with_zero = evaluate(run_of({"q": "ab"}), {"q": {"a": 0, "b": 1}}, measures)
    assert with_minus.means == with_zero.means
    assert with_minus.means["RR@10"] == 0.5 and with_minus.means["Judged@2"] == 1


def test_names_of_measures():
    assert parse_measures(["MRR@10", "nDCG@10", "NDCG@10", "P(rel=2)@5", "MAP"]) == (
        "RR@10", "nDCG@10", "P(rel=2)@5", "AP")
    assert split_measures("nDCG@10, R@100  P(rel=2, judged_only=True)@5") == (
        "nDCG@10", "R@100", "P(rel=2, judged_only=True)@5")
    assert parse_measures(["nDCG(dcg='exp-log2')@10", "IPrec@0.1", "SetF(beta=2.5)"]) == (
        "nDCG(dcg='exp-log2')@10", "IPrec@0.1", "SetF(beta=2.5)")
    graded = evaluate(run_of({"q": "ab"}), {"q": {"a": 1, "b": 2}}, ["P(rel=2)@2", "P@2"])
    assert graded.means == {"P(rel=2)@2": 0.5, "P@2": 1}


@pytest.mark.parametrize("name, what", [
    ("nDGC@10", "There is no measure 'nDGC@10'. Did you mean nDCG?"), ("", "There is no measure ''"),
    ("P@0", "cannot be computed"), ("P", "not spelt"), ("nDCG@ten", "There is no measure"),
    ("P(rel=__import__)@5", "a part that is not understood: 'rel=__import__'"), ("P(rell=2)@5", "not spelt"),
    ("alpha_nDCG@10", "cannot be computed with what is installed"), ("P@1.5", "not spelt"), ("P((2))@5", "no measure")])
def test_measures_that_are_none_are_refused_with_examples(name, what):
    with pytest.raises(UsageError) as caught:
        parse_measures(["nDCG@10", name])
    assert what in caught.value.message and "nDCG@10, R@100" in caught.value.way_out


def test_how_deep_answers_have_to_go():
    assert depth_of(["nDCG@10", "P@5"]) == 100 and depth_of(["R@300", "P@5"]) == 300
    assert depth_of(["AP", "P@5"]) == 1000 and depth_of(["Rprec", "R@2000"]) == 2000
    assert deepest_cutoff(["AP", "P@5", "P@7"]) == 7 and deepest_cutoff(["AP"]) == 0


def test_the_bootstrap_of_a_constant_is_a_point():
    interval = bootstrap_interval(np.full(7, 0.1))
    assert interval.low == interval.high == 0.1


def test_the_bootstrap_agrees_with_scipy_and_with_its_seed():
    values = np.random.default_rng(5).beta(2, 1, 60)
    ours = bootstrap_interval(values, seed=1)
    theirs = scipy.stats.bootstrap((values,), np.mean, method="percentile", n_resamples=10_000,
                                   random_state=np.random.default_rng(2)).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)
    assert ours == bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_p_of_few_questions_is_that_of_all_signs():
    differences = np.array([0.3, -0.1, 0.25, 0.0, 0.5, 0.1, 0.1, -0.2])
    flips = itertools.product((1, -1), repeat=len(differences))
    by_hand = np.mean([abs(np.dot(signs, differences)) >= abs(differences.sum()) - 1e-9 for signs in flips])
    assert randomisation_p(differences) == pytest.approx(by_hand, abs=1e-12)
    theirs = scipy.stats.permutation_test((differences, np.zeros(8)), lambda a, b: np.mean(a - b),
                                          permutation_type="samples", n_resamples=np.inf)
    assert randomisation_p(differences) == pytest.approx(theirs.pvalue, abs=1e-12)
    assert randomisation_p(-differences) == randomisation_p(differences)


def test_p_of_many_questions_is_near_that_of_scipy():
    draws = np.random.default_rng(3)
    for shift in (0.0, 0.05, 0.1):
        a, b = draws.random(80), draws.random(80) + shift
        theirs = scipy.stats.permutation_test((a, b), lambda x, y, axis: np.mean(x - y, axis=axis), vectorized=True,
                                              permutation_type="samples", n_resamples=20_000, random_state=draws)
        assert randomisation_p(b - a) == pytest.approx(theirs.pvalue, abs=0.02)


def test_p_at_the_ends():
    assert randomisation_p(np.zeros(5)) == 1.0
    assert randomisation_p(np.array([0.2, -0.2])) == 1.0
    assert randomisation_p(np.array([0.4])) == 1.0
    assert randomisation_p(np.full(10, 0.1)) == 2 / 2**10
    assert randomisation_p(np.full(200, 0.1)) == 1 / 10_001


def scores_of(name: str, values: list[float], questions: str = "abcd") -> Scores:
    return Scores(name, ("P@1",), tuple(questions), np.array(values)[:, None], 0, 0)


def test_two_runs_are_compared_question_by_question():
    [difference] = compare(scores_of("a", [0, 0.5, 0.5, 1]), scores_of("b", [1, 0.5, 1, 0.75]))
    assert (difference.measure, difference.mean) == ("P@1", pytest.approx(1.25 / 4))
    assert (difference.better, difference.worse, difference.equal) == (2, 1, 1)
    assert difference.interval.low <= difference.mean <= difference.interval.high
    assert difference.p == pytest.approx(4 / 8)  # of 1, 0.5 and -0.25: +++ and ++- and their mirror images
    [same] = compare(scores_of("a", [0, 1, 1, 1]), scores_of("b", [0, 1, 1, 1]))
    assert (same.mean, same.p, same.interval.low, same.interval.high) == (0, 1, 0, 0)


def test_only_scores_of_the_same_questions_are_compared():
    with pytest.raises(UsageError, match="not measured on the same questions"):
        compare(scores_of("a", [1, 1, 1, 1]), scores_of("b", [1, 1], "ab"))


def test_every_measure_has_its_interval():
    scores = evaluate(run_of({"1": "ab", "2": "ba", "3": "ca"}), {q: {"a": 1} for q in "123"}, ["P@1", "R@100"])
    intervals = mean_intervals(scores)
    assert (intervals["P@1"].low, intervals["P@1"].high) == (0, 1)
    assert (intervals["R@100"].low, intervals["R@100"].high) == (1, 1)
