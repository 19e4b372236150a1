"""An index of a collection's corpus, kept so that the next measurement need not make it again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from semsearch.build import BuildOptions, build_index
from semsearch.errors import UsageError
from semsearch.evaluation.collections import Collection
from semsearch.index.state import read_state
from semsearch.progress import Progress
from semsearch.provider import EncoderProvider
from semsearch.summary import BuildSummary

PREFIX: Final = "eval-"
_OUTSIDE_NAMES: Final = re.compile(r"[^\w.-]+")


def index_of_corpus(collection: Collection, home: Path, model: str | None = None) -> Path:
    """Return the folder of the index that holds, or will hold, the corpus of a collection, and nothing else.

    It is called `eval-NAME`, or `eval-NAME-MODEL` where a model is named; with a number where another corpus of the
    same name has that index already.

    Raises:
        UsageError: the collection has no corpus.
    """
    if collection.corpus is None:
        raise UsageError(f"The collection {collection.name} has no corpus.jsonl to make an index of.",
                         "Name an index of its papers with -i NAME.")
    corpus = collection.corpus.resolve()
    for folder in _candidates(home, collection.name, model):
        held = {Path(source.path).resolve() for source in read_state(folder).sources} if folder.is_dir() else set()
        if held <= {corpus}:
            return folder
    raise AssertionError("names do not run out")


def build_corpus(collection: Collection, folder: Path, *, model: str | None = None, device: str = "auto",
                 trust_remote_code: bool = False, provider: EncoderProvider | None = None,
                 progress: Progress | None = None) -> BuildSummary:
    """Bring the index of a corpus up to date, so that it holds what the file holds; only what is new is encoded.

    Records without any text are rejected and counted, as in every build.

    Raises:
        InputError, ModelError, IndexStoreError: as `build_index`.
    """
    if collection.corpus is None:
        raise UsageError(f"The collection {collection.name} has no corpus.", "Name an index with -i NAME.")
    options = BuildOptions(model=model, device=device, trust_remote_code=trust_remote_code, prune=True, confirmed=True,
                           restore=True)
    return build_index([collection.corpus], folder, options, provider=provider, progress=progress)


def _candidates(home: Path, name: str, model: str | None) -> Iterator[Path]:
    parts = [name] if model is None else [name, Path(model).name]
    stem = PREFIX + "-".join(_OUTSIDE_NAMES.sub("-", part).strip("-.") for part in parts)
    for number in count(1):
        yield home / (stem if number == 1 else f"{stem}-{number}")
