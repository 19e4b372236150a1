"""The inverted lists of shards: trained once for all of them, filled for each, offered to `build`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from semsearch.index.durable import file_sha256, make_folder
from semsearch.index.ivf_lists import FilledPart, fill_lists, train_lists, write_merged_structure
from semsearch.index.locks import waiting_lock
from semsearch.index.manifest import describe_file
from semsearch.index.structure_build import Structure, StructurePlan
from semsearch.progress import Progress
from semsearch.shards.marker import Lists, damaged, write_marker
from semsearch.shards.store import ShardVectors

_TRAINED: Final = "trained"
_LOCK: Final = "training.lock"


@dataclass(frozen=True, slots=True)
class ShardLists:
    """The finished shards of one encoder, for whoever makes a structure of a factory for which they filled lists."""

    folder: Path
    shards: tuple[ShardVectors, ...]

    def parts(self, factory: str) -> list[FilledPart]:
        """Return what shards filled for a factory by the quantiser that is there."""
        trained = _trained_path(self.folder, factory)
        if not trained.is_file():
            return []
        sha256 = file_sha256(trained)
        return [FilledPart(shard.marker.lists_path(shard.folder, factory), shard.keys) for shard in self.shards
                if (lists := shard.marker.lists.get(factory)) is not None and lists.trained_sha256 == sha256]

    def merge(self, plan: StructurePlan) -> Structure:
        """Write the structure of a generation in the making from the lists that were filled.

        Raises:
            IndexDamaged: lists are not what was written.
        """
        for shard in self.shards:
            path = shard.marker.lists_path(shard.folder, plan.factory)
            lists = shard.marker.lists.get(plan.factory)
            if lists is not None and (not path.is_file() or file_sha256(path) != lists.file.sha256):
                raise damaged(path, "is not what was written")
        return write_merged_structure(plan, _trained_path(self.folder, plan.factory), self.parts(plan.factory))


def fill_shard_lists(folder: Path, shard: ShardVectors, factory: str, progress: Progress) -> None:
    """Fill the lists of a finished shard, unless that was done, and put them into its marker.

    The first shard that comes here trains the quantiser on its own vectors: they are a random sample of all.

    Raises:
        UsageError: that shard has too few vectors for the factory.
    """
    trained = _trained_path(folder, factory)
    make_folder(trained.parent)
    with waiting_lock(trained.parent / _LOCK):
        if not trained.is_file():
            with progress.task(f"Training {factory}", None, "step"):
                train_lists(trained, factory, shard.vectors)
    if has_lists(folder, shard, factory):
        return
    path = shard.marker.lists_path(shard.folder, factory)
    with progress.task("Filling lists", None, "step"):
        fill_lists(trained, shard.blocks(), path)
    lists = Lists(describe_file(path), file_sha256(trained))
    write_marker(shard.folder, replace(shard.marker, lists={**shard.marker.lists, factory: lists}))


def has_lists(folder: Path, shard: ShardVectors, factory: str) -> bool:
    """Return whether the lists of a shard are there, whole, and filled by the quantiser that is there."""
    trained, path = _trained_path(folder, factory), shard.marker.lists_path(shard.folder, factory)
    lists = shard.marker.lists.get(factory)
    if lists is None or not trained.is_file() or not path.is_file():
        return False
    return file_sha256(path) == lists.file.sha256 and file_sha256(trained) == lists.trained_sha256


def merged_structure(offers: Sequence[ShardLists], plan: StructurePlan) -> Structure | None:
    """Return the structure merged from the first offer that has lists of the plan's factory, None where none has."""
    for offer in offers:
        if offer.parts(plan.factory):
            return offer.merge(plan)
    return None


def _trained_path(folder: Path, factory: str) -> Path:
    return folder / _TRAINED / f"{factory.replace(',', '-')}.faiss"
