"""Row <-> vector; the only importer of faiss.

The float32 vectors lie in `vectors.npy`, `(m, d)`, and position p there belongs to the row that `vector_keys.npy` names
for p; rows without a vector yet have no position. Exact search (`Flat`) runs over that file itself through faiss; any
other factory adds `index.faiss`, whose ids are the positions, and its candidates are scored again with the stored
vectors. Scores are cosines, since all vectors are unit vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import faiss
import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.errors import UsageError
from semsearch.index import manifest as manifests
from semsearch.index.durable import file_sha256, full_disk_named
from semsearch.index.keyed_vectors import KEY_DTYPE, KeyedVectors
from semsearch.index.manifest import FAISS, VECTOR_KEYS, VECTORS, Manifest
from semsearch.index.row_ranking import Ranking as Ranking

EXACT: Final = "Flat"
ENTRY_DTYPE: Final = np.dtype([("row", "<i8"), ("tokens", "<i4"), ("key", KEY_DTYPE)])
_FACTORIES: Final = "Use Flat (exact), HNSW32, IVF64,Flat, IVF256,SQ8, IVF256,PQ16 or the like, as faiss spells them."
_NUMBER: Final = "[1-9][0-9]{0,5}"
_CODEC: Final = f"(?:Flat|SQ[468]|SQfp16|SQbf16|PQ{_NUMBER}(?:x[4-8])?(?:np)?|PQ{_NUMBER}x4fs)"
_HNSW: Final = "HNSW(?:[2-9]|[1-9][0-9]{1,3})?"
_FACTORY: Final = re.compile(rf"(?:(?:PCA|OPQ){_NUMBER}(?:_{_NUMBER})?,)?(?:IVF{_NUMBER}(?:_{_HNSW})?,)?{_CODEC}"
                             rf"|{_HNSW}(?:,{_CODEC})?")
"""Those factories of faiss that are tested here; among the others are some that end the process (HNSW1, PQ8x0)."""
_BLOCK_ROWS: Final = 65_536
_READING_ROWS: Final = 8_192
_TRAINING_ROWS: Final = 200_000
_RECALL_SAMPLE: Final = 200
_RECALL_AIM: Final = 0.95
_TIE_SLACK: Final = 16
"""Hits asked for beyond k, so that equal scores around rank k are ordered by row and not by chance."""
_OVERSAMPLE: Final = 4
_SELECTIVE_FRACTION: Final = 0.1
"""Below this share of allowed rows a graph walk may not reach them: they are scanned exactly."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What was built beside the vectors: the factory, the search parameters and the recall@10 they reach."""

    factory: str
    search_parameters: dict[str, int]
    recall_at_10: float | None


class Blocks(Protocol):
    """Gives the vectors of a generation block by block, in the order of the rows."""

    def __iter__(self) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int32], Vectors]]:
        """Yield (rows, keys, token counts, vectors) of one block after the other."""
        ...


def choose_factory(papers: int) -> str:
    """Return the faiss factory for a corpus of this size: exact search, whatever the size, for now."""
    del papers
    return EXACT


def check_factory(factory: str, dimension: int, vectors: int) -> None:
    """Check that faiss knows a factory and that there are enough vectors to train it.

    Raises:
        UsageError: naming the factory and some that work.
    """
    if factory == EXACT:
        return
    if not _FACTORY.fullmatch(factory):
        raise UsageError(f"The factory {factory!r} is not one that is built here.", _FACTORIES)
    try:
        index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    except Exception as error:  # faiss raises RuntimeError, swig TypeError
        raise UsageError(f"faiss does not know the factory {factory!r} for {dimension} dimensions.",
                         _FACTORIES) from error
    ivf = _as_ivf(index)
    if ivf is not None and ivf.nlist > vectors > 0:
        raise UsageError(f"The factory {factory!r} wants {ivf.nlist} clusters, more than the {vectors} vectors there "
                         "are.", _FACTORIES)


