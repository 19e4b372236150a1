"""How sure one can be of a mean and of a difference: the bootstrap and the paired randomisation test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import UsageError
from semsearch.evaluation.scores import Scores

RESAMPLES: Final = 10_000
DEFAULT_SEED: Final = 13
_CONFIDENCE: Final = 0.95
_BLOCK_DRAWS: Final = 2_000_000
"""How many draws are held at a time, 16 MB of them."""
_ROUNDING: Final = 1e-12
"""Two sums of the same numbers differ by less than this, relatively, and are as extreme as each other."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better one run is than another by one measure, over the same questions.

    `mean`: of the differences, above 0 where the run is better than the baseline. `p`: of the two-sided paired
    randomisation test, how often a difference as large comes about where the two are exchangeable. `better`, `worse`
    and `equal` count questions.
    """

    measure: str
    mean: float
    interval: Interval
    p: float
    better: int
    worse: int
    equal: int


def mean_intervals(scores: Scores, *, resamples: int = RESAMPLES, seed: int = DEFAULT_SEED) -> dict[str, Interval]:
    """Return the interval of each measure's mean, by measure: percentiles of the bootstrap over questions.

    (Efron and Tibshirani, An Introduction to the Bootstrap, section 13.3.)
    """
    return {name: bootstrap_interval(column, resamples=resamples, seed=seed)
            for name, column in zip(scores.measures, scores.values.T, strict=True)}


def compare(baseline: Scores, other: Scores, *, resamples: int = RESAMPLES, seed: int = DEFAULT_SEED
            ) -> tuple[Difference, ...]:
    """Return how `other` differs from `baseline` by each measure; p is not corrected for several comparisons.

    Raises:
        UsageError: the two are not scores of the same questions by the same measures.
    """
    if (baseline.questions, baseline.measures) != (other.questions, other.measures):
        raise UsageError(f"{baseline.run} and {other.run} were not measured on the same questions by the same "
                         "measures.", "Evaluate both by the same judgments.")
    differences = []
    for name, column in zip(baseline.measures, (other.values - baseline.values).T, strict=True):
        interval = bootstrap_interval(column, resamples=resamples, seed=seed)
        p = randomisation_p(column, permutations=resamples, seed=seed)
        differences.append(Difference(name, float(column.mean()), interval, p, int((column > 0).sum()),
                                      int((column < 0).sum()), int((column == 0).sum())))
    return tuple(differences)


def bootstrap_interval(values: NDArray[np.float64], *, resamples: int = RESAMPLES, seed: int = DEFAULT_SEED
                       ) -> Interval:
    """Return the interval of the mean of `(n,)` values."""
    values = np.ascontiguousarray(values, np.float64)
    if (values == values[0]).all():
        return Interval(float(values[0]), float(values[0]))
    draws = np.random.default_rng(seed)
    means = np.concatenate([values[draws.integers(0, len(values), (count, len(values)))].mean(axis=1)
                            for count in _blocks(resamples, len(values))])
    low, high = np.quantile(means, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def randomisation_p(differences: NDArray[np.float64], *, permutations: int = RESAMPLES, seed: int = DEFAULT_SEED
                    ) -> float:
    """Return the two-sided p of `(n,)` paired differences: how often random signs give a mean as far from 0.

    Where there are no more ways to choose the signs than `permutations`, all are counted and p is exact; else it is
    (1 + as extreme) / (1 + drawn), which is never 0. (Fisher's randomisation test; Smucker, Allan and Carterette, CIKM
    2007, on why it is the one for retrieval.)
    """
    unequal = np.ascontiguousarray(differences[differences != 0], np.float64)  # a sign makes no odds to 0
    if not len(unequal):
        return 1.0
    least = abs(unequal.sum()) - _ROUNDING * np.abs(unequal).sum()
    if 2 ** min(len(unequal), 63) <= permutations:
        choices = np.arange(2 ** len(unequal))[:, None] >> np.arange(len(unequal)) & 1
        return float((np.abs((2 * choices - 1) @ unequal) >= least).mean())
    draws = np.random.default_rng(seed)
    extreme = 0
    for count in _blocks(permutations, len(unequal)):
        signs = 2 * draws.integers(0, 2, (count, len(unequal)), np.int8) - 1
        extreme += int((np.abs(signs @ unequal) >= least).sum())
    return (1 + extreme) / (1 + permutations)


def _blocks(total: int, width: int) -> Iterator[int]:
    """Yield sizes of blocks that add up to `total`."""
    size = max(_BLOCK_DRAWS // width, 1)
    for start in range(0, total, size):
        yield min(size, total - start)
