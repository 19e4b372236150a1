"""The order in which texts get their vectors: what people asked about, then the newest papers, then the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class EncodingQueue:
    """Texts that wait for a vector, one row for each."""

    def __init__(self, rows: NDArray[np.int64], keys: NDArray[Any], dates: NDArray[np.str_]) -> None:
        """Take the `(n,)` rows that lack a vector, their `(n,)` text keys and their `(n,)` dates, empty where unknown.

        Papers with one text wait as the newest of them.
        """
        _, age = np.unique(dates, return_inverse=True)
        order = np.lexsort((rows, -age.reshape(-1)))  # an unknown date is the least of all strings
        _, first = np.unique(keys[order], return_index=True)
        order = order[np.sort(first)]
        self._rows, self._keys = rows[order], keys[order]
        self._waits = np.ones(len(order), np.bool_)
        self._by_key = np.argsort(self._keys, kind="stable")
        self._taken = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """How many texts wait."""
        return int(self._waits.sum())

    def drop(self, keys: NDArray[Any]) -> int:
        """Take out the texts with these keys, which have a vector now; return how many of them waited."""
        before = len(self)
        self._waits[self._places(keys)] = False
        return before - len(self)

    def take(self, count: int, wanted: NDArray[Any]) -> NDArray[np.int64]:
        """Take out the next `count` texts, of the `wanted` keys those that wait first, and return their rows."""
        asked_about = self._places(wanted)
        asked_about = asked_about[self._waits[asked_about]][:count]
        self._waits[asked_about] = False
        others = np.flatnonzero(self._waits)[:count - len(asked_about)]
        self._waits[others] = False
        self._taken = np.concatenate([asked_about, others])
        rows: NDArray[np.int64] = self._rows[self._taken]
        return rows

    def put_back(self) -> None:
        """Let the texts that were taken out last wait again, each at its place."""
        self._waits[self._taken] = True

    def _places(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """Return the places of those of these keys that were ever here, in their order."""
        if not len(self._keys) or not len(keys):
            return np.zeros(0, np.int64)
        found = np.searchsorted(self._keys, keys, sorter=self._by_key)
        found[found == len(self._keys)] = 0
        places = self._by_key[found]
        here: NDArray[np.int64] = places[self._keys[places] == keys]
        return here
