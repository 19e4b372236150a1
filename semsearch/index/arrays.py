"""Arrays as NumPy writes them to files, read by one thread at a time.

NumPy parses what such a file says of itself with Python's parser, and on Python 3.11 two threads that do so at once can
both fail ("AST constructor recursion depth mismatch").
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ONE_THREAD: Final = threading.Lock()


def read_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """Return the array in a file, `mapped` without reading it; raises what `numpy.load` does."""
    with _ONE_THREAD:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    return array
