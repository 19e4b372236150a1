"""The vectors of a generation written as one segment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from semsearch.index.manifest import VECTORS
from semsearch.index.vector_files import write_entries, write_segment


def write_vectors(folder: Path, vectors: int, dimension: int, blocks: Iterator[Any]) -> None:
    """Write so many vectors of these blocks, with their entries, each in the place of its number."""
    entries = write_segment(folder / VECTORS, vectors, dimension, blocks)
    write_entries(folder, entries, np.arange(vectors))
