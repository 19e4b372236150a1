"""Find papers by meaning.

    from semsearch import Searcher, build_index

    build_index(["papers.jsonl"], "indexes/papers")
    with Searcher("indexes/papers") as searcher:
        for hit in searcher.query("how do birds navigate?", k=5).hits:
            print(hit.rank, hit.score, hit.paper.title)

Names are imported when they are first used, so that `import semsearch` costs nothing. No public name is that of a
module: importing the module would put it in the name's place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semsearch.build import BuildOptions, build_index
    from semsearch.encoding import EncodedTexts, Encoder, EncoderIdentity, EncoderRequest
    from semsearch.errors import SemsearchError
    from semsearch.filters import Filter
    from semsearch.index.reader import IndexReader
    from semsearch.maintenance import delete, describe, export_vectors, remove_index, restore, verify
    from semsearch.paper import Paper
    from semsearch.ranking import Highlight, Hit, Mode, SearchOptions
    from semsearch.reindex import ReindexOptions, reindex_index
    from semsearch.search import Answer, Searcher
    from semsearch.summary import BuildSummary

_HOME = {
    "Answer": "search", "BuildOptions": "build", "BuildSummary": "summary", "EncodedTexts": "encoding",
    "Encoder": "encoding", "EncoderIdentity": "encoding", "EncoderRequest": "encoding", "Filter": "filters",
    "Highlight": "ranking", "Hit": "ranking", "IndexReader": "index.reader", "Mode": "ranking", "Paper": "paper",
    "ReindexOptions": "reindex", "SearchOptions": "ranking", "Searcher": "search", "SemsearchError": "errors",
    "build_index": "build", "delete": "maintenance", "describe": "maintenance", "export_vectors": "maintenance",
    "reindex_index": "reindex", "remove_index": "maintenance", "restore": "maintenance", "verify": "maintenance",
}

__all__ = [
    "Answer", "BuildOptions", "BuildSummary", "EncodedTexts", "Encoder", "EncoderIdentity", "EncoderRequest", "Filter",
    "Highlight", "Hit", "IndexReader", "Mode", "Paper", "ReindexOptions", "SearchOptions", "Searcher", "SemsearchError",
    "build_index", "delete", "describe", "export_vectors", "reindex_index", "remove_index", "restore", "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'semsearch' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"semsearch.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
