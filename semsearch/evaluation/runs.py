"""Runs: what a system answered to each question, and their TREC files, `qid Q0 docid rank score tag`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

import numpy as np

from semsearch.errors import InputError
from semsearch.evaluation.lines import bad_line, cells_of, read_lines, shown

_WHITE_SPACE: Final = re.compile(r"\s+")
_COLUMNS: Final = 6
_WAY_OUT: Final = "A run holds lines of `query-id Q0 document-id rank score tag`, as trec_eval reads them."


@dataclass(frozen=True, slots=True)
class RankedList:
    """The answer to a question: papers by id, best first, each once, and their scores."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """The answers of one system, by question id. The order of a list is what counts, not the scores."""

    name: str
    lists: Mapping[str, RankedList]


def read_run(path: Path, name: str | None = None) -> Run:
    """Return the run in a TREC file, whatever tool wrote it.

    The score decides, as it does for trec_eval; of equal scores the smaller rank comes first, then the earlier line.
    (trec_eval itself orders equal scores by document id, backwards.)

    Raises:
        SourceNotFound, InputError: the file or a line of it cannot be read, or a paper comes twice in one list.
    """
    found: dict[str, dict[str, tuple[float, int, int]]] = {}
    for number, line in read_lines(path):
        cells = cells_of(line)
        if len(cells) != _COLUMNS:
            raise bad_line(path, number, f"{len(cells)} columns where there should be 6: {shown(line)}", _WAY_OUT)
        question, _, paper, rank, score, _ = cells
        papers = found.setdefault(question, {})
        if paper in papers:
            raise bad_line(path, number, f"{shown(paper)} is an answer to {shown(question)} twice",
                           "A run lists a paper once for each question.")
        papers[paper] = (-_score(path, number, score), _rank(path, number, rank), number)
    if not found:
        raise InputError(f"{path} holds no answer.", _WAY_OUT)
    lists = {}
    for question, papers in found.items():
        ids = sorted(papers, key=lambda paper, places=papers: places[paper])  # type: ignore[misc]
        lists[question] = RankedList(tuple(ids), tuple(-papers[paper][0] for paper in ids))
    return Run(name or path.name.removesuffix(".gz").rsplit(".", 1)[0], lists)


def write_run(run: Run, stream: TextIO) -> None:
    """Write a run as a TREC file that keeps the order of its lists in any tool.

    Tools sort by score, most in single precision, so a score that is not below the one before it (equal scores; an
    order that is not by score alone) is lowered to the next number below. White space inside an id, which the format
    cannot hold, becomes `_`.
    """
    tag = in_trec(run.name)
    for question, ranked in run.lists.items():
        last = np.float32(np.inf)
        for rank, (paper, score) in enumerate(zip(ranked.ids, ranked.scores, strict=True), 1):
            last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
            stream.write(f"{in_trec(question)} Q0 {in_trec(paper)} {rank} {last!s} {tag}\n")


def in_trec(text: str) -> str:
    """Return an id as a TREC file spells it, where blanks separate columns."""
    return _WHITE_SPACE.sub("_", text.strip()) or "_"


def with_ids_of(run: Run, questions: Iterable[str], papers: Iterable[str]) -> Run:
    """Return the run with ids as the judgments spell them, where the file had to spell blanks as `_`."""
    asked = {in_trec(question): question for question in questions if in_trec(question) != question}
    judged = {in_trec(paper): paper for paper in papers if in_trec(paper) != paper}
    if not asked and not judged:
        return run
    lists = {}
    for question, ranked in run.lists.items():
        ids = tuple(judged.get(paper, paper) for paper in ranked.ids)
        lists[asked.get(question, question)] = RankedList(ids, ranked.scores)
    return Run(run.name, lists)


def within(run: Run, papers: Mapping[str, Collection[str]]) -> Run:
    """Return the run with only those papers in each list that `papers` names for the question."""
    lists = {}
    for question, ranked in run.lists.items():
        kept = [(paper, score) for paper, score in zip(ranked.ids, ranked.scores, strict=True)
                if paper in papers.get(question, ())]
        lists[question] = RankedList(tuple(paper for paper, _ in kept), tuple(score for _, score in kept))
    return Run(run.name, lists)


def _score(path: Path, number: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if math.isnan(score):
        raise bad_line(path, number, f"the score {shown(text)} is not a number", _WAY_OUT)
    return score


def _rank(path: Path, number: int, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_line(path, number, f"the rank {shown(text)} is not a whole number", _WAY_OUT) from None
