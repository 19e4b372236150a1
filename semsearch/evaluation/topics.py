"""Questions of a test collection (topics): JSON Lines, TSV, or TREC's topic files, found by looking."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from semsearch.errors import InputError
from semsearch.evaluation.lines import bad_line, read_lines, shown

_ID_KEYS: Final = ("_id", "id", "query_id", "qid")
_TEXT_KEYS: Final = ("text", "query", "question", "title")
_PAPER_KEYS: Final = ("paper_id", "doc_id")
_COLUMN_NAMES: Final = frozenset({*_ID_KEYS, "query-id"})
_TOPIC: Final = re.compile(r"<top>(.*?)(?=</top>|<top>|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER: Final = re.compile(r"<num>\s*(?:Number:)?\s*([^<\n]*)", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]*)", re.IGNORECASE)
_WAY_OUT: Final = ('Questions come as JSON objects {"_id": "...", "text": "..."}, as id<TAB>text, or in a TREC topic '
                   "file with <top>, <num> and <title>.")


@dataclass(frozen=True, slots=True)
class Topic:
    """A question of a test collection. `paper`: the id of the paper it asks about, where the file names one."""

    id: str
    text: str
    paper: str = ""


def read_topics(path: Path) -> list[Topic]:
    """Return the questions of a file, in its order.

    Raises:
        SourceNotFound, InputError: the file or a line of it cannot be read, or an id comes twice.
    """
    lines = list(read_lines(path))
    if not lines:
        raise InputError(f"{path} holds no question.", _WAY_OUT)
    begin = lines[0][1].lstrip()
    if begin.startswith("<"):
        numbered = list(_of_tagged(path, lines))
    elif begin.startswith("{"):
        numbered = [(number, _of_object(path, number, line)) for number, line in lines]
    else:
        named = "\t" in begin and begin.split("\t")[0].strip().lower() in _COLUMN_NAMES
        numbered = [(number, _of_cells(path, number, line)) for number, line in lines[named:]]
    seen: set[str] = set()
    for number, topic in numbered:
        if not topic.id or topic.id in seen:
            what = f"the id {shown(topic.id)} was given before" if topic.id else "the question has no id"
            raise bad_line(path, number, what, "Give each question an id of its own.")
        if not topic.text and not topic.paper:
            raise bad_line(path, number, f"the question {shown(topic.id)} has no text", _WAY_OUT)
        seen.add(topic.id)
    return [topic for _, topic in numbered]


def _of_object(path: Path, number: int, line: str) -> Topic:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise bad_line(path, number, f"not a JSON object: {shown(line)}", _WAY_OUT)

    def value(keys: tuple[str, ...]) -> str:
        key = next((key for key in keys if record.get(key) is not None), None)
        if key is None:
            return ""
        found = record[key]
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise bad_line(path, number, f"`{key}` is neither text nor a number: {shown(json.dumps(found))}", _WAY_OUT)
        return " ".join(str(found).split())

    return Topic(value(_ID_KEYS), value(_TEXT_KEYS), value(_PAPER_KEYS))


def _of_cells(path: Path, number: int, line: str) -> Topic:
    if "\t" not in line:
        raise bad_line(path, number, f"no tab between an id and a text: {shown(line)}", _WAY_OUT)
    own, text = line.split("\t", 1)
    return Topic(own.strip(), " ".join(text.split()))


def _of_tagged(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, Topic]]:
    content = "\n".join(line for _, line in lines)
    found = False
    for match in _TOPIC.finditer(content):
        found = True
        number = lines[content.count("\n", 0, match.start())][0]
        own, title = _NUMBER.search(match[1]), _TITLE.search(match[1])
        if own is None or title is None:
            raise bad_line(path, number, "a topic without <num> or <title>", _WAY_OUT)
        yield number, Topic(own[1].strip(), " ".join(title[1].split()))
    if not found:
        raise InputError(f"{path} begins with a tag and holds no <top>.", _WAY_OUT)
