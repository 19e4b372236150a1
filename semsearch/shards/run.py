"""Sources -> shards: read once, merged as an index would merge them, encoded by whoever is told to."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from semsearch.encoding import EncoderRequest
from semsearch.errors import IndexDamaged, UsageError
from semsearch.index.ivf_lists import check_lists_factory
from semsearch.intake import SourceList, list_sources
from semsearch.progress import Progress, Silent
from semsearch.provider import EncoderProvider, LocalModels
from semsearch.readers import FORMATS
from semsearch.readers.sources import STDIN
from semsearch.shards.division import Shard, all_shards
from semsearch.shards.marker import read_marker
from semsearch.shards.staging import StagedTexts, remove_staged, staged_texts
from semsearch.shards.store import open_shard
from semsearch.shards.work import ShardPlan, ShardSummary, encode_here, is_complete, summary_of

Engine = Callable[[ShardPlan, StagedTexts, Sequence[Shard], EncoderProvider, Progress], Iterator[ShardSummary]]
"""Makes shards of staged texts, and gives the summary of each when it is finished."""


@dataclass(frozen=True, slots=True)
class EncodeOptions:
    """What the sources are, None to look; and a `factory` whose inverted lists are to be filled too."""

    from_format: str | None = None
    factory: str | None = None


def encode_shards(sources: Sequence[str | Path], shards: Sequence[Shard], output: Path, request: EncoderRequest,
                  options: EncodeOptions | None = None, *, engine: Engine = encode_here,
                  provider: EncoderProvider | None = None, progress: Progress | None = None) -> Iterator[ShardSummary]:
    """Bring shards of the texts of some sources up to date, and yield the summary of each when it is finished.

    The texts are those of the papers that an index of these sources would have. They are read and merged once, by
    whoever comes first, and kept in `output` until all shards are finished. A finished shard is left alone.

    Raises:
        InputError, UsageError, ModelError, IndexBusy, DiskFull: as `semsearch.errors` says.
    """
    options, provider, progress = options or EncodeOptions(), provider or LocalModels(), progress or Silent()
    if not sources:
        raise UsageError("No source is named.", "Name files or folders: semsearch encode papers.jsonl -o vectors/")
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file.", "Name a folder for the shards with -o.")
    identity = provider.identify(request)
    if options.factory is not None:
        check_lists_factory(options.factory, identity.dimension)
    plan = ShardPlan(output, request, identity, options.factory)
    digest = _sources_sha256(list_sources(sources, options.from_format, (), progress))
    waiting = []
    for shard in shards:
        summary = _finished(plan, shard, digest)
        if summary is None:
            waiting.append(shard)
        else:
            yield summary
    if not waiting:
        return
    with staged_texts(output, sources, options.from_format, digest, progress) as staged:
        yield from engine(plan, staged, waiting, provider, progress)
    if all(_is_marked(plan, shard, digest) for of in {s.of for s in shards} for shard in all_shards(of)):
        remove_staged(output, digest)


def _is_marked(plan: ShardPlan, shard: Shard, sources_sha256: str) -> bool:
    """Return whether a shard says that it holds what there is in these sources."""
    with suppress(IndexDamaged):
        marker = read_marker(plan.folder_of(shard))
        return marker is not None and marker.sources_sha256 == sources_sha256
    return False


def _finished(plan: ShardPlan, shard: Shard, sources_sha256: str) -> ShardSummary | None:
    begun = time.monotonic()
    with suppress(IndexDamaged):  # said when it is made anew
        vectors = open_shard(plan.folder_of(shard)) if sources_sha256 else None
        if vectors is not None and is_complete(vectors, plan, sources_sha256):
            return summary_of(vectors, 0, begun)
    return None


def _sources_sha256(sources: SourceList) -> str:
    """Return what stands for the content of the sources and the way they are read; "" where one is a stream."""
    if any(file.path == STDIN for file, _ in sources.files):
        return ""
    digest = hashlib.sha256(" ".join([_own_version(), *(f"{f.name}@{f.version}" for f in FORMATS)]).encode())
    for file, from_format in sources.files:
        digest.update(f"\n{sources.sha256(file)} {from_format} {file.in_folder} {file.name}".encode(
            "utf-8", "surrogateescape"))
    return digest.hexdigest()


def _own_version() -> str:
    try:
        return version("semsearch")
    except PackageNotFoundError:
        return "unknown"
