"""Whether a paper table is what it should be: its files, its counts, and the counts that it keeps."""

from __future__ import annotations

import sqlite3

import numpy as np

from semsearch.index.paper_layers import layers_of
from semsearch.index.paper_tallies import Tallies, count_all
from semsearch.index.paper_text_keys import read_text_keys, scan_text_keys


def check_all(connection: sqlite3.Connection, tallies: Tallies) -> list[str]:
    """Return what is wrong in a table that keeps these tallies, by reading all of it."""
    problems = [str(text) for layer in layers_of(connection)
                for (text,) in connection.execute(f"PRAGMA {layer}.integrity_check") if text != "ok"]
    if not tallies.agrees_with(counted := count_all(connection)):
        problems.append(f"the tallies are {tallies} where {counted} was counted")
    if not np.array_equal(read_text_keys(connection), scan_text_keys(connection)):
        problems.append("the text keys are not those of the papers")
    return problems


def compare_counts(connection: sqlite3.Connection, tallies: Tallies, papers: int) -> list[str]:
    """Return where the counts that a table keeps disagree with each other, with its ends, and with `papers`.

    Rows are 0 to n-1, so that what names another row belongs to no paper.
    """
    layers, problems = layers_of(connection), []
    count = tallies.papers
    low, high = _end(connection, "ASC"), _end(connection, "DESC")
    if count != papers or (count and (low, high) != (0, count - 1)):
        problems.append(f"{count} papers in rows {low} to {high} where {papers} were written")
    for table, column in (("records", "paper"), ("aliases", "row"), ("facets", "row")):
        lost = sum(connection.execute(f"SELECT COUNT(*) FROM {layer}.{table} WHERE {column} {beyond}"
                                      f"{_still(layer, table)}").fetchone()[0]
                   for layer in layers for beyond in ("< 0", f">= {count}"))
        if lost:
            problems.append(f"{lost} {table} belong to no paper")
    for column in ("row", "id") if len(layers) > 1 else ():
        twice = connection.execute(f"SELECT COUNT(*) FROM main.papers n CROSS JOIN base.papers b "  # in this order
                                   f"ON b.{column} = n.{column} WHERE b.row NOT IN (SELECT row FROM main.gone_rows)"
                                   ).fetchone()[0]
        if twice:
            problems.append(f"{twice} papers have a {column} that another has")
    if tallies.facets != count:
        problems.append(f"{tallies.facets} rows of facets for {count} papers")
    if tallies.firsts != count:
        problems.append(f"{tallies.firsts} first records for {count} papers")
    return problems


def _end(connection: sqlite3.Connection, order: str) -> int | None:
    """Return the first or the last row."""
    found = [row for layer in layers_of(connection) for (row,) in connection.execute(
        f"SELECT row FROM {layer}.papers WHERE 1{_still(layer, 'papers')} ORDER BY row {order} LIMIT 1")]
    return (min(found) if order == "ASC" else max(found)) if found else None


def _still(layer: str, table: str) -> str:
    """Return the SQL that leaves out what a second layer replaces in the first."""
    key = "record" if table == "records" else "row"
    return f" AND {key} NOT IN (SELECT {key} FROM main.gone_{key}s)" if layer == "base" else ""
