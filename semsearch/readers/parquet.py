"""Parquet: tables in columns, as data sets are handed on.

Read with pyarrow, the format's own library, a batch of rows at a time; columns that hold vectors or raw bytes are not
read at all. The table of contents stands at the end of such a file: one on disk is opened a second time, and what comes
compressed, out of an archive or through a pipe is first copied to a temporary file.
"""

from __future__ import annotations

import datetime
import decimal
import io
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, BinaryIO, Final

from semsearch.errors import MissingExtra
from semsearch.readers.base import VALUE_CHARACTERS, Format, Located, ReadItem, Rejected
from semsearch.readers.fields import TEXT_NAMES, WrongType, field_name
from semsearch.readers.json_papers import paper_of_record

DAMAGED: Final = "Parquet file that is damaged"
DAMAGED_ROWS: Final = "row in a damaged part of a Parquet file"
NO_COLUMN: Final = "no column for a title or an abstract"

_MAGIC: Final = b"PAR1"
_BATCH_ROWS: Final = 512
_BLOCK_BYTES: Final = 1 << 20
_FOOTER_BYTES: Final = 8 * 1024 * 1024
"""No table of contents is longer; as much of a file's end is kept to count its rows."""
_ROWS_A_BYTE: Final = 1000
"""More rows than this in a byte are a damaged number: they would be reported one by one."""


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file is a Parquet file: its first bytes say so."""
    return 99 if head.startswith(_MAGIC) else 0


def check(name: str, head: bytes) -> None:
    """Raise MissingExtra if pyarrow is not installed."""
    _parquet()


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("Reading Parquet files", "parquet") from error
    return pyarrow.parquet


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every row; the line of a row is its number, from 1."""
    with _seekable(stream, name) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        try:
            table = _parquet().ParquetFile(file, pre_buffer=False, buffer_size=_BLOCK_BYTES)
            rows = _plausible_rows(table.metadata, size_bytes)
        except _damage() as error:
            yield Rejected(1, DAMAGED, _shown(error))
            return
        columns = [field.name for field in table.schema_arrow if _is_of_use(field.type)]
        if not any(field_name(column) in TEXT_NAMES or column == "content" for column in columns):
            names = ", ".join(map(repr, table.schema_arrow.names))
            yield from (Rejected(row, NO_COLUMN, names[:VALUE_CHARACTERS]) for row in range(1, max(rows, 1) + 1))
            return
        yield from _rows(table, columns)


def _seekable(stream: BinaryIO, name: str) -> IO[bytes]:
    """Return the file on disk if `name` is the path of one that begins like the stream, else a copy of the stream."""
    head = stream.read(_BLOCK_BYTES)
    with suppress(OSError, ValueError):
        file = open(name, "rb")
        if file.read(len(head)) == head:
            return file
        file.close()
    copy = tempfile.TemporaryFile(prefix="semsearch-")
    copy.write(head)
    shutil.copyfileobj(stream, copy, _BLOCK_BYTES)
    return copy


def _rows(table: Any, columns: list[str]) -> Iterator[ReadItem]:
    """Yield the items of all row groups; a damaged group costs what could not be read of it."""
    begin = 0
    for group in range(table.num_row_groups):
        rows = table.metadata.row_group(group).num_rows
        given = 0
        try:
            for batch in table.iter_batches(_BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False):
                for record in _records(batch):
                    given += 1
                    if given <= rows:
                        yield _item(record, begin + given)
        except _damage() as error:
            value = _shown(error)
            yield from (Rejected(begin + row, DAMAGED_ROWS, value) for row in range(given + 1, rows + 1))
        begin += rows


def _item(record: dict[str, object], row: int) -> ReadItem:
    try:
        return Located(paper_of_record(record, "parquet"), row)
    except WrongType as problem:
        return Rejected(row, str(problem), _shown(problem.value))


def _records(batch: Any) -> Iterator[dict[str, object]]:
    names = batch.schema.names
    for row in zip(*(_cells(batch.column(place)) for place in range(len(names))), strict=True):
        yield {name: value for name, value in zip(names, row, strict=True) if value is not None}


def _cells(column: Any) -> list[object]:
    """Return the values of a column as JSON would give them; what cannot be had is None."""
    try:
        values = column.to_pylist()
    except _damage():
        values = [_cell(cell) for cell in column]
    return [_plain(value) for value in values]


def _cell(cell: Any) -> object:
    """Return one value of a column of which some have no counterpart: text in no UTF-8, years after 9999."""
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        return bytes(cell.as_buffer()).decode("utf-8", "replace") if hasattr(cell, "as_buffer") else None
    except _damage():
        return None


def _plain(value: object) -> object:
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, list):
        if value and all(isinstance(part, tuple) for part in value):
            return {str(key): _plain(part) for key, part in value}  # a map
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return None


def _is_of_use(kind: Any) -> bool:
    """Tell whether a column may describe a paper: not if it holds vectors or bytes."""
    import pyarrow.types as types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list:
        return _is_of_use(kind.value_type) and not (
            types.is_floating(kind.value_type) or types.is_integer(kind.value_type))
    return not (types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
                or types.is_null(kind))


def _damage() -> tuple[type[BaseException], ...]:
    """Return what pyarrow raises for damaged files."""
    import pyarrow

    return (pyarrow.ArrowException, OSError, MemoryError, ValueError, OverflowError, IndexError, KeyError)


def _plausible_rows(metadata: Any, size_bytes: int) -> int:
    """Return how many rows a file says that it has; raises OSError where that cannot be."""
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if min(rows, default=0) < 0 or sum(rows) > _ROWS_A_BYTE * size_bytes:
        raise OSError(f"{metadata.num_rows} rows in {size_bytes} bytes")
    return sum(rows)


def _shown(value: object) -> str:
    return " ".join(str(value).split())[:VALUE_CHARACTERS]


class _Counter:
    """Counts the rows that the table of contents at the end of a file speaks of; no row is looked at."""

    takes_raw_bytes: Final = True

    def __init__(self) -> None:
        self._tail = bytearray()
        self._size_bytes = 0

    def feed(self, block: bytes) -> None:
        self._size_bytes += len(block)
        self._tail += block
        if len(self._tail) > 2 * _FOOTER_BYTES:
            del self._tail[:-_FOOTER_BYTES]

    def total(self) -> int:
        try:
            length = int.from_bytes(self._tail[-8:-4], "little") + 8
            metadata = _parquet().read_metadata(io.BytesIO(_MAGIC + self._tail[-length:]))
            return max(_plausible_rows(metadata, self._size_bytes), 0)
        except _damage():
            return 0


FORMAT: Final = Format(name="parquet", title="Parquet", looks_like=looks_like, read=read, version=1, check=check,
                       counter=_Counter)
