"""Parquet files: columns to papers, rows counted, damage survived."""

from __future__ import annotations

import builtins
import datetime
import decimal
import gzip
import io
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semsearch.errors import MissingExtra, SemsearchError
from semsearch.paper import Paper
from semsearch.readers import Located, Rejected, SourceFile, SourceReader, expand_sources, parquet
from semsearch.reading import read_library

RECORDS: list[dict[str, Any]] = [
    {"Paper_ID": f"p{n}", "title": f"Paper number {n}", "abstract": f"We count to {n}.", "year": 2000 + n % 20,
     "authors": ["Ann Lee", "Bo Ek"]}
    for n in range(2000)
]


def parquet_of(table: pa.Table | list[dict[str, Any]], **options: Any) -> bytes:
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(table) if isinstance(table, list) else table, data, **options)
    return data.getvalue()


def read_bytes(folder: Path, data: bytes, name: str = "papers.parquet") -> tuple[SourceReader, list[Any]]:
    path = folder / name
    path.write_bytes(data)
    reader = SourceReader(expand_sources([path])[0])
    return reader, list(reader)


def paper_of(folder: Path, record: dict[str, Any], **options: Any) -> Paper:
    _, [item] = read_bytes(folder, parquet_of([record], **options))
    assert isinstance(item, Located)
    return item.paper


def test_rows_become_papers_in_order_over_row_groups(tmp_path: Path) -> None:
    reader, items = read_bytes(tmp_path, parquet_of(RECORDS, row_group_size=700))
    assert reader.format.name == "parquet"
    assert reader.counted == len(items) == 2000
    assert [item.line for item in items] == list(range(1, 2001))
    assert items[1999].paper == Paper(
        id="p1999", title="Paper number 1999", abstract="We count to 1999.", authors=("Ann Lee", "Bo Ek"), year=2019,
        date="2019", identifiers=(("id:parquet", "p1999"),))


def test_authors_as_structs_and_nested_identifiers(tmp_path: Path) -> None:
    paper = paper_of(tmp_path, {
        "title": "Graphs", "authors": [{"name": "Ann Lee", "id": 1}, {"name": "Bo Ek", "id": 2}],
        "externalIds": {"DOI": "10.1000/X", "ArXiv": "2101.00001"}, "fieldsOfStudy": ["Physics", "Art"]})
    assert paper.authors == ("Ann Lee", "Bo Ek")
    assert paper.id == "10.1000/x"
    assert ("arxiv", "2101.00001") in paper.identifiers
    assert paper.categories == ("Physics", "Art")


def test_records_of_the_arxiv_snapshot(tmp_path: Path) -> None:
    paper = paper_of(tmp_path, {
        "id": "0704.0001", "title": "Diphoton\n  production", "abstract": "  We use $\\alpha$.\n",
        "categories": "hep-ph", "authors_parsed": [["Berger", "E. L.", ""]],
        "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}]})
    assert (paper.id, paper.title, paper.abstract) == ("0704.0001", "Diphoton production", "We use α.")
    assert (paper.authors, paper.date) == (("E. L. Berger",), "2007-04-02")


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (datetime.date(2020, 5, 7), "2020-05-07"),
        (datetime.datetime(2020, 5, 7, 12, 30), "2020-05-07"),
        (datetime.datetime(2020, 5, 7, 12, 30, tzinfo=datetime.UTC), "2020-05-07"),
        ("2020-05", "2020-05"),
    ],
)
def test_dates(tmp_path: Path, date: object, expected: str) -> None:
    assert paper_of(tmp_path, {"title": "Graphs", "date": date}).date == expected


@pytest.mark.parametrize("year", [2020, 2020.0, decimal.Decimal("2020"), "2020"])
def test_years(tmp_path: Path, year: object) -> None:
    assert paper_of(tmp_path, {"title": "Graphs", "year": year}).year == 2020


def test_values_that_are_missing(tmp_path: Path) -> None:
    paper = paper_of(tmp_path, {"title": "Graphs", "abstract": None, "year": float("nan"), "doi": "", "authors": []})
    assert paper == Paper(id=paper.id, title="Graphs")


def test_vectors_and_bytes_are_not_read(tmp_path: Path) -> None:
    table = pa.table({"title": ["Graphs"], "text": [b"raw"], "embedding": [[0.5] * 384], "abstract": ["We count."]})
    _, [item] = read_bytes(tmp_path, parquet_of(table))
    assert (item.paper.title, item.paper.abstract) == ("Graphs", "We count.")


@pytest.mark.parametrize("kind", ["large_string", "dictionary", "map"])
def test_other_types_of_columns(tmp_path: Path, kind: str) -> None:
    title: Any = pa.array(["Graphs"])
    columns = {"title": title.cast(pa.large_string()) if kind == "large_string" else title.dictionary_encode()}
    if kind == "map":
        columns["ids"] = pa.array([[("doi", "10.1000/x")]], type=pa.map_(pa.string(), pa.string()))
    _, [item] = read_bytes(tmp_path, parquet_of(pa.table(columns)))
    assert item.paper.title == "Graphs"
    assert item.paper.doi == ("10.1000/x" if kind == "map" else "")


