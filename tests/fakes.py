"""A fake encoder that can be read by hand."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from semsearch.encoding import EncodedTexts, EncoderIdentity, EncoderRequest, Vectors


class FakeEncoder:
    """Puts each word of a text, lower-cased, at one of 64 places by a hash of it; the sum is made a unit vector.

    Token counts are word counts; words beyond `max_tokens` are not seen. `encoded` lists all texts that it was given.
    """

    def __init__(self, request: EncoderRequest, dimension: int = 64) -> None:
        tokens = request.max_tokens or 256
        fingerprint = hashlib.sha256(f"fake {request.model} {tokens} {dimension}".encode()).hexdigest()
        self.identity = EncoderIdentity(request.model, request.revision, dimension, tokens, "float32", fingerprint)
        self.device = "cpu"
        self.encoded: list[str] = []

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        self.encoded += texts
        counts = np.array([len(_words(t)) for t in texts], np.int32)
        return EncodedTexts(self._vectors(texts), counts)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.identity.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in _words(text)[:self.identity.max_tokens] or ["nothing"]:
                vector[hashlib.sha256(word.encode()).digest()[0] % len(vector)] += 1
            vector /= np.linalg.norm(vector)
        return vectors


class FakeProvider:
    """Gives fake encoders and remembers them; `loaded` counts how often one was loaded."""

    def __init__(self) -> None:
        self.encoders: list[FakeEncoder] = []

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        return FakeEncoder(request).identity

    def load(self, request: EncoderRequest) -> FakeEncoder:
        self.encoders.append(FakeEncoder(request))
        return self.encoders[-1]

    @property
    def loaded(self) -> int:
        return len(self.encoders)

    @property
    def encoded(self) -> list[str]:
        """All texts that were encoded as documents, in order."""
        return [text for encoder in self.encoders for text in encoder.encoded]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
