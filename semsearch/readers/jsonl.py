"""JSON Lines: one object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.readers.base import VALUE_CHARACTERS, Format, Located, Reading, ReadItem, Rejected
from semsearch.readers.counting import FilledLineCounter
from semsearch.readers.fields import WrongType, has_text_field
from semsearch.readers.json_papers import paper_of_record
from semsearch.readers.text import HEAD_BYTES, Line, TextLines, sniff_text

NOT_JSON: Final = "not valid JSON"
NOT_OBJECT: Final = "JSON, but no object"
TOO_DEEP: Final = "JSON nested too deep"

_DECODER: Final = json.JSONDecoder()
_JSON_SPACE: Final = " \t\n\r"
_LINES_LOOKED_AT: Final = 20
_PAPER_START: Final = re.compile(r'\s*\{.{0,2000}?"(?:title|abstract|text|summary)"\s*:', re.IGNORECASE | re.DOTALL)
"""How a first line that is longer than what is looked at begins."""


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds one JSON object a line."""
    text = sniff_text(head)
    if text is None:
        return 0
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()][:_LINES_LOOKED_AT]
    named = name.endswith((".jsonl", ".ndjson", ".jsonlines", ".jl"))
    if not lines:
        return 50 if named else 0
    records = [record for record in map(_object_in, lines) if record is not None]
    if len(records) * 2 >= len(lines):
        return 95 if any(has_text_field(record) for record in records) else 50 if named or len(records) > 1 else 10
    if len(lines) == 1 and len(head) >= HEAD_BYTES and _PAPER_START.match(lines[0]):
        return 70
    return 50 if named else 0


def _object_in(line: str) -> dict[str, object] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every line that is not blank."""
    lines = TextLines(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        for line in lines:
            if line.problem or (line.text and not line.text.isspace()):
                yield _item(line)
        reading.encoding = lines.encoding

    return Reading(items)


def _item(line: Line) -> ReadItem:
    record = parse(line)
    if isinstance(record, Rejected):
        return record
    try:
        return Located(paper_of_record(record, "jsonl"), line.number)
    except WrongType as problem:
        return Rejected(line.number, str(problem), _shown(problem.value))


def parse(line: Line) -> dict[str, object] | Rejected:
    """Return the object that a line holds, or why it holds none."""
    number, text, problem = line
    if problem:
        return Rejected(number, problem, text[:VALUE_CHARACTERS])
    try:
        record, end = _DECODER.raw_decode(text) if text.startswith("{") else (json.loads(text), len(text))
    except RecursionError:
        return Rejected(number, TOO_DEEP, text[:VALUE_CHARACTERS])
    except ValueError:
        return Rejected(number, NOT_JSON, text[:VALUE_CHARACTERS])
    if end != len(text) and text[end:].strip(_JSON_SPACE):
        return Rejected(number, NOT_JSON, text[:VALUE_CHARACTERS])
    return record if isinstance(record, dict) else Rejected(number, NOT_OBJECT, text[:VALUE_CHARACTERS])


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value[:VALUE_CHARACTERS]
    try:
        return json.dumps(value, ensure_ascii=False)[:VALUE_CHARACTERS]
    except (RecursionError, ValueError):
        return type(value).__name__


FORMAT: Final = Format(name="jsonl", title="JSON Lines", looks_like=looks_like, read=read, version=1,
                       counter=FilledLineCounter)
