"""Texts that questions would have liked to see encoded: a build takes them first.

One file of 16-byte text keys per process, beside the vector logs. They are wishes: that one is lost costs nothing but
the order in which texts are encoded.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.index.durable import make_folder
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.locks import lock_exclusive

MOST_BYTES: Final = 1 << 16
"""What a process may want: 4,096 texts, the candidates of some twenty questions."""
MOST_FILES: Final = 256
"""So many processes are listened to until a build has encoded what they want."""
_FILES: Final = "wanted-*.keys"


def append_wanted(folder: Path, keys: Sequence[bytes]) -> None:
    """Add text keys to this process's file in the folder of a fingerprint, without waiting for anyone.

    A full file, or a folder that is full of them, takes no more, until a build has encoded what they name.

    Raises:
        OSError, DiskFull: nothing can be written there.
    """
    make_folder(folder)
    path = folder / f"wanted-{socket.gethostname()}-{os.getpid()}.keys"
    if not path.exists() and sum(1 for _ in folder.glob(_FILES)) >= MOST_FILES:
        return
    with open(path, "ab") as file:
        if not lock_exclusive(file):
            return
        whole = file.tell() - file.tell() % KEY_DTYPE.itemsize
        file.truncate(whole)  # what a process of this number that died had not written to the end
        room = (MOST_BYTES - whole) // KEY_DTYPE.itemsize
        file.write(b"".join(keys[:max(room, 0)]))


def read_wanted(folder: Path) -> NDArray[Any]:
    """Return the `(n,)` distinct text keys that are wanted, those of one process in the order of its questions."""
    keys = [_read(path) for path in sorted(folder.glob(_FILES))]
    together = np.concatenate([np.zeros(0, KEY_DTYPE), *keys])
    _, first = np.unique(together, return_index=True)
    return together[np.sort(first)]


def forget_wanted(folder: Path, is_done: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None) -> int:
    """Remove the files of which `is_done` says that every key is, None for all; return how many went.

    One that a process is writing to stays.
    """
    removed = 0
    for path in sorted(folder.glob(_FILES)):
        with suppress(OSError), open(path, "r+b") as file:
            if lock_exclusive(file) and (is_done is None or is_done(_read(path)).all()):
                path.unlink()
                removed += 1
    return removed


def _read(path: Path) -> NDArray[Any]:
    try:
        content = path.read_bytes()
    except OSError:  # a build that is done removes it
        content = b""
    return np.frombuffer(content[:len(content) - len(content) % KEY_DTYPE.itemsize], KEY_DTYPE)
