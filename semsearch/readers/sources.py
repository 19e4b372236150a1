"""Paths as a user names them to the files that are read."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semsearch.errors import InputError, SourceNotFound
from semsearch.readers.compression import COMPRESSION_SUFFIXES

STDIN: Final = "-"

_NO_PAPERS_NAME: Final = re.compile(
    r"^(?:readme|licen[cs]e|copying|notice|changelog|changes|contributing|makefile|dockerfile)(?:[._-].*)?$",
    re.IGNORECASE)
_NO_PAPERS_SUFFIXES: Final = frozenset(
    f".{suffix}" for suffix in (
        "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "bmp", "tif", "tiff", "eps", "pdf", "ps", "djvu", "mp4",
        "py", "pyc", "ipynb", "js", "ts", "css", "sh", "exe", "dll", "so", "c", "h", "cpp", "java", "rs", "go", "log",
        "lock", "tmp", "bak", "swp", "npy", "npz", "faiss", "sqlite", "db", "pkl", "pt", "bin", "safetensors", "onnx",
        "md", "toml", "yaml", "yml", "ini", "cfg"))
_BEIR_CORPUS: Final = "corpus.jsonl"
_BEIR_QUERIES: Final = "queries.jsonl"
_BEIR_JUDGMENTS: Final = "qrels"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be read: its absolute real path (`-` for standard input) and its name in messages.

    `in_folder` is true where a folder was named and this file was found in it: then a format that is not read here is
    no reason to stop.
    """

    path: str
    name: str
    in_folder: bool = False


def expand_sources(sources: Sequence[str | Path]) -> list[SourceFile]:
    """Return the files that `sources` name, folders walked through in sorted order, each file once.

    Inside a folder hidden files are left out, and those whose name says that they hold no papers: read-me and licence
    files, images, PDFs, programs; and beside a BEIR `corpus.jsonl` its `queries.jsonl` and `qrels`. Raises
    SourceNotFound where a path is missing.
    """
    found: dict[str, SourceFile] = {}
    for source in sources:
        for file in _files_of(str(source)):
            if file.path not in found or not file.in_folder:
                found[file.path] = file
    return list(found.values())


def _files_of(source: str) -> Iterator[SourceFile]:
    if source == STDIN:
        yield SourceFile(STDIN, "standard input")
        return
    path = os.path.expanduser(source)
    if os.path.isdir(path):
        yield from _walk(path, set())
    elif os.path.isfile(path):
        yield SourceFile(os.path.realpath(path), source)
    elif os.path.exists(path):
        yield SourceFile(os.path.abspath(path), source)
    else:
        raise SourceNotFound(f"There is no file or folder {source!r}.", _missing_hint(path))


def _missing_hint(path: str) -> str:
    """Return what to do about a missing path: the nearest part of it that exists, or a sibling of nearly its name."""
    import difflib

    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"The folder {folder!r} is not there either; check the path."
    try:
        close = difflib.get_close_matches(os.path.basename(path), os.listdir(folder), n=1)
    except OSError:
        close = []
    if close:
        return f"Did you mean {os.path.join(os.path.dirname(path), close[0])!r}?"
    return f"Check the name; it was looked for in {folder!r}."


def _walk(folder: str, visited: set[str]) -> Iterator[SourceFile]:
    real = os.path.realpath(folder)
    if real in visited:
        return
    visited.add(real)
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(f"The folder {folder!r} cannot be read: {error.strerror or error}.",
                         "Check its permissions, or name the files themselves.") from error
    beir = any(strip_compression(name) == _BEIR_CORPUS for name in names)
    for name in names:
        if name.startswith(".") or (beir and strip_compression(name) in (_BEIR_QUERIES, _BEIR_JUDGMENTS)):
            continue
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            yield from _walk(path, visited)
        elif os.path.isfile(path) and not _holds_no_papers(name):
            yield SourceFile(os.path.realpath(path), path, in_folder=True)


def strip_compression(name: str) -> str:
    """Return a file name in lower case without the suffix of a compression."""
    name = name.lower()
    for suffix in COMPRESSION_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _holds_no_papers(name: str) -> bool:
    bare = strip_compression(name)
    return bool(_NO_PAPERS_NAME.match(bare)) or os.path.splitext(bare)[1] in _NO_PAPERS_SUFFIXES


def read_file_sha256(path: str | Path) -> str:
    """Return the hex SHA-256 of a file's bytes, read but not parsed; raises SourceNotFound."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise SourceNotFound(f"There is no file {str(path)!r}.", "Check the path.") from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.",
                         "Check its permissions.") from error
