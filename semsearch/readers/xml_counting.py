"""Counting the records of an XML document by their tags, without parsing it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_OVERLAP_BYTES: Final = 256


class ElementCounter:
    """Counts elements called by one of `names`; where there is none, those called by one of `inner`.

    Of start and end tags those count of which there are more: a record that lost one of its tags is one all the same.
    Tags that are escaped, as a web page shows them, count too.
    """

    def __init__(self, names: Sequence[str], inner: Sequence[str] = ()) -> None:
        every = "|".join((*names, *inner))
        self._tag = re.compile(rf"(?:<|&lt;)(/?)(?:[\w.-]+:)?({every})(?=[\s/>]|&gt;)".encode())
        self._inner = frozenset(name.encode() for name in inner)
        self._tags: Counter[tuple[bool, bytes]] = Counter()
        self._tail = b""

    def feed(self, block: bytes) -> None:
        """Count the tags in the next bytes."""
        text = self._tail + block
        end = 0
        for found in self._tag.finditer(text):
            end = found.end()
            closing, name = found.groups()
            self._tags[name in self._inner, closing] += 1
        self._tail = text[max(end, len(text) - _OVERLAP_BYTES) :]

    def total(self) -> int:
        """Return the number of records."""
        for is_inner in (False, True):
            if number := max(self._tags[is_inner, b""], self._tags[is_inner, b"/"]):
                return number
        return 0
