"""Writing files so that a crash leaves the old content or the new, never half of it."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from semsearch.errors import DiskFull

_NO_SPACE: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_BLOCK_BYTES: Final = 1 << 20
_FICLONE: Final = 0x40049409
"""The request of Linux that makes a file share the blocks of another (ioctl_ficlone(2))."""


@contextmanager
def full_disk_named(folder: Path) -> Iterator[None]:
    """Turn the ways in which the system says that a disk is full into `DiskFull`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise disk_full(folder) from error


def disk_full(folder: Path) -> DiskFull:
    """Return the error that says that `folder` has no room."""
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    return DiskFull(f"No space left to write under {folder} ({free / 1e6:,.1f} MB free on that disk, or a file size "
                    "limit was reached).",
                    "What was published before is intact. Free some space (or use --home on another disk) and run the "
                    "same command again: it goes on from what was saved.")


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the content of `path`: temporary file, fsync, rename, fsync of the folder.

    Raises:
        DiskFull: there is no room; the old content stays.
    """
    with written_atomically(path) as temporary, open(temporary, "wb") as file:
        file.write(content)


@contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; what is written there gets the name `path` at the end, if all went well.

    Raises:
        DiskFull: there is no room; what was there before stays.
    """
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with full_disk_named(target.parent):
            yield temporary
            sync_file(temporary)
            os.replace(temporary, target)
            sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Wait until the content of `path` is on the disk."""
    with full_disk_named(path.parent), open(path, "rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk; systems that cannot open a folder see to that themselves."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder and the ones above it that are not there, and wait until their names are on the disk.

    Raises:
        DiskFull: there is no room.
    """
    missing = [p for p in (folder, *folder.parents) if not p.exists()]
    with full_disk_named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for made in missing:
            sync_folder(made.parent)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file; where the filesystem can share blocks between files (btrfs, XFS), nothing is read or written.

    Raises:
        DiskFull: there is no room.
    """
    with full_disk_named(target.parent):
        if not _cloned(source, target):
            shutil.copyfile(source, target)


def _cloned(source: Path, target: Path) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    with open(source, "rb") as old, open(target, "wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            return False
    return True


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex, read in blocks."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
