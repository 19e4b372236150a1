"""Stage, publish, open and prune generations: the only place that renames."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from semsearch.errors import IndexChanged, IndexDamaged, IndexNotFound
from semsearch.index import manifest as manifests
from semsearch.index.durable import file_sha256, full_disk_named, sync_file, sync_folder, write_atomically
from semsearch.index.locks import lock_exclusive, lock_shared, publish_lock
from semsearch.index.manifest import MANIFEST, FileEntry, Manifest
from semsearch.spelling import spelt_index

CURRENT: Final = "CURRENT"
GENERATIONS: Final = "generations"
_NOTHING_YET: Final = b"0\n"
"""What `CURRENT` says while the first generation gets its name: without it a crash then would look like a lost file."""
_POINTER: Final = re.compile(rb"([1-9]\d{0,17}) ([0-9a-f]{64})\n")
_STAGING: Final = ".staging-"
_PRUNED: Final = ".pruned-"
_OPEN_ATTEMPTS: Final = 200
_OPEN_PAUSE_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Pointer:
    """What `CURRENT` says: a generation and the SHA-256 of its manifest."""

    generation: int
    manifest_sha256: str


class Generation:
    """A published generation, held open with a shared lock so that it is not pruned; close it after use."""

    def __init__(self, folder: Path, manifest: Manifest, lock: BinaryIO) -> None:
        self.folder = folder
        self.manifest = manifest
        self._lock = lock

    def path(self, name: str) -> Path:
        """Return the path of one of its files."""
        return self.folder / name

    def checked_path(self, name: str) -> Path:
        """Return the path of one of its files, of which every byte is what was written.

        What goes on into another generation is read through here: there it would pass for sound.

        Raises:
            IndexDamaged: its checksum differs.
        """
        path = self.path(name)
        if file_sha256(path) != self.manifest.files[name].sha256:
            raise manifests.damaged(path, "is not what was written (its checksum differs)")
        return path

    def close(self) -> None:
        """Give the lock back."""
        self._lock.close()


def read_pointer(index_folder: Path) -> Pointer | None:
    """Return what `CURRENT` says, None where nothing was published yet.

    Raises:
        IndexNotFound: there is no such folder.
        IndexDamaged: the file is not what was written.
    """
    path = index_folder / CURRENT
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if not index_folder.is_dir():
            raise not_found(index_folder) from None
        if _published(index_folder):
            raise manifests.damaged(path, "is missing") from None
        return None
    if content == _NOTHING_YET:
        return None
    found = _POINTER.fullmatch(content)
    if not found:
        raise manifests.damaged(path, "does not name a generation")
    return Pointer(int(found[1]), found[2].decode("ascii"))


def read_manifest(index_folder: Path) -> Manifest:
    """Return the manifest of the current generation, be it of an older format, whatever state its other files are in.

    Raises:
        IndexNotFound: there is none.
        IndexDamaged, IndexFormatUnsupported: it cannot be read.
    """
    pointer = read_pointer(index_folder)
    if pointer is None:
        raise not_found(index_folder)
    path = index_folder / GENERATIONS / str(pointer.generation) / MANIFEST
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _missing(index_folder, path) from error
    return _checked(content, path, pointer, repairing=True)


def open_current(index_folder: Path, *, repairing: bool = False) -> Generation:
    """Open the current generation for reading.

    `repairing`: for the one who makes the next out of it; it may have an older format and a damaged lexical index.

    Raises:
        IndexNotFound: there is none.
        IndexDamaged, IndexFormatUnsupported: it cannot be read.
    """
    for attempt in range(_OPEN_ATTEMPTS):
        pointer = read_pointer(index_folder)
        if pointer is None:
            raise IndexNotFound(f"The index {index_folder.name!r} in {index_folder.parent} has no published generation "
                                "yet: its first build has not finished.",
                                f"Go on with: semsearch build{spelt_index(index_folder)}")
        try:
            generation = _open(index_folder, pointer, repairing=repairing)
        except IndexDamaged:
            if read_pointer(index_folder) == pointer:
                raise
            generation = None
        if generation is not None:
            return generation
        if attempt > 2:
            time.sleep(_OPEN_PAUSE_SECONDS)
    raise manifests.damaged(index_folder / CURRENT, "names a generation that is locked for removal")


@contextmanager
def staging(index_folder: Path) -> Iterator[Path]:
    """Give a folder to write the files of a new generation into; what is left of it at the end is removed.

    Whoever stages holds the build lock, so folders that crashed runs left behind are nobody's and go first.
    """
    folder = index_folder / GENERATIONS
    folder.mkdir(exist_ok=True)
    for leftover in [*folder.glob(_STAGING + "*"), *folder.glob(_PRUNED + "*")]:
        shutil.rmtree(leftover, ignore_errors=True)
    staged = folder / f"{_STAGING}{os.getpid()}"
    staged.mkdir()
    try:
        with full_disk_named(index_folder):
            yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def take_over(base: Generation, name: str, staged: Path) -> None:
    """Make an unchanged file part of a new generation: a hard link, or where the filesystem has none a copy.

    Raises:
        IndexDamaged: a copy would give a damaged file a checksum that fits.
    """
    (staged / name).parent.mkdir(exist_ok=True)
    try:
        os.link(base.path(name), staged / name)
    except OSError:
        shutil.copyfile(base.checked_path(name), staged / name)


def publish(index_folder: Path, staged: Path, base: Generation | None,
            describe: Callable[[int, dict[str, FileEntry]], Manifest]) -> Manifest:
    """Make a staged folder the current generation.

    `describe` gets the new number and the entries of the files and returns the manifest. Order: every file is on the
    disk, then the manifest, then the folder has its name, then `CURRENT` points to it.

    Raises:
        IndexChanged: another generation was published since `base` was opened; nothing was changed.
        DiskFull: there is no room; the old generation stays current.
    """
    entries = {name: _entry(staged, name, base) for name in file_names(staged)}
    for folder in {(staged / name).parent for name in entries} - {staged}:
        sync_folder(folder)
    with full_disk_named(index_folder), publish_lock(index_folder):
        pointer = _pointer_or_none(index_folder)
        expected = base.manifest.generation if base else None
        if base is not None and (pointer is None or pointer.generation != expected):
            raise IndexChanged(f"The index {index_folder.name!r} was changed by another process while this one worked.",
                               "Nothing was lost: run the same command again.")
        number = max([0, *_published(index_folder), *([pointer.generation] if pointer else [])]) + 1
        manifest = describe(number, entries)
        content = manifest.to_json()
        write_atomically(staged / MANIFEST, content)
        if not (index_folder / CURRENT).exists():
            write_atomically(index_folder / CURRENT, _NOTHING_YET)
        os.rename(staged, index_folder / GENERATIONS / str(number))
        sync_folder(index_folder / GENERATIONS)
        pointer_line = f"{number} {hashlib.sha256(content).hexdigest()}\n"
        write_atomically(index_folder / CURRENT, pointer_line.encode("ascii"))
    return manifest


def file_names(folder: Path) -> list[str]:
    """Return the names of all files in a generation's folder as manifests spell them, sorted."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def prune(index_folder: Path) -> list[int]:
    """Remove the generations before the current one that no one reads, and return their numbers.

    Those after it stay: one may be getting published at this moment. What a crash left there goes with a later prune.
    """
    pointer = read_pointer(index_folder)
    if pointer is None:
        return []
    removed = []
    for number in _published(index_folder):
        if number < pointer.generation and _remove_unless_read(index_folder / GENERATIONS / str(number)):
            removed.append(number)
    return removed


