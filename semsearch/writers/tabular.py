"""CSV (RFC 4180, but lines end with a line feed)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any, Final, TextIO

from semsearch.paper import Paper
from semsearch.ranking import Hit

PAPER_FIELDS: Final = ("id", "title", "abstract", "authors", "year", "date", "venue", "categories", "url", "doi")
_COLUMNS: Final = (*PAPER_FIELDS, "arxiv", "pmid", "language")
"""What a table of papers says more than one of hits, so that it can be read back."""
HIT_FIELDS: Final = ("rank", "score", "score_kind", *PAPER_FIELDS)
_SEVERAL: Final = re.compile(r"[,|&\[]|\band\b|^\S+\.\S+ ", re.IGNORECASE)
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def write_hits(hits: Iterable[Hit], stream: TextIO) -> None:
    """Write hits with a header line."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(HIT_FIELDS)
    for hit in hits:
        rows.writerow([hit.rank, hit.score, hit.score_kind, *_cells(hit.paper)])


def write_answers(answers: Iterable[tuple[str, Iterable[Hit]]], stream: TextIO) -> None:
    """Write the hits of several questions, (query id, hits), with a header line."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(("query_id", *HIT_FIELDS))
    for query_id, hits in answers:
        for hit in hits:
            rows.writerow([_clean(query_id), hit.rank, hit.score, hit.score_kind, *_cells(hit.paper)])


def write_papers(papers: Iterable[Paper], stream: TextIO) -> None:
    """Write papers with a header line."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for paper in papers:
        named = dict(paper.identifiers)
        more = (named.get("arxiv", ""), named.get("pmid", ""), paper.language)
        rows.writerow([*_cells(paper), *map(_clean, more)])


def _cells(paper: Paper) -> list[Any]:
    """Return the values of a paper in the order of its fields; authors and categories separated by `; `."""
    return [_clean(paper.id), _clean(paper.title), _clean(paper.abstract), _clean(_listed(paper.authors)),
            "" if paper.year is None else paper.year, paper.date, _clean(paper.venue),
            _clean(_listed(paper.categories)), _clean(paper.url), _clean(paper.doi)]


def _listed(values: tuple[str, ...]) -> str:
    """Return values separated by semicolons; a single one that might be taken for several ends with one."""
    return "; ".join(values) + (";" if len(values) == 1 and _SEVERAL.search(values[0]) else "")


def _clean(text: str) -> str:
    return _CONTROLS.sub("", text)
