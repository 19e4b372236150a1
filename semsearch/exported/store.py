"""Exported encoders in the user's cache, one folder for each fingerprint.

What is damaged, of another format or of another encoder counts as not there. Imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from semsearch.models.cache import cache_folder, file_sha256

FORMAT: Final = 1
ENCODERS: Final = "encoders"
MODEL: Final = "model.onnx"
WEIGHTS: Final = "weights.bin"
TOKENIZER: Final = "tokenizer.json"
SETTINGS: Final = "settings.json"

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LEFT_BEHIND_SECONDS: Final = 3600
"""After this a temporary folder belongs to no export that still runs."""


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """What an exported encoder is.

    `documents` and `queries` are its prompts; `padding` the number of the token that fills up batches; `files` gives
    size and SHA-256 by name; `versions` those of the libraries that took part. `refused` says why this encoder cannot
    be exported, by these versions; then there are no files.
    """

    fingerprint: str
    model: str
    dimension: int
    max_tokens: int
    documents: str = ""
    queries: str = ""
    padding: int = 0
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""


def folder_of(fingerprint: str) -> Path | None:
    """Return where the encoder of a fingerprint is kept, there or not; None where it is no fingerprint."""
    return cache_folder() / ENCODERS / fingerprint if _FINGERPRINT.fullmatch(fingerprint) else None


def read_settings(fingerprint: str) -> ExportSettings | None:
    """Return what is known of the export of an encoder; None where there was none, or it is damaged or foreign."""
    folder = folder_of(fingerprint)
    if folder is None:
        return None
    try:
        content = json.loads((folder / SETTINGS).read_bytes())
        settings = _parse(content)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return settings if settings.fingerprint == fingerprint else None


def is_intact(settings: ExportSettings) -> bool:
    """Return whether the files of an exported encoder are those that were written.

    Their SHA-256 is computed where their size or time of change is not as remembered, as for models themselves.
    """
    folder = folder_of(settings.fingerprint)
    if folder is None or not {MODEL, TOKENIZER} <= settings.files.keys() <= {MODEL, TOKENIZER, WEIGHTS}:
        return False
    try:
        return all((folder / name).stat().st_size == size and file_sha256(folder / name) == digest
                   for name, (size, digest) in settings.files.items())
    except OSError:
        return False


def remember_refusal(settings: ExportSettings) -> None:
    """Remember that an encoder cannot be exported.

    Raises OSError where the cache cannot be written.
    """
    with staged_export(settings.fingerprint) as folder:
        write_settings(folder, settings)


@contextmanager
def staged_export(fingerprint: str) -> Iterator[Path]:
    """Give a temporary folder that takes the place of the encoder's own where all went well.

    Raises OSError where the cache cannot be written, ValueError where it is no fingerprint.
    """
    target = folder_of(fingerprint)
    if target is None:
        raise ValueError(f"{fingerprint!r} is no fingerprint")
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target.parent)
    temporary = Path(tempfile.mkdtemp(prefix=f".{fingerprint[:16]}-", dir=target.parent))
    try:
        staged = temporary / "new"
        staged.mkdir()
        yield staged
        for path in staged.iterdir():
            _sync(path)
        with contextlib.suppress(FileNotFoundError):
            os.replace(target, temporary / "old")
        try:
            os.replace(staged, target)
        except OSError:
            if not target.exists():  # else another process has just put the same there
                raise
        _sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def measured(path: Path) -> tuple[int, str]:
    """Return size and SHA-256 of a file."""
    return path.stat().st_size, file_sha256(path)


def write_settings(folder: Path, settings: ExportSettings) -> None:
    """Write the settings of an export into its folder."""
    content = {"format": FORMAT, **asdict(settings)}
    (folder / SETTINGS).write_text(json.dumps(content, indent=1, ensure_ascii=True), encoding="ascii")


def _parse(content: Any) -> ExportSettings:
    """Return the settings that a file holds; what Python raises where it holds anything else."""
    if content["format"] != FORMAT:
        raise ValueError("another format")
    texts = {name: content[name] for name in ("fingerprint", "model", "documents", "queries", "refused")}
    numbers = {name: content[name] for name in ("dimension", "max_tokens", "padding")}
    files = {name: (size, digest) for name, (size, digest) in content["files"].items()}
    versions = dict(content["versions"])
    strings = [*texts.values(), *versions.values(), *(digest for _, digest in files.values())]
    if (not all(isinstance(text, str) for text in strings)
            or any(type(number) is not int for number in (*numbers.values(), *(size for size, _ in files.values())))):
        raise ValueError("a value of the wrong type")
    return ExportSettings(**texts, **numbers, files=files, versions=versions)


def _sweep(encoders: Path) -> None:
    """Remove what exports left behind that were killed."""
    for path in encoders.glob(".*-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                shutil.rmtree(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
