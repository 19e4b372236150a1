"""Papers + encoder -> one new generation."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from semsearch.build_options import BuildOptions as BuildOptions
from semsearch.encoding import DEFAULT_MODEL, FLOAT32, EncoderIdentity, EncoderRequest
from semsearch.encoding_on import encode_on
from semsearch.errors import IndexDamaged, IndexNotFound, IndexStoreError, UsageError
from semsearch.first_generation import LATER, NOW, Standing, Vectorising, publish_first, standing_of
from semsearch.index import generations
from semsearch.index.base_papers import BasePapers
from semsearch.index.durable import make_folder, write_atomically
from semsearch.index.index_folder import check_place, remove_if_bare
from semsearch.index.locks import build_lock
from semsearch.index.manifest import DEFAULT_LANGUAGE, DEFAULT_MIN_RECALL, PAPERS, Manifest
from semsearch.index.paper_table import PaperTable
from semsearch.index.reader import IndexReader
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.staged_store import Changes
from semsearch.index.state import State, change_state, read_state, remember
from semsearch.index.vector_log import remove_logs
from semsearch.intake import (
    Intake,
    SourceList,
    changes_little,
    check_anything_usable,
    find_nothing_new,
    list_sources,
    note_what_is_gone,
    prune_unseen,
    read_sources,
)
from semsearch.progress import Progress, Silent
from semsearch.provider import EncoderProvider, LocalModels, prepare_quick_answers, request_for
from semsearch.publish import AUTO_FACTORY, Plan, check_language_asked
from semsearch.publish_vectors import is_structure_due
from semsearch.shards.vectors import GivenVectors, open_given
from semsearch.summary import BuildSummary, count_papers, summarise
from semsearch.vectorise import VectorSources, missing_rows


def build_index(sources: Sequence[str | Path], index_folder: Path | str, options: BuildOptions | None = None, *,
                provider: EncoderProvider | None = None, progress: Progress | None = None) -> BuildSummary:
    """Bring an index up to date with its sources and return what was done.

    Without `sources` the remembered ones are read again. Where there is much to encode, a first generation is published
    before, and others follow. Whatever ends it early leaves the last generation as it was, and the vectors that were
    paid for are used by the next run.

    Raises:
        InputError, ModelError, IndexStoreError, UsageError: as `semsearch.errors` says.
    """
    options = options or BuildOptions()
    check_language_asked(options.language)
    if options.encode not in (NOW, LATER):
        raise UsageError(f"Texts cannot be encoded {options.encode!r}.", f"Say {NOW} or {LATER}.")
    run = _Run(Path(index_folder), options, provider or LocalModels(), progress or Silent())
    if options.dry_run:
        return run.dry(sources)
    check_place(run.folder)
    if not run.folder.exists() and not sources:
        list_sources((), None, (), run.progress)  # says that there is nothing to read, before anything is made
    make_folder(run.folder)
    with build_lock(run.folder, "build"):
        try:
            summary = run.go(sources)
        finally:
            remove_if_bare(run.folder)
    prepare_quick_answers(run.provider, run.progress)
    return summary


class _Run:
    """One build of one index."""

    def __init__(self, folder: Path, options: BuildOptions, provider: EncoderProvider, progress: Progress) -> None:
        self.folder, self.options, self.provider, self.progress = folder, options, provider, progress
        self.begun = time.monotonic()

    def go(self, named: Sequence[str | Path]) -> BuildSummary:
        """Read, publish, encode and publish again; the caller holds the build lock."""
        with self._base() as base:
            state = self._state()
            sources = list_sources(named, self.options.from_format, state.sources, self.progress)
            if self.options.rebuild:
                self._check_rebuild(sources)
            if base is not None and not self.options.prune:
                note_what_is_gone(sources, base, self.progress)
            request, identity = self._encoder_wanted(base)
            given = open_given(self.options.vectors, identity, self.progress)
            work = Vectorising(self.folder, self.provider, request, self._plan(base, identity, state, given),
                               self.progress, later=self.options.encode == LATER)
            intake = self._nothing_to_do(base, state, sources, identity)
            if intake is not None and base is not None:
                self._remember(sources)
                self._write_rejects(base.papers)
                changes, standing = Changes(), standing_of(base)
                if not standing.missing:
                    remove_logs(work.log_folder)
            else:
                intake, changes, standing = self._publish_first(work, sources, state, base)
            standing = encode_on(work, standing, base, changes)
            summary = self._summary(base, intake, changes, standing)
        generations.prune(self.folder)
        return summary

    def _publish_first(self, work: Vectorising, sources: SourceList, state: State, base: IndexReader | None
                       ) -> tuple[Intake, Changes, Standing]:
        with generations.staging(self.folder) as staging:
            staged = self._staged(staging / PAPERS, base, sources)
            try:
                intake = self._read(sources, staged, state)
                self._remember(sources)
                standing = publish_first(work, staging, staged, base)
            finally:
                staged.abandon()
        if self.options.restore:
            self._forget_deletions(state)
        return intake, staged.changes, standing

    def _staged(self, path: Path, base: IndexReader | None, sources: SourceList) -> StagedPapers:
        """Return a table in the making; in two layers, where little is read and nothing taken out."""
        if base is None:
            return StagedPapers(path, None)
        layered = not (self.options.prune or self.options.restore or base.hidden) and changes_little(sources, base)
        return StagedPapers(path, BasePapers.of(base.generation), layered=layered)

    def _summary(self, base: IndexReader | None, intake: Intake, changes: Changes, standing: Standing) -> BuildSummary:
        with IndexReader(self.folder) as reader:
            published, was = standing.published, base.manifest.generation if base else None
            summary = summarise(reader, intake, changes, published, standing.encoded, self.begun,
                                was_published=published.manifest.generation != was)
        if self.options.rejects_file:
            summary = replace(summary, rejects_file=str(self.options.rejects_file))
        return summary

    def dry(self, named: Sequence[str | Path]) -> BuildSummary:
        """Read and report, writing to a temporary folder only."""
        exists = self.folder.is_dir()
        with self._base() as base, tempfile.TemporaryDirectory(prefix="semsearch-") as scratch:
            state = self._state() if exists else State()
            sources = list_sources(named, self.options.from_format, state.sources, self.progress)
            staged = self._staged(Path(scratch) / PAPERS, base, sources)
            try:
                intake = self._read(sources, staged, state)
                keys = staged.text_keys()
                known = [base.vectors.as_source()] if base and not self.options.names_model else []
                if self.options.vectors:
                    known += open_given(self.options.vectors, self._encoder_wanted(base)[1], self.progress).shards
                missing = len(missing_rows(keys, VectorSources(known)))
                summary = count_papers(staged, staged.tallies(), intake, staged.changes, len(keys), self.folder.name,
                                       self.begun)
                named_file = self.options.rejects_file
                return replace(summary, encoded=missing, rejects_file=str(named_file) if named_file else None)
            finally:
                staged.abandon()

    @contextmanager
    def _base(self) -> Iterator[IndexReader | None]:
        if self.options.rebuild:
            yield None
            return
        try:
            reader = IndexReader(self.folder)
        except IndexNotFound:
            yield None
            return
        with reader:
            yield reader

    def _state(self) -> State:
        try:
            return read_state(self.folder)
        except IndexDamaged:
            if not self.options.rebuild:
                raise
            return State()

    def _encoder_wanted(self, base: IndexReader | None) -> tuple[EncoderRequest, EncoderIdentity]:
        """Return the request for the encoder and its identity; an index keeps its own unless told otherwise."""
        options = self.options
        if base is None or options.names_model:
            before = self._manifest_before(base)
            current = before.encoder if before else None
            keeps_name = current is not None and options.model is None
            model = current.model if current and keeps_name else options.model or DEFAULT_MODEL
            revision = options.revision or (current.revision if current and keeps_name else None)
            tokens = options.max_tokens or (current.max_tokens if current and keeps_name else None)
            precision = options.precision or (current.precision if current and keeps_name else FLOAT32)
            request = EncoderRequest(model, revision, tokens, options.device, options.trust_remote_code, precision)
            identity = self.provider.identify(request)
            if base is not None and identity.fingerprint != base.manifest.encoder.fingerprint:
                self.progress.note(f"The index was made with another encoder ({base.manifest.encoder.model}, "
                                   f"{base.manifest.encoder.max_tokens} tokens): all its texts are encoded again.")
            return request, identity
        kept = base.manifest.encoder
        return request_for(kept, options.device, options.trust_remote_code), kept

    def _nothing_to_do(self, base: IndexReader | None, state: State, sources: SourceList, identity: EncoderIdentity
                       ) -> Intake | None:
        """Return the intake where the current generation has the papers and words that this run would make, else None.

        It may lack vectors: these are encoded without reading the sources again.
        """
        if base is None or base.hidden or (self.options.restore and state.deletions):
            return None
        manifest = base.manifest
        if identity.fingerprint != manifest.encoder.fingerprint:
            return None
        if manifest.vectors < manifest.papers and self.options.encode == LATER:
            return None  # what waits in the log is taken
        if manifest.vectors == manifest.papers and is_structure_due(manifest):
            return None
        if self.options.factory not in (None, manifest.factory, manifest.notes.get("factory_asked")):
            return None
        if self.options.min_recall not in (None, manifest.min_recall):
            return None
        if self.options.language not in (None, manifest.language):
            return None
        if set(manifest.notes.get("deletions", ())) - set(state.deletions) and base.papers.tallies.waiting:
            return None  # a deletion was taken back
        return find_nothing_new(sources, base, self.options.prune)

    def _read(self, sources: SourceList, staged: StagedPapers, state: State) -> Intake:
        intake = read_sources(sources, staged, strict=self.options.strict, progress=self.progress)
        try:
            check_anything_usable(staged, intake)
        finally:
            self._write_rejects(staged)
        deletions = {} if self.options.restore else state.deletions
        staged.take_out_deleted(deletions)
        if self.options.prune:
            prune_unseen(sources, staged, intake, confirmed=self.options.confirmed)
        staged.merge(deletions.values())
        staged.compact()
        return intake

    def _deletions_in_force(self, state: State) -> list[str]:
        return [] if self.options.restore else sorted(state.deletions)

    def _write_rejects(self, staged: StagedPapers | PaperTable) -> None:
        if self.options.rejects_file is not None:
            lines = "".join(reject.to_json() + "\n" for reject in staged.rejects())
            write_atomically(self.options.rejects_file, lines.encode("utf-8", "replace"))

    def _remember(self, sources: SourceList) -> None:
        def change(state: State) -> State:
            return remember(state, list(sources.named))

        change_state(self.folder, change, if_damaged=State() if self.options.rebuild else None)

    def _forget_deletions(self, before: State) -> None:
        """Take back the deletions that were in force when this run began; what was deleted since stays deleted."""
        change_state(self.folder, lambda state: replace(
            state, deletions={k: v for k, v in state.deletions.items() if before.deletions.get(k) != v}))

    def _check_rebuild(self, sources: SourceList) -> None:
        """Check that beginning anew loses no paper whose source is not read now.

        Raises:
            UsageError: it would, and the user has not confirmed it.
        """
        lost = list(sources.gone)
        with suppress(IndexStoreError), IndexReader(self.folder, repairing=True) as old:
            here = {file.path for file, _ in sources.files}
            lost += [name for path, name in old.papers.source_names().items() if path not in here and path not in lost]
        if lost and not self.options.confirmed:
            shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5:,} more" if len(lost) > 5 else "")
            raise UsageError(f"--rebuild would lose the papers of sources that are not read now: {shown}.",
                             "Nothing was changed. Name them too, or add --yes if that is meant.")

    def _plan(self, base: IndexReader | None, identity: EncoderIdentity, state: State, given: GivenVectors) -> Plan:
        before = self._manifest_before(base)
        factory = str(before.notes.get("factory_asked", AUTO_FACTORY)) if before else AUTO_FACTORY
        language = before.language if before else DEFAULT_LANGUAGE
        recall = before.min_recall if before else DEFAULT_MIN_RECALL
        return Plan(identity, self.options.factory or factory, self.options.language or language,
                    self._deletions_in_force(state), given,
                    recall if self.options.min_recall is None else self.options.min_recall)

    def _manifest_before(self, base: IndexReader | None) -> Manifest | None:
        """Return what the current generation is made of; a rebuild keeps its model, factory and language if it can."""
        if base is not None or not self.options.rebuild:
            return base.manifest if base else None
        try:
            return generations.read_manifest(self.folder)
        except IndexStoreError:
            return None
