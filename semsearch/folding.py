"""Vectors that wait in the log -> a generation that has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semsearch.index import generations
from semsearch.index.locks import build_lock
from semsearch.index.paper_layers import take_over_papers
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER, FollowedLogs
from semsearch.index.wanted_texts import forget_wanted
from semsearch.progress import Progress, Silent
from semsearch.publish import AUTO_FACTORY, Plan, publish_generation, usable_vectors
from semsearch.vectorise import VectorSources


def tidy(index_folder: Path | str) -> None:
    """Remove generations that no one reads any more, and logs of which the current generation has all vectors."""
    index_folder = Path(index_folder)
    generations.prune(index_folder)
    with IndexReader(index_folder) as reader:
        if reader.manifest.vectors == reader.manifest.papers:
            encoder = reader.manifest.encoder
            logs = FollowedLogs(index_folder / FOLDER / encoder.fingerprint, encoder.dimension)
            if len(logs.refresh()):
                logs.remove_read(reader.papers.text_keys())


def fold_logged_vectors(index_folder: Path | str, progress: Progress | None = None) -> bool:
    """Publish a generation that has the vectors of the log, encoding nothing; return whether one was made.

    A build that begins meanwhile waits for it. The papers are those of the generation before. An approximate structure
    is neither trained nor extended, which would take minutes: what it lacks is scanned, and the next build sees to it.

    Raises:
        IndexBusy: a build is at work, which does this itself.
        IndexStoreError: the index cannot be read, or the disk is full.
    """
    index_folder = Path(index_folder)
    with build_lock(index_folder, "serve", briefly=True), IndexReader(index_folder) as base:
        manifest = base.manifest
        plan = Plan(manifest.encoder, str(manifest.notes.get("factory_asked", AUTO_FACTORY)), manifest.language,
                    sorted(manifest.notes.get("deletions", ())), min_recall=manifest.min_recall)
        logs = FollowedLogs(index_folder / FOLDER / manifest.encoder.fingerprint, manifest.encoder.dimension)
        keys = base.papers.text_keys()
        lacking = np.ones(len(keys), np.bool_)
        lacking[base.vectors.rows] = False
        if not np.isin(logs.refresh(), keys[lacking]).any():
            logs.remove_read(keys)
            return False
        with generations.staging(index_folder) as staging:
            take_over_papers(base.generation, staging)
            sources = VectorSources([*usable_vectors(base, keys, plan.identity), *logs.sources()])
            publish_generation(index_folder, staging, base, keys, sources, plan, progress or Silent(), to_come=True)
        logs.remove_read(keys)  # a build that was stopped may have encoded texts that are in no generation yet
        forget_wanted(index_folder / FOLDER / plan.identity.fingerprint, sources.has)
    generations.prune(index_folder)
    return True