def test_text_in_no_utf8_and_years_beyond_python(tmp_path: Path) -> None:
    raw = pa.array([b"caf\xe9 graphs", b"plain"], type=pa.binary())
    title = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    date = pa.array([2**50, 0], type=pa.timestamp("s"))
    _, items = read_bytes(tmp_path, parquet_of(pa.table({"title": title, "date": date})))
    assert [item.paper.title for item in items] == ["caf\ufffd graphs", "plain"]
    assert [item.paper.date for item in items] == ["", "1970-01-01"]


def test_rows_that_cannot_be_used(tmp_path: Path) -> None:
    reader, items = read_bytes(tmp_path, parquet_of([{"id": "1", "title": "Graphs"}, {"id": "2", "title": None}]))
    assert items[1] == Rejected(2, "neither title nor abstract", "2")
    assert reader.counted == 2
    _, items = read_bytes(tmp_path, parquet_of([{"name": "x", "value": 1}] * 3))
    assert items == [Rejected(row, parquet.NO_COLUMN, "'name', 'value'") for row in (1, 2, 3)]


def test_an_empty_table(tmp_path: Path) -> None:
    reader, items = read_bytes(tmp_path, parquet_of(pa.table({"title": pa.array([], type=pa.string())})))
    assert items == []
    assert reader.counted == 0


def test_compressed_in_an_archive_and_through_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = parquet_of(RECORDS[:50])
    _, items = read_bytes(tmp_path, gzip.compress(data), "papers.parquet.gz")
    assert len(items) == 50
    with zipfile.ZipFile(tmp_path / "papers.zip", "w") as archive:
        archive.writestr("in/papers.parquet", data)
    [member] = expand_sources([tmp_path / "papers.zip"])
    assert len(list(SourceReader(member))) == 50
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert len(list(SourceReader(SourceFile("-", "standard input")))) == 50


def test_a_long_file_is_counted_from_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_FOOTER_BYTES", 20_000)
    data = parquet_of(RECORDS, compression="none", use_dictionary=False)
    assert len(data) > 100_000
    reader, items = read_bytes(tmp_path, data)
    assert reader.counted == len(items) == 2000


def test_a_damaged_row_group_costs_its_own_rows(tmp_path: Path) -> None:
    data = bytearray(parquet_of(RECORDS, row_group_size=500, compression="none", use_dictionary=False,
                                write_page_checksum=True))
    second = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(1).column(0).data_page_offset
    data[second:second + 40] = b"\xff" * 40
    reader, items = read_bytes(tmp_path, bytes(data))
    assert reader.counted == len(items) == 2000
    rejected = [item for item in items if isinstance(item, Rejected)]
    assert [item.line for item in rejected] == list(range(501, 1001))
    assert {item.reason for item in rejected} == {parquet.DAMAGED_ROWS}


@pytest.mark.parametrize("keep", [4, 12, 100, 5000])
def test_a_file_that_is_cut(tmp_path: Path, keep: int) -> None:
    _, [item] = read_bytes(tmp_path, parquet_of(RECORDS)[:keep])
    assert isinstance(item, Rejected)
    assert item.reason == parquet.DAMAGED


def test_without_pyarrow_the_way_to_install_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return whole(name, *arguments, **options)

    (tmp_path / "papers.parquet").write_bytes(parquet_of(RECORDS[:2]))
    (tmp_path / "papers.jsonl").write_text('{"title": "Graphs"}\n')
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="needs the extra `parquet`") as caught:
        SourceReader(SourceFile(str(tmp_path / "papers.parquet"), "papers.parquet"))
    assert "pip install 'semsearch[parquet]'" in str(caught.value)
    with read_library([tmp_path]) as library:
        assert len(library) == 1
        [reason] = library.refused.values()
    assert "pip install 'semsearch[parquet]'" in reason


@pytest.mark.slow
def test_damage_raises_nothing(tmp_path: Path) -> None:
    sound = [parquet_of(RECORDS[:40], compression=kind, row_group_size=15, use_dictionary=words)
             for kind in ("none", "snappy", "zstd") for words in (True, False)]
    for seed in range(1000):
        chance = random.Random(seed)
        data = bytearray(chance.choice(sound))
        for _ in range(chance.randint(1, 5)):
            place = chance.randrange(4, len(data))
            removed, added = chance.choice([0, 1, 1, 30]), chance.choice([0, 1, 1])
            data[place:place + removed] = chance.randbytes(added)
        path = tmp_path / "papers.parquet"
        path.write_bytes(data)
        try:
            reader = SourceReader(SourceFile(str(path), path.name))
            items = list(reader)
        except SemsearchError as error:
            assert error.message
            continue
        assert len(items) >= max(reader.counted or 0, 0)
