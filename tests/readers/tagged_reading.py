"""How the tests of tagged formats read a file: through everything that users' files go through."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable
from pathlib import Path

from semsearch.paper import Paper
from semsearch.readers import Format, Located, ReadItem, SourceReader, expand_sources
from semsearch.readers.counting import CountedStream

FRAGMENTS = (
    b'"',
    b"{",
    b"}",
    b"\0",
    b"\xff",
    b"\xfe\xff",
    b"\xe4",
    b"\n",
    b"\n\n\n",
    b"\r",
    b"\t",
    b" " * 300,
    b"<",
    b"&#",
    b"<i>",
    b"TY  - ",
    b"ER  - ",
    b"\nER\n",
    b"\nTY  - JOUR\n",
    b"\nPMID- 1\n",
    b"\nPT J\n",
    b"\n<9>\n",
    b"\n\n\n7. X. 2020;1.\n\n",
    b"\n\n\n8: Y. 2020;1. PMID: 8.\n",
    b"\nTI  - T\n",
    b"\nAB ",
    b"\xef\xbb\xbf",
    b"1" * 300,
    b"A. " * 100,
    b"; " * 100,
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1", "gb18030", "cp1252", "utf-32")


def read_bytes(known: Format, data: bytes, *, complete: bool = True) -> list[ReadItem]:
    """Return the items of a file's bytes, after checking that the independent count is not above theirs.

    Not `complete`: what the parser lost, the count must find.
    """
    stream = CountedStream(io.BytesIO(data), known.counter() if known.counter else None)
    items = list(known.read(stream.as_binary(), "file.txt"))
    stream.drain()
    counted = stream.total()
    assert counted is not None
    assert counted <= len(items) or not complete, (counted, len(items))
    return items


def counted_in(known: Format, data: bytes) -> int | None:
    """Return the independent count of the records of a file's bytes."""
    stream = CountedStream(io.BytesIO(data), known.counter() if known.counter else None)
    stream.drain()
    return stream.total()


def papers_of(items: Iterable[ReadItem]) -> list[Paper]:
    """Return the papers among the items."""
    return [item.paper for item in items if isinstance(item, Located)]


def read_file(path: Path) -> tuple[SourceReader, list[ReadItem]]:
    """Return the items of a file whose format is found by its content, and its reader."""
    reader = SourceReader(expand_sources([path])[0])
    return reader, list(reader)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return `data` with one to five damages: flipped, cut, doubled, interspersed, recoded."""
    for _ in range(chance.randint(1, 5)):
        place = chance.randrange(len(data) + 1)
        end = min(len(data), place + chance.randint(1, 200))
        kind = chance.randrange(6)
        if kind == 0 and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]
        elif kind == 1:
            data = data[:place] + data[end:]
        elif kind == 2:
            data = data[:end] + data[place:end] + data[end:]
        elif kind == 3:
            data = data[:place] + chance.choice(FRAGMENTS) + data[place:]
        elif kind == 4:
            data = data[:place]
        else:
            data = data.decode("utf-8", "replace").encode(chance.choice(ENCODINGS), "replace")
    return data
