"""What papers are filtered by, in a narrow table of its own: folded text beside years and dates.

The table of papers is too wide to be read for each question: a million abstracts are gigabytes. Words stand between
single spaces, so that a whole word is found by one search for it with its spaces.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from semsearch.index.author_names import folded_author
from semsearch.paper import Paper, comparable

FACETS_SCHEMA: Final = """
-- What papers are filtered by. `date` is the paper's, or else its year. `added`: when the row was given (UTC seconds).
CREATE TABLE facets (
    row INTEGER PRIMARY KEY, year INTEGER, date TEXT NOT NULL, authors TEXT NOT NULL, venue TEXT NOT NULL,
    categories TEXT NOT NULL, title TEXT NOT NULL, added INTEGER NOT NULL);
CREATE INDEX facets_dates ON facets (year, date);
CREATE INDEX facets_title ON facets (title);
"""
_COLUMNS: Final = ("year", "date", "authors", "venue", "categories", "title")
_WRITE: Final = (f"INSERT INTO main.facets (row, {', '.join(_COLUMNS)}, added) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                 f"ON CONFLICT (row) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in _COLUMNS)}")


def write_facets(connection: sqlite3.Connection, papers: Iterable[tuple[int, Paper]], added: int) -> None:
    """Write the facets of papers by their rows; a row that is there already keeps the time when it was added."""
    connection.executemany(_WRITE, ((row, *_facets_of(paper), added) for row, paper in papers))


def has_facets(connection: sqlite3.Connection) -> bool:
    """Return whether a paper table has facets: those of format 1 have none."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'facets'").fetchone())


def folded_category(category: str) -> str:
    """Return a category folded, its dots kept: `cs.CL` as `cs.cl`, `Machine Learning` as `machine learning`."""
    return ".".join(part for part in map(comparable, category.split(".")) if part)


def _facets_of(paper: Paper) -> tuple[Any, ...]:
    year = int(paper.date[:4]) if paper.year is None and paper.date else paper.year
    date = paper.date or (f"{year:04d}" if year is not None and 0 < year < 10_000 else "")
    authors = "".join(f"| {folded} " for folded in map(folded_author, paper.authors) if folded)
    categories = "".join(f"|{folded}" for folded in map(folded_category, paper.categories) if folded)
    return (year, date, authors and f"{authors}|", f" {comparable(paper.venue)} ", categories and f"{categories}|",
            comparable(paper.title))
