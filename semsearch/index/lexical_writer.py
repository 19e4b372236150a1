"""Texts -> the files of a lexical index, new or brought up to date from those of the generation before."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Document, Query, SchemaBuilder

from semsearch.errors import IndexDamaged
from semsearch.index import generations
from semsearch.index import manifest as manifests
from semsearch.index.arrays import read_array
from semsearch.index.durable import disk_full, full_disk_named
from semsearch.index.generations import Generation
from semsearch.index.lexical_analysis import Analyser
from semsearch.index.lexical_cutting import Cutter
from semsearch.index.lexical_index import ANALYSER, DOC, ROW_DTYPE, TEXT, documents_of, remove_scratch
from semsearch.index.manifest import FORMAT, LEXICAL, LEXICAL_ROWS, is_lexical
from semsearch.index.paper_table import PaperTable
from semsearch.progress import Progress, Task

META: Final = "meta.json"
_SCRATCH: Final = ".words"
_SYSTEM_ERROR: Final = re.compile(r"\(os error (\d+)\)")
_HEAP_BYTES: Final = 100_000_000
_BLOCK_ROWS: Final = 1000
_CHEAP_DOCUMENTS: Final = 5_000
"""So many are indexed anew in about a second, which leaves nothing of documents that went."""
_GONE_SHARE: Final = 0.1
"""Documents that went count in the frequencies of words until a merge; where they are more, all begin anew."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which documents are added to the files of the generation before and which are taken out of them."""

    added: NDArray[np.uint64]
    removed: NDArray[np.uint64]


def write_lexical(staged: Path, base: Generation | None, table: PaperTable, keys: NDArray[Any], language: str,
                  progress: Progress) -> int:
    """Write the lexical index of a staged generation and return how many documents it holds.

    `keys`: `(papers,)` text keys by row. Files that would be the same as in `base` are hard links to it; otherwise only
    documents that are new are read from `table`, unless so many went that it is better to begin anew. Damaged files of
    `base` are made again.

    Raises:
        DiskFull: there is no room.
    """
    with full_disk_named(staged):
        (staged / LEXICAL).mkdir()
    rows = _rows_by_document(keys)
    documents, first = np.unique(rows["doc"], return_index=True)
    usable = base if base is not None and _is_usable(base, language, progress) else None
    plan = _plan(usable, documents)
    if usable is not None and plan is not None:
        _take_over(usable, staged, rows)
    else:
        usable, plan = None, _Plan(documents, documents[:0])
    if usable is None or len(plan.added) or len(plan.removed):
        added = np.sort(rows["row"][first[np.isin(documents, plan.added)]])
        texts = _texts(table, added, documents_of(keys))
        with _scratch(staged) as scratch:
            _index(scratch, Analyser(language), plan.removed, texts, len(added), progress)
    if not (staged / LEXICAL_ROWS).exists():
        _write_rows(staged / LEXICAL_ROWS, rows)
    return count_documents(staged)


def count_documents(folder: Path) -> int:
    """Return how many documents the lexical index in a generation's folder holds, by its own count.

    Raises:
        IndexDamaged: the file that says so is not what was written.
    """
    return sum(int(s["max_doc"]) - _deleted(s) for s in _segments(folder / LEXICAL))


def _segments(folder: Path) -> list[dict[str, Any]]:
    try:
        segments: list[dict[str, Any]] = json.loads((folder / META).read_bytes())["segments"]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise manifests.damaged(folder / META, "cannot be read") from error
    return segments


def _rows_by_document(keys: NDArray[Any]) -> NDArray[Any]:
    rows = np.empty(len(keys), ROW_DTYPE)
    rows["doc"], rows["row"] = documents_of(keys), np.arange(len(keys))
    return np.sort(rows, order=("doc", "row"))


def _is_usable(base: Generation, language: str, progress: Progress) -> bool:
    """Return whether the files of `base` are sound and hold the terms of this language and format."""
    if (base.manifest.format, base.manifest.language) != (FORMAT, language):
        return False
    try:
        for name in filter(is_lexical, base.manifest.files):
            base.checked_path(name)
    except (IndexDamaged, OSError):
        progress.note("The index of words was damaged. It is made again from the papers.")
        return False
    return True


def _plan(base: Generation | None, documents: NDArray[np.uint64]) -> _Plan | None:
    """Return what changes in the files of `base`, None where beginning anew is better."""
    if base is None:
        return None
    in_order = read_array(base.path(LEXICAL_ROWS))["doc"]
    before = in_order[np.flatnonzero(np.diff(in_order, prepend=~in_order[:1]))]
    plan = _Plan(np.setdiff1d(documents, before, assume_unique=True),
                 np.setdiff1d(before, documents, assume_unique=True))
    if not len(plan.added) and not len(plan.removed):
        return plan
    gone = len(plan.removed) + sum(_deleted(s) for s in _segments(base.path(LEXICAL)))
    limit = 0 if len(documents) <= _CHEAP_DOCUMENTS else _GONE_SHARE * len(documents)
    return None if gone > limit or 2 * len(plan.added) > len(documents) else plan


