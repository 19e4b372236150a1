"""The files of a lexical index: checked and opened."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import tantivy
from numpy.typing import NDArray

from semsearch.index import manifest as manifests
from semsearch.index.arrays import read_array
from semsearch.index.durable import file_sha256
from semsearch.index.manifest import LEXICAL, LEXICAL_ROWS, Manifest

ROW_DTYPE: Final = np.dtype([("doc", "<u8"), ("row", "<i8")])
_REMOVAL_ATTEMPTS: Final = 100
_REMOVAL_PAUSE_SECONDS: Final = 0.01
_CHECKED_WHOLE_BYTES: Final = 64_000_000
"""Up to this size in all, every file is hashed when it is opened: a tenth of a second, for about 100,000 papers."""
_CHECKED_FILE_BYTES: Final = 4_000_000


def lexical_names(manifest: Manifest) -> list[str]:
    """Return the names of the files of a generation's lexical index, the rows left out."""
    return [name for name in manifest.files if name.startswith(f"{LEXICAL}/") and name != LEXICAL_ROWS]


def check_files(folder: Path, manifest: Manifest) -> None:
    """Check every byte of what can be read in no time: tantivy follows what its files say without looking.

    Of a large index the large files, whose beginning and size were checked already, are left out: what is wrong in them
    makes scores wrong or shows when they are searched. `verify` checks all.

    Raises:
        IndexDamaged: naming the file.
    """
    names = list(filter(manifests.is_lexical, manifest.files))
    whole = sum(manifest.files[name].size_bytes for name in names) <= _CHECKED_WHOLE_BYTES
    for name in names:
        if not whole and manifest.files[name].size_bytes > _CHECKED_FILE_BYTES:
            continue
        try:
            sound = file_sha256(folder / name) == manifest.files[name].sha256
        except OSError as error:
            raise manifests.damaged(folder / name, "cannot be read") from error
        if not sound:
            raise manifests.damaged(folder / name, "is not what was written (its checksum differs)")


@contextmanager
def damage_named(folder: Path, cannot: str = "be searched") -> Iterator[None]:
    """Turn what tantivy makes of damaged files into `IndexDamaged`."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise manifests.damaged(folder / LEXICAL, f"cannot {cannot} ({error})") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of pyo3, which offers no way to import it
            raise
        raise manifests.damaged(folder / LEXICAL, f"cannot {cannot}") from error


def open_index(folder: Path, manifest: Manifest) -> tantivy.Index:
    """Open the files through links elsewhere: tantivy writes a lock beside them, and they may lie on a read-only disk.

    What is open stays open when the links go. tantivy would look every half second whether `meta.json` has changed, and
    finds none there; a thread that does so stays as long as the index.

    Raises:
        IndexDamaged: they cannot be read.
    """
    scratch = Path(tempfile.mkdtemp(prefix="semsearch-"))
    try:
        for name in lexical_names(manifest):
            _link((folder / name).resolve(), scratch / Path(name).name)
        with damage_named(folder, "be read"):
            index = tantivy.Index.open(str(scratch))
            index.config_reader("manual")
            index.searcher()
    finally:
        remove_scratch(scratch)
    return index


def remove_scratch(folder: Path) -> None:
    """Remove a folder in which tantivy was at work; its thread may put a lock there at this moment, once."""
    for _ in range(_REMOVAL_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_REMOVAL_PAUSE_SECONDS)


def _link(target: Path, link: Path) -> None:
    for make in (os.symlink, os.link):
        try:
            make(target, link)
            return
        except OSError:
            continue
    shutil.copyfile(target, link)


def load_rows(path: Path, papers: int) -> NDArray[Any]:
    """Return the `(papers,)` rows by document, memory-mapped.

    Raises:
        IndexDamaged: the file is not what was written.
    """
    try:
        rows = read_array(path, mapped=papers > 0)
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        raise manifests.damaged(path, "cannot be read") from error
    if rows.dtype != ROW_DTYPE or rows.shape != (papers,):
        raise manifests.damaged(path, f"holds {rows.dtype} {rows.shape} where {papers} rows were written")
    return rows
