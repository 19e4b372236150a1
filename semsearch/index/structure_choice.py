"""Which faiss factory suits so many vectors and so much memory.

Measured on two cores with 384 dimensions; `docs/scale.md` has the figures. A graph (HNSW) is as fast and finds as much,
but faiss must read all of it before the first question, while inverted lists are memory-mapped: so no graph is chosen.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

EXACT: Final = "Flat"
EXACT_UP_TO: Final = 300_000
"""So many vectors are scanned in 64 ms by two busy cores, and nothing is missed."""
_ID_BYTES: Final = 8
_LISTS_PER_ROOT: Final = 4
"""faiss recommends 4 to 16 times the root of the number of vectors; the fewest are trained soonest."""
_MOST_LISTS: Final = 65_536
_DIMENSIONS_PER_BYTE: Final = 4
_UNKNOWN_MEMORY_BYTES: Final = 8 << 30
_MEMORY_SHARE: Final = 0.25
"""The rest is for the system's cache of the vectors themselves, the papers, and other programs."""
_CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")


def choose_factory(vectors: int, dimension: int, memory_bytes: int | None = None) -> str:
    """Return the faiss factory for so many vectors: exact where that is fast, inverted lists beyond.

    They hold a byte for each dimension, or where a quarter of the memory is too small for that, one for four.
    `memory_bytes`: what the machine has; asked of the system where None.
    """
    if vectors <= EXACT_UP_TO:
        return EXACT
    memory = _MEMORY_SHARE * (available_memory() if memory_bytes is None else memory_bytes)
    lists = min(2 ** round(math.log2(_LISTS_PER_ROOT * math.sqrt(vectors))), _MOST_LISTS)
    if vectors * (dimension + _ID_BYTES) <= memory:
        return f"IVF{lists},SQ8"
    most = max(dimension // _DIMENSIONS_PER_BYTE, 1)
    parts = next(parts for parts in range(most, 0, -1) if dimension % parts == 0)
    return f"IVF{lists},PQ{parts}"


def available_memory() -> int:
    """Return the bytes of memory that this machine or container may use."""
    memory = _UNKNOWN_MEMORY_BYTES
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(ValueError, OSError):
        memory = min(memory, int(_CGROUP_LIMIT.read_text(encoding="ascii")))
    return memory
