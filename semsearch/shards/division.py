"""Which text belongs to which shard."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import UsageError
from semsearch.paper import TEXT_KEY_BYTES

MOST_SHARDS: Final = 9999
_SPELT: Final = re.compile(r"([0-9]{1,6})/([0-9]{1,6})", re.ASCII)
_HASH: Final = np.dtype(">u8")


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """Shard `number` of `of`, counted from 1.

    A text belongs to it where the first 8 bytes of its text key, a big-endian number, leave `number - 1` when divided
    by `of`. Text keys are hashes, so a shard is a random sample of the texts.
    """

    of: int
    number: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder_name(self) -> str:
        """The name of its folder: `shard-0003-of-0016`."""
        return f"shard-{self.number:04}-of-{self.of:04}"

    def holds(self, keys: NDArray[Any]) -> NDArray[np.bool_]:
        """Return `(n,)` bool: which of these text keys belong to it."""
        if not len(keys):
            return np.zeros(0, np.bool_)
        words = TEXT_KEY_BYTES // _HASH.itemsize
        leading = np.ascontiguousarray(keys).view(_HASH).reshape(-1, words)[:, 0]
        return np.asarray(leading % np.uint64(self.of) == self.number - 1)


def parse_shard(text: str) -> Shard:
    """Return the shard that is spelt `i/n`.

    Raises:
        UsageError: it is no shard.
    """
    found = _SPELT.fullmatch(text.strip())
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of or of > MOST_SHARDS:
        raise UsageError(f"{text!r} is no shard.",
                         f"Shards are counted from 1: --shard 1/16 to --shard 16/16, {MOST_SHARDS} at most.")
    return Shard(of, number)


def all_shards(of: int) -> list[Shard]:
    """Return all shards of a division into `of`."""
    return [Shard(of, number) for number in range(1, of + 1)]
