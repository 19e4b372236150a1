"""Vectors found by the key of the text they were made from."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncodedTexts
from semsearch.paper import TEXT_KEY_BYTES

KEY_DTYPE: Final = np.dtype(f"S{TEXT_KEY_BYTES}")
"""Keys compare as bytes padded with zeros, which is exact because all have one length."""


class VectorsByPosition(Protocol):
    """Vectors that are given for their positions: an array, memory-mapped or not, or several of them."""

    def __getitem__(self, positions: NDArray[np.int64], /) -> NDArray[Any]:
        """Return the `(n, d)` vectors at these `(n,)` positions."""
        ...


class KeyedVectors:
    """A source of vectors: a generation, or the vector logs.

    `keys`: `(m,)` bytes; `token_counts`: `(m,)` int32; `vectors`: `(m, d)` float32, may be memory-mapped.
    """

    def __init__(self, keys: NDArray[Any], token_counts: NDArray[Any], vectors: VectorsByPosition) -> None:
        self._keys = keys
        self._token_counts = token_counts
        self._vectors = vectors

    @property
    def keys_by_position(self) -> NDArray[Any]:
        """`(m,)` keys, in the order of the vectors."""
        return self._keys

    def __len__(self) -> int:
        return len(self._keys)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self._keys, kind="stable")

    @cached_property
    def _sorted(self) -> NDArray[Any]:
        return self._keys[self._order]

    def find(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """Return `(n,)` int64: for each key a position in this source, -1 where it has none."""
        found = np.full(len(keys), -1, np.int64)
        shared = min(len(self._keys), len(keys))
        same = np.flatnonzero(self._keys[:shared] == keys[:shared])
        found[same] = same  # most texts of a generation stand where they stood in the one before
        missing = np.flatnonzero(found < 0)
        if not len(self._keys) or not len(missing):
            return found
        places = np.searchsorted(self._sorted, keys[missing])
        places[places == len(self._sorted)] = 0
        found[missing] = np.where(self._sorted[places] == keys[missing], self._order[places], -1)
        return found

    def take(self, positions: NDArray[np.int64]) -> EncodedTexts:
        """Return the vectors at these positions."""
        return EncodedTexts(np.ascontiguousarray(self._vectors[positions], dtype=np.float32),
                            np.asarray(self._token_counts[positions], dtype=np.int32))
