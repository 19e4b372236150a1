"""Paths as a user names them to the files that are read."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from semsearch.errors import InputError, SourceNotFound
from semsearch.readers.archives import Member, is_archive, members_of
from semsearch.readers.compression import COMPRESSION_SUFFIXES, Damaged

STDIN: Final = "-"
_HASH_BLOCK_BYTES: Final = 1 << 20

_NO_PAPERS_NAME: Final = re.compile(
    r"^(?:readme|licen[cs]e|copying|notice|changelog|changes|contributing|makefile|dockerfile)(?:[._-].*)?$",
    re.IGNORECASE)
_NO_PAPERS_SUFFIXES: Final = frozenset(
    f".{suffix}" for suffix in (
        "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "bmp", "tif", "tiff", "eps", "mp4",
        "py", "pyc", "ipynb", "js", "ts", "css", "sh", "exe", "dll", "so", "c", "h", "cpp", "java", "rs", "go", "log",
        "lock", "tmp", "bak", "swp", "npy", "npz", "faiss", "sqlite", "db", "pkl", "pt", "bin", "safetensors", "onnx",
        "md", "toml", "yaml", "yml", "ini", "cfg"))
_BEIR_CORPUS: Final = "corpus.jsonl"
_BEIR_QUERIES: Final = "queries.jsonl"
_BEIR_JUDGMENTS: Final = "qrels"
_MAC_FOLDER: Final = "__MACOSX"
"""Where archives made on a Mac keep what only a Mac understands."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be read: its absolute real path (`-` for standard input) and its name in messages.

    `in_folder` is true where a folder or an archive was named and this file was found in it: then a format that is not
    read here is no reason to stop. A `member` of an archive has the path `ARCHIVE!/NAME`. `problem` says what is wrong
    with a file of which it is known already that it cannot be read.
    """

    path: str
    name: str
    in_folder: bool = False
    member: Member | None = None
    problem: str = ""

    def open(self) -> BinaryIO:
        """Return the file's bytes; raises OSError."""
        return self.member.open() if self.member else open(self.path, "rb")

    @property
    def size_bytes(self) -> int:
        """How many bytes `open` gives; raises OSError."""
        return self.member.size_bytes if self.member else os.path.getsize(self.path)


def expand_sources(sources: Sequence[str | Path]) -> list[SourceFile]:
    """Return the files that `sources` name, folders walked through in sorted order, each file once.

    The members of a ZIP archive are taken as the files of a folder are; a Word file, which is an archive too, is not
    taken apart. Inside a folder hidden files are left out, and those whose name says that they hold no papers: read-me
    and licence files, images, programs; and beside a BEIR `corpus.jsonl` its `queries.jsonl` and `qrels`. Raises
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
        yield from _file_or_members(path, source, in_folder=False)
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
            yield from _file_or_members(path, path, in_folder=True)


def _file_or_members(path: str, name: str, in_folder: bool) -> Iterator[SourceFile]:
    """Yield a file, or the members of an archive that are read as files of their own."""
    real = os.path.realpath(path)
    try:
        members = members_of(real) if is_archive(real) else None
    except Damaged as damage:
        yield SourceFile(real, name, in_folder, problem=f"{name} {damage}")
        return
    if members is None:
        yield SourceFile(real, name, in_folder)
        return
    beir = {folder for folder, file in map(os.path.split, (m.name for m in members))
            if strip_compression(file) == _BEIR_CORPUS}
    for member in members:
        if not _is_left_out(member.name, beir):
            shown = f"{name}/{member.name}"
            problem = f"{shown} {member.problem}" if member.problem else ""
            yield SourceFile(member.path, shown, True, member, problem)


def _is_left_out(name: str, beir: Collection[str]) -> bool:
    """Tell whether a member of an archive is one that is left out of a folder too."""
    *folders, file = name.split("/")
    if any(part.startswith(".") or part == _MAC_FOLDER for part in (*folders, file)) or _holds_no_papers(file):
        return True
    above = ["/".join(folders[:depth]) for depth in range(len(folders) + 1)]
    return ((above[-1] in beir and strip_compression(file) == _BEIR_QUERIES)
            or any(folder in beir and name.startswith(f"{folder}/{_BEIR_JUDGMENTS}/".lstrip("/")) for folder in above))


def strip_compression(name: str) -> str:
    """Return a file name in lower case without the suffix of a compression."""
    name = name.lower()
    for suffix in COMPRESSION_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _holds_no_papers(name: str) -> bool:
    bare = strip_compression(name)
    return bool(_NO_PAPERS_NAME.match(bare)) or os.path.splitext(bare)[1] in _NO_PAPERS_SUFFIXES


def read_file_sha256(file: SourceFile | str | Path) -> str:
    """Return the hex SHA-256 of a file's bytes, read but not parsed; raises SourceNotFound."""
    source = file if isinstance(file, SourceFile) else SourceFile(str(file), str(file))
    digest = hashlib.sha256()
    try:
        with source.open() as stream:
            while block := stream.read(_HASH_BLOCK_BYTES):
                digest.update(block)
    except Damaged:
        pass  # what came before it is what its reader got too
    except FileNotFoundError as error:
        raise SourceNotFound(f"There is no file {source.name!r}.", "Check the path.") from error
    except OSError as error:
        raise InputError(f"{source.name!r} cannot be read: {error.strerror or error}.",
                         "Check its permissions.") from error
    return digest.hexdigest()
