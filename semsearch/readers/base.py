"""What a reader takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

from semsearch.paper import Paper


@dataclass(frozen=True, slots=True)
class Located:
    """A paper with the line of its file where its record begins (from 1)."""

    paper: Paper
    line: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that could not be used: where it begins, why, and the beginning of what stands there.

    `reason` is one of a small number of fixed sentences, so that rejects can be counted by cause; what differs from
    record to record goes to `value` (at most 200 characters).
    """

    line: int
    reason: str
    value: str = ""


ReadItem = Located | Rejected

VALUE_CHARACTERS: Final = 200
"""How much of a rejected record is kept."""


class Reading(Iterator[ReadItem]):
    """The items of one file, with what is found about the file while they are read.

    `Format.read` may return one instead of a bare iterator. `encoding` and `detail` are settled when the last item has
    been taken.
    """

    encoding: str = ""
    detail: str = ""

    def __init__(self, items: Callable[[Reading], Iterator[ReadItem]]) -> None:
        self._items = items(self)

    def __next__(self) -> ReadItem:
        return next(self._items)


class RecordCounter(Protocol):
    """Counts the records of a file from its bytes alone, knowing nothing of the parser that reads them."""

    def feed(self, block: bytes) -> None:
        """Take the next bytes of the file, decompressed; UTF-16 comes as UTF-8, a byte order mark is taken off."""
        ...

    def total(self) -> int | None:
        """Return the number of records in all that was fed, None if it cannot be told; called once, at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """One file format: how it is recognised, how it is read, how its records are counted without the parser.

    `looks_like(name, head)` gets the file's name (lower case, compression suffix removed) and up to 64 KiB of its
    decompressed beginning as bytes; it returns how sure it is, 0 (not this) to 100. Evidence in the content counts
    more than the name.
    `read(stream, path)` gets the decompressed bytes and yields one item per record, in the order of the file; it
    never raises for what stands in the file and never loads the whole file where the format can be streamed.
    `version` is raised whenever `read` would give other papers for the same bytes.
    `counter()` gives a counter of records (`semsearch.readers.counting`): what it counts and `read` did not give is
    reported as rejected, so that no parser can drop a record without a word.
    `check(name, head)`, where there is one, raises UnknownFormat if the beginning shows that no record can come of it.
    """

    name: str
    title: str
    looks_like: Callable[[str, bytes], int]
    read: Callable[[BinaryIO, str], Iterator[ReadItem]]
    version: int = 1
    check: Callable[[str, bytes], None] | None = None
    counter: Callable[[], RecordCounter] | None = None
