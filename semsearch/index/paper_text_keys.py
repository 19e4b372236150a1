"""The text keys of all papers by row, kept together: the table of papers is too wide to be read for them."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.paper_layers import layers_of
from semsearch.index.paper_tallies import stored_tallies

_BLOCK_BYTES: Final = 65_536 * KEY_DTYPE.itemsize


def read_text_keys(connection: sqlite3.Connection) -> NDArray[Any]:
    """Return the `(papers,)` text keys by row, of both layers where there are two.

    Raises:
        sqlite3.DatabaseError: they cannot be read, or are not as many as the papers.
    """
    tallies = stored_tallies(connection)
    if len(layers_of(connection)) > 1:
        before = stored_tallies(connection, "base")
        changed = connection.execute("SELECT row, text_key FROM main.papers").fetchall()
        keys = _read_blocks(connection, "base", before.papers if before else 0)
        papers = (tallies or before).papers if before else 0
        keys = np.concatenate([keys[:papers], np.zeros(max(papers - len(keys), 0), KEY_DTYPE)])
        keys[[row for row, _ in changed]] = np.array([key for _, key in changed], KEY_DTYPE)
        return keys
    return scan_text_keys(connection) if tallies is None else _read_blocks(connection, "main", tallies.papers)


def scan_text_keys(connection: sqlite3.Connection) -> NDArray[Any]:
    """Return the same from the papers themselves; raises as `read_text_keys`."""
    keys = [key for _, key in connection.execute("SELECT row, text_key FROM papers ORDER BY row")]
    return _as_keys(b"".join(keys), len(keys))


def write_text_keys(connection: sqlite3.Connection, keys: bytes) -> None:
    """Keep text keys, one after the other in the order of rows, in the file that is written."""
    connection.execute("DELETE FROM main.text_keys")
    connection.executemany("INSERT INTO main.text_keys VALUES (?, ?)", (
        (start // KEY_DTYPE.itemsize, keys[start:start + _BLOCK_BYTES]) for start in range(0, len(keys), _BLOCK_BYTES)))


def _read_blocks(connection: sqlite3.Connection, layer: str, papers: int) -> NDArray[Any]:
    blocks = connection.execute(f"SELECT keys FROM {layer}.text_keys ORDER BY first")
    return _as_keys(b"".join(keys for (keys,) in blocks), papers)


def _as_keys(content: bytes, papers: int) -> NDArray[Any]:
    if len(content) != papers * KEY_DTYPE.itemsize:
        raise sqlite3.DatabaseError("there are not as many text keys as papers, or their length is wrong")
    return np.frombuffer(content, KEY_DTYPE)