def write_vectors(folder: Path, vectors: int, dimension: int, blocks: Blocks) -> None:
    """Write `vectors.npy` and `vector_keys.npy` from blocks, in bounded memory.

    Raises:
        DiskFull: there is no room.
    """
    with full_disk_named(folder):
        keys = np.zeros(vectors, ENTRY_DTYPE)
        with open(folder / VECTORS, "wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (vectors, dimension)}
            np.lib.format.write_array_header_1_0(file, header)
            start = 0
            for rows, block_keys, tokens, block in blocks:
                end = start + len(rows)
                keys["row"][start:end] = rows
                keys["key"][start:end] = block_keys
                keys["tokens"][start:end] = tokens
                file.write(np.ascontiguousarray(block, "<f4").tobytes())
                start = end
        if start != vectors:
            raise AssertionError(f"{start} vectors written where {vectors} were announced")
        with open(folder / VECTOR_KEYS, "wb") as file:  # not with np.save, which does not say that a disk is full
            np.lib.format.write_array_header_1_0(file, {"descr": np.lib.format.dtype_to_descr(keys.dtype),
                                                        "fortran_order": False, "shape": keys.shape})
            file.write(keys.tobytes())


def write_structure(folder: Path, factory: str) -> Structure:
    """Build the faiss index over the vectors in `folder`, measure its recall, and write it there.

    Raises:
        UsageError: the vectors cannot train this factory.
        DiskFull: there is no room.
    """
    if factory == EXACT:
        return Structure(EXACT, {}, None)
    vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
    check_factory(factory, vectors.shape[1], len(vectors))
    if not len(vectors):
        return Structure(factory, {}, None)
    index = faiss.index_factory(vectors.shape[1], factory, faiss.METRIC_INNER_PRODUCT)
    _train(index, factory, vectors)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        index.add(np.ascontiguousarray(vectors[start:start + _BLOCK_ROWS]))
    parameters, recall = _measure(index, vectors)
    with full_disk_named(folder), open(folder / FAISS, "wb") as file:
        # Given a name, faiss only prints that the last bytes found no room.
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))
    return Structure(factory, parameters, recall)


