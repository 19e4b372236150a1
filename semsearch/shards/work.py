"""Texts -> the vectors of shards, each made once, whoever is asked for it and however often."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from semsearch.document_encoder import load_for_documents
from semsearch.encoding import Encoder, EncoderIdentity, EncoderRequest
from semsearch.errors import DiskFull, IndexDamaged
from semsearch.index.durable import make_folder
from semsearch.index.keyed_vectors import KeyedVectors
from semsearch.index.locks import work_lock
from semsearch.index.paper_table import PaperTable
from semsearch.index.vector_log import VectorLogWriter, read_logs, remove_logs
from semsearch.progress import Progress
from semsearch.provider import EncoderProvider
from semsearch.shards.division import Shard
from semsearch.shards.lists import fill_shard_lists, has_lists
from semsearch.shards.marker import write_marker
from semsearch.shards.staging import StagedTexts
from semsearch.shards.store import (
    LOCK,
    LOG,
    Contents,
    ShardVectors,
    open_shard,
    remove_strangers,
    shard_folders,
    write_shard,
)
from semsearch.vectorise import VectorSources, encode_rows, vectors_bytes

_READ_ROWS: Final = 1000


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """How shards are made: into which folder, by which encoder; `factory` fills the inverted lists of that one too."""

    output: Path
    request: EncoderRequest
    identity: EncoderIdentity
    factory: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of this encoder's shards."""
        return self.output / self.identity.fingerprint

    def folder_of(self, shard: Shard) -> Path:
        """Return the folder of a shard."""
        return self.folder / shard.folder_name


@dataclass(frozen=True, slots=True)
class ShardSummary:
    """What was done for a shard; `encoded` and `reused` count its distinct texts, `rejected` records of all sources."""

    shard: Shard
    texts: int
    encoded: int
    reused: int
    rejected: int
    seconds: float
    folder: str

    def as_dict(self) -> dict[str, object]:
        """Return the summary as it is written to JSON."""
        return {"shard": self.shard.number, "of": self.shard.of, "texts": self.texts, "encoded": self.encoded,
                "reused": self.reused, "rejected": self.rejected, "seconds": self.seconds, "folder": self.folder}


