"""Questions, ids and texts from standard input and files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from semsearch.errors import EmptyQuery, InputError, SourceNotFound

STDIN: Final = "-"
_ID_KEYS: Final = ("id", "_id", "query_id")
_TEXT_KEYS: Final = ("text", "query")
_WAY_OUT: Final = ("Questions come one a line: as plain text, as id<TAB>text, or as JSON objects "
                   '{"id": "...", "text": "..."}.')


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a batch."""

    id: str
    text: str


def read_text(name: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        SourceNotFound, InputError: there is no such file, or it is not UTF-8 text.
    """
    shown = "standard input" if name == STDIN else name
    try:
        content = sys.stdin.buffer.read() if name == STDIN else Path(name).expanduser().read_bytes()
    except FileNotFoundError as error:
        raise SourceNotFound(f"There is no file {name!r}.", "Check the path.") from error
    except OSError as error:
        raise InputError(f"{name!r} cannot be read: {error.strerror or error}.", "Check the path.") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[:error.start].count(b"\n") + 1
        raise InputError(f"{shown}, line {line}: not UTF-8 text.", "Save it as UTF-8.") from error


def read_names(names: Sequence[str]) -> list[str]:
    """Return names of papers, where `-` stands for those on standard input, one a line."""
    read: list[str] = []
    for name in names:
        read += [line.strip() for line in read_text(STDIN).splitlines() if line.strip()] if name == STDIN else [name]
    return read


def read_questions(name: str) -> list[Question]:
    """Return the questions of a file, or of standard input for `-`: lines, TSV or JSONL, found by looking.

    Questions without an id are numbered by their lines, from 1.

    Raises:
        EmptyQuery: there is no question, or one has no text.
        InputError: a line is no question, or an id comes twice.
    """
    shown = "Standard input" if name == STDIN else name
    lines = [(n, line) for n, line in enumerate(read_text(name).split("\n"), 1) if line.strip()]
    if not lines:
        raise EmptyQuery(f"{shown} holds no question.", _WAY_OUT)
    if lines[0][1].lstrip().startswith("{"):
        questions = [_of_object(line, f"{shown}, line {n}", str(n)) for n, line in lines]
    elif all("\t" in line for _, line in lines):
        questions = [Question(*(part.strip() for part in line.split("\t", 1))) for _, line in lines]
    else:
        questions = [Question(str(n), line.strip()) for n, line in lines]
    seen: set[str] = set()
    for (n, _), question in zip(lines, questions, strict=True):
        if not question.text.strip():
            raise EmptyQuery(f"{shown}, line {n}: the question is empty.", _WAY_OUT)
        if not question.id or question.id in seen:
            what = f"the id {question.id!r} was given before" if question.id else "the id is empty"
            raise InputError(f"{shown}, line {n}: {what}.", "Give each question an id of its own.")
        seen.add(question.id)
    return questions


def _of_object(line: str, where: str, number: str) -> Question:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InputError(f"{where}: not a JSON object.", _WAY_OUT)
    text = next((record[key] for key in _TEXT_KEYS if key in record), None)
    own = next((record[key] for key in _ID_KEYS if key in record), number)
    if not isinstance(text, str):
        raise InputError(f"{where}: `text` is missing or is not text.", _WAY_OUT)
    if isinstance(own, bool) or not isinstance(own, str | int):
        raise InputError(f"{where}: `id` is neither text nor a number.", _WAY_OUT)
    return Question(str(own).strip(), text)