def not_found(index_folder: Path) -> IndexNotFound:
    """Return the error that says that there is no such index, naming the ones that are there."""
    home = index_folder.parent
    names = index_names(home)
    there = f"There: {', '.join(names)}." if names else "There is none yet."
    return IndexNotFound(f"No index named {index_folder.name!r} in {home}. {there}",
                         f"Make one with: semsearch build SOURCE...{spelt_index(index_folder)}  (--home or "
                         "SEMSEARCH_HOME says where indexes are)")


def index_names(home: Path) -> list[str]:
    """Return the names of the indexes in a folder, sorted."""
    if not home.is_dir():
        return []
    return sorted(p.name for p in home.iterdir() if (p / GENERATIONS).is_dir() or (p / CURRENT).is_file())


def _open(index_folder: Path, pointer: Pointer, *, repairing: bool) -> Generation | None:
    """Return the generation, or None where it is being pruned at this moment."""
    folder = index_folder / GENERATIONS / str(pointer.generation)
    path = folder / MANIFEST
    try:
        file = open(path, "rb")
    except OSError as error:
        raise _missing(index_folder, path) from error
    try:
        if not lock_shared(file) or not path.exists():
            file.close()
            return None
        manifest = _checked(file.read(), path, pointer, repairing=repairing)
        manifests.check_files(folder, manifest, lexical=not repairing)
    except BaseException:
        file.close()
        raise
    return Generation(folder, manifest, file)


def _missing(index_folder: Path, path: Path) -> IndexDamaged:
    return manifests.damaged(path, f"is missing, which {index_folder / CURRENT} names")


def _checked(content: bytes, path: Path, pointer: Pointer, *, repairing: bool) -> Manifest:
    if hashlib.sha256(content).hexdigest() != pointer.manifest_sha256:
        raise manifests.damaged(path, f"is not the manifest that {CURRENT} names")
    return manifests.parse(content, path, outdated=repairing)


def _entry(staged: Path, name: str, base: Generation | None) -> FileEntry:
    path = staged / name
    if base is not None and name in base.manifest.files:
        old = base.path(name)
        if old.exists() and os.path.samefile(old, path):
            return base.manifest.files[name]
    sync_file(path)
    return manifests.describe_file(path)


def _pointer_or_none(index_folder: Path) -> Pointer | None:
    try:
        return read_pointer(index_folder)
    except IndexDamaged:
        return None


def _published(index_folder: Path) -> list[int]:
    folder = index_folder / GENERATIONS
    if not folder.is_dir():
        return []
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())


def _remove_unless_read(folder: Path) -> bool:
    try:
        file: BinaryIO | None = open(folder / MANIFEST, "r+b")
    except OSError:
        file = None
    try:
        if file is not None and not lock_exclusive(file):
            return False
        doomed = folder.with_name(f"{_PRUNED}{folder.name}-{os.getpid()}")
        try:
            os.rename(folder, doomed)
        except OSError:
            return False
        shutil.rmtree(doomed, ignore_errors=True)
        return True
    finally:
        if file is not None:
            file.close()
