"""Locks between processes. The system frees them when their holder dies, however it dies."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from semsearch.errors import IndexBusy
from semsearch.index.durable import full_disk_named

BUILD_LOCK: Final = "build.lock"
PUBLISH_LOCK: Final = "publish.lock"

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
def build_lock(index_folder: Path, purpose: str) -> Iterator[None]:
    """Hold the lock that keeps a second build out of an index.

    Raises:
        IndexBusy: at once, naming the process that holds it and since when.
    """
    with work_lock(index_folder / BUILD_LOCK, purpose, f"writing to the index {index_folder.name!r}",
                   "Wait until it is done, or stop it: what it has encoded so far is kept. Questions can be asked "
                   "meanwhile."):
        yield


@contextmanager
def work_lock(path: Path, purpose: str, work: str, way_out: str) -> Iterator[None]:
    """Hold the lock that keeps a second process from some work; `work` says it as in "Another process is `work`".

    Raises:
        IndexBusy: at once, naming the process that holds it and since when.
    """
    with full_disk_named(path.parent), open(path, "a+", encoding="utf-8") as file:
        # A lock on a file that its last holder removed with the folder is no lock: the next one would not meet it.
        if not lock_exclusive(file) or not _is_there(path, file):
            raise IndexBusy(f"Another process is {work}: {_holder(path)}.", way_out)
        file.truncate(0)
        import socket

        json.dump({"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose,
                   "since": datetime.now().astimezone().isoformat(timespec="seconds")}, file)
        file.flush()
        yield


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
        try:
            holder = json.loads(path.read_text(encoding="utf-8"))
            return f"{holder['purpose']}, process {holder['pid']} on {holder['host']}, since {holder['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.01)
    return "a process that has not written its name yet"