class ShardEncoder:
    """Makes shards of staged texts; the model is loaded when the first text needs it, and once."""

    def __init__(self, plan: ShardPlan, staged: StagedTexts, provider: EncoderProvider, progress: Progress) -> None:
        self._plan, self._staged, self._provider, self._progress = plan, staged, provider, progress
        self._table = staged.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._table.close()

    def encode(self, shard: Shard) -> ShardSummary:
        """Bring one shard up to date and return what was done; nothing is, where it holds these texts already.

        Whatever ends it early, the vectors that were paid for are used by the next run.

        Raises:
            IndexBusy: another process is at work on it.
            ModelError, DiskFull: as a build.
        """
        begun = time.monotonic()
        folder = self._plan.folder_of(shard)
        make_folder(folder)
        with work_lock(folder / LOCK, "encode", f"at work on shard {shard} in {self._plan.output}",
                       "Wait until it is done, or stop it: what it has encoded so far is kept."):
            rows, contents = self._contents(shard)
            done = whole_shard(folder, self._progress)
            encoded = 0
            if done is None or done.marker.keys_sha256 != contents.keys_sha256:
                done, encoded = self._make(folder, shard, rows, contents, done)
            else:
                done = self._confirmed(done, contents)
            if self._plan.factory is not None:
                fill_shard_lists(self._plan.folder, done, self._plan.factory, self._progress)
            remove_logs(folder / LOG)
        return summary_of(done, encoded, begun)

    def _make(self, folder: Path, shard: Shard, rows: NDArray[np.int64], contents: Contents,
              before: ShardVectors | None) -> tuple[ShardVectors, int]:
        """Encode what no source of vectors has, write the shard, and return it and how many texts were encoded."""
        identity, keys = self._plan.identity, contents.keys
        known: list[KeyedVectors] = [before] if before else []
        sources = VectorSources([*known, *read_logs(folder / LOG, identity.dimension)])
        if not sources.has(keys).all():
            known += self._other_divisions(shard)
            sources = VectorSources([*known, *read_logs(folder / LOG, identity.dimension)])
        lacking = np.sort(rows[~sources.has(keys)])
        self._check_room(len(lacking), len(keys))
        if len(lacking):
            encode_rows(_Texts(self._table), lacking, identity, self._encoder,
                        VectorLogWriter(folder / LOG, identity.dimension), self._progress)
            sources = VectorSources([*known, *read_logs(folder / LOG, identity.dimension)])
        return write_shard(folder, shard, identity, contents, sources), len(lacking)

    def _confirmed(self, done: ShardVectors, contents: Contents) -> ShardVectors:
        """Return a shard that holds these texts already, its marker saying from which sources they are now."""
        marker = replace(done.marker, sources_sha256=contents.sources_sha256, rejected=contents.rejected)
        if marker != done.marker:
            write_marker(done.folder, marker)
        remove_strangers(done.folder, marker)
        return ShardVectors(done.folder, marker)

    def _contents(self, shard: Shard) -> tuple[NDArray[np.int64], Contents]:
        """Return the rows of one paper for each text of a shard, in the order of their keys, and what it is to hold."""
        mine = np.flatnonzero(shard.holds(self._keys))
        keys, first = np.unique(self._keys[mine], return_index=True)
        return mine[first], Contents(keys, self._staged.sources_sha256, self._staged.rejected)

    def _other_divisions(self, shard: Shard) -> list[ShardVectors]:
        """Return the finished shards of other divisions; those of its own hold other texts."""
        found = []
        for folder in shard_folders(self._plan.folder):
            if not folder.name.endswith(shard.folder_name[-len("-of-0000"):]):
                with suppress(IndexDamaged):  # `build` names it
                    found.append(open_shard(folder))
        return [vectors for vectors in found if vectors is not None]

    def _check_room(self, new: int, total: int) -> None:
        needed = vectors_bytes(new + total, self._plan.identity.dimension)
        free = shutil.disk_usage(self._plan.folder).free
        if needed > free:
            raise DiskFull(f"{total:,} vectors of a shard, and {new:,} of them a second time while they are made, need "
                           f"about {needed / 1e6:,.0f} MB under {self._plan.output}; {free / 1e6:,.0f} MB are free.",
                           "Free some space, or name another folder with -o.")

    @cached_property
    def _keys(self) -> NDArray[Any]:
        return self._staged.keys()

    @cached_property
    def _encoder(self) -> Encoder:
        return load_for_documents(self._provider, self._plan.request, self._plan.identity, len(self._keys),
                                  self._progress)


class _Texts:
    """The texts of a paper table by row."""

    def __init__(self, table: PaperTable) -> None:
        self._table = table

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[str, str, bytes]]:
        """Yield (id, text, text key) of the papers in these rows."""
        wanted = list(rows)
        for start in range(0, len(wanted), _READ_ROWS):
            for paper in self._table.get(wanted[start:start + _READ_ROWS]):
                yield paper.id, paper.text, paper.text_key


def encode_here(plan: ShardPlan, staged: StagedTexts, shards: Sequence[Shard], provider: EncoderProvider,
                progress: Progress) -> Iterator[ShardSummary]:
    """Make shards one after the other in this process."""
    with ShardEncoder(plan, staged, provider, progress) as encoder:
        for shard in shards:
            yield encoder.encode(shard)


def whole_shard(folder: Path, progress: Progress) -> ShardVectors | None:
    """Return a finished shard; None, with a note, where it is damaged, so that it is made anew."""
    try:
        return open_shard(folder)
    except IndexDamaged as error:
        progress.note(f"{error.message} It is made anew.")
        return None


def summary_of(vectors: ShardVectors, encoded: int, begun: float) -> ShardSummary:
    """Return the summary of a finished shard; `begun` is the time.monotonic() at which the work on it began."""
    marker = vectors.marker
    return ShardSummary(marker.shard, marker.texts, encoded, marker.texts - encoded, marker.rejected,
                        round(time.monotonic() - begun, 3), str(vectors.folder))


def is_complete(vectors: ShardVectors, plan: ShardPlan, sources_sha256: str) -> bool:
    """Return whether a finished shard is what a run over these sources would make, told without reading them."""
    same_sources = bool(sources_sha256) and vectors.marker.sources_sha256 == sources_sha256
    return same_sources and (plan.factory is None or has_lists(plan.folder, vectors, plan.factory))

