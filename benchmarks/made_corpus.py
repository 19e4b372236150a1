"""Papers in any number for measurements: texts varied from real abstracts, vectors of the distribution of real ones.

A text has the first half of the sentences of one abstract and the second half of another, so that words, their
frequencies and the length of texts are real. Its vector is a real one moved by half the difference of two others, which
keeps it among those that the encoder makes, and follows from a hash of the text alone.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncodedTexts, EncoderIdentity, EncoderRequest, Vectors

_STEP = 0.5
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")


class MadeEncoder:
    """Gives each text a vector made from real ones, `(n, d)` float32 unit rows."""

    device = "cpu"

    def __init__(self, real: NDArray[np.float32]) -> None:
        self._real = real
        fingerprint = hashlib.sha256(np.ascontiguousarray(real[:100]).tobytes()).hexdigest()
        self.identity = EncoderIdentity("made", None, real.shape[1], 256, "float32", fingerprint)

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        """Return a vector for each text."""
        return EncodedTexts(self.encode_queries(texts), np.array([len(t.split()) for t in texts], np.int32))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each question, as for any text."""
        digests = b"".join(hashlib.blake2b(text.encode(), digest_size=24).digest() for text in texts)
        chosen = np.frombuffer(digests, "<u8").reshape(-1, 3) % np.uint64(len(self._real))
        origin, one, other = (self._real[chosen[:, n].astype(np.int64)] for n in range(3))
        moved = origin + np.float32(_STEP) * (one - other)
        vectors: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return vectors


class MadeProvider:
    """Gives the one encoder that it has."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._encoder = MadeEncoder(np.concatenate([np.load(file, allow_pickle=False) for file in files]))

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        """Return the identity of the encoder."""
        return self._encoder.identity

    def load(self, request: EncoderRequest) -> MadeEncoder:
        """Return the encoder."""
        return self._encoder


def read_abstracts(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the papers of JSON Lines, gzip or not, that have an abstract of several sentences."""
    papers = []
    for file in files:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as stream:
            papers += [p for p in map(json.loads, stream) if len(_SENTENCE_END.split(p.get("abstract") or "")) > 1]
    return papers


def made_papers(real: Sequence[dict[str, Any]], start: int, end: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the papers with these numbers; each follows from its number and the seed alone."""
    for number in range(start, end):
        chance = random.Random(f"{seed} {number}")
        one, other = chance.choice(real), chance.choice(real)
        head, tail = _SENTENCE_END.split(one["abstract"]), _SENTENCE_END.split(other["abstract"])
        abstract = " ".join([*head[:(len(head) + 1) // 2], *tail[len(tail) // 2:]])
        yield {"id": f"made{number}", "title": f"{one['title']} {number}", "abstract": abstract,
               "authors": other.get("authors") or [], "year": one.get("year"), "venue": other.get("venue"),
               "doi": f"10.9999/made.{number}"}


def write_papers(path: Path, papers: Iterator[dict[str, Any]]) -> None:
    """Write papers as JSON Lines."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(paper, ensure_ascii=False) + "\n" for paper in papers)


def made_questions(real: Sequence[dict[str, Any]], count: int, seed: int) -> list[str]:
    """Return questions: some words in a row out of titles."""
    chance = random.Random(f"{seed} questions")
    titles = [chance.choice(real)["title"].split() for _ in range(count)]
    starts = [chance.randrange(max(len(words) - 5, 1)) for words in titles]
    return [" ".join(words[at:at + chance.randint(3, 6)]) for words, at in zip(titles, starts, strict=True)]
