"""Vectors that wait in the log -> a generation that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semsearch.index import generations
from semsearch.index.locks import build_lock
from semsearch.index.paper_layers import take_over_papers
from semsearch.index.reader import IndexReader
from semsearch.index.structure_choice import EXACT_UP_TO
from semsearch.index.vector_log import FOLDER, FollowedLogs
from semsearch.index.wanted_texts import forget_wanted
from semsearch.progress import Progress, Silent
from semsearch.publish import AUTO_FACTORY, Plan, Published, publish_generation, usable_vectors
from semsearch.vectorise import VectorSources, missing_rows


def fold_logged_vectors(index_folder: Path | str, progress: Progress | None = None) -> bool:
    """Publish a generation that has the vectors of the log, encoding nothing; return whether one was made.

    A build that begins meanwhile waits for it. The last generation of an index that will get an approximate structure
    is left to a build, since training it takes minutes.

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
        logs.refresh()
        if not len(logs) or manifest.vectors == manifest.papers:
            return False
        keys = base.papers.text_keys()
        missing = missing_rows(keys, VectorSources([base.vectors.as_source(), *logs.sources()]))
        if not len(missing) and (plan.factory != AUTO_FACTORY or manifest.papers > EXACT_UP_TO):
            return False
        with generations.staging(index_folder) as staging:
            take_over_papers(base.generation, staging)
            publish_logged(index_folder, staging, base, keys, logs, plan, progress or Silent())
    generations.prune(index_folder)
    return True


def publish_logged(index_folder: Path, staging: Path, base: IndexReader, keys: NDArray[Any], logs: FollowedLogs,
                   plan: Plan, progress: Progress) -> tuple[Published, int]:
    """Publish staged papers with the vectors of the base, those given and those of the log; the build lock is held.

    `keys`: `(papers,)` their text keys by row. Logs of which the generation has all are removed. Returns the generation
    and how many texts have no vector yet.
    """
    sources = VectorSources([*usable_vectors(base, keys, plan.identity), *plan.given.shards, *logs.sources()])
    missing = len(missing_rows(keys, sources))
    published = publish_generation(index_folder, staging, base, keys, sources, plan, progress, to_come=missing > 0)
    logs.remove_read()
    forget_wanted(index_folder / FOLDER / plan.identity.fingerprint,
                  lambda wanted: sources.has(wanted) | ~np.isin(wanted, keys))
    return published, missing
