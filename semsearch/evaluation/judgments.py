"""Judgments (qrels): which papers are relevant to which question, and how much."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semsearch.errors import InputError
from semsearch.evaluation.lines import bad_line, cells_of, read_lines, shown

Qrels = Mapping[str, Mapping[str, int]]
"""Question id -> paper id -> grade; a grade above 0 is relevant, the higher the more."""

_GRADE: Final = re.compile(r"([+-]?\d{1,9})(?:\.0+)?")
_WAY_OUT: Final = ("Judgments come one a line: query-id<TAB>corpus-id<TAB>score as in BEIR, where the first line may "
                   "name the columns, or `query-id 0 document-id grade` as in TREC.")


@dataclass(frozen=True, slots=True)
class Judgments:
    """What was judged. `repeated` counts lines that say once more what another says."""

    qrels: Qrels
    repeated: int = 0


def read_judgments(paths: Sequence[Path]) -> Judgments:
    """Return the judgments of some files taken together, in the order in which they stand there.

    Raises:
        SourceNotFound, InputError: a file or line cannot be read, or two lines give one paper two grades.
    """
    qrels: dict[str, dict[str, int]] = {}
    places: dict[tuple[str, str], str] = {}
    repeated = 0
    for path in paths:
        for number, (question, paper, grade) in _judgments_of(path):
            grades = qrels.setdefault(question, {})
            before = grades.setdefault(paper, grade)
            if (question, paper) in places:
                if before != grade:
                    raise bad_line(path, number, f"grade {grade} for {shown(paper)} as an answer to {shown(question)}, "
                                   f"which has grade {before} in {places[question, paper]}", "Keep one of the two.")
                repeated += 1
            else:
                places[question, paper] = f"{path.name}, line {number}"
    if not qrels:
        raise InputError(f"{', '.join(map(str, paths))}: there is no judgment.", _WAY_OUT)
    return Judgments(qrels, repeated)


def relevant_of(grades: Mapping[str, int]) -> list[str]:
    """Return the papers that are relevant: those with a grade above 0."""
    return [paper for paper, grade in grades.items() if grade > 0]


def _judgments_of(path: Path) -> list[tuple[int, tuple[str, str, int]]]:
    judgments = []
    for place, (number, line) in enumerate(read_lines(path)):
        cells = cells_of(line)
        if len(cells) not in (3, 4):
            raise bad_line(path, number, f"{len(cells)} columns where there should be 3 or 4: {shown(line)}", _WAY_OUT)
        grade = _GRADE.fullmatch(cells[-1])
        if grade is None:
            if place == 0:
                continue  # the names of the columns
            raise bad_line(path, number, f"the grade {shown(cells[-1])} is not a whole number", _WAY_OUT)
        question, paper = cells[0], cells[-2]
        if not question or not paper:
            raise bad_line(path, number, f"an id is missing: {shown(line)}", _WAY_OUT)
        judgments.append((number, (question, paper, int(grade[1]))))
    return judgments
