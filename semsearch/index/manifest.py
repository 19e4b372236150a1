"""What a generation is made of, and whether we can read it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from semsearch.encoding import EncoderIdentity
from semsearch.errors import IndexDamaged, IndexFormatUnsupported
from semsearch.index.durable import file_sha256

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
PAPERS: Final = "papers.sqlite"
VECTORS: Final = "vectors.npy"
VECTOR_KEYS: Final = "vector_keys.npy"
FAISS: Final = "index.faiss"
REJECTS: Final = "rejects.jsonl"
HEAD_BYTES: Final = 256
"""How much of each file's beginning is checked whenever it is opened; holds every header that is written here."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a generation: its size, the SHA-256 of the whole and of its first 256 bytes."""

    size_bytes: int
    sha256: str
    head_sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation holds.

    `papers` rows, of which `vectors` have a vector. `factory` is the faiss factory string; `search_parameters` are the
    faiss parameters that reach `recall_at_10` against exact search (None where search is exact).
    """

    generation: int
    created: str
    semsearch_version: str
    encoder: EncoderIdentity
    papers: int
    vectors: int
    factory: str
    search_parameters: dict[str, int]
    recall_at_10: float | None
    files: dict[str, FileEntry]
    format: int = FORMAT
    notes: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the manifest as it is stored."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, sort_keys=True).encode() + b"\n"


def parse(content: bytes, path: Path) -> Manifest:
    """Return the manifest that `content` spells.

    Raises:
        IndexFormatUnsupported: it was written by another format.
        IndexDamaged: it is no manifest.
    """
    try:
        data = json.loads(content)
        number = data["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, "is not a manifest") from error
    if number != FORMAT:
        newer = isinstance(number, int) and number > FORMAT
        raise IndexFormatUnsupported(
            f"The index at {path.parent} has format {number}; this version of semsearch reads format {FORMAT}.",
            "Update semsearch." if newer else "Build the index again from its sources with: semsearch build --rebuild")
    try:
        data["encoder"] = EncoderIdentity(**data["encoder"])
        data["files"] = {name: FileEntry(**entry) for name, entry in data["files"].items()}
        return Manifest(**data)
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(path, "lacks a part of a manifest") from error


def describe_file(path: Path) -> FileEntry:
    """Return the manifest's entry for a file."""
    return FileEntry(path.stat().st_size, file_sha256(path), head_sha256(path))


def head_sha256(path: Path) -> str:
    """Return the SHA-256 of the beginning of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()


def check_files(folder: Path, manifest: Manifest) -> None:
    """Check that every file is there with its size and its header.

    Raises:
        IndexDamaged: naming the file and the way out.
    """
    for name, entry in manifest.files.items():
        path = folder / name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise damaged(path, "is missing") from error
        if size != entry.size_bytes:
            raise damaged(path, f"has {size:,} bytes where {entry.size_bytes:,} were written")
        if head_sha256(path) != entry.head_sha256:
            raise damaged(path, "does not begin with what was written")


def damaged(path: Path, what: str) -> IndexDamaged:
    """Return the error for a file of an index that is not what was written."""
    return IndexDamaged(f"The index is damaged: {path} {what}.",
                        "Restore that file from a copy, or build the index again from its sources with: "
                        f"semsearch build --rebuild -i {_index_name(path)} [SOURCE...]")


def _index_name(path: Path) -> str:
    parts = path.parts
    return parts[parts.index("generations") - 1] if "generations" in parts else path.parent.name
