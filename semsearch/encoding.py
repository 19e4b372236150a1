"""What an encoder is: the words that the pipeline and its storage share about turning text into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
FLOAT32: Final = "float32"
INT8: Final = "int8"
PRECISIONS: Final = (FLOAT32, INT8)

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
