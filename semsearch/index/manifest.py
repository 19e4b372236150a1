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
from semsearch.spelling import spelt_home, spelt_index

FORMAT: Final = 2
"""1: without a lexical index and without facets. 2: with both.

Whoever changes which terms a text has raises it, so that no index holds the terms of two rules.
"""
_UPGRADED: Final = (1,)
"""Formats that `reindex` brings up to date from what they hold."""
MANIFEST: Final = "manifest.json"
PAPERS: Final = "papers.sqlite"
PAPERS_NEW: Final = "papers-new.sqlite"
"""What changed in the papers since `papers.sqlite` was written, where that is little; see `paper_layers`."""
VECTORS: Final = "vectors.npy"
"""The first segment of the vectors; the others are `vectors-2.npy` and so on."""
VECTOR_KEYS: Final = "vector_keys.npy"
VECTOR_PLACES: Final = "vector_places.npy"
FAISS: Final = "index.faiss"
REJECTS: Final = "rejects.jsonl"
DEFAULT_MIN_RECALL: Final = 0.95
DEFAULT_LANGUAGE: Final = "english"
LEXICAL: Final = "lexical"
"""The folder of the lexical index inside a generation."""
LEXICAL_ROWS: Final = f"{LEXICAL}/rows.npy"
HEAD_BYTES: Final = 256
"""How much of each file's beginning is checked whenever it is opened; holds every header that is written here."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a generation: its size, the SHA-256 of the whole and of its first 256 bytes."""

    size_bytes: int
    sha256: str
    head_sha256: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of vectors that is never changed, and how many it holds; some of them may be of papers that went."""

    name: str
    vectors: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation holds.

    `papers` rows, of which `vectors` have a vector, in the files `segments`. `factory` is the faiss factory string;
    `search_parameters` are the parameters that reach `recall_at_10` against exact search (None where search is exact),
    which was to be `min_recall`. `indexed_vectors`: how many vectors, from the first segment on, the faiss index holds;
    those after them are scanned. `skeleton_bytes`: how much of its file, from the beginning, must be right for faiss to
    follow the rest; `skeleton_sha256` is of that. `language`: in which words are stemmed, `none` for not at all. A file
    in a folder has the name `folder/name` in `files`.
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
    language: str = DEFAULT_LANGUAGE
    format: int = FORMAT
    notes: dict[str, Any] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    min_recall: float = DEFAULT_MIN_RECALL
    indexed_vectors: int = 0
    skeleton_bytes: int = 0
    skeleton_sha256: str = ""

    def to_json(self) -> bytes:
        """Return the manifest as it is stored."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, sort_keys=True).encode() + b"\n"


def parse(content: bytes, path: Path, *, outdated: bool = False) -> Manifest:
    """Return the manifest that `content` spells; one of an older format only where `outdated` is true.

    Raises:
        IndexFormatUnsupported: it was written by another format.
        IndexDamaged: it is no manifest.
    """
    try:
        data = json.loads(content)
        number = data["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, "is not a manifest") from error
    if number != FORMAT and not (outdated and number in _UPGRADED):
        raise _unsupported(number, path)
    try:
        data["encoder"] = EncoderIdentity(**data["encoder"])
        data["files"] = {name: FileEntry(**entry) for name, entry in data["files"].items()}
        data["segments"] = tuple(Segment(**segment) for segment in data.get("segments", ())) or (
            Segment(VECTORS, data["vectors"]),)
        if "indexed_vectors" not in data and FAISS in data["files"]:
            data["indexed_vectors"] = data["vectors"]
        return Manifest(**data)
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(path, "lacks a part of a manifest") from error


def _unsupported(number: object, path: Path) -> IndexFormatUnsupported:
    folder = _index_folder(path)
    name = folder.name
    if number in _UPGRADED:
        return IndexFormatUnsupported(f"The index {name!r} has format {number}; this version of semsearch reads format "
                                      f"{FORMAT}.", "Bring it up to date from its own papers, encoding nothing, with: "
                                      f"semsearch reindex{spelt_home(folder.parent)} {name}")
    newer = isinstance(number, int) and number > FORMAT
    return IndexFormatUnsupported(
        f"The index {name!r} has format {number}; this version of semsearch reads format {FORMAT}.",
        "Update semsearch." if newer else "Build the index again from its sources with: "
        f"semsearch build --rebuild{spelt_index(folder)} [SOURCE...]")


def describe_file(path: Path) -> FileEntry:
    """Return the manifest's entry for a file."""
    return FileEntry(path.stat().st_size, file_sha256(path), head_sha256(path))


def head_sha256(path: Path, size_bytes: int = HEAD_BYTES) -> str:
    """Return the SHA-256 of the beginning of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(size_bytes)).hexdigest()


def is_lexical(name: str) -> bool:
    """Return whether a file of a generation belongs to its lexical index, which can be made again from the papers."""
    return name.startswith(f"{LEXICAL}/")


def check_files(folder: Path, manifest: Manifest, *, lexical: bool = True) -> None:
    """Check that every file is there with its size and its header, those of the lexical index only if asked to.

    Raises:
        IndexDamaged: naming the file and the way out.
    """
    for name, entry in manifest.files.items():
        if is_lexical(name) and not lexical:
            continue
        path = folder / name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise damaged(path, "is missing") from error
        if size != entry.size_bytes:
            raise damaged(path, f"has {size:,} bytes where {entry.size_bytes:,} were written")
        if head_sha256(path) != entry.head_sha256:
            raise damaged(path, "does not begin with what was written")
    if PAPERS_NEW not in manifest.files and (folder / PAPERS_NEW).exists():  # it would be read
        raise damaged(folder / PAPERS_NEW, "does not belong to this generation")


def damaged(path: Path, what: str) -> IndexDamaged:
    """Return the error for a file of an index that is not what was written."""
    folder = _index_folder(path)
    if LEXICAL in path.parts[-2:] and path.parts[-4 if path.name != LEXICAL else -3] == "generations":
        return IndexDamaged(f"The index is damaged: {path} {what}.",
                            "Its words are found again in its own papers with: "
                            f"semsearch reindex{spelt_home(folder.parent)} {folder.name}")
    return IndexDamaged(f"The index is damaged: {path} {what}.",
                        "Restore that file from a copy, or build the index again from its sources with: "
                        f"semsearch build --rebuild{spelt_index(folder)} [SOURCE...]")


def _index_folder(path: Path) -> Path:
    """Return the folder of the index that a file belongs to."""
    parts = path.parts
    last = len(parts) - 1 - parts[::-1].index("generations") if "generations" in parts else len(parts) - 1
    return Path(*parts[:last])
