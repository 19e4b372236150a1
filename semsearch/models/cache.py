"""Digests of large files, remembered in the user's cache so that a model of gigabytes is hashed once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

CACHE_ENVIRONMENT: Final = "SEMSEARCH_CACHE_DIR"
DIGESTS_FILE: Final = "model_digests.json"
DIGESTS_FORMAT: Final = 1


def cache_folder() -> Path:
    """Return the folder for what can be computed again; it is not created.

    `SEMSEARCH_CACHE_DIR` where that is set, else the platform's cache folder for this program.
    """
    chosen = os.environ.get(CACHE_ENVIRONMENT)
    if chosen:
        return Path(os.path.expanduser(chosen))
    import platformdirs

    return platformdirs.user_cache_path("semsearch", appauthor=False)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex, from the cache where path, size and time of change are as remembered.

    Raises OSError where the file cannot be read. A cache that is damaged or cannot be written is as no cache.
    """
    return remembered_digest(path, "sha256", _sha256_of_bytes)


def remembered_digest(path: Path, kind: str, compute: Callable[[Path], str]) -> str:
    """Return `compute(path)`, from the cache where it is remembered for this `kind` and this state of the file."""
    real = path.resolve()
    status = real.stat()
    key = f"{kind}:{real}"
    state = [status.st_size, status.st_mtime_ns]
    known = _read_entries().get(key)
    if known is not None and known[:2] == state:
        return str(known[2])
    digest = compute(real)
    _remember(key, [*state, digest])
    return digest


def _sha256_of_bytes(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_entries() -> dict[str, list[Any]]:
    """Return key -> [size, mtime_ns, digest]; nothing where the cache is absent, damaged or of another format."""
    try:
        content = json.loads((cache_folder() / DIGESTS_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or content.get("format") != DIGESTS_FORMAT:
        return {}
    entries = content.get("entries")
    if not isinstance(entries, dict):
        return {}
    return {key: entry for key, entry in entries.items() if _is_entry(entry)}


def _is_entry(entry: object) -> bool:
    return isinstance(entry, list) and [type(part) for part in entry] == [int, int, str] and len(entry[2]) == 64


def _remember(key: str, entry: list[Any]) -> None:
    """Write the cache with one entry more; entries of files that are gone are dropped."""
    entries = {k: e for k, e in _read_entries().items() if os.path.exists(k.partition(":")[2])}
    entries[key] = entry
    content = json.dumps({"format": DIGESTS_FORMAT, "entries": entries}, indent=1)
    temporary = None
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=DIGESTS_FILE, suffix=".tmp", dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(temporary, folder / DIGESTS_FILE)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
