"""Half precision on a GPU: taken where a model's vectors stay what they are, which its first texts show.

Products are computed in float16, for which GPUs have units of their own; weights, sums and norms stay in float32, and
so do the vectors. Importing this module costs nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from semsearch.encoding import Vectors

LEAST_COSINE: Final = 0.9999
"""How alike a vector in half precision must be to the one in full for both to count as the same."""
TRIAL_TEXTS: Final = 16
_DEVICES: Final = frozenset({"cuda"})


class HalfPrecision:
    """Whether the products of one model are computed in half precision.

    Nothing is on a CPU, where it is slower. On a GPU the first texts are encoded both ways; where a vector comes out as
    another one, here or later as one that is not finite, full precision is taken from then on.
    """

    def __init__(self, device_type: str, devices: frozenset[str] = _DEVICES) -> None:
        self._device_type = device_type
        self._is_on: bool | None = None if device_type in devices else False

    @property
    def is_untried(self) -> bool:
        """Whether it is not known yet whether half precision serves."""
        return self._is_on is None

    @property
    def is_on(self) -> bool:
        """Whether products are computed in half precision."""
        return bool(self._is_on)

    def refuse(self) -> None:
        """Take full precision from now on."""
        self._is_on = False

    def try_out(self, encode: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> None:
        """Decide by the `(n, d)` vectors that `encode` makes of some of the texts, in full precision and in half."""
        sample = sorted(texts, key=len, reverse=True)[::max(1, len(texts) // TRIAL_TEXTS)]
        self._is_on = False
        full = encode(sample)
        self._is_on = True
        cosines = np.einsum("ij,ij->i", full, encode(sample), dtype=np.float64)
        self._is_on = bool((cosines >= LEAST_COSINE).all())  # NaN compares false

    def products(self) -> contextlib.AbstractContextManager[object]:
        """Return the context in which products are computed as decided."""
        if not self._is_on:
            return contextlib.nullcontext()
        import torch

        return torch.autocast(self._device_type, dtype=torch.float16)
