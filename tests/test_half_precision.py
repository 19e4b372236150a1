"""Half precision: its vectors are those of full precision, or it is not taken. A CPU stands in for the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from network_guard import network_forbidden
from tiny_model import make_tiny_model

from semsearch.encoder import SentenceTransformerEncoder, load_encoder
from semsearch.encoding import EncoderRequest, Vectors
from semsearch.half_precision import TRIAL_TEXTS, HalfPrecision

TEXTS = [f"Paper {number} studies " + "graph neural networks of proteins " * (number % 4) for number in range(40)]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with network_forbidden(monkeypatch):
        yield


@pytest.fixture
def full(tmp_path: Path) -> SentenceTransformerEncoder:
    return load_encoder(EncoderRequest(str(make_tiny_model(tmp_path / "tiny")), device="cpu"))


@pytest.fixture
def half(full: SentenceTransformerEncoder) -> SentenceTransformerEncoder:
    """The same model, with a CPU for what takes half precision."""
    encoder = SentenceTransformerEncoder(*full.parts[:1], full.identity, full.parts[1])
    encoder._half = HalfPrecision("cpu", frozenset({"cpu"}))
    return encoder


def watch_products(encoder: SentenceTransformerEncoder) -> list[torch.dtype]:
    """Return a list to which each product of the first dense layer adds the type of what comes out of it."""
    model, _ = encoder.parts
    types: list[torch.dtype] = []
    layer = next(module for module in model.modules() if isinstance(module, torch.nn.Linear))
    layer.register_forward_hook(lambda module, given, result: types.append(result.dtype))
    return types


def test_its_vectors_are_those_of_full_precision(full: SentenceTransformerEncoder, half: SentenceTransformerEncoder
                                                 ) -> None:
    expected = full.encode_documents(TEXTS).vectors
    types = watch_products(half)
    vectors = half.encode_documents(TEXTS).vectors
    assert vectors.dtype == np.float32
    assert (np.einsum("ij,ij->i", vectors, expected) >= 0.9999).all()
    assert types[0] == torch.float32  # the trial, in full and then in half
    assert types[-1] == torch.float16
    types.clear()
    half.encode_queries(["a question"])
    assert types == [torch.float16]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_cpu_computes_in_full_precision(full: SentenceTransformerEncoder) -> None:
    types = watch_products(full)
    full.encode_documents(TEXTS)
    assert set(types) == {torch.float32}
    assert not HalfPrecision("cpu").is_untried and not HalfPrecision("mps").is_untried
    assert HalfPrecision("cuda").is_untried


def test_where_vectors_would_be_others_full_precision_is_taken(full: SentenceTransformerEncoder,
                                                               half: SentenceTransformerEncoder) -> None:
    expected = full.encode_documents(TEXTS).vectors

    def turn(module: Any, given: Any, result: torch.Tensor) -> torch.Tensor:
        return result if result.dtype == torch.float32 else result.flip(-1)

    for layer in half.parts[0].modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(turn)
    assert np.allclose(half.encode_documents(TEXTS).vectors, expected, atol=1e-6)
    assert not half._half.is_on and not half._half.is_untried


def test_a_number_too_large_for_half_precision_turns_it_off(full: SentenceTransformerEncoder,
                                                            half: SentenceTransformerEncoder) -> None:
    expected = full.encode_documents([*TEXTS, "overflow"]).vectors
    half.encode_documents(TEXTS)
    assert half._half.is_on
    layer = next(module for module in half.parts[0].modules() if isinstance(module, torch.nn.Linear))

    def overflow(module: Any, given: Any, result: torch.Tensor) -> torch.Tensor:
        return result * torch.inf if result.dtype == torch.float16 else result

    layer.register_forward_hook(overflow)
    assert np.allclose(half.encode_documents([*TEXTS, "overflow"]).vectors, expected, atol=1e-6)
    assert not half._half.is_on


@pytest.mark.parametrize("count", [1, 5, TRIAL_TEXTS, 40, 1000])
def test_the_trial_takes_few_texts_and_the_longest(count: int) -> None:
    seen: list[Sequence[str]] = []

    def encode(texts: Sequence[str]) -> Vectors:
        seen.append(texts)
        return np.full((len(texts), 4), 0.5, np.float32)

    texts = ["x" * length for length in range(1, count + 1)]
    half = HalfPrecision("cuda")
    half.try_out(encode, texts)
    assert half.is_on
    assert seen[0] == seen[1] and texts[-1] in seen[0] and 1 <= len(seen[0]) < 2 * TRIAL_TEXTS
