"""Counting the papers of a JSON document from its brackets and the names of its fields, without parsing it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from semsearch.readers.fields import field_name
from semsearch.readers.json_elements import LISTS, OF_ONE_PAPER, TEXT_NAMES

_STRING: Final = rb'"(?:[^"\\]|\\.)*+"'
_TOKEN: Final = re.compile(
    rb'(' + _STRING + rb')\s*+:\s*+([\[{])'
    rb'|("[\w .-]{2,40}+")\s*+:'
    rb'|(?:' + _STRING + rb'[\s,\d]*+)++(?![\s:])'
    rb'|' + _STRING + rb'|\[[\s\d,.eE+-]*+\]|([{}\[\]"])', re.DOTALL)
_REST_OF_STRING: Final = re.compile(rb'(?:[^"\\]|\\.)*+"', re.DOTALL)
_ESCAPE_AT_END: Final = re.compile(rb"(?<!\\)(?:\\\\)*+(\\)\Z")
_LONGEST_NAME: Final = 42


@dataclass(slots=True)
class _Open:
    """An array or object that is open: the name it stands under, whether an object has a text of a paper.

    `place` is how many objects are around it and whether it stands in an array.
    """

    is_object: bool
    name: str
    place: tuple[int, bool]
    has_text: bool = False


class JsonPaperCounter:
    """Counts the objects that stand where the outermost objects with a title or abstract stand.

    An object with a list of such objects under a name such as `papers` is none itself; the text in a `content` is that
    of the object around it.
    """

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._objects: Counter[tuple[int, bool]] = Counter()
        self._with_text: set[tuple[int, bool]] = set()
        self._around: set[tuple[int, bool]] = set()
        self._depth = 0
        self._tail = b""
        self._in_string = False

    def feed(self, block: bytes) -> None:
        """Follow the brackets in the next bytes."""
        text = self._tail + block
        position = 0
        if self._in_string:
            found = _REST_OF_STRING.match(text)
            if not found:
                self._tail = b"\\" if _ESCAPE_AT_END.search(text[-4096:]) else b""
                return
            position, self._in_string = found.end(), False
        self._tail = b""
        for token in _TOKEN.finditer(text, position):
            name, container, text_name, mark = token.groups()
            if mark == b'"':
                self._in_string = True
                self._tail = b"\\" if _ESCAPE_AT_END.search(text[-4096:]) else b""
                return
            if token.end() >= len(text) - 1 and not mark and not container:
                self._hold(text, token.start())
                return
            self._take(name, container, text_name, mark)

    def _hold(self, text: bytes, start: int) -> None:
        """Keep a string at the end for the next block, for a colon may follow."""
        self._tail = text[start:]

    def total(self) -> int:
        """Return the number of records."""
        for token in _TOKEN.finditer(self._tail):
            self._take(*token.groups())
        for frame in self._open:
            self._close(frame, frame.has_text)
        places = self._with_text - self._around or self._with_text
        return self._objects[min(places)] if places else 0

    def _take(self, name: bytes | None, container: bytes | None, text_name: bytes | None, mark: bytes | None) -> None:
        if container:
            written = _plain(name)
            self._note(written)
            self._enter(container == b"{", written)
        elif text_name:
            self._note(_plain(text_name))
        elif mark in (b"{", b"["):
            self._enter(mark == b"{", "")
        elif mark:
            self._leave(mark == b"}")

    def _note(self, name: str) -> None:
        if name in TEXT_NAMES and self._open and self._open[-1].is_object:
            self._open[-1].has_text = True

    def _enter(self, is_object: bool, name: str) -> None:
        place = (self._depth, bool(self._open) and not self._open[-1].is_object)
        self._open.append(_Open(is_object, name, place))
        if is_object:
            self._depth += 1
            self._objects[place] += 1

    def _leave(self, is_object: bool) -> None:
        if not self._open or self._open[-1].is_object != is_object:
            return
        frame = self._open.pop()
        self._depth -= is_object
        self._close(frame, frame.has_text)

    def _close(self, frame: _Open, has_text: bool) -> None:
        if not has_text:
            return
        around = self._open[-1] if self._open else None
        if frame.name == "content" and around and around.is_object:
            around.has_text = True
            return
        self._with_text.add(frame.place)
        if around and not around.is_object and around.name in LISTS - OF_ONE_PAPER and len(self._open) > 1:
            self._around.add(self._open[-2].place)


def _plain(name: bytes | None) -> str:
    return field_name(name[1:-1].decode("utf-8", "replace")) if name and len(name) <= _LONGEST_NAME else ""
