"""What the readers of JSON documents share: how one is told, how it is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from semsearch.paper import Paper, collapse_white_space
from semsearch.readers.base import Located, Reading, ReadItem, Rejected
from semsearch.readers.fields import WrongType
from semsearch.readers.json_elements import JsonElement, JsonElements
from semsearch.readers.text import sniff_text
from semsearch.readers.window import TextWindow, beginning

NOT_OBJECT: Final = "JSON, but no object"


def json_head(head: bytes) -> str:
    """Return the beginning of a JSON document, `""` where a file is none or has one record a line."""
    text = (sniff_text(head) or "").lstrip("\ufeff \t\r\n")
    if not text.startswith(("{", "[")):
        return ""
    first, end, rest = text.partition("\n")
    if end and rest.lstrip().startswith("{") and text.startswith("{"):
        try:
            return text if _is_envelope(json.loads(first)) else ""
        except (ValueError, RecursionError):
            return text
    return text


def _is_envelope(value: object) -> bool:
    """Tell whether an object has a list of objects and no title."""
    return (
        isinstance(value, dict)
        and not any(key in value for key in ("title", "display_name", "content"))
        and any(
            isinstance(part, list) and part and isinstance(part[0], dict)
            for outer in (value, value.get("message"))
            if isinstance(outer, dict)
            for part in outer.values()
        )
    )


def read_json(stream: BinaryIO, paper_of: Callable[[dict[str, object]], Paper]) -> Iterator[ReadItem]:
    """Yield one item for every record; `paper_of` raises WrongType with the reason where one cannot be used."""
    window = TextWindow(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        for element in JsonElements(window):
            yield _item(element, paper_of)
        reading.encoding = window.encoding

    return Reading(items)


def _item(element: JsonElement, paper_of: Callable[[dict[str, object]], Paper]) -> ReadItem:
    if element.problem:
        return Rejected(element.line, element.problem, beginning(element.text))
    record = element.value
    if not isinstance(record, dict):
        return Rejected(element.line, NOT_OBJECT, beginning(element.text))
    if element.key and not any(name in record for name in ("id", "_id", "ID")):
        record = {"id": element.key, **record}
    try:
        return Located(paper_of(record), element.line)
    except WrongType as problem:
        return Rejected(element.line, str(problem), beginning(str(problem.value) or element.text))
    except RecursionError:
        return Rejected(element.line, "JSON nested too deep", beginning(element.text))


def text_in(value: object) -> str:
    """Return a text, or the first text of a list, white space as it is; `""` for all else."""
    if isinstance(value, list):
        value = next((part for part in value if isinstance(part, str) and part.strip()), "")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def part_of(value: object, *path: str) -> object:
    """Return what stands at the end of a path of names, None where a step is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def texts_in(value: object, name: str = "") -> list[str]:
    """Return the texts of a list, or those called `name` in its objects."""
    if not isinstance(value, list):
        return []
    found = [part_of(part, name) if name and isinstance(part, dict) else part for part in value]
    return [text for part in found if isinstance(part, str) and (text := collapse_white_space(part))]
