"""Damaged files for the readers: no crash, no endless loop, no record lost without a word.

As a script: `python tests/fuzz_readers.py --count 10000 --seed 7` tries so many files per format and prints each that
breaks a rule.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import io
import json
import lzma
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from semsearch.errors import SemsearchError
from semsearch.readers import Located, ReadItem, SourceFile, SourceReader
from semsearch.readers.source_reader import DAMAGED

SLOWEST_SECONDS = 20.0
"""A file of a few kilobytes takes milliseconds; only an endless or exploding search takes this long."""

WORDS = "graph network über naïve 图神经网络 модель learning “quoted” a,b c;d 3.5 $x^2$ et al. data\u2028set".split(" ")
COMPRESSORS: list[Callable[[bytes], bytes]] = [
    gzip.compress,
    bz2.compress,
    lzma.compress,
    lambda data: zstandard.ZstdCompressor().compress(data),
]
ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "cp1252", "gb18030", "latin-1", "koi8-r"]
FRAGMENTS = [
    b'"',
    b'""',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\0",
    b"\0\0\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xe2\x80",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b",",
    b";",
    b"\t",
    b"\\",
    b"\\u",
    b"\x1b",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"null",
    b"1e999",
    b"[" * 5000,
    b'{"a":' * 3000,
    b"NaN",
    b"@article{",
    b"TY  - ",
    b"<xml>",
    b"%PDF-",
    b"\xa0",
    b"\xc2\x85",
    b"-----\n",
]


def sentence(chance: random.Random) -> str:
    """Return a sentence of a few words."""
    return " ".join(chance.choices(WORDS, k=chance.randint(3, 25))).capitalize() + "."


def good_jsonl(chance: random.Random) -> bytes:
    """Return a sound JSON Lines file."""
    records = [
        {
            "id": number,
            "title": sentence(chance),
            "abstract": " ".join(sentence(chance) for _ in range(3)),
            "authors": ["Ann Lee", "Bo Ek"],
            "year": 2000 + number,
            "doi": f"10.1000/{number}",
        }
        for number in range(chance.randint(1, 12))
    ]
    ascii_only = chance.random() < 0.5
    return "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records).encode()


def good_csv(chance: random.Random) -> bytes:
    """Return a sound table."""
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, delimiter=chance.choice(",;\t|"), quoting=chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    )
    writer.writerow(["Id", "Title", "Abstract", "Authors", "Year"])
    for number in range(chance.randint(1, 12)):
        writer.writerow(
            [number, sentence(chance), "\n".join(sentence(chance) for _ in range(2)), "Lee, A.; Ek, B.", 2000]
        )
    return text.getvalue().encode()


def good_text(chance: random.Random) -> bytes:
    """Return a sound plain text list."""
    gap = chance.choice(["\n\n", "\n"])
    paragraphs = [" ".join(sentence(chance) for _ in range(4)) for _ in range(chance.randint(1, 12))]
    return gap.join(["ICLR 2025 论文列表", *paragraphs]).encode()


GOOD: dict[str, Callable[[random.Random], bytes]] = {"jsonl": good_jsonl, "csv": good_csv, "text": good_text}


def flip_bytes(data: bytes, chance: random.Random) -> bytes:
    """Replace some bytes by others."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(data: bytes, chance: random.Random) -> bytes:
    """Leave the end away."""
    return data[: chance.randint(0, len(data))]


def cut_out(data: bytes, chance: random.Random) -> bytes:
    """Leave a piece of the middle away."""
    start = chance.randint(0, len(data))
    return data[:start] + data[start + chance.randint(0, 200) :]


def double(data: bytes, chance: random.Random) -> bytes:
    """Repeat a piece."""
    start = chance.randint(0, len(data))
    piece = data[start : start + chance.randint(1, 500)]
    return data[:start] + piece * chance.randint(2, 4) + data[start:]