def _deleted(segment: dict[str, Any]) -> int:
    return int((segment["deletes"] or {"num_deleted_docs": 0})["num_deleted_docs"])


def _take_over(base: Generation, staged: Path, rows: NDArray[Any]) -> None:
    for name in filter(is_lexical, base.manifest.files):
        if name != LEXICAL_ROWS or _same_rows(base.path(name), rows):
            generations.take_over(base, name, staged)


def _same_rows(path: Path, rows: NDArray[Any]) -> bool:
    before = read_array(path)
    return before.shape == rows.shape and bool((before == rows).all())


def _texts(table: PaperTable, rows: NDArray[np.int64], documents: NDArray[np.uint64]) -> Iterator[tuple[int, str]]:
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start:start + _BLOCK_ROWS]
        for document, paper in zip(documents[block].tolist(), table.get(block.tolist()), strict=True):
            yield document, paper.text


def _index(folder: Path, analyser: Analyser, removed: NDArray[np.uint64], texts: Iterator[tuple[int, str]], count: int,
           progress: Progress) -> None:
    """Bring the index in `folder`, which may be empty, up to date; one thread, so that it comes out the same again."""
    schema = _schema()
    index = tantivy.Index.open(str(folder)) if (folder / META).exists() else tantivy.Index(schema, path=str(folder))
    index.config_reader("manual")
    cutter = Cutter(analyser)
    index.register_tokenizer(ANALYSER, cutter.tokenizer)
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    if len(removed):  # by a query: `delete_documents_by_term` takes a number for a signed one and finds nothing
        writer.delete_documents_by_query(Query.term_set_query(index.schema, DOC, removed.tolist()))
    with progress.task("Indexing words", count, "paper") as task:
        _add(writer, cutter, texts, task)
    writer.commit()
    writer.wait_merging_threads()


def _add(writer: tantivy.IndexWriter, cutter: Cutter, texts: Iterator[tuple[int, str]], task: Task) -> None:
    for document, text in texts:
        entry = Document()
        entry.add_unsigned(DOC, document)
        entry.add_text(TEXT, cutter.cut(text))
        writer.add_document(entry)
        task.advance(1)


def _schema() -> tantivy.Schema:
    builder = SchemaBuilder()
    builder.add_unsigned_field(DOC, indexed=True, fast=True)
    builder.add_text_field(TEXT, tokenizer_name=ANALYSER, index_option="position")
    return builder.build()


@contextmanager
def _scratch(staged: Path) -> Iterator[Path]:
    """Give what is staged another name while tantivy is at work, and take what belongs to the index back.

    It leaves locks, lists and the files of merged segments, and a thread of it may come late with another lock.
    """
    scratch, folder = staged / _SCRATCH, staged / LEXICAL
    folder.rename(scratch)
    try:
        with full_disk_named(staged):
            try:
                yield scratch
            except ValueError as error:
                raise _named(error, staged) from error
            folder.mkdir()
            for name in _referenced(scratch):
                (scratch / name).rename(folder / name)
    finally:
        remove_scratch(scratch)


def _referenced(folder: Path) -> list[str]:
    """Return the names of the files that belong to the index in `folder`."""
    names = [META]
    for segment in _segments(folder):
        name, deletes = segment["segment_id"].replace("-", ""), segment["deletes"]
        names += [path.name for path in folder.glob(f"{name}.*") if path.suffix != ".del"]
        names += [f"{name}.{deletes['opstamp']}.del"] if deletes else []
    rows = Path(LEXICAL_ROWS).name
    return [*names, rows] if (folder / rows).exists() else names


def _write_rows(path: Path, rows: NDArray[Any]) -> None:
    with full_disk_named(path.parent), open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": np.lib.format.dtype_to_descr(rows.dtype),
                                                    "fortran_order": False, "shape": rows.shape})
        file.write(rows.tobytes())


def _named(error: ValueError, staged: Path) -> Exception:
    """Return what tantivy means: it gives the errors of the system as text, and hides those of its own thread.

    What ends that thread is an error of the system, nearly always a full disk.
    """
    found = _SYSTEM_ERROR.search(str(error))
    if found:
        number = int(found[1])
        return OSError(number, os.strerror(number), str(staged / LEXICAL))
    return disk_full(staged) if "writer was killed" in str(error) else error
