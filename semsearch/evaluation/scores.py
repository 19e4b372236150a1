"""How good the answers of a run are, by question and in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import InputError
from semsearch.evaluation.judgments import Qrels, relevant_of
from semsearch.evaluation.measures import parse_measures, per_question
from semsearch.evaluation.runs import Run


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of a run.

    `values`: `(questions, measures)` float64, in the order of `questions` and `measures`. `without_relevant` counts
    questions that were left out because no paper is relevant to them; `without_hits` those that got no answer, which
    score 0 and count.
    """

    run: str
    measures: tuple[str, ...]
    questions: tuple[str, ...]
    values: NDArray[np.float64]
    without_relevant: int
    without_hits: int

    @property
    def means(self) -> dict[str, float]:
        """The mean over the questions, by measure."""
        return dict(zip(self.measures, self.values.mean(axis=0).tolist(), strict=True))

    def by_question(self) -> dict[str, dict[str, float]]:
        """Return the values by question and measure."""
        return {question: dict(zip(self.measures, row, strict=True))
                for question, row in zip(self.questions, self.values.tolist(), strict=True)}


def evaluate(run: Run, qrels: Qrels, measures: Sequence[str]) -> Scores:
    """Return the scores of a run by some judgments.

    Measured are the questions that have a relevant paper: where there is none, no answer is better than another. A
    question that the run does not answer scores 0. The order of the lists is what counts; the scores in a run do not.

    Raises:
        InputError: no question has a relevant paper.
        UsageError: a measure is not known.
    """
    names = parse_measures(measures)
    judged = {question: grades for question, grades in qrels.items() if relevant_of(grades)}
    if not judged:
        raise InputError("No question has a relevant paper, so there is nothing to measure.",
                         "A relevant paper has a grade above 0.")
    lists = {question: ranked.ids for question, ranked in run.lists.items()}
    found = per_question(names, judged, lists)
    values = np.array([[found.get((question, name), 0.0) for name in names] for question in judged], np.float64)
    return Scores(run.name, names, tuple(judged), values, without_relevant=len(qrels) - len(judged),
                  without_hits=sum(not lists.get(question) for question in judged))