class VectorIndex:
    """The vectors of a generation, searchable.

    `rows`: `(m,)` int64, the row that each vector belongs to, increasing.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest
        self._vectors = _load(folder / VECTORS, np.dtype("<f4"), (manifest.vectors, manifest.encoder.dimension))
        self._entries = _load(folder / VECTOR_KEYS, ENTRY_DTYPE, (manifest.vectors,))
        self.rows: NDArray[np.int64] = np.ascontiguousarray(self._entries["row"])
        if len(self.rows) and (self.rows[0] < 0 or self.rows[-1] >= manifest.papers or (np.diff(self.rows) <= 0).any()):
            raise manifests.damaged(folder / VECTOR_KEYS, "names rows that do not exist")
        self._structure: Any = None

    @property
    def token_counts(self) -> NDArray[np.int32]:
        """`(m,)` int32: the length of each embedded text in tokens before it was cut."""
        return np.asarray(self._entries["tokens"])

    @property
    def keys(self) -> NDArray[Any]:
        """`(m,)` text keys."""
        return np.ascontiguousarray(self._entries["key"])

    def as_source(self) -> KeyedVectors:
        """Return the vectors by the keys of their texts."""
        return KeyedVectors(self.keys, self.token_counts, self._vectors)

    def positions_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position of each row's vector, -1 where a row has none."""
        if not len(self.rows):
            return np.full(len(rows), -1, np.int64)
        places = np.searchsorted(self.rows, rows)
        places[places == len(self.rows)] = 0
        return np.where(self.rows[places] == rows, places, -1)

    def vectors_at(self, positions: NDArray[np.int64]) -> Vectors:
        """Return the `(len(positions), d)` float32 vectors at these positions."""
        return np.ascontiguousarray(self._vectors[positions], dtype=np.float32)

    def cosines(self, query: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the `(n,)` float32 cosines of one unit vector `(d,)` to these rows, NaN where a row has no vector."""
        cosines = np.full(len(rows), np.nan, np.float32)
        positions = self.positions_of(rows)
        there = np.flatnonzero(positions >= 0)
        if len(there):
            places, scores = _nearest(np.ascontiguousarray(query, np.float32).reshape(1, -1),
                                      self.vectors_at(positions[there]), len(there))
            cosines[there[places]] = scores
        return cosines

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """Yield (rows, `(b, d)` float32 unit vectors) of all vectors, block by block in the order of the rows."""
        for start in range(0, len(self.rows), _READING_ROWS):
            yield self.rows[start:start + _READING_ROWS], np.asarray(self._vectors[start:start + _READING_ROWS])

    def search(self, query: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> Ranking:
        """Return the k nearest rows to one unit vector `(d,)`; fewer where fewer are allowed and have a vector.

        `allowed`: `(papers,)` bool by row, None for all.
        """
        query = np.ascontiguousarray(query, dtype=np.float32).reshape(1, -1)
        permitted = None if allowed is None else allowed[self.rows]
        available = len(self.rows) if permitted is None else int(permitted.sum())
        wanted = min(k, available)
        if wanted <= 0:
            return Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
        positions = None
        few = permitted is not None and available < _SELECTIVE_FRACTION * len(self.rows)
        if self._manifest.factory != EXACT and not few:
            depth = min(max(_OVERSAMPLE * wanted, wanted + _TIE_SLACK), available)
            positions = self._approximate(query, depth, permitted)
        if positions is None or len(positions) < wanted:
            positions, scores = self._exact(query, wanted, permitted)
        else:  # by faiss, as everywhere: a matrix product gives equal rows scores that differ in their last bits
            places, scores = _nearest(query, self.vectors_at(positions), len(positions))
            positions = positions[places]
        kept = np.isfinite(scores)
        rows, scores = self.rows[positions[kept]], scores[kept]
        order = np.lexsort((rows, -scores))[:wanted]
        return Ranking(rows[order], scores[order])

    def _exact(self, query: Vectors, wanted: int, permitted: NDArray[np.bool_] | None
               ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the best positions, at least so many that all which share the last of the wanted scores are there."""
        depth = wanted + _TIE_SLACK
        while True:
            positions, scores, cut_at = self._scan(query, depth, permitted)
            if len(scores) < wanted or cut_at < np.partition(scores, -wanted)[-wanted]:
                return positions, scores
            depth *= _OVERSAMPLE

    def _scan(self, query: Vectors, depth: int, permitted: NDArray[np.bool_] | None
              ) -> tuple[NDArray[np.int64], NDArray[np.float32], float]:
        """Return the best positions of each block, their scores, and the score at or below which there may be more."""
        if permitted is None:
            positions, scores = _nearest(query, self._vectors, min(depth, len(self.rows)))
            return positions, scores, _cut_at(scores, depth)
        found_positions, found_scores, cut_at = [], [], -np.inf
        for start in range(0, len(self.rows), _BLOCK_ROWS):
            inside = np.flatnonzero(permitted[start:start + _BLOCK_ROWS])
            if not len(inside):
                continue
            block = self._vectors[start:start + _BLOCK_ROWS]
            block = block if len(inside) == len(block) else block[inside]
            places, scores = _nearest(query, np.ascontiguousarray(block), min(depth, len(inside)))
            found_positions.append(start + inside[places])
            found_scores.append(scores)
            cut_at = max(cut_at, _cut_at(scores, depth))
        if not found_positions:
            return np.zeros(0, np.int64), np.zeros(0, np.float32), cut_at
        return np.concatenate(found_positions), np.concatenate(found_scores), cut_at

    def _approximate(self, query: Vectors, depth: int, permitted: NDArray[np.bool_] | None) -> NDArray[np.int64] | None:
        """Return candidate positions, or None where this factory takes no selector."""
        index = self._load_structure()
        try:
            parameters = _parameters(index, self._manifest.search_parameters, permitted)
            _, positions = index.search(query, depth, params=parameters)
        except RuntimeError:
            return None
        found = positions[0]
        found = found[(found >= 0) & (found < len(self.rows))]
        if permitted is not None:
            found = found[permitted[found]]
        return np.unique(found).astype(np.int64)

    def _load_structure(self) -> Any:
        if self._structure is None:
            path = self._folder / FAISS
            if file_sha256(path) != self._manifest.files[FAISS].sha256:
                # faiss follows the ids in this file without looking, so it gets only what was written.
                raise manifests.damaged(path, "is not what was written")
            try:
                self._structure = faiss.read_index(str(path))
            except RuntimeError as error:
                raise manifests.damaged(path, "cannot be read by this version of faiss") from error
        return self._structure


def _nearest(query: Vectors, vectors: Vectors, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the places and scores of the nearest vectors, best first; those that are no numbers are left out."""
    scores, places = faiss.knn(query, vectors, count, metric=faiss.METRIC_INNER_PRODUCT)
    kept = places[0] >= 0
    return places[0][kept], scores[0][kept]


def _cut_at(scores: NDArray[np.float32], depth: int) -> float:
    return float(scores[-1]) if len(scores) == depth else -np.inf


def _load(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if shape[0] else None, allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        raise manifests.damaged(path, "cannot be read") from error
    if array.dtype != dtype or array.shape != shape:
        raise manifests.damaged(path, f"holds {array.dtype} {array.shape} where {dtype} {shape} was written")
    return array


def _as_ivf(index: Any) -> Any:
    try:
        return faiss.extract_index_ivf(index)
    except RuntimeError:
        return None


def _train(index: Any, factory: str, vectors: NDArray[Any]) -> None:
    if index.is_trained:
        return
    for part in _clustered(index):
        part.cp.min_points_per_centroid = 1  # a small corpus is no reason for a warning on stderr
    chosen = np.linspace(0, len(vectors) - 1, min(len(vectors), _TRAINING_ROWS)).astype(np.int64)
    try:
        index.train(np.ascontiguousarray(vectors[chosen]))
    except RuntimeError as error:
        raise UsageError(f"The {len(vectors)} vectors of this index cannot train the factory {factory!r}.",
                         "Use Flat, HNSW32 or an IVF with fewer clusters.") from error


def _clustered(index: Any) -> Iterator[Any]:
    """Yield the parts of an index that are trained by clustering."""
    inner = faiss.downcast_index(_as_ivf(index) or index)
    if isinstance(inner, faiss.IndexIVF):
        yield inner
    if isinstance(inner, faiss.IndexHNSW):
        inner = faiss.downcast_index(inner.storage)
    if hasattr(inner, "pq"):
        yield inner.pq


def _parameters(index: Any, chosen: dict[str, int], permitted: NDArray[np.bool_] | None) -> Any:
    selector = None
    if permitted is not None:
        selector = faiss.IDSelectorBitmap(np.packbits(permitted, bitorder="little"))
    options: dict[str, Any] = {} if selector is None else {"sel": selector}
    if "nprobe" in chosen:
        return faiss.SearchParametersIVF(nprobe=chosen["nprobe"], **options)
    if "efSearch" in chosen:
        return faiss.SearchParametersHNSW(efSearch=chosen["efSearch"], **options)
    return faiss.SearchParameters(**options) if options else None


def _measure(index: Any, vectors: NDArray[Any]) -> tuple[dict[str, int], float]:
    """Return the smallest search parameters that reach a recall@10 of 0.95 on a sample of the vectors, and the recall.

    The candidates are those that a search for ten hits scores again with the stored vectors.
    """
    sample = np.ascontiguousarray(vectors[np.linspace(0, len(vectors) - 1, min(len(vectors), _RECALL_SAMPLE))
                                          .astype(np.int64)])
    k = min(10, len(vectors))
    _, truth = faiss.knn(sample, vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
    recall = 0.0
    parameters: dict[str, int] = {}
    for parameters in _parameter_ladder(index):
        _, found = index.search(sample, min(_OVERSAMPLE * k, len(vectors)), params=_parameters(index, parameters, None))
        recall = float(np.mean([len(np.intersect1d(t, f)) / k for t, f in zip(truth, found, strict=True)]))
        if recall >= _RECALL_AIM:
            break
    return parameters, round(recall, 4)


def _parameter_ladder(index: Any) -> Iterator[dict[str, int]]:
    ivf = _as_ivf(index)
    if ivf is not None:
        nprobe = 1
        while nprobe < ivf.nlist:
            yield {"nprobe": nprobe}
            nprobe *= 2
        yield {"nprobe": int(ivf.nlist)}
    elif isinstance(faiss.downcast_index(index), faiss.IndexHNSW):
        for ef_search in (16, 32, 64, 128, 256, 512, 1024):
            yield {"efSearch": ef_search}
    else:
        yield {}

