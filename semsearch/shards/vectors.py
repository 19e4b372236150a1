"""Folders of shards as a source of vectors for `build`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semsearch.encoding import EncoderIdentity
from semsearch.errors import ModelMismatch, SourceNotFound
from semsearch.progress import Progress
from semsearch.shards.division import all_shards
from semsearch.shards.lists import ShardLists
from semsearch.shards.marker import MARKER, read_marker
from semsearch.shards.store import ShardVectors, open_shard, shard_folders

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class GivenVectors:
    """Vectors that a user gives to a build: shards, and the inverted lists that they may bring along."""

    shards: tuple[ShardVectors, ...] = ()
    lists: tuple[ShardLists, ...] = ()


def open_given(folders: Sequence[Path], identity: EncoderIdentity, progress: Progress) -> GivenVectors:
    """Return the finished shards in these folders, checked; what is missing is noted, and will be encoded by the build.

    Raises:
        SourceNotFound: a folder holds no shards.
        ModelMismatch: its shards were made by another encoder.
        IndexDamaged: a shard is not what was written.
    """
    found: list[ShardVectors] = []
    lists = []
    for folder in folders:
        mine = folder / identity.fingerprint
        if not mine.is_dir():
            raise _none_fits(folder, identity)
        with progress.task(f"Checking {folder}", len(shard_folders(mine)), "shard") as task:
            here = []
            for shard_folder in shard_folders(mine):
                vectors = open_shard(shard_folder)
                here += [] if vectors is None else [vectors]
                task.advance(1)
        _note_missing(folder, here, progress)
        found += here
        lists.append(ShardLists(mine, tuple(here)))
    return GivenVectors(tuple(found), tuple(lists))


def _note_missing(folder: Path, shards: Sequence[ShardVectors], progress: Progress) -> None:
    """Say which shards are missing, in the division of which most are there; nothing where one is complete."""
    there = {shard.marker.shard for shard in shards}
    divisions = {shard.of: sum(s.of == shard.of for s in there) for shard in there}
    if not divisions:
        progress.note(f"No shard in {folder} is finished yet: all its texts are encoded here.")
    elif all(count < of for of, count in divisions.items()):
        of = max(divisions, key=lambda of: divisions[of] / of)
        missing = [str(shard) for shard in all_shards(of) if shard not in there]
        more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
        are = "is" if len(missing) == 1 else "are"
        progress.note(f"Of {of:,} shards in {folder} {len(missing):,} {are} missing ({', '.join(missing[:_SHOWN])}"
                      f"{more}): their texts are encoded here.")


def _none_fits(folder: Path, identity: EncoderIdentity) -> SourceNotFound | ModelMismatch:
    others = sorted(path.parent for path in folder.glob(f"*/shard-*-of-*/{MARKER}"))
    marker = read_marker(others[0]) if others else None
    if marker is None:
        return SourceNotFound(f"There are no finished shards in {folder}.",
                              f"Make them with: semsearch encode SOURCE... --shard 1/16 -o {folder}")
    theirs = marker.encoder
    return ModelMismatch(
        f"The shards in {folder} were made by another encoder ({_named(theirs)}) than this index wants "
        f"({_named(identity)}); their vectors would not fit.",
        f"Build the index with that one: --model {theirs.model} --max-tokens {theirs.max_tokens}   Or encode the "
        f"shards with the index's: semsearch encode SOURCE... --model {identity.model} "
        f"--max-tokens {identity.max_tokens}")


def _named(identity: EncoderIdentity) -> str:
    return (f"{identity.model}, {identity.dimension} dimensions, {identity.max_tokens} tokens, fingerprint "
            f"{identity.fingerprint[:12]}")
