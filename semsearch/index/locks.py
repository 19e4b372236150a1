"""Locks between processes. The system frees them when their holder dies, however it dies."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from semsearch.errors import IndexBusy
from semsearch.index.durable import full_disk_named

BUILD_LOCK: Final = "build.lock"
PUBLISH_LOCK: Final = "publish.lock"
IDLE_LOCK: Final = "idle.lock"
BRIEFLY_SECONDS: Final = 120.0
"""So long a holder that said that it is brief is waited for."""
_GLANCE_SECONDS: Final = 0.1
"""So long a lock is tried for that is held without a word: somebody may just be looking whether it is held."""
_PAUSE_SECONDS: Final = 0.01

if sys.platform == "win32":
    import portalocker

    def _lock(file: IO[Any], *, shared: bool, waits: bool) -> None:
        """Take a lock on an open file; raises where it cannot be had, which without `waits` is told at once."""
        kind = portalocker.LockFlags.SHARED if shared else portalocker.LockFlags.EXCLUSIVE
        try:
            portalocker.lock(file, kind if waits else kind | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException as error:
            raise OSError(str(error)) from error
else:
    import fcntl  # the same lock, without the tens of modules that portalocker brings

    def _lock(file: IO[Any], *, shared: bool, waits: bool) -> None:
        """Take a lock on an open file; raises where it cannot be had, which without `waits` is told at once."""
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))


@contextmanager
def build_lock(index_folder: Path, purpose: str, *, briefly: bool = False) -> Iterator[None]:
    """Hold the lock that keeps a second build out of an index; one that has it `briefly` is waited for by others.

    Raises:
        IndexBusy: as `work_lock`.
    """
    with work_lock(index_folder / BUILD_LOCK, purpose, f"writing to the index {index_folder.name!r}",
                   "Wait until it is done, or stop it: what it has encoded so far is kept. Questions can be asked "
                   "meanwhile.", briefly=briefly):
        yield


@contextmanager
def work_lock(path: Path, purpose: str, work: str, way_out: str, *, briefly: bool = False) -> Iterator[None]:
    """Hold the lock that keeps a second process from some work; `work` says it as in "Another process is `work`".

    Raises:
        IndexBusy: within a moment, naming the process that holds it and since when; after `BRIEFLY_SECONDS` where
            the holder said that it is brief.
    """
    with full_disk_named(path.parent), open(path, "a+", encoding="utf-8") as file:
        # A lock on a file that its last holder removed with the folder is no lock: the next one would not meet it.
        if not _lock_patiently(path, file) or not _is_there(path, file):
            raise IndexBusy(f"Another process is {work}: {_holder(path)}.", way_out)
        import socket

        holder = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "briefly": briefly,
                             "since": datetime.now().astimezone().isoformat(timespec="seconds")})
        file.truncate(0)
        file.write(holder)
        file.flush()
        yield


class Claim:
    """Some work that this process alone does, as long as it holds this and lives; whoever comes second does without."""

    def __init__(self, path: Path) -> None:
        """Name the file by which processes agree."""
        self._path = path
        self._file: IO[Any] | None = None

    def is_held(self) -> bool:
        """Return whether the work is this process's, trying to get it where it is not; nobody is waited for.

        Raises:
            OSError: the file cannot be written.
        """
        if self._file is None:
            file = open(self._path, "ab")
            if lock_exclusive(file):
                self._file = file
            else:
                file.close()
        return self._file is not None

    def release(self) -> None:
        """Leave the work to others."""
        if self._file is not None:
            self._file.close()
            self._file = None


def is_build_running(index_folder: Path) -> bool:
    """Return whether somebody holds the build lock of an index; asking keeps nobody out."""
    try:
        with open(index_folder / BUILD_LOCK, "rb") as file:
            return not lock_shared(file)
    except OSError:  # nobody has built here
        return False


@contextmanager
def waiting_lock(path: Path) -> Iterator[None]:
    """Hold a lock for which one waits."""
    with full_disk_named(path.parent), open(path, "a+b") as file:
        _lock(file, shared=False, waits=True)
        yield


@contextmanager
def publish_lock(index_folder: Path) -> Iterator[None]:
    """Hold the short lock under which generations are published and `state.json` is changed; waits for it."""
    with waiting_lock(index_folder / PUBLISH_LOCK):
        yield


def lock_shared(file: IO[Any]) -> bool:
    """Take a shared lock on an open file at once; False where someone holds it exclusively."""
    return _try(file, shared=True)


def lock_exclusive(file: IO[Any]) -> bool:
    """Take an exclusive lock on an open file at once; False where someone else holds one of either kind."""
    return _try(file, shared=False)


def _lock_patiently(path: Path, file: IO[Any]) -> bool:
    """Lock a file exclusively; False where its holder means to keep it."""
    begun = last_brief = time.monotonic()
    while not lock_exclusive(file):
        now = time.monotonic()
        if _read_holder(path).get("briefly"):
            last_brief = now
        if now - last_brief >= _GLANCE_SECONDS or now - begun >= BRIEFLY_SECONDS:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def _try(file: IO[Any], *, shared: bool) -> bool:
    try:
        _lock(file, shared=shared, waits=False)
    except OSError:
        return False
    return True


def _is_there(path: Path, file: IO[Any]) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except OSError:
        return False


def _holder(path: Path) -> str:
    for _ in range(20):
        with suppress(KeyError):
            holder = _read_holder(path)
            return f"{holder['purpose']}, process {holder['pid']} on {holder['host']}, since {holder['since']}"
        time.sleep(_PAUSE_SECONDS)
    return "a process that has not written its name yet"


def _read_holder(path: Path) -> dict[str, Any]:
    """Return what the last holder of a lock wrote, nothing where it has not yet."""
    with suppress(OSError, ValueError):
        holder = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(holder, dict):
            return holder
    return {}
