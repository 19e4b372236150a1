"""Vectors of parts of papers, their sentences and their titles, kept in a folder so that they are made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Encoder, Vectors
from semsearch.index.reader import IndexReader
from semsearch.paper import Paper
from semsearch.sentences import split_sentences

_BLOCK_PAPERS = 500
"""So many papers are encoded and kept at a time: what was done is not lost when the run is ended."""

PartsOf = Callable[[Paper], Sequence[str]]


@dataclass(frozen=True, slots=True)
class PartVectors:
    """Vectors of the parts of papers.

    `vectors`: `(parts, d)` float32 unit rows in the order of the papers; those of row r are `starts[r]` to
    `starts[r + 1]`, `starts` being `(papers + 1,)`. A paper may have none.
    """

    vectors: Vectors
    starts: NDArray[np.int64]

    def best_cosines(self, question: Vectors, rows: NDArray[np.int64], otherwise: NDArray[np.float32]
                     ) -> NDArray[np.float32]:
        """Return for each of `(n,)` rows the cosine of its nearest part, `(n,)`, `otherwise` where it has none."""
        best = otherwise.copy()
        counts = np.diff(self.starts)[rows]
        there = np.flatnonzero(counts)
        if len(there):
            begins = self.starts[rows[there]]
            ends = np.cumsum(counts[there])
            places = np.repeat(begins - (ends - counts[there]), counts[there]) + np.arange(ends[-1])
            vectors = self.vectors if len(places) == len(self.vectors) else self.vectors[places]
            best[there] = np.maximum.reduceat(vectors @ question, ends - counts[there])
        return best

    @property
    def bytes_per_paper(self) -> float:
        """What they take on disk as float32."""
        return self.vectors.nbytes / max(len(self.starts) - 1, 1)


def sentences_of(paper: Paper) -> list[str]:
    """Return the sentences of an abstract."""
    return [paper.abstract[start:end] for start, end in split_sentences(paper.abstract)]


def title_of(paper: Paper) -> list[str]:
    """Return the title of a paper, nothing where it has none of its own."""
    return [] if paper.title_stands_in or not paper.title.strip() else [paper.title]


def part_vectors(reader: IndexReader, encoder: Encoder, parts_of: PartsOf, stem: Path) -> PartVectors:
    """Return the vectors of the parts of all papers of an index, encoded now where `stem`-N.npz do not hold them yet.

    `stem` has to tell the index, the encoder and the kind of part.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    vectors, counts = [np.zeros((0, encoder.identity.dimension), np.float32)], [np.zeros(0, np.int64)]
    for start in range(0, reader.manifest.papers, _BLOCK_PAPERS):
        file = stem.with_name(f"{stem.name}-{start}.npz")
        if not file.exists():
            rows = range(start, min(start + _BLOCK_PAPERS, reader.manifest.papers))
            parts = [parts_of(paper) for paper in reader.papers.get(list(rows))]
            texts = [text for of_paper in parts for text in of_paper]
            unfinished = file.with_suffix(".part.npz")
            np.savez(unfinished, vectors=encoder.encode_documents(texts).vectors, counts=[len(p) for p in parts])
            unfinished.rename(file)
            print(f"{file.name}: {len(texts):,} texts encoded", flush=True)
        with np.load(file, allow_pickle=False) as held:
            vectors.append(held["vectors"])
            counts.append(held["counts"])
    return PartVectors(np.concatenate(vectors), np.concatenate([[0], np.cumsum(np.concatenate(counts))]))
