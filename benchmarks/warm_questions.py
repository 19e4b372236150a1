"""Warm questions in one process, beside bare encoding, faiss and tantivy.

    python benchmarks/warm_questions.py abstracts/ --vectors real.npy

The vectors of the index are made (`made_corpus.py`), since encoding takes long; questions are encoded by the exported
default model. For meaning alone that costs the same as real vectors. For meaning and words together it costs more,
since made vectors know nothing of the words, and both lists must be read deeper until no other paper can be among the
best: with `--index` and without `--vectors`, an index of yours is asked, with its own vectors.

Each question is put in turns to every contestant, so that a busy machine is busy for all. The baseline of meaning alone
is encoding and one search by faiss over the same vectors (with one thread: several are slower for one question), that
of meaning and words the same and one search by tantivy in the same files; ours includes reading the papers and writing
them as JSON. What filters, highlights and reranking add is told apart.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import faiss
import numpy as np
from made_corpus import MadeEncoder, MadeProvider, made_questions, read_abstracts
from record import append_result

from semsearch.build import build_index
from semsearch.encoding import Encoder, EncoderRequest, Vectors
from semsearch.filters import Filter
from semsearch.provider import LocalModels
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Answer, Searcher
from semsearch.writers.jsonl import write_hits

K = 10


class QuestionsEncoded:
    """Encodes papers as `MadeEncoder`, and questions with the exported default model."""

    device = "cpu"

    def __init__(self, made: MadeEncoder, real: Encoder) -> None:
        self.identity, self.encode_documents, self._real = made.identity, made.encode_documents, real

    def encode_queries(self, texts: list[str]) -> Vectors:
        """Return the vectors of questions."""
        return self._real.encode_queries(texts)


class Provider(MadeProvider):
    """Gives made vectors to papers and real ones to questions."""

    def load(self, request: EncoderRequest) -> Any:
        """Return the encoder."""
        models, wanted = LocalModels(), EncoderRequest()
        identity = models.identify(wanted, allow_download=False)
        real = models.load_quick(EncoderRequest(identity.model, identity.revision, identity.max_tokens), identity)
        if real is None:
            raise SystemExit("The default model is not exported: ask any index a question first.")
        return QuestionsEncoded(self._encoder, real)


def as_json(answer: Answer) -> str:
    """Return what the command line prints with --json."""
    stream = io.StringIO()
    write_hits(answer.hits, stream)
    return stream.getvalue()


def contestants(searcher: Searcher, reranker: str | None) -> dict[str, Callable[[str], object]]:
    """Return what is timed: a function of a question each."""
    reader, encoder = searcher.reader, searcher.encoder()
    flat = faiss.IndexFlatIP(reader.manifest.encoder.dimension)
    flat.add(reader.vectors.vectors_at(np.arange(len(reader.vectors.rows))))
    lexical = reader.lexical

    def meaning(text: str) -> None:
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        flat.search(encoder.encode_queries([text]), K)
        faiss.omp_set_num_threads(before)

    def words(text: str) -> None:
        lexical._searcher.search(lexical._terms(lexical.parse(text).terms), K, count=False)

    def both(text: str) -> None:
        meaning(text)
        words(text)

    def ours(**options: Any) -> Callable[[str], object]:
        return lambda text: as_json(searcher.query(text, K, SearchOptions(**options)))

    found: dict[str, Callable[[str], object]] = {
        "faiss": meaning, "dense": ours(mode=Mode.DENSE), "faiss and tantivy": both, "hybrid": ours(),
        "hybrid, unsmoothed": ours(smoothing=0.0), "lexical": ours(mode=Mode.LEXICAL),
        "filtered": ours(filter=Filter(first_year=2015, last_year=2020)), "highlighted": ours(highlight=True)}
    if reranker:
        found["reranked"] = ours(rerank=reranker)
    return found


def measure(searcher: Searcher, questions: list[str], reranker: str | None) -> dict[str, Any]:
    """Return milliseconds of each contestant and the ratios."""
    timed = contestants(searcher, reranker)
    times: dict[str, list[float]] = {name: [] for name in timed}
    for number, text in enumerate(questions):
        for name, ask in timed.items():
            begun = time.perf_counter()
            ask(text)
            if number >= len(questions) // 10:  # the first are for warming up
                times[name].append((time.perf_counter() - begun) * 1e3)
    spread = {name: {"p50": round(median(t), 2), "p99": round(quantiles(t, n=100)[98], 2)} for name, t in times.items()}

    def ratio(name: str, baseline: str) -> dict[str, float]:
        return {p: round(spread[name][p] / spread[baseline][p], 3) for p in ("p50", "p99")}

    added = {name: round(median(t) - median(times["hybrid"]), 2) for name, t in times.items()
             if name in ("filtered", "highlighted", "reranked")}
    return {"milliseconds": spread, "dense_to_faiss": ratio("dense", "faiss"),
            "hybrid_to_faiss_and_tantivy": ratio("hybrid", "faiss and tantivy"), "added_to_hybrid_ms": added}


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a folder of JSON Lines with abstracts")
    parser.add_argument("--vectors", type=Path, nargs="+", help="npy files of real unit vectors")
    parser.add_argument("--index", type=Path, help="an index that was made so before")
    parser.add_argument("--reranker", help="a cross-encoder on this machine")
    parser.add_argument("--questions", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = arguments.index or Path(folder) / "index"
        if not index.exists():
            build_index([arguments.source], index, provider=MadeProvider(arguments.vectors))
        files = sorted(arguments.source.glob("*.jsonl*"))
        questions = made_questions(read_abstracts(files), arguments.questions, 0)
        provider = Provider(arguments.vectors) if arguments.vectors else None
        with Searcher(index, provider=provider) as searcher:
            figures = measure(searcher, questions, arguments.reranker)
            papers = searcher.reader.manifest.papers
    append_result("warm_questions", 0, {
        "papers": papers, "vectors": "made" if provider else "real", "questions": len(questions), **figures,
        "load": round(os.getloadavg()[0], 1)})


if __name__ == "__main__":
    main()
