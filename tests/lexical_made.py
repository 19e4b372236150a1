"""Lexical indexes made of given texts, without an encoder and without a paper table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncoderIdentity
from semsearch.index import generations
from semsearch.index.generations import Generation
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.lexical_index import LexicalIndex
from semsearch.index.lexical_writer import write_lexical
from semsearch.index.manifest import Manifest, describe_file
from semsearch.paper import text_key
from semsearch.progress import Silent

IDENTITY = EncoderIdentity(
    model="none",
    revision=None,
    fingerprint="0" * 64,
    dimension=1,
    max_tokens=1,
    precision="float32",
)


@dataclass
class Text:
    text: str


class Texts:
    """Stands for a paper table; remembers which rows were read."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.read: list[int] = []

    def get(self, rows: Sequence[int]) -> list[Text]:
        self.read += rows
        return [Text(self.texts[row]) for row in rows]


def keys_of(texts: Sequence[str]) -> NDArray[Any]:
    return np.array([text_key(text) for text in texts], KEY_DTYPE)


def manifest_of(folder: Path, papers: int, language: str) -> Manifest:
    return Manifest(
        generation=1,
        created="",
        semsearch_version="",
        encoder=IDENTITY,
        papers=papers,
        vectors=0,
        factory="Flat",
        search_parameters={},
        recall_at_10=None,
        files={name: describe_file(folder / name) for name in generations.file_names(folder)},
        language=language,
    )


def write(
    folder: Path, texts: Sequence[str], language: str = "english", base: Generation | None = None
) -> tuple[Generation, Texts]:
    """Write the lexical index of texts, row by row, and return it as a generation, and what was read for it."""
    folder.mkdir(parents=True)
    table = Texts(texts)
    documents = write_lexical(folder, base, table, keys_of(texts), language, Silent())  # type: ignore[arg-type]
    assert documents == len(set(texts))
    manifest = manifest_of(folder, len(texts), language)
    return Generation(folder, manifest, BytesIO()), table


def index_of(folder: Path, texts: Sequence[str], language: str = "english") -> LexicalIndex:
    """Return the lexical index of texts, row by row."""
    generation, _ = write(folder, texts, language)
    generation.close()
    return LexicalIndex(folder, generation.manifest)