def insert(data: bytes, chance: random.Random) -> bytes:
    """Put a fragment that means something to a parser into some places."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(data))
        data = data[:start] + chance.choice(FRAGMENTS) + data[start:]
    return data


def join_lines(data: bytes, chance: random.Random) -> bytes:
    """Take some line ends away."""
    lines = data.split(b"\n")
    ends = [b"\n" if chance.random() < 0.7 else b"" for _ in lines]
    return b"".join(line + end for line, end in zip(lines, ends, strict=True))


def change_line_ends(data: bytes, chance: random.Random) -> bytes:
    """Write other line ends."""
    return data.replace(b"\n", chance.choice([b"\r\n", b"\r", b"\r\r\n", b"\n\n"]))


def change_encoding(data: bytes, chance: random.Random) -> bytes:
    """Write the text, or one line of it, in another encoding."""
    encoding = chance.choice(ENCODINGS)
    if chance.random() < 0.5:
        return data.decode("utf-8", "replace").encode(encoding, "replace")
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    lines[place] = lines[place].decode("utf-8", "replace").encode(encoding, "replace")
    return b"\n".join(lines)


MUTATIONS = [flip_bytes, cut, cut_out, double, insert, insert, join_lines, change_line_ends, change_encoding]


def damaged(kind: str, seed: int) -> tuple[bytes, bool]:
    """Return a damaged file of a format, and whether it was compressed."""
    chance = random.Random(seed)
    data = GOOD[kind](chance)
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(MUTATIONS)(data, chance)
    if chance.random() < 0.25:
        data = chance.choice(COMPRESSORS)(data)
        return chance.choice([cut, flip_bytes, cut_out, double])(data, chance), True
    return data, False


def non_blank_lines(data: bytes, encoding: str) -> set[int]:
    """Return how many lines with anything in them a file has, without the readers' own code.

    Where `encoding` leaves the byte order open and no mark tells it, both counts are given.
    """
    if encoding != "utf-16":
        count = 0
        for line in re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf")):
            for candidate in ("utf-8", "cp1252", "latin-1"):
                try:
                    text = line.decode(candidate)
                    break
                except UnicodeDecodeError:
                    continue
            count += bool(text.strip())
        return {count}
    counts = set()
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for candidate in ("utf-16",) if marked else ("utf-16-le", "utf-16-be"):
        text = data.decode(candidate, "replace")
        counts.add(sum(bool(line.strip()) for line in re.split(r"\r\n|\r|\n", text)))
    return counts


@dataclass(frozen=True)
class Broken:
    """A rule that a file broke."""

    kind: str
    seed: int
    rule: str


def broken_rules(kind: str, seed: int, folder: Path) -> Iterator[Broken]:
    """Read one damaged file, once with its format found and once forced, and yield the rules that do not hold."""
    data, compressed = damaged(kind, seed)
    path = folder / f"papers.{'txt' if kind == 'text' else kind}"
    path.write_bytes(data)
    for forced in (None, kind):
        begun = time.monotonic()
        try:
            reader = SourceReader(SourceFile(str(path), path.name), forced)
            items = list(reader)
        except SemsearchError:
            continue
        except Exception as error:
            yield Broken(kind, seed, f"{type(error).__name__}: {error}")
            continue
        if time.monotonic() - begun > SLOWEST_SECONDS:
            yield Broken(kind, seed, "too slow")
        yield from (Broken(kind, seed, rule) for rule in _broken_by(items))
        if forced == "jsonl" and not compressed:
            lines = non_blank_lines(data, reader.encoding)
            if len(items) not in lines:
                yield Broken(kind, seed, f"{len(items)} items from {lines} lines")


def _broken_by(items: list[ReadItem]) -> Iterator[str]:
    numbers = [item.line for item in items]
    if numbers != sorted(numbers) or any(number < 1 for number in numbers):
        yield "lines are not in order"
    if sum(not isinstance(item, Located) and item.reason == DAMAGED for item in items) > 1:
        yield "more than one reject for the damage"
    for item in items:
        if not isinstance(item, Located):
            if not item.reason or len(item.value) > 200:
                yield f"reject without a reason or too long: {item}"
            continue
        paper = item.paper
        if not paper.id or not (paper.title or paper.abstract):
            yield f"empty paper: {paper}"
        for text in (paper.id, paper.title, paper.abstract, paper.venue, *paper.authors, *paper.categories):
            if re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", text) or text != " ".join(text.split()):
                yield f"text not cleaned: {text!r}"


def main() -> int:
    """Try many files and print what broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="files per format")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in GOOD:
            for seed in range(options.seed, options.seed + options.count):
                for found in broken_rules(kind, seed, Path(folder)):
                    broken += 1
                    print(found)
            print(f"{kind}: {options.count} files tried, {broken} rules broken so far")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
