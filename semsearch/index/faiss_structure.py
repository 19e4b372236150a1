"""faiss: the structures that find nearest neighbours faster and not all, and the neighbours of many at once.

Ids in a structure are places in the segments of a generation (`vector_files`). faiss is imported by the functions that
need it: an index without a structure is asked without.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import Vectors
from semsearch.errors import UsageError
from semsearch.index import manifest as manifests
from semsearch.index.durable import file_sha256, full_disk_named
from semsearch.index.manifest import FAISS, Manifest, head_sha256
from semsearch.index.structure_choice import EXACT
from semsearch.index.vector_files import StoredVectors

_FACTORIES: Final = "Use Flat (exact), HNSW32, IVF64,Flat, IVF256,SQ8, IVF256,PQ16 or the like, as faiss spells them."
_NUMBER: Final = "[1-9][0-9]{0,5}"
_CODEC: Final = f"(?:Flat|SQ[468]|SQfp16|SQbf16|PQ{_NUMBER}(?:x[4-8])?(?:np)?|PQ{_NUMBER}x4fs)"
_HNSW: Final = "HNSW(?:[2-9]|[1-9][0-9]{1,3})?"
_FACTORY: Final = re.compile(rf"(?:(?:PCA|OPQ){_NUMBER}(?:_{_NUMBER})?,)?(?:IVF{_NUMBER}(?:_{_HNSW})?,)?{_CODEC}"
                             rf"|{_HNSW}(?:,{_CODEC})?")
"""Those factories of faiss that are tested here; among the others are some that end the process (HNSW1, PQ8x0)."""
BLOCK_ROWS: Final = 65_536
_TRAINING_ROWS: Final = 200_000
_TRAINING_ROWS_PER_CLUSTER: Final = 64
"""faiss warns below 39 and takes no more than 256; beyond 64 the clusters hardly change and their time grows."""
_MOST_TRAINING_ROWS: Final = 1_000_000
"""They are in memory together: 1.5 GB with 384 dimensions."""
_CHECKED_WHOLE_BYTES: Final = 64_000_000
"""Up to this size a structure is hashed when it is opened, which takes a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What was built beside the vectors, as the manifest has it."""

    factory: str
    search_parameters: dict[str, int]
    recall_at_10: float | None
    indexed_vectors: int = 0
    skeleton_bytes: int = 0
    skeleton_sha256: str = ""


def check_factory(factory: str, dimension: int, vectors: int) -> None:
    """Check that faiss knows a factory and that there are enough vectors to train it.

    Raises:
        UsageError: naming the factory and some that work.
    """
    import faiss

    if factory == EXACT:
        return
    if not _FACTORY.fullmatch(factory):
        raise UsageError(f"The factory {factory!r} is not one that is built here.", _FACTORIES)
    try:
        index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    except Exception as error:  # faiss raises RuntimeError, swig TypeError
        raise UsageError(f"faiss does not know the factory {factory!r} for {dimension} dimensions.",
                         _FACTORIES) from error
    ivf = as_ivf(index)
    if ivf is not None and ivf.nlist > vectors > 0:
        raise UsageError(f"The factory {factory!r} wants {ivf.nlist} clusters, more than the {vectors} vectors there "
                         "are.", _FACTORIES)


def knn(queries: Vectors, vectors: NDArray[Any], count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the `(n, count)` places and scores of the nearest vectors to `(n, d)` queries."""
    import faiss

    scores, places = faiss.knn(queries, vectors, count, metric=faiss.METRIC_INNER_PRODUCT)
    return places, scores


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep faiss from more threads for one query, which it does not share among them and yet waits for.

    Where other programs keep the processor busy, that made a scan of 10,000 vectors take 40 ms instead of 0.3.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def train(factory: str, stored: StoredVectors) -> Any:
    """Return an empty faiss index of this factory, trained on a sample of the vectors.

    Raises:
        UsageError: they cannot train it.
    """
    import faiss

    check_factory(factory, stored.dimension, len(stored))
    index = faiss.index_factory(stored.dimension, factory, faiss.METRIC_INNER_PRODUCT)
    if index.is_trained:
        return index
    for part in _clustered(index):
        part.cp.min_points_per_centroid = 1  # a small corpus is no reason for a warning on stderr
    ivf = as_ivf(index)
    wanted = max(_TRAINING_ROWS, _TRAINING_ROWS_PER_CLUSTER * ivf.nlist if ivf is not None else 0)
    chosen = np.linspace(0, len(stored) - 1, min(len(stored), wanted, _MOST_TRAINING_ROWS)).astype(np.int64)
    try:
        index.train(stored[chosen])
    except RuntimeError as error:
        raise UsageError(f"The {len(stored)} vectors of this index cannot train the factory {factory!r}.",
                         "Use Flat, HNSW32 or an IVF with fewer clusters.") from error
    return index


def add(index: Any, stored: StoredVectors, start: int = 0) -> None:
    """Add the vectors from a place on to a faiss index that holds those before."""
    for _, block in stored.blocks(BLOCK_ROWS, start):
        index.add(np.ascontiguousarray(block))


