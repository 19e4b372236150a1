"""Facets of all papers at once: when each came into the index, and which share a title."""

from __future__ import annotations

from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.index.manifest import PAPERS
from semsearch.index.paper_layers import open_read_only
from semsearch.index.paper_schema import damage_named
from semsearch.index.reader import IndexReader


def arrivals(reader: IndexReader) -> NDArray[np.int64]:
    """Return when each paper was first given its row, by row: `(papers,)` int64, UTC seconds."""
    return np.array([added for _, added in _select(reader, "SELECT row, added FROM facets ORDER BY row")], np.int64)


def dates(reader: IndexReader) -> NDArray[np.str_]:
    """Return when each paper appeared, by row: `(papers,)` strings, `2020-05-03`, `2020-05` or `2020`; empty: unknown.

    As strings they sort by time, the less precise ones before what they may be.
    """
    return np.array([date for _, date in _select(reader, "SELECT row, date FROM facets ORDER BY row")], np.str_)


def shared_titles(reader: IndexReader) -> list[tuple[str, list[int]]]:
    """Return (folded title, its rows in order) of each title that several papers have, in the order of the titles.

    Titles that only stand in for missing ones are none.
    """
    groups: dict[str, list[int]] = {}
    for title, same in groupby(_select(reader, "SELECT title, row FROM facets WHERE title != '' ORDER BY title, row"),
                               itemgetter(0)):
        rows = [row for _, row in same]
        if len(rows) > 1:
            groups[title] = rows
    stands_in = reader.papers.titles_that_stand_in([row for rows in groups.values() for row in rows])
    true = ((title.strip(), [row for row in rows if row not in stands_in]) for title, rows in groups.items())
    return [(title, rows) for title, rows in true if title and len(rows) > 1]


def _select(reader: IndexReader, statement: str) -> list[Any]:
    path = reader.generation.path(PAPERS)
    with damage_named(path), closing(open_read_only(path)) as connection:
        return connection.execute(statement).fetchall()
