"""Warm questions in one process, beside bare encoding, faiss and tantivy.

    python benchmarks/warm_questions.py abstracts/ --index acl --questions scifact/queries.jsonl cranfield/queries.jsonl
    python benchmarks/warm_questions.py abstracts/ --vectors real.npy

With `--vectors` the vectors of the index are made (`made_corpus.py`), since encoding takes long; questions are encoded
by the exported default model. For meaning alone that costs the same as real vectors. For meaning and words together it
costs more, since made vectors know nothing of the words, and both lists must be read deeper until no other paper can be
among the best: without `--vectors`, an index of yours is asked, with its own vectors. Without `--questions`, some words
of titles are the questions.

Each question is put to every contestant, in an order drawn anew, so that a busy machine is busy for all. The baseline
of meaning alone is encoding and one search by faiss over the same vectors (with one thread: several are slower for one
question), that of meaning and words the same and one search by tantivy in the same files; ours includes reading the
papers and writing them as JSON.

What filters and highlights add is told apart, each by pairs with the same question without it. So is reranking, by
cross-encoders with random weights that are made here: what they answer means nothing, but a pair costs what it costs in
a trained model of the same size.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
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
from semsearch.models import resolve_model
from semsearch.provider import LocalModels
from semsearch.ranking import DEFAULT_RERANK_DEPTH, Mode, SearchOptions
from semsearch.search import Answer, Searcher
from semsearch.writers.jsonl import write_hits

K = 10
EXTRA_QUESTIONS = 40
RERANKED_QUESTIONS = 6
CROSS_ENCODERS = ((2, 128), (6, 384), (12, 384))
"""Layers and width. Cross-encoders that were trained on MS MARCO come in these sizes."""
TOKENS = 512


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


def ask(searcher: Searcher, text: str, **options: Any) -> Answer:
    """Answer a question and write it as JSON."""
    answer = searcher.query(text, K, SearchOptions(**options))
    as_json(answer)
    return answer


def contestants(searcher: Searcher) -> dict[str, Callable[[str], object]]:
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
        return lambda text: ask(searcher, text, **options)

    return {"encoding": lambda text: encoder.encode_queries([text]), "faiss": meaning, "dense": ours(mode=Mode.DENSE),
            "faiss and tantivy": both, "hybrid": ours(), "hybrid, unsmoothed": ours(smoothing=0.0),
            "lexical": ours(mode=Mode.LEXICAL)}


def measure(searcher: Searcher, questions: list[str]) -> dict[str, Any]:
    """Return milliseconds of each contestant and the ratios."""
    timed = contestants(searcher)
    times: dict[str, list[float]] = {name: [] for name in timed}
    chance, order = random.Random(0), list(timed)
    for number, text in enumerate(questions):
        chance.shuffle(order)
        for name in order:
            begun = time.perf_counter()
            timed[name](text)
            if number >= len(questions) // 10:  # the first are for warming up
                times[name].append((time.perf_counter() - begun) * 1e3)
    spread = {name: {"p50": round(median(t), 2), "p99": round(quantiles(t, n=100)[98], 2)} for name, t in times.items()}

    def ratio(name: str, baseline: str) -> dict[str, float]:
        pairs = [ours / bare for ours, bare in zip(times[name], times[baseline], strict=True)]
        return {p: round(spread[name][p] / spread[baseline][p], 3) for p in ("p50", "p99")} | {
            "median_of_pairs": round(median(pairs), 3)}

    return {"milliseconds": spread, "dense_to_faiss": ratio("dense", "faiss"),
            "hybrid_to_faiss_and_tantivy": ratio("hybrid", "faiss and tantivy")}


def added(searcher: Searcher, questions: list[str]) -> dict[str, float]:
    """Return the milliseconds that an option adds to a hybrid answer: the median of pairs."""
    found = {}
    for name, options in (("filtered", {"filter": Filter(first_year=2015, last_year=2020)}),
                          ("highlighted", {"highlight": True})):
        ask(searcher, questions[0], **options)
        differences = []
        for text in questions[:EXTRA_QUESTIONS]:
            begun = time.perf_counter()
            ask(searcher, text)
            between = time.perf_counter()
            ask(searcher, text, **options)
            differences.append((time.perf_counter() - between - (between - begun)) * 1e3)
        found[name] = round(median(differences), 2)
    return found


def reranking(searcher: Searcher, questions: list[str], folder: Path) -> dict[str, dict[str, float]]:
    """Return what reranking adds, by size of the cross-encoder."""
    found = {}
    for layers, width in CROSS_ENCODERS:
        model = make_cross_encoder(folder / f"{layers}x{width}", layers, width)
        ask(searcher, questions[0], rerank=str(model))  # loads it
        seconds = [ask(searcher, text, rerank=str(model)).seconds["rerank"] for text in questions[:RERANKED_QUESTIONS]]
        found[f"{layers} layers of {width}, random weights"] = {
            "pairs": DEFAULT_RERANK_DEPTH, "added_ms": round(1e3 * median(seconds), 1),
            "ms_a_pair": round(1e3 * median(seconds) / DEFAULT_RERANK_DEPTH, 2)}
    return found


def make_cross_encoder(folder: Path, layers: int, width: int) -> Path:
    """Write a BERT for pairs with random weights and the words of the default model; return `folder`."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    identity = LocalModels().identify(EncoderRequest(), allow_download=False)
    tokenizer = AutoTokenizer.from_pretrained(resolve_model(identity.model, identity.revision).folder)
    tokenizer.model_max_length = TOKENS
    tokenizer.save_pretrained(folder)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=width, num_hidden_layers=layers,
                        num_attention_heads=width // 32, intermediate_size=4 * width, max_position_embeddings=TOKENS)
    config.num_labels = 1
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def read_questions(files: list[Path]) -> list[str]:
    """Return the questions of JSON Lines with `text`, mixed."""
    texts = [json.loads(line)["text"] for file in files for line in file.read_text("utf-8").splitlines()]
    random.Random(0).shuffle(texts)
    return texts


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a folder of JSON Lines with abstracts")
    parser.add_argument("--vectors", type=Path, nargs="+", help="npy files of real unit vectors")
    parser.add_argument("--index", type=Path, help="an index that was made so before")
    parser.add_argument("--questions", type=Path, nargs="+", help="JSON Lines with the text of questions")
    parser.add_argument("--count", type=int, default=300, help="how many questions")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = arguments.index or Path(folder) / "index"
        if not index.exists():
            if not arguments.vectors:
                parser.error(f"{index} is not there, and without --vectors none can be made")
            build_index([arguments.source], index, provider=MadeProvider(arguments.vectors))
        if arguments.questions:
            questions = read_questions(arguments.questions)[:arguments.count]
        else:
            files = sorted(arguments.source.glob("*.jsonl*"))
            questions = made_questions(read_abstracts(files), arguments.count, 0)
        provider = Provider(arguments.vectors) if arguments.vectors else None
        with Searcher(index, provider=provider) as searcher:
            figures = measure(searcher, questions)
            figures["added_to_hybrid_ms"] = added(searcher, questions)
            figures["reranking"] = reranking(searcher, questions, Path(folder))
            papers = searcher.reader.manifest.papers
    append_result("warm_questions", 0, {
        "papers": papers, "vectors": "made" if provider else "real", "questions": len(questions),
        "asked": "judged collections" if arguments.questions else "words of titles", **figures,
        "load": round(os.getloadavg()[0], 1)})


if __name__ == "__main__":
    main()
