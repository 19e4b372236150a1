"""JSON documents to records, one after another: arrays of papers, answers of web services with a list in them.

`json.JSONDecoder.raw_decode` takes one element after another out of a window on the text. On answers of OpenAlex it is
faster than `ijson` (158 against 137 MB/s), and it goes on behind a broken element, which no streaming library does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from semsearch.readers.fields import ALIASES, field_name
from semsearch.readers.json_recovery import Recovery
from semsearch.readers.text import UNDECODABLE
from semsearch.readers.window import RECORD_LIMIT, TOO_LONG, TextWindow

NOT_JSON: Final = "not valid JSON"
TOO_DEEP: Final = "JSON nested too deep"

LISTS: Final = frozenset(
    {
        "results",
        "items",
        "data",
        "papers",
        "works",
        "recommendedpapers",
        "notes",
        "hits",
        "records",
        "documents",
        "docs",
        "entries",
        "publications",
        "articles",
        "submissions",
        "references",
        "bibliography",
    }
)
"""Names of the list of records in an answer or an export."""
ENVELOPES: Final = frozenset({"message", "response", "data", "result", "hits", "searchresults", "payload"})
"""Names of objects that only wrap that list."""
OF_ONE_PAPER: Final = frozenset({"references", "citations", "authors", "author", "reference", "editor", "authorships"})
"""Lists that a single paper has too."""
TEXT_NAMES: Final = frozenset(ALIASES["title"]) | {"abstract", "abstracttext", "paperabstract", "abstractinvertedindex"}
"""Fields that only papers have, unlike `summary` or `description`."""

_BETWEEN: Final = re.compile(r"[\s,\ufeff]*")
_KEY: Final = re.compile(r'"((?:[^"\\]|\\.){0,1000}+)"\s*:', re.DOTALL)
_KEY_CHARACTERS: Final = 8192
_NEAR_END: Final = 16
"""An error this near to the end of what has been read may come from the cut."""


@dataclass(frozen=True, slots=True)
class JsonElement:
    """A value of a document, the line it begins on, the beginning of its text and, if it is a member, its name.

    Where `problem` is set there is no value.
    """

    line: int
    text: str
    value: object = None
    key: str = ""
    problem: str = ""


@dataclass(slots=True)
class _Members:
    """What was found so far in an object: `values` are the members that are no records."""

    values: dict[str, object] = field(default_factory=dict)
    found: bool = False
    are_records: bool = False
    cut: bool = False

    def record(self) -> dict[str, object]:
        """Return the one record that the object is or wraps."""
        if not is_record(self.values):
            for name, value in self.values.items():
                if field_name(name) in ENVELOPES and isinstance(value, dict) and is_record(value):
                    return value
        return self.values


class JsonElements:
    """The records of a JSON document, or of several in one file, to be iterated once.

    A document is an array of records; an object with a list of records in it, known by its name or by its first
    element, also one level down; an object whose members are records; or one record.
    """

    def __init__(self, window: TextWindow) -> None:
        self._window = window
        self._decoder = json.JSONDecoder(strict=False)
        self._recovery = Recovery(window)

    def __iter__(self) -> Iterator[JsonElement]:
        while opening := self._peek():
            if opening == "[":
                yield from self._array()
            elif opening == "{":
                yield from self._document()
            elif opening in "]}":
                self._window.drop(1)
            else:
                yield self._value()

    def _peek(self) -> str:
        """Pass white space and commas; return the next character, `""` at the end."""
        window = self._window
        while True:
            found = _BETWEEN.match(window.text, window.start)
            if found and found.end() > window.start:
                window.drop(found.end() - window.start)
            if len(window):
                return window.text[window.start]
            if not window.extend():
                return ""

    def _array(self) -> Iterator[JsonElement]:
        """Yield the elements of the array that comes next; those of arrays in it count as its own."""
        self._window.drop(1)
        depth = 1
        while depth and (opening := self._peek()):
            if opening in "[]":
                depth += 1 if opening == "[" else -1
                self._window.drop(1)
            elif opening == "}":
                yield JsonElement(self._window.line, self._recovery.beginning(), problem=NOT_JSON)
                while self._peek() == "}":
                    self._window.drop(1)
            else:
                yield self._value()

    def _document(self) -> Iterator[JsonElement]:
        """Yield the records of the object that comes next."""
        line, text = self._window.line, self._recovery.beginning()
        signature = self._recovery.signature()
        members = _Members()
        yield from self._members(members, is_outer=True)
        if not members.found:
            if is_record(members.values):
                self._recovery.learn(signature)
            yield (
                JsonElement(line, text, problem=NOT_JSON) if members.cut else JsonElement(line, text, members.record())
            )

    def _members(self, members: _Members, is_outer: bool) -> Iterator[JsonElement]:
        self._window.drop(1)
        while (opening := self._peek()) and opening != "}":
            if opening == "{":  # where a broken member was passed
                members.found = True
                yield self._value()
                continue
            key = self._key()
            if key is None:
                members.found = True
                yield self._broken(NOT_JSON)
                return
            yield from self._member(key, members, is_outer)
        self._window.drop(1)
        members.cut = not opening

    def _member(self, key: str, members: _Members, is_outer: bool) -> Iterator[JsonElement]:
        opening = self._peek()
        name = field_name(key)
        if opening == "[" and self._is_list(name, members):
            members.found = True
            yield from self._array()
        elif opening == "{" and is_outer and name in ENVELOPES:
            inner = _Members()
            yield from self._members(inner, is_outer=False)
            members.found = members.found or inner.found
            members.cut = inner.cut
            members.values[key] = inner.values
        else:
            element = replace(self._value(), key=key)
            is_first = not members.values and not members.found
            if element.problem or members.are_records or (is_first and is_record(element.value)):
                members.are_records = members.are_records or not element.problem
                members.found = True
                yield element
            elif not members.found:
                members.values[key] = element.value

    def _is_list(self, name: str, members: _Members) -> bool:
        """Tell whether the array that comes next is one of records."""
        if name in OF_ONE_PAPER and members.values:
            return False
        first = self._first_of_array()
        if not isinstance(first, dict):
            return name in LISTS and first is None and not is_record(members.values)
        return (name in LISTS and not is_record(members.values)) or (
            is_record(first) and (name in LISTS or not is_record(members.values))
        )

    def _first_of_array(self) -> object:
        """Return the first element of the array that comes next, None where there is none or it is broken."""
        window = self._window
        offset = 1
        while True:
            found = _BETWEEN.match(window.text, window.start + offset)
            offset = found.end() - window.start if found else offset
            if offset < len(window) or not window.extend():
                break
        value, _, problem = self._decode(offset) if offset < len(window) else (None, 0, NOT_JSON)
        return None if problem else value

    def _key(self) -> str | None:
        """Pass the name of a member and its colon; return the name, None where there is none."""
        window = self._window
        found = _KEY.match(window.text, window.start)
        while not found and len(window) < _KEY_CHARACTERS and window.extend():
            found = _KEY.match(window.text, window.start)
        if not found:
            return None
        window.drop(found.end() - window.start)
        try:
            return str(json.loads(f'"{found.group(1)}"', strict=False))
        except ValueError:
            return found.group(1)

    def _value(self) -> JsonElement:
        """Return the value that comes next and pass it; a broken one is passed to where the next record begins."""
        window = self._window
        value, size, problem = self._decode(0)
        if problem:
            return self._broken(problem)
        if is_record(value):
            self._recovery.learn(self._recovery.signature())
        line, text = window.line, self._recovery.beginning()
        piece = window.text[window.start : window.start + size]
        decoded = window.decoded(piece)
        window.drop(size)
        if decoded is None:
            return JsonElement(line, text, problem=UNDECODABLE)
        if decoded is not piece:
            try:
                value = json.loads(decoded, strict=False)
            except (ValueError, RecursionError):
                return JsonElement(line, text, problem=NOT_JSON)
        return JsonElement(line, text, value)

    def _decode(self, offset: int) -> tuple[object, int, str]:
        """Return the value at an offset, its length, and what is wrong with it if anything is."""
        window = self._window
        while True:
            try:
                value, end = self._decoder.raw_decode(window.text, window.start + offset)
            except RecursionError:
                return None, 0, TOO_DEEP
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(window.text) - _NEAR_END
                if not cut:
                    return None, 0, NOT_JSON
                if len(window) > RECORD_LIMIT:
                    return None, 0, TOO_LONG
                if not window.extend():
                    return None, 0, NOT_JSON
            except ValueError:
                return None, 0, NOT_JSON
            else:
                # A number at the end of what has been read may go on.
                if end < len(window.text) or window.text[end - 1] in '}]"' or not window.extend():
                    return value, end - window.start - offset, ""

    def _broken(self, problem: str) -> JsonElement:
        line, text = self._window.line, self._recovery.beginning()
        if problem == TOO_DEEP:
            self._recovery.skip_deep()
        else:
            self._recovery.skip()
        return JsonElement(line, text, problem=problem)


def is_record(value: object) -> bool:
    """Tell whether a value has a field that only papers have, itself or in its `content`."""
    if not isinstance(value, dict):
        return False
    content = value.get("content")
    return any(field_name(key) in TEXT_NAMES for key in value) or (
        isinstance(content, dict) and any(field_name(key) in TEXT_NAMES for key in content)
    )
