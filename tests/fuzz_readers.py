"""Damaged files for the readers: no crash, no endless loop, no record lost without a word.

As a script: `python tests/fuzz_readers.py --count 10000 --seed 7 --format ris` tries so many files of a format, of
every one where none is named, and prints each that breaks a rule.
"""

from __future__ import annotations

import argparse
import bz2
import faulthandler
import gzip
import io
import lzma
import random
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard
from fuzz_samples import KINDS

from semsearch.errors import SemsearchError
from semsearch.readers import Located, ReadItem, SourceReader, expand_sources
from semsearch.readers.source_reader import DAMAGED

SLOWEST_SECONDS = 20.0
"""A file of a few kilobytes takes milliseconds; only an endless or exploding search takes this long."""
ENDLESS_SECONDS = 300.0
PROGRESS_SECONDS = 60.0


def zipped(data: bytes) -> bytes:
    """Return a ZIP archive with a file in it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr(zipfile.ZipInfo("folder/papers"), data, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


COMPRESSORS: list[tuple[str, Callable[[bytes], bytes]]] = [
    (".gz", lambda data: gzip.compress(data, mtime=0)),
    (".bz2", bz2.compress),
    (".xz", lzma.compress),
    (".zst", lambda data: zstandard.ZstdCompressor().compress(data)),
    (".zip", zipped),
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
    b" " * 300,
    b"1" * 300,
    b"; " * 100,
    b"@comment{",
    b"@string{",
    b" and ",
    b" # ",
    b"crossref = {key1},",
    b"\nTY  - JOUR\n",
    b"\nER  - \n",
    b"\nER\n",
    b"\nPMID- 1\n",
    b"\nPT J\n",
    b"\n<9>\n",
    b"\n%0 Book\n",
    b"%X ",
    b"\n\n\n7. X. 2020;1.\n\n",
    b"\n\n\n8: Y. 2020;1. PMID: 8.\n",
    b"<",
    b">",
    b"</",
    b"<!--",
    b"<![CDATA[",
    b"]]>",
    b'<!DOCTYPE a [<!ENTITY b "c">]>',
    b"&b;",
    b"&#0;",
    b"&#",
    b"</record>",
    b"</PubmedArticle>",
    b"</article>",
    b"<records>",
    b'"title":',
    b'"content":{"title":',
    b"]}",
    b"PAR1",
]


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


@dataclass(frozen=True)
class Damaged:
    """A damaged file under the name that it is read by, and whether it was compressed."""

    name: str
    data: bytes
    compressed: bool


def damaged(kind: str, seed: int) -> Damaged:
    """Return a damaged file of a format; it follows from the seed."""
    chance = random.Random(f"{kind} {seed}")
    name = chance.choice(KINDS[kind].names)
    data = KINDS[kind].make(chance, chance.random() < 0.3).data
    if chance.random() < 0.1:  # joined with a file of another format
        data += KINDS[chance.choice(list(KINDS))].make(chance, False).data
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(MUTATIONS)(data, chance)
    if chance.random() < 0.2:
        suffix, compress = chance.choice(COMPRESSORS)
        data = chance.choice([cut, flip_bytes, cut_out, double])(compress(data), chance)
        return Damaged(name + chance.choice([suffix, suffix, ""]), data, True)
    return Damaged(name + chance.choice(["", "", "", "", ".gz"]), data, False)


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
    file = damaged(kind, seed)
    path = folder / file.name
    path.write_bytes(file.data)
    try:
        for forced in (None, kind):
            yield from (Broken(kind, seed, rule) for rule in _broken_when_read(path, file, forced))
    finally:
        path.unlink()


def _broken_when_read(path: Path, file: Damaged, forced: str | None) -> Iterator[str]:
    begun = time.monotonic()
    for source in expand_sources([path]):
        try:
            reader = SourceReader(source, forced)
            items = list(reader)
        except SemsearchError:
            continue
        except Exception as error:
            yield f"{type(error).__name__}: {error}"
            continue
        if len(items) < (reader.counted or 0):
            yield f"{len(items)} items, but {reader.counted} records counted"
        yield from _broken_by(items)
        if file.compressed:
            continue
        if reader.format.name != "parquet":  # whose lines are rows
            yield from _broken_lines(items, file.data)
        if reader.format.name == "jsonl":
            lines = non_blank_lines(file.data, reader.encoding)
            if len(items) not in lines:
                yield f"{len(items)} items from {lines} lines"
    if time.monotonic() - begun > SLOWEST_SECONDS:
        yield "too slow"


def _broken_lines(items: list[ReadItem], data: bytes) -> Iterator[str]:
    most = 1 + data.count(b"\n") + data.count(b"\r")
    last = max((item.line for item in items), default=1)
    if last > most:
        yield f"line {last} of {most}"


def _broken_by(items: list[ReadItem]) -> Iterator[str]:
    numbers = [item.line for item in items]
    if numbers != sorted(numbers) or any(number < 1 for number in numbers):
        yield f"lines are not in order: {numbers}"
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
        if paper.date and (paper.year is None or not paper.date.startswith(f"{paper.year:04d}")):
            yield f"date {paper.date} of the year {paper.year}"
        if any(not kind or not value for kind, value in paper.identifiers):
            yield f"empty identifier: {paper.identifiers}"
        short = (paper.id, paper.venue, paper.url, paper.doi, paper.language, *paper.authors, *paper.categories)
        for text in (paper.title, paper.abstract, *short):
            if re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", text) or text != " ".join(text.split()):
                yield f"text not cleaned: {text!r}"


def fuzz(kind: str, seeds: range) -> int:
    """Try damaged files of a format, print what broke and return how many rules did."""
    broken, begun, told = 0, time.monotonic(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for done, seed in enumerate(seeds):
            faulthandler.dump_traceback_later(ENDLESS_SECONDS, exit=True)
            for found in broken_rules(kind, seed, Path(folder)):
                broken += 1
                print(found, flush=True)
            if time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                print(f"{kind}: {done + 1:,} of {len(seeds):,}", file=sys.stderr, flush=True)
    faulthandler.cancel_dump_traceback_later()
    seconds = time.monotonic() - begun
    print(f"{kind}: {len(seeds):,} files tried in {seconds:.0f} s, {broken:,} rules broken", flush=True)
    return broken


def main() -> int:
    """Try many files and print what broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="files per format")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--format", action="append", choices=sorted(KINDS), help="a format; may be repeated")
    options = parser.parse_args()
    kinds = options.format or list(KINDS)
    broken = sum(fuzz(kind, range(options.seed, options.seed + options.count)) for kind in kinds)
    print(f"{len(kinds)} formats, {options.count:,} files each: {broken:,} rules broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
