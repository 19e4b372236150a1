"""The marker of a finished shard: what it holds, written last."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from semsearch.encoding import EncoderIdentity
from semsearch.errors import IndexDamaged, IndexFormatUnsupported
from semsearch.index.durable import write_atomically
from semsearch.index.manifest import FileEntry
from semsearch.shards.division import Shard

FORMAT: Final = 1
MARKER: Final = "done.json"
KEYS: Final = "keys"
TOKENS: Final = "tokens"
VECTORS: Final = "vectors"


@dataclass(frozen=True, slots=True)
class Lists:
    """Inverted lists of a shard: their file, and the SHA-256 of the trained quantiser by which they were filled."""

    file: FileEntry
    trained_sha256: str


@dataclass(frozen=True, slots=True)
class Marker:
    """What a finished shard holds.

    `texts` vectors, of just the texts whose sorted keys have the SHA-256 `keys_sha256`. `sources_sha256` stands for the
    source files that they came from, `""` where those cannot be told again; `rejected` counts the records of all of
    them that could not be used. `lists` are the inverted lists that were filled, by faiss factory.
    """

    encoder: EncoderIdentity
    shard: Shard
    texts: int
    keys_sha256: str
    sources_sha256: str
    rejected: int
    files: dict[str, FileEntry]
    lists: dict[str, Lists] = field(default_factory=dict)
    format: int = FORMAT

    def path(self, folder: Path, what: str) -> Path:
        """Return the file of the keys, the token counts or the vectors; another state of the shard has other names."""
        return folder / f"{what}-{self.keys_sha256[:12]}.npy"

    def lists_path(self, folder: Path, factory: str) -> Path:
        """Return the file of the inverted lists for a factory."""
        return folder / f"lists-{self.keys_sha256[:12]}-{factory.replace(',', '-')}.faiss"


def write_marker(folder: Path, marker: Marker) -> None:
    """Put the marker in a shard's folder, in place of the one before."""
    write_atomically(folder / MARKER, json.dumps(asdict(marker), indent=1, sort_keys=True).encode() + b"\n")


def read_marker(folder: Path) -> Marker | None:
    """Return the marker of a shard's folder, None where the shard is not finished.

    Raises:
        IndexDamaged: it is no marker.
        IndexFormatUnsupported: another version of semsearch wrote it.
    """
    path = folder / MARKER
    try:
        data = json.loads(path.read_bytes())
        number = data["format"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, "is not the marker of a shard") from error
    if number != FORMAT:
        raise IndexFormatUnsupported(f"The shard {folder} has format {number}; this version of semsearch reads format "
                                     f"{FORMAT}.", "Use the version of semsearch that encoded it, or encode it again "
                                     "into another folder.")
    try:
        data["files"] = {name: FileEntry(**entry) for name, entry in data["files"].items()}
        data["lists"] = {factory: Lists(FileEntry(**lists["file"]), lists["trained_sha256"])
                         for factory, lists in data["lists"].items()}
        return Marker(**data | {"encoder": EncoderIdentity(**data["encoder"]), "shard": Shard(**data["shard"])})
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(path, "lacks a part of a marker") from error


def damaged(path: Path, what: str) -> IndexDamaged:
    """Return the error for a file of a shard that is not what was written."""
    return IndexDamaged(f"The shard {path.parent.name} is damaged: {path} {what}.",
                        "Run the same semsearch encode again for that shard: it finds the damage and makes the shard "
                        "anew, with what is whole in its other files.")
