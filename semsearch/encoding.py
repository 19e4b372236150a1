"""What an encoder is: the words that the pipeline and its storage share about turning text into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import EncodingFailed

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
FLOAT32: Final = "float32"
INT8: Final = "int8"
PRECISIONS: Final = (FLOAT32, INT8)
NORM_TOLERANCE: Final = 1e-3
"""How far from 1 a norm may be before the row counts as no unit vector; float32 stays within 1e-6."""
_SHOWN_CHARACTERS: Final = 60

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EncoderRequest:
    """What a user asks for when a model is to be loaded.

    `max_tokens` None means the model's own limit; `device` is `auto`, `cpu`, `cuda`, `cuda:N` or `mps`.
    `precision` is one of `PRECISIONS`.
    """

    model: str = DEFAULT_MODEL
    revision: str | None = None
    max_tokens: int | None = None
    device: str = "auto"
    trust_remote_code: bool = False
    precision: str = FLOAT32


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """What decides the vectors of an encoder; kept in the manifest of every index.

    `fingerprint` is a SHA-256 in hex over weights, tokenizer, pooling, precision, maximum tokens, prompts and
    normalisation. Two encoders with one fingerprint give the same vectors; name and place do not count.
    """

    model: str
    revision: str | None
    dimension: int
    max_tokens: int
    precision: str
    fingerprint: str


class EncodedTexts(NamedTuple):
    """Vectors of some texts.

    `vectors`: `(n, d)` float32, unit rows. `token_counts`: `(n,)` int32, the length of each text in tokens before it
    was cut at the encoder's limit.
    """

    vectors: Vectors
    token_counts: NDArray[np.int32]


class Encoder(Protocol):
    """Turns documents and queries into unit vectors of one space.

    Two verbs because many models put different prompts before the two.
    """

    @property
    def identity(self) -> EncoderIdentity:
        """What decides this encoder's vectors."""
        ...

    @property
    def device(self) -> str:
        """Where it runs, as torch spells it."""
        ...

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors of documents, in their order."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the `(n, d)` float32 unit vectors of questions, in their order."""
        ...


class EncodingStopped(Exception):
    """Another thread wanted the encoding to end: `StoppableEncoder.stop`."""


class StoppableEncoder(Encoder, Protocol):
    """An `Encoder` that another thread can make end."""

    def stop(self) -> None:
        """Let what is being encoded, and all that comes after, fail at once with `EncodingStopped`."""
        ...


@runtime_checkable
class CanBeStopped(Protocol):
    """An `Encoder` that gives stoppable ones of its own model."""

    def stoppable(self) -> StoppableEncoder:
        """Return an encoder with the same vectors that can be stopped; this one goes on then."""
        ...


def unit_rows(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    """Return `vectors`, `(n, d)` float32, with each row's norm 1 as closely as float32 allows.

    Raises EncodingFailed, with the beginning of the text, for a row that is not finite or whose norm is further than
    0.001 from 1.
    """
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    wrong = np.flatnonzero(~(np.abs(norms - 1.0) <= NORM_TOLERANCE))  # NaN compares false
    if wrong.size:
        row = int(wrong[0])
        shown = texts[row][:_SHOWN_CHARACTERS]
        what = f"a vector of norm {norms[row]:g}" if np.isfinite(norms[row]) else "a vector that is not finite"
        raise EncodingFailed(f"The model made {what} of the text {shown!r} ({wrong.size} of {len(texts)} texts).",
                             "Its files may be damaged: fetch the model again, or give another.")
    return np.ascontiguousarray(vectors / norms[:, None], dtype=np.float32)
