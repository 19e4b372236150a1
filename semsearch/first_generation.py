"""Papers -> a generation that answers at once, by what vectors there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semsearch.calibration import remembered_rate
from semsearch.document_encoder import load_for_documents
from semsearch.encoding import Encoder, EncoderRequest
from semsearch.errors import IndexStoreError
from semsearch.index.reader import IndexReader
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.vector_index import check_factory
from semsearch.index.vector_log import FOLDER, FollowedLogs, VectorLogWriter
from semsearch.progress import Progress
from semsearch.provider import EncoderProvider
from semsearch.publish import AUTO_FACTORY, Plan, Published, publish_generation, usable_vectors
from semsearch.vectorise import VectorSources, check_room, encode_rows, missing_rows

NOW: Final = "now"
LATER: Final = "later"
FEW_TEXTS: Final = 500
SHORT_SECONDS: Final = 10.0
"""So few texts, or what takes so little time, are encoded before anything is published."""
_TOKENS_OF_ABSTRACT: Final = 200


@dataclass(frozen=True, slots=True)
class Vectorising:
    """How the texts of an index get their vectors; `later` leaves what is missing to another run."""

    folder: Path
    provider: EncoderProvider
    request: EncoderRequest
    plan: Plan
    progress: Progress
    later: bool = False

    @property
    def log_folder(self) -> Path:
        """Where vectors wait that are in no generation yet."""
        return self.folder / FOLDER / self.plan.identity.fingerprint

    def follow_logs(self) -> FollowedLogs:
        """Return the logs, read once."""
        logs = FollowedLogs(self.log_folder, self.plan.identity.dimension)
        logs.refresh()
        return logs

    def load(self, texts: int) -> Encoder:
        """Return the encoder that is best for so many texts."""
        return load_for_documents(self.provider, self.request, self.plan.identity, texts, self.progress)

    def seconds_for(self, texts: int) -> float | None:
        """Return how long it takes to encode so many, by what was measured on this machine; None where nothing was."""
        rate = remembered_rate(self.plan.identity.fingerprint)
        return texts * min(_TOKENS_OF_ABSTRACT, self.plan.identity.max_tokens) / rate if rate else None

    def is_long(self, texts: int) -> bool:
        """Return whether it takes so long to encode so many texts that something is published before."""
        seconds = self.seconds_for(texts)
        return texts >= FEW_TEXTS and (seconds is None or seconds >= SHORT_SECONDS)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an index is: its generation, how many texts this run encoded, and how many have no vector yet."""

    published: Published
    encoded: int
    missing: int


def standing_of(base: IndexReader) -> Standing:
    """Return how far an index is before anything was done to it."""
    missing = missing_rows(base.papers.text_keys(), VectorSources([base.vectors.as_source()]))
    return Standing(Published(base.manifest, base.vectors.rows, base.vectors.token_counts), 0, len(missing))


def publish_first(work: Vectorising, staging: Path, staged: StagedPapers, base: IndexReader | None) -> Standing:
    """Publish a staged paper table: complete, where that is soon done, else with the vectors that there are.

    What the user has stays until all is encoded where the new generation could not take over its vectors, unless the
    encoding is to be left to later.
    """
    keys, plan = staged.text_keys(), work.plan
    if plan.factory != AUTO_FACTORY:
        check_factory(plan.factory, plan.identity.dimension, len(keys))
    logs = work.follow_logs()
    known = [*usable_vectors(base, keys, plan.identity), *plan.given.shards]
    sources = VectorSources([*known, *logs.sources()])
    rows = missing_rows(keys, sources)
    at_once = work.later or (work.is_long(len(rows)) and not _is_better_kept(work, base))
    if len(rows):
        check_room(len(rows), len(keys), plan.identity.dimension, work.folder)
    if len(rows) and not at_once:
        encode_rows(staged, rows, plan.identity, work.load(len(rows)),
                    VectorLogWriter(work.log_folder, plan.identity.dimension), work.progress)
        logs.refresh()
        sources = VectorSources([*known, *logs.sources()])
    elif len(rows) and not work.later:
        work.provider.identify(work.request)  # that the model is missing is said before anything is published
    staged.close()
    missing = len(rows) if at_once else 0
    published = publish_generation(work.folder, staging, base, keys, sources, plan, work.progress, to_come=missing > 0)
    logs.remove_read()
    return Standing(published, 0 if at_once else len(rows), missing)


def _is_better_kept(work: Vectorising, base: IndexReader | None) -> bool:
    """Return whether the current generation answers by vectors that the next could not take over."""
    if base is not None:
        return base.manifest.vectors > 0 and base.manifest.encoder.fingerprint != work.plan.identity.fingerprint
    try:
        with IndexReader(work.folder) as current:
            return current.manifest.vectors > 0
    except IndexStoreError:
        return False
