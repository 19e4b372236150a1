"""Which rows an SQL expression of the user's chooses: it reads papers and nothing else, and not for ever."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from semsearch.errors import UsageError
from semsearch.index.manifest import damaged
from semsearch.index.paper_layers import layers_of, open_read_only
from semsearch.index.paper_schema import damage_named

WHERE_COLUMNS: Final = ("row", "id", "title", "abstract", "authors", "year", "date", "venue", "categories", "url",
                        "doi", "language", "identifiers", "title_stands_in")
"""What an expression may read; authors, categories and identifiers are JSON lists."""

_FUNCTIONS: Final = frozenset(
    "abs avg coalesce count date datetime glob ifnull iif instr json json_array_length json_extract json_type "
    "json_valid julianday length like likelihood likely lower ltrim max min nullif round rtrim sign strftime substr "
    "substring sum time total trim typeof unicode unlikely upper -> ->>".split())
"""Functions that do not make long values out of short ones, or reach beyond the file."""
_LISTS: Final = frozenset({"json_each", "json_tree"})
_SECONDS: Final = 5.0
_SECONDS_A_PAPER: Final = 1e-5
"""Beyond that, reading the abstracts of a large index takes its time."""
_STEPS: Final = 10_000
"""Instructions of SQLite's machine between two looks at the clock: less than a millisecond."""
_MOST_BYTES: Final = 1_000_000
"""Longer values are an error: an abstract has thousands."""
_MOST_CHARACTERS: Final = 5000
"""Names that stand for expressions multiply what a sub-select says, before the clock is looked at; so it is short."""
_MOST_PATTERN_BYTES: Final = 1000
_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|\Z)|"""
                           r"[()]|[^\W\d]\w*|.", re.DOTALL)
"""What SQLite reads as one: strings, quoted names, comments, brackets, words."""
_ROW_NAMES: Final = frozenset({"ROWID", "OID", "_ROWID_"})
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR})


def rows_where(path: Path, papers: int, expression: str) -> list[int]:
    """Return the rows of the papers of which an SQL expression over the paper table is true.

    Raises:
        UsageError: it is no such expression, reads what it may not, or takes too long.
        IndexDamaged: the file cannot be read.
    """
    _check_shape(expression)
    deadline = _Deadline(_SECONDS + _SECONDS_A_PAPER * papers)
    with damage_named(path):
        connection = open_read_only(path)
    with closing(connection):
        with damage_named(path):
            _confine(connection, deadline)
        try:
            # On lines of its own, so that a comment in it does not end ours.
            found = connection.execute(f"SELECT row FROM papers WHERE (\n{expression}\n)").fetchall()
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xff in _DAMAGE:
                raise damaged(path, f"cannot be read ({error})") from error
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT and not deadline.is_over:
                raise KeyboardInterrupt from error  # it came while we looked at the clock
            if deadline.is_over:
                raise UsageError(f"The expression takes more than {deadline.seconds:.0f} s: {_shown(expression)}",
                                 "Ask for less; sub-selects are what costs most.") from error
            raise _refusal(expression, str(error)) from error
    return [row for (row,) in found]


def _check_shape(expression: str) -> None:
    """Refuse what is no single expression, and sub-selects in sub-selects: what they say multiplies without end."""
    if len(expression) > _MOST_CHARACTERS:
        raise _refusal(expression, f"it has more than {_MOST_CHARACTERS:,} characters")
    selects = [False]  # for each bracket that is open, whether a SELECT stands in it
    for token in map(str.upper, _TOKEN.findall(expression)):
        if token in _ROW_NAMES:
            raise _refusal(expression, f"{token.lower()} is no column; row is")
        if token == "(":
            selects.append(False)
        elif token == ")":
            selects.pop()
        elif token == "SELECT":
            if any(selects[:-1]):
                raise _refusal(expression, "it has a sub-select in a sub-select")
            selects[-1] = True
        elif token in ("WITH", ";"):
            raise _refusal(expression, f"it holds {token}")
        if not selects:
            break
    if len(selects) != 1:
        raise _refusal(expression, "its brackets do not pair")


class _Deadline:
    """Tells SQLite to stop when the time is over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self.is_over = False

    def __call__(self) -> int:
        self.is_over = time.monotonic() > self._end
        return int(self.is_over)


def _confine(connection: sqlite3.Connection, deadline: Callable[[], int]) -> None:
    connection.execute("PRAGMA query_only = ON")
    for table in sorted(_LISTS):
        connection.execute(f"SELECT 1 FROM {table}('[]')")  # makes the table, which the authoriser would forbid
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _MOST_PATTERN_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_progress_handler(deadline, _STEPS)
    connection.set_authorizer(_authoriser(len(layers_of(connection)) > 1))


def _authoriser(layered: bool) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return what tells SQLite which reads are allowed; in two layers the view of both, and what that reads itself."""
    place = "temp" if layered else "main"

    def authorise(action: int, first: str | None, second: str | None, database: str | None, view: str | None) -> int:
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and layered and view == "papers" and first in ("papers", "gone_rows"):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            known = first == "papers" and (not second or (database == place and second.lower() in WHERE_COLUMNS))
            return sqlite3.SQLITE_OK if known or first in _LISTS else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    return authorise


def _refusal(expression: str, reason: str) -> UsageError:
    return UsageError(f"The expression cannot be used ({reason}): {_shown(expression)}",
                      f"Write SQL for SQLite over the columns {', '.join(WHERE_COLUMNS)}, as in: "
                      "venue = 'ACL' AND year >= 2020")


def _shown(expression: str) -> str:
    shown = " ".join(expression.encode("utf-8", "replace").decode("utf-8").split())
    return shown if len(shown) <= 200 else f"{shown[:200]} ..."
