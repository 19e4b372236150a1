"""How fast abstracts are encoded beside `SentenceTransformer.encode(texts)`, and how alike the vectors are.

    python benchmarks/encoding.py --source papers.jsonl.gz --texts 192

Slices of the texts are encoded in turn by all ways, the baseline first and then last, so that what else the machine
does meets all of them; what counts is the median of the ratios slice by slice. In the same turns the matrix products
are timed that a layer consists of: by torch, of which the baseline is made, and by onnxruntime.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from record import append_result

from semsearch.document_encoder import load_for_documents
from semsearch.encoder import load_encoder
from semsearch.encoding import INT8, Encoder, EncoderRequest, Vectors
from semsearch.encoding_pool import Chunk, TunableEncoder, encode_chunks
from semsearch.progress import Silent
from semsearch.provider import LocalModels
from semsearch.readers import SourceReader
from semsearch.readers.base import Located
from semsearch.readers.sources import expand_sources

SLICE = 32
ROWS, FEATURES = 1024, 384
PRODUCTS = 40
CALIBRATION_TEXTS = 200

Way = Callable[[list[str]], Vectors]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=192)
    parser.add_argument("--max-tokens", type=int, nargs="+", default=[256, 512, 128])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    items = SourceReader(expand_sources([arguments.source])[0])
    texts = [item.paper.text for item in items if isinstance(item, Located) and item.paper.abstract]
    order = np.random.default_rng(arguments.seed).permutation(len(texts))
    chosen = [texts[place] for place in order[:arguments.texts + CALIBRATION_TEXTS]]
    for max_tokens in arguments.max_tokens:
        figures = measure(chosen[:arguments.texts], chosen[arguments.texts:], max_tokens)
        append_result("encoding", arguments.seed, {
            "source": arguments.source.name, "texts": arguments.texts, "max_tokens": max_tokens,
            "baseline": "SentenceTransformer.encode(texts), batch 32", "load_average": os.getloadavg()[0], **figures})


def measure(texts: list[str], others: list[str], max_tokens: int) -> dict[str, Any]:
    """Return the figures of all ways at one maximum of tokens; `others` are texts for the calibration."""
    provider, request = LocalModels(), EncoderRequest(max_tokens=max_tokens)
    torch_encoder = load_encoder(EncoderRequest(max_tokens=max_tokens, device="cpu"))
    model: Any = torch_encoder.parts[0]
    ways: dict[str, Way] = {
        "baseline": lambda some: np.asarray(model.encode(some, normalize_embeddings=True)),
        "torch by tokens": lambda some: torch_encoder.encode_documents(some).vectors,
    }
    for name, asked in (("float32", request), ("int8", EncoderRequest(max_tokens=max_tokens, precision=INT8))):
        encoder = load_for_documents(provider, asked, provider.identify(asked), len(texts) + len(others), Silent())
        ways[name] = lambda some, encoder=encoder: pooled(encoder, some)
        ways[name](others)  # finds the setting
        assert isinstance(encoder, TunableEncoder)
    for way in ways.values():
        way(texts[:4])
    products = matrix_products()
    seconds: dict[str, list[float]] = {name: [] for name in (*ways, *products)}
    processor: dict[str, float] = dict.fromkeys(ways, 0.0)
    cosines: dict[str, list[float]] = {name: [] for name in ways}
    counts = np.minimum(torch_encoder.encode_documents(texts).token_counts, max_tokens)
    for number, start in enumerate(range(0, len(texts), SLICE)):
        some = texts[start:start + SLICE]
        found = {}
        for name in (list(ways) if number % 2 else [*ways][::-1]):
            before = time.process_time()
            found[name] = timed(seconds[name], ways[name], some)
            processor[name] += time.process_time() - before
        for name, vectors in found.items():
            cosines[name].append(float(np.einsum("ij,ij->i", vectors, found["baseline"]).min()))
        for name, product in products.items():
            for _ in range(PRODUCTS):
                timed(seconds[name], product)
    flop = operations(model, counts)
    limits = {name: 2 * ROWS * FEATURES * 4 * FEATURES / min(seconds[name]) / 1e9 for name in products}
    return {
        "mean_tokens": round(float(counts.mean()), 1),
        "matrix_products_gflops": {name: round(limit) for name, limit in limits.items()},
        "gflop_per_text": round(flop / len(texts) / 1e9, 2),
        "processor_seconds": {name: round(spent, 1) for name, spent in processor.items()},
        "ways": {name: figures_of(name, seconds, cosines, flop, len(texts), limits) for name in ways}}


def figures_of(name: str, seconds: dict[str, list[float]], cosines: dict[str, list[float]], flop: float, texts: int,
               limits: dict[str, float]) -> dict[str, Any]:
    """Return speed, ratio and share of what the matrix products allow, of one way."""
    ratios = [before / now for before, now in zip(seconds["baseline"], seconds[name], strict=True)]
    rate = flop / sum(seconds[name]) / 1e9
    return {
        "texts_per_second": round(texts / sum(seconds[name]), 1), "gflops": round(rate),
        "ratio_to_baseline": round(statistics.median(ratios), 2), "ratios": [round(r, 2) for r in sorted(ratios)],
        "share_of_matrix_products": {kind: round(rate / limit, 2) for kind, limit in limits.items()},
        "least_cosine": round(min(cosines[name]), 6)}


def pooled(encoder: Encoder, texts: list[str]) -> Vectors:
    """Encode texts as a build does, sorted by their lengths."""
    order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
    chunk = Chunk([str(row) for row in order], [texts[row] for row in order], [b""] * len(texts))
    vectors = np.empty((len(texts), encoder.identity.dimension), np.float32)
    results = encode_chunks(encoder, [chunk], lambda part: encoder.encode_documents(part.texts), len(texts))
    for piece, encoded in results:
        vectors[[int(row) for row in piece.ids]] = encoded.vectors
    return vectors


def timed(into: list[float], action: Callable[..., Any], *arguments: Any) -> Any:
    """Return what an action returns; its seconds go to a list."""
    begun = time.perf_counter()
    result = action(*arguments)
    into.append(time.perf_counter() - begun)
    return result


def matrix_products() -> dict[str, Callable[[], Any]]:
    """Return the product of a batch and the widest weights of the model, on all cores, by library."""
    import onnxruntime
    import torch
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    batch = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
    weights = random.normal(size=(FEATURES, 4 * FEATURES)).astype(np.float32)
    here, transposed = torch.from_numpy(batch), torch.from_numpy(weights.T.copy())
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, batch.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (ROWS, 4 * FEATURES))],
        [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def by_torch() -> None:
        with torch.inference_mode():
            torch.nn.functional.linear(here, transposed)

    return {"torch": by_torch, "onnxruntime": lambda: session.run(None, {"x": batch})}


def operations(model: Any, counts: np.ndarray) -> float:
    """Return how many floating-point operations the matrix products of a BERT-like model take for texts."""
    import torch

    linear = sum(part.weight.numel() for name, part in model.named_modules()
                 if isinstance(part, torch.nn.Linear) and "pooler" not in name)
    config = model[0].auto_model.config
    attention = 2 * config.num_hidden_layers * config.hidden_size * counts.astype(np.float64)
    return float((2 * counts * (linear + attention)).sum())


if __name__ == "__main__":
    main()
