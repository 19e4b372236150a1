"""An index -> its next generation, from what it stores itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.encoding import FLOAT32, EncoderIdentity, EncoderRequest
from semsearch.encoding_on import encode_on
from semsearch.first_generation import Vectorising, publish_first
from semsearch.index import generations
from semsearch.index.base_papers import BasePapers
from semsearch.index.locks import build_lock
from semsearch.index.manifest import PAPERS
from semsearch.index.reader import IndexReader
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.vector_log import remove_other_fingerprints
from semsearch.intake import Intake
from semsearch.progress import Progress, Silent
from semsearch.provider import EncoderProvider, LocalModels, request_for
from semsearch.publish import AUTO_FACTORY, Plan, check_language_asked
from semsearch.summary import BuildSummary, summarise


@dataclass(frozen=True, slots=True)
class ReindexOptions:
    """What to change; None keeps what the index has."""

    model: str | None = None
    revision: str | None = None
    max_tokens: int | None = None
    factory: str | None = None
    min_recall: float | None = None
    language: str | None = None
    precision: str | None = None
    device: str = "auto"
    trust_remote_code: bool = False


def reindex_index(index_folder: Path | str, options: ReindexOptions | None = None, *,
                  provider: EncoderProvider | None = None, progress: Progress | None = None) -> BuildSummary:
    """Publish the next generation of an index without its source files, and return what was done.

    Encodes what lacks a vector (with another model or limit: everything), takes out the rows of deleted papers, and
    removes vectors kept for encoders that the index no longer uses. Brings an index of an older format up to date, and
    makes a damaged lexical index again. With another encoder the generation before answers until all is encoded;
    otherwise one that lacks vectors is published first, as by a build. The last one stays if anything fails.

    Raises:
        ModelError, IndexStoreError, UsageError: as `semsearch.errors` says.
    """
    options, provider, progress = options or ReindexOptions(), provider or LocalModels(), progress or Silent()
    check_language_asked(options.language)
    folder, begun = Path(index_folder), time.monotonic()
    if not folder.is_dir():
        raise generations.not_found(folder)
    with build_lock(folder, "reindex"):
        with IndexReader(folder, repairing=True) as base:
            request, identity = _encoder_wanted(base, options, provider)
            factory = options.factory or str(base.manifest.notes.get("factory_asked", AUTO_FACTORY))
            plan = Plan(identity, factory, options.language or base.manifest.language, sorted(base.state.deletions),
                        min_recall=base.manifest.min_recall if options.min_recall is None else options.min_recall)
            with generations.staging(folder) as staging:
                staged = StagedPapers(staging / PAPERS, BasePapers.of(base.generation))
                try:
                    staged.take_out_deleted(base.state.deletions)
                    staged.merge(base.state.deletions.values())
                    staged.compact()
                    work = Vectorising(folder, provider, request, plan, progress)
                    standing = publish_first(work, staging, staged, base)
                finally:
                    staged.abandon()
            standing = encode_on(work, standing, base, staged.changes)
        remove_other_fingerprints(folder, identity.fingerprint)
        with IndexReader(folder) as reader:
            summary = summarise(reader, Intake(), staged.changes, standing.published, standing.encoded, begun)
        generations.prune(folder)
    return summary


def _encoder_wanted(base: IndexReader, options: ReindexOptions, provider: EncoderProvider
                    ) -> tuple[EncoderRequest, EncoderIdentity]:
    kept = base.manifest.encoder
    request = request_for(kept, options.device, options.trust_remote_code)
    if options.model is not None:
        request = EncoderRequest(options.model, options.revision, options.max_tokens, options.device,
                                 options.trust_remote_code, options.precision or FLOAT32)
    elif any(asked is not None for asked in (options.revision, options.max_tokens, options.precision)):
        request = replace(request, revision=options.revision or request.revision,
                          max_tokens=options.max_tokens or request.max_tokens,
                          precision=options.precision or request.precision)
    else:
        return request, kept
    return request, provider.identify(request)