def write(index: Any, path: Path) -> tuple[int, str]:
    """Write a faiss index and return the size and SHA-256 of its skeleton: all of it, or all but inverted lists.

    Raises:
        DiskFull: there is no room.
    """
    import faiss

    with full_disk_named(path.parent), open(path, "wb") as file:
        # Given a name, faiss only prints that the last bytes found no room.
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))
    size = path.stat().st_size - _list_bytes(index)
    return size, head_sha256(path, size)


def read(path: Path) -> Any:
    """Return a faiss index with all that it holds in memory, so that more can be added.

    Raises:
        IndexDamaged: it cannot be read.
    """
    return _read(path, 0)


def load(folder: Path, manifest: Manifest) -> Any:
    """Return the faiss index of a generation, its inverted lists memory-mapped if it has such.

    faiss follows much of what it reads without looking, so it gets only what was written. What stands in inverted lists
    it only computes with: a wrong code there costs recall, a wrong id is no place or another vector, which is scored as
    what it is. So of a large index that has lists only what comes before them is checked here; `verify` checks all.

    Raises:
        IndexDamaged: it is not what was written.
    """
    import faiss

    path, entry = folder / FAISS, manifest.files[FAISS]
    whole = entry.size_bytes <= _CHECKED_WHOLE_BYTES or not manifest.skeleton_bytes
    sound = (path.stat().st_size, file_sha256(path) if whole else head_sha256(path, manifest.skeleton_bytes)) == (
        entry.size_bytes, entry.sha256 if whole else manifest.skeleton_sha256)
    if not sound:
        raise manifests.damaged(path, "is not what was written")
    return _read(path, faiss.IO_FLAG_MMAP if manifest.skeleton_bytes < entry.size_bytes else 0)


def candidates(index: Any, queries: Vectors, count: int, chosen: dict[str, int],
               permitted: NDArray[np.bool_] | None = None) -> NDArray[np.int64] | None:
    """Return the `(n, count)` places nearest to `(n, d)` queries, -1 where there is none; None if not under a mask.

    `permitted`: `(places,)` bool; not every index can keep to it.
    """
    import faiss

    selector = None if permitted is None else faiss.IDSelectorBitmap(np.packbits(permitted, bitorder="little"))
    try:
        with _one_thread() if len(queries) == 1 else nullcontext():
            _, places = index.search(queries, count, params=_parameters(chosen, selector))
    except RuntimeError:
        return None
    found: NDArray[np.int64] = places
    return found


def deep_enough(index: Any, chosen: dict[str, int], count: int, permitted: NDArray[np.bool_] | None
                ) -> dict[str, int]:
    """Return search parameters with which as many inverted lists are read as hold `count` permitted vectors on average.

    Parameters that suffice for the ten nearest would not give a thousand candidates.
    """
    if "nprobe" not in chosen:
        return chosen  # a graph is walked until there are enough
    lists = as_ivf(index)
    share = 1.0 if permitted is None else np.count_nonzero(permitted) / max(len(permitted), 1)
    wanted = math.ceil(count * lists.nlist / max(lists.ntotal * share, 1))
    return {**chosen, "nprobe": min(max(chosen["nprobe"], wanted), int(lists.nlist))}


def as_ivf(index: Any) -> Any:
    """Return the part of a faiss index that has inverted lists, None where it has none."""
    import faiss

    try:
        return faiss.extract_index_ivf(index)
    except RuntimeError:
        return None


def is_hnsw(index: Any) -> bool:
    """Return whether a faiss index is a graph at its top."""
    import faiss

    return isinstance(faiss.downcast_index(index), faiss.IndexHNSW)


def _clustered(index: Any) -> Iterator[Any]:
    """Yield the parts of an index that are trained by clustering."""
    import faiss

    inner = faiss.downcast_index(as_ivf(index) or index)
    if isinstance(inner, faiss.IndexIVF):
        yield inner
    if isinstance(inner, faiss.IndexHNSW):
        inner = faiss.downcast_index(inner.storage)
    if hasattr(inner, "pq"):
        yield inner.pq


def _list_bytes(index: Any) -> int:
    """Return how many bytes at the end of the file of an index are the codes and ids of plain inverted lists."""
    import faiss

    ivf = as_ivf(index)
    if ivf is None or type(faiss.downcast_InvertedLists(ivf.invlists)) is not faiss.ArrayInvertedLists:
        return 0
    return int(ivf.ntotal) * (int(ivf.code_size) + 8)


def _parameters(chosen: dict[str, int], selector: Any) -> Any:
    import faiss

    options: dict[str, Any] = {} if selector is None else {"sel": selector}
    if "nprobe" in chosen:
        return faiss.SearchParametersIVF(nprobe=chosen["nprobe"], **options)
    if "efSearch" in chosen:
        return faiss.SearchParametersHNSW(efSearch=chosen["efSearch"], **options)
    return faiss.SearchParameters(**options) if options else None


def _read(path: Path, flags: int) -> Any:
    import faiss

    try:
        return faiss.read_index(str(path), flags)
    except RuntimeError as error:
        raise manifests.damaged(path, "cannot be read by this version of faiss") from error
