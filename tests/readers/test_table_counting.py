"""Rows counted without the reader of tables: right where a table is written by the book, else not at all."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from semsearch.errors import SemsearchError
from semsearch.readers import Rejected, SourceFile, SourceReader, table_counting
from semsearch.readers.source_reader import UNREAD
from semsearch.readers.table_counting import TableCounter
from tests.fuzz_readers import damaged
from tests.fuzz_samples import table

WILD = {"asreview-duplicate_records.csv": 14, "asreview-embase.csv": 6, "asreview-embase_newpage.csv": 6,
        "asreview-generic.csv": 2, "asreview-generic_semicolon.csv": 2, "asreview-missing_values.csv": 4,
        "massaro8-acm.csv": 16, "massaro8-ieee.csv": 13, "mcguinlu-psyArXiv.csv": 250, "pybibx-scopus.csv": 13}


def counted(data: bytes, block_bytes: int = 1 << 16) -> int | None:
    counter = TableCounter()
    for start in range(0, len(data), block_bytes):
        counter.feed(data[start:start + block_bytes])
    return counter.total()


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"id,title\n1,A\n2,B\n", 2),
        (b"id,title\r\n1,A\r\n2,B", 2),
        (b"id,title\r1,A\r2,B\r", 2),
        (b"\n\nid,title\n\n1,A\n\n\n", 1),
        (b"id;title\n1;A, or B\n", 1),
        (b"id\ttitle\n1\tA\n", 1),
        (b"id|title\n1|A\n", 1),
        (b"sep=;\nid;title\n1;A\n", 1),
        (b'id,title\n1,"A ""quoted"" one"\n2,"two\nlines, and\n\nmore"\n3,C\n', 3),
        (b"id,title\n1,A\nid,title\n2,B\n", 2),
        (b'id,title\n1,A\n,\n"",""\n  ,\t\n2,B\n', 2),
        (b"id,title\n1,one 5\" disk\n2,another 3\" disk\n", 2),
        (b"id,title\n", 0),
        ("id,title\n1,\u00e0\n\u00a0,\u00a0\n".encode(), 1),
        (b'id,title\n1,"not closed\n2,B\n', None),
        (b'id,title\n1,"closed" and more\n', None),
        (b"id,title\n1,A\n1,2,3\n", None),
        (b"id,title\n1\n", None),
        (b"title\nA\nB\n", None),
        (b"", None),
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 16])
def test_rows(data: bytes, rows: int | None, block_bytes: int) -> None:
    assert counted(data, block_bytes) == rows


def test_a_cell_longer_than_the_module_allows() -> None:
    before = csv.field_size_limit()
    assert counted(b'id,title\n1,"' + b"long\n" * 60_000 + b'"\n2,B\n') == 2
    assert csv.field_size_limit() == before


def test_a_quotation_mark_that_never_closes_ends_the_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_counting, "_ROW_BYTES", 1000)
    assert counted(b'id,title\n1,"A\n' + b"2,B\n" * 1000 + b'3,C"\n', 100) is None


@pytest.mark.parametrize("seed", range(30))
def test_blocks_do_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    data = table(chance, False).data * 3
    expected = counted(data)
    assert expected
    assert counted(data, chance.randint(1, 300)) == expected


def read_table(path: Path, data: bytes) -> tuple[SourceReader, list[object]]:
    path.write_bytes(data)
    reader = SourceReader(SourceFile(str(path), path.name), "csv")
    return reader, list(reader)


def test_sound_tables_are_counted_as_they_are_read(tmp_path: Path) -> None:
    for seed in range(100):
        reader, items = read_table(tmp_path / "p.csv", table(random.Random(seed), False).data)
        assert reader.counted == len(items)


def test_damaged_tables_raise_no_false_alarm(tmp_path: Path) -> None:
    for seed in range(1000):
        try:
            _, items = read_table(tmp_path / "p.csv", damaged("csv", seed).data)
        except SemsearchError:
            continue
        assert not [item for item in items if isinstance(item, Rejected) and item.reason == UNREAD], seed


def test_utf16_is_counted_too(tmp_path: Path) -> None:
    reader, items = read_table(tmp_path / "p.csv", "id,title\n1,\u201cA\u201d\n2,B\n".encode("utf-16"))
    assert reader.counted == len(items) == 2


def test_a_reader_that_drops_a_row_is_found_out(tmp_path: Path) -> None:
    from dataclasses import replace

    path = tmp_path / "p.csv"
    path.write_bytes(b"id,title\n1,Paper one\n2,Paper two\n3,Paper three\n")
    reader = SourceReader(SourceFile(str(path), path.name))
    whole = reader.format.read
    reader.format = replace(reader.format, read=lambda stream, name: iter(list(whole(stream, name))[::2]))
    assert [item.reason for item in reader if isinstance(item, Rejected)] == [UNREAD]


@pytest.mark.parametrize("name", WILD)
def test_real_tables(name: str, shared_data: Path) -> None:
    path = shared_data / "wild" / "csv" / name
    reader = SourceReader(SourceFile(str(path), name))
    items = list(reader)
    assert reader.counted == len(items) == WILD[name]
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(io.StringIO(file.read()), delimiter=";" if "semicolon" in name else ","))
    assert sum(any(cell.strip() for cell in row) for row in rows) - 1 == WILD[name]
