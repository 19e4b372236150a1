"""Counting the papers of a JSON document from its brackets and the names of its fields, without parsing it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from semsearch.readers.fields import field_name
from semsearch.readers.json_elements import LISTS, OF_ONE_PAPER, TEXT_NAMES

_STRING: Final = rb'"(?:[^"\\\n]|\\.)*+"'
"""A string does not go on in the next line, so that a mark too many or too few costs one line."""
_PLAIN: Final = rb'(?:[^"\[\]{}]++|' + _STRING + rb")"
_TOKEN: Final = re.compile(
    rb"(" + _STRING + rb')\s*+:\s*+([\[{])|("[\w .-]{2,40}+")\s*+:|' + _STRING + rb'|([{}\[\]"])', re.DOTALL
)
_INNER_TOKEN: Final = re.compile(_PLAIN + rb"++|[\[{]" + _PLAIN + rb'*+[\]}]|([{}\[\]"])', re.DOTALL)
"""What is met inside of a record: what opens no bracket, a whole array or object without others in it, a bracket."""
_REST_OF_STRING: Final = re.compile(rb'(?:[^"\\\n]|\\.)*+["\n]', re.DOTALL)
_HELD_BYTES: Final = 64
"""No name that tells anything is longer, nor is the space before its colon."""
_LONGEST_NAME: Final = 42


@dataclass(slots=True)
class _Open:
    """An array or object that is open: the name it stands under, whether an object has a text of a paper.

    `text` is the name of its first text; `place` is how many objects are around it and whether it stands in an array.
    """

    is_object: bool
    name: str
    place: tuple[int, bool]
    has_text: bool = False
    text: str = ""


class JsonPaperCounter:
    """Counts the objects that stand where the outermost objects with a title or abstract stand.

    The second title of one object is that of another one whose beginning was lost. An object with a list of such
    objects under a name such as `papers` is none itself; the text in a `content` is that of the object around it.
    """

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._objects: Counter[tuple[int, bool]] = Counter()
        self._with_text: set[tuple[int, bool]] = set()
        self._around: set[tuple[int, bool]] = set()
        self._depth = 0
        self._tail = b""
        self._in_string = False
        self._ended = False
        self._inner = 0  # brackets open inside of a record, where nothing is counted any more

    def feed(self, block: bytes) -> None:
        """Follow the brackets in the next bytes."""
        text = self._tail + block
        position = 0
        self._tail = b""
        if self._in_string:
            found = _REST_OF_STRING.match(text)
            if not found:
                self._tail = _escape_at_end(text)
                return
            position, self._in_string = found.end(), False
        while position < len(text) and not self._tail and not self._in_string:
            position = self._inside(text, position) if self._inner else self._outside(text, position)

    def _outside(self, text: bytes, position: int) -> int:
        """Follow tokens until one opens what lies inside of a record; return the place behind the last of them."""
        for token in _TOKEN.finditer(text, position):
            name, container, text_name, mark = token.groups()
            position = token.end()
            near_end = not self._ended and len(text) - position <= _HELD_BYTES
            if near_end and (mark == b'"' or not (mark or container)):
                self._tail = text[token.start() :]  # a name may be cut, or its colon may follow in the next block
                return len(text)
            if mark == b'"':
                return self._pass_line(text, position)
            self._take(name, container, text_name, mark)
            if self._inner:
                return position
        return len(text)

    def _inside(self, text: bytes, position: int) -> int:
        """Follow the brackets inside of a record until they are closed; return the place behind the last of them."""
        for token in _INNER_TOKEN.finditer(text, position):
            mark = token.group(1)
            position = token.end()
            if mark == b'"':
                return self._pass_line(text, position)
            if mark:
                self._inner += 1 if mark in b"[{" else -1
                if not self._inner:
                    self._leave(mark == b"}")
                    return position
        return len(text)

    def _pass_line(self, text: bytes, position: int) -> int:
        """Return where the line ends that a mark stands in which no other closes; it may go on in the next block."""
        end = text.find(b"\n", position)
        if end >= 0:
            return end + 1
        self._in_string = True
        self._tail = _escape_at_end(text[position:])
        return len(text)

    def total(self) -> int:
        """Return the number of records."""
        self._ended = True
        self.feed(b"")
        while self._open:
            self._close(self._open.pop())
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
        if name not in TEXT_NAMES or not self._open or not self._open[-1].is_object:
            return
        frame = self._open[-1]
        frame.has_text = True
        self._objects[frame.place] += name == frame.text
        frame.text = frame.text or name

    def _enter(self, is_object: bool, name: str) -> None:
        place = (self._depth, bool(self._open) and not self._open[-1].is_object)
        self._open.append(_Open(is_object, name, place))
        if is_object:
            self._depth += 1
            self._objects[place] += 1
        if self._with_text and place[0] > min(self._with_text)[0]:
            self._inner = 1

    def _leave(self, is_object: bool) -> None:
        if not self._open or self._open[-1].is_object != is_object:
            return
        frame = self._open.pop()
        self._depth -= is_object
        self._close(frame)

    def _close(self, frame: _Open) -> None:
        if not frame.has_text:
            return
        around = self._open[-1] if self._open else None
        if frame.name == "content" and around and around.is_object:
            around.has_text = True
            return
        self._with_text.add(frame.place)
        if around and not around.is_object and around.name in LISTS - OF_ONE_PAPER and len(self._open) > 1:
            self._around.add(self._open[-2].place)


def _escape_at_end(text: bytes) -> bytes:
    """Return the backslash at the end of a piece of a string that escapes what comes in the next block."""
    bare = len(text.rstrip(b"\\"))
    return b"\\" if (len(text) - bare) % 2 else b""


def _plain(name: bytes | None) -> str:
    return field_name(name[1:-1].decode("utf-8", "replace")) if name and len(name) <= _LONGEST_NAME else ""
