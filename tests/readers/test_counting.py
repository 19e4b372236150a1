"""Counters count what is there, however the bytes are cut into blocks."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from semsearch.readers import SourceReader
from semsearch.readers.base import Located, RecordCounter, Rejected
from semsearch.readers.counting import CountedStream, FilledLineCounter, PatternCounter
from semsearch.readers.source_reader import UNREAD
from semsearch.readers.sources import SourceFile


class LineCounter:
    r"""Counts the lines that a predicate holds for; lines end with `\n`, `\r\n` or `\r`."""

    def __init__(self, counts: Callable[[bytes], bool]) -> None:
        self._counts = counts
        self._rest = b""
        self._total = 0

    def feed(self, block: bytes) -> None:
        """Count the whole lines so far."""
        lines = (self._rest + block).splitlines(keepends=True)
        # The last line may go on, and a carriage return at the end may be half of a line end.
        self._rest = lines.pop() if lines else b""
        self._total += sum(1 for line in lines if self._counts(line))

    def total(self) -> int:
        """Return the number of lines."""
        return self._total + (1 if self._rest and self._counts(self._rest) else 0)


PIECES = [b"TY  - BOOK\n", b"plain\r\n", b"\r", b"\n\n", b"<rec>", b"<rec id='1'>", b"x" * 299, "é".encode()]


def fed(counter: RecordCounter, data: bytes, chance: random.Random) -> int:
    position = 0
    while position < len(data):
        size = chance.choice([1, 5, 60, 300, 4000])
        counter.feed(data[position:position + size])
        position += size
    return counter.total()


@pytest.mark.parametrize("seed", range(10))
def test_blocks_do_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    data = b"".join(chance.choice(PIECES) for _ in range(2000))
    assert fed(PatternCounter(rb"<rec\b"), data, chance) == len(re.findall(rb"<rec\b", data))
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    counter = LineCounter(lambda line: line.startswith(b"TY  -"))
    assert fed(counter, data, chance) == sum(line.startswith(b"TY  -") for line in lines)


BITS = ["a", '{"x": 1}', " " * 99, "x" * 99,
        "\n", "\r", "\r\n", " ", "\t", "\xa0", "é", "\n\n", "\u2028", "\x0b", "\x85", "\x1c"]


@pytest.mark.parametrize("seed", range(200))
def test_filled_lines(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice(BITS) for _ in range(chance.randint(0, 60)))
    filled = sum(bool(line.strip()) for line in re.split(r"\r\n|\r|\n", text))
    assert fed(FilledLineCounter(), text.encode(), chance) == filled


def test_a_space_that_does_not_break_is_blank_in_every_encoding() -> None:
    for line in ("\xa0\n".encode(), b"\xa0\n"):
        assert fed(FilledLineCounter(), b"a\n" + line, random.Random(0)) == 1


def test_a_pattern_across_two_blocks_counts_once() -> None:
    counter = PatternCounter(rb"<rec>")
    for byte in b"<rec><rec>":
        counter.feed(bytes([byte]))
    assert counter.total() == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_counted_alike(encoding: str) -> None:
    data = "a line\r\n\r\nanother line\r\nand one more".encode(encoding)
    stream = CountedStream(io.BytesIO(data), LineCounter(lambda line: bool(line.strip())))
    assert stream.as_binary().read() == data
    assert stream.total() == 3


def test_what_the_parser_leaves_is_counted_too() -> None:
    stream = CountedStream(io.BytesIO(b"a\nb\nc\n"), LineCounter(bool))
    assert stream.as_binary().read(2) == b"a\n"
    stream.drain()
    assert stream.total() == 3


def test_a_record_that_a_parser_drops_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "papers.jsonl"
    path.write_text('{"title": "One"}\n{"title": "Two"}\n{"title": "Three"}\n', encoding="utf-8")
    reader = SourceReader(SourceFile(str(path), "papers.jsonl"))
    whole = reader.format.read
    from dataclasses import replace

    def forgetful(stream: object, name: str) -> object:
        return iter(list(whole(stream, name))[:1])  # type: ignore[arg-type]

    reader.format = replace(reader.format, read=forgetful)  # type: ignore[arg-type]
    items = list(reader)
    assert [type(item) for item in items] == [Located, Rejected, Rejected]
    assert [item.reason for item in items if isinstance(item, Rejected)] == [UNREAD, UNREAD]
    assert reader.counted == 3
