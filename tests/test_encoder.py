"""Texts -> unit vectors: against an independent computation, and what is refused."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from network_guard import network_forbidden
from tiny_model import MAX_TOKENS, change_json, make_tiny_model, write_json

from semsearch.encoder import SentenceTransformerEncoder, choose_device, load_encoder
from semsearch.encoding import DEFAULT_MODEL, Encoder, EncoderRequest, Vectors, unit_rows
from semsearch.errors import EncodingFailed, ModelError, ModelUnusable, UsageError
from semsearch.models import identify, resolve_model

TEXTS = [
    "We study dense retrieval of scientific papers with a large language model.",
    "Quantum physics of galaxies",
    "A",
    "",
    "Protein structure prediction with deep neural networks. " * 3,
]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with network_forbidden(monkeypatch):
        yield


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty hub cache and an empty user cache."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "tiny")


def load(folder: Path, **request: Any) -> SentenceTransformerEncoder:
    return load_encoder(EncoderRequest(str(folder), device="cpu", **request))


def mean_pooled(folder: Path, texts: list[str], max_tokens: int) -> Vectors:
    """Compute unit vectors with transformers and numpy alone, each text by itself, so without padding."""
    import tokenizers
    import torch
    from transformers import AutoModel
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    model = AutoModel.from_pretrained(str(folder)).float().eval()
    rows = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].numpy()
        mean = states.astype(np.float64).mean(axis=0)
        rows.append(mean / np.sqrt((mean**2).sum()))
    return np.array(rows, dtype=np.float32)


# The numbers


def test_vectors_are_the_mean_of_the_tokens(tiny: Path) -> None:
    encoder: Encoder = load(tiny)
    vectors = encoder.encode_documents(TEXTS).vectors
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.allclose(vectors, mean_pooled(tiny, TEXTS, MAX_TOKENS), atol=1e-5)
    assert np.allclose(encoder.encode_queries(TEXTS), vectors, atol=1e-6)  # no prompts
    assert encoder.identity == identify(resolve_model(str(tiny)))
    assert encoder.device == "cpu"


@pytest.mark.real_model
def test_the_default_model_gives_the_known_numbers() -> None:
    encoder = load_encoder(EncoderRequest(device="cpu"))
    encoded = encoder.encode_documents(TEXTS)
    expected = mean_pooled(resolve_model(DEFAULT_MODEL).folder, TEXTS, 256)
    assert np.einsum("ij,ij->i", encoded.vectors, expected).min() >= 0.9999
    assert np.allclose(encoded.vectors, expected, atol=1e-5)
    assert encoded.token_counts.tolist() == [15, 6, 3, 2, 26]  # words, full stops and two special tokens
    first = encoder.encode_queries(["hello world"])[0, :4]
    assert np.allclose(first, [-0.03447723, 0.03102324, 0.00673501, 0.02610899], atol=1e-5)
    assert encoder.identity.dimension == 384


def test_nothing_gives_nothing_of_the_right_shape(tiny: Path) -> None:
    encoder = load(tiny)
    encoded = encoder.encode_documents([])
    assert (encoded.vectors.shape, encoded.vectors.dtype) == ((0, 32), np.float32)
    assert (encoded.token_counts.shape, encoded.token_counts.dtype) == ((0,), np.int32)
    assert encoder.encode_queries(()).shape == (0, 32)


def test_vectors_do_not_depend_on_the_batch(tiny: Path) -> None:
    encoder = load(tiny)
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS * 10)]
    together = encoder.encode_documents(texts).vectors
    alone = np.concatenate([encoder.encode_documents([text]).vectors for text in texts])
    backwards = encoder.encode_documents(texts[::-1]).vectors[::-1]
    assert np.allclose(together, alone, atol=1e-6)
    assert np.allclose(together, backwards, atol=1e-6)


def test_texts_are_cut_at_the_maximum_and_counted_before(tiny: Path) -> None:
    long = "graph " * 100
    whole, cut = load(tiny), load(tiny, max_tokens=8)
    assert whole.encode_documents([long, "graph graph"]).token_counts.tolist() == [102, 4]
    assert cut.encode_documents([long]).token_counts.tolist() == [102]
    assert np.allclose(cut.encode_documents([long]).vectors, mean_pooled(tiny, [long], 8), atol=1e-5)
    assert np.allclose(cut.encode_documents([long + "cancer"]).vectors, cut.encode_documents([long]).vectors)
    assert np.allclose(whole.encode_documents([long]).vectors, mean_pooled(tiny, [long], 64), atol=1e-5)
    assert cut.identity.fingerprint != whole.identity.fingerprint


def test_the_tokenizer_file_does_not_decide_where_texts_are_cut(tiny: Path) -> None:
    change_json(tiny / "tokenizer.json", truncation={
        "max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"})
    encoded = load(tiny).encode_documents(["graph " * 20])
    assert encoded.token_counts.tolist() == [22]
    assert np.allclose(encoded.vectors, mean_pooled(tiny, ["graph " * 20], 64), atol=1e-5)


@pytest.mark.parametrize("name", ["document", "passage", "corpus"])
def test_each_verb_has_its_prompt(tmp_path: Path, name: str) -> None:
    folder = make_tiny_model(tmp_path / "m", prompts={"query": "search: ", name: "a paper: "})
    encoder = load(folder)
    document = encoder.encode_documents(["graph"])
    assert np.allclose(document.vectors, mean_pooled(folder, ["a paper: graph"], 64), atol=1e-5)
    assert document.token_counts.tolist() == [6]  # [CLS] a paper : graph [SEP]
    assert np.allclose(encoder.encode_queries(["graph"]), mean_pooled(folder, ["search: graph"], 64), atol=1e-5)


def test_half_precision_weights_are_computed_in_float32(tiny: Path) -> None:
    weights = safetensors.numpy.load_file(tiny / "model.safetensors")
    halves = {name: tensor.astype(np.float16) for name, tensor in weights.items()}
    safetensors.numpy.save_file(halves, tiny / "model.safetensors", metadata={"format": "pt"})
    change_json(tiny / "config.json", dtype="float16")
    vectors = load(tiny).encode_documents(TEXTS).vectors
    assert np.allclose(vectors, mean_pooled(tiny, TEXTS, 64), atol=1e-5)


def test_pickled_weights_are_loaded_as_tensors_only(tiny: Path) -> None:
    import torch

    expected = load(tiny).encode_documents(TEXTS).vectors
    weights = safetensors.numpy.load_file(tiny / "model.safetensors")
    (tiny / "model.safetensors").unlink()
    torch.save({name: torch.from_numpy(tensor) for name, tensor in weights.items()}, tiny / "pytorch_model.bin")
    assert np.allclose(load(tiny).encode_documents(TEXTS).vectors, expected, atol=1e-6)
    torch.save({"embeddings": Exploding(tiny / "ran")}, tiny / "pytorch_model.bin")
    with pytest.raises(ModelUnusable, match="cannot be loaded"):
        load(tiny)
    assert not (tiny / "ran").exists()


class Exploding:
    """An object whose pickle would make a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (str(self.path),)


def test_texts_that_are_no_utf8_are_encoded(tiny: Path) -> None:
    encoder = load(tiny)
    vectors = encoder.encode_documents(["graph \udcff", "graph ?", "Größe 研究"]).vectors
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)


def test_one_string_is_no_sequence_of_texts(tiny: Path) -> None:
    with pytest.raises(TypeError, match="not one string"):
        load(tiny).encode_queries("graph")


def test_truncated_vectors_are_unit_vectors(tiny: Path) -> None:
    whole = load(tiny).encode_documents(TEXTS).vectors[:, :16]
    change_json(tiny / "config_sentence_transformers.json", truncate_dim=16)
    vectors = load(tiny).encode_documents(TEXTS).vectors
    assert np.allclose(vectors, whole / np.linalg.norm(whole, axis=1, keepdims=True), atol=1e-6)


def test_averaged_words_are_a_model_too(tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    words = safetensors.numpy.load_file(tiny / "model.safetensors")["embeddings.word_embeddings.weight"]
    safetensors.numpy.save_file({"embedding.weight": words}, folder / "model.safetensors")
    write_json(folder / "modules.json", [{
        "idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}])
    vocabulary = json.loads((tiny / "tokenizer.json").read_text())["model"]["vocab"]
    mean = (words[vocabulary["graph"]] + words[vocabulary["cell"]]) / 2
    encoded = load(folder, max_tokens=8).encode_documents(["graph cell", "graph " * 8 + "cell", "graph"])
    assert np.allclose(encoded.vectors[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert np.allclose(encoded.vectors[1], encoded.vectors[2], atol=1e-6)
    assert encoded.token_counts.tolist() == [2, 9, 1]
    with pytest.raises(EncodingFailed, match="norm 0 of the text ''"):
        load(folder).encode_documents(["graph", ""])


# What is refused


def change_weight(folder: Path, name: str, value: float | None) -> None:
    weights = safetensors.numpy.load_file(folder / "model.safetensors")
    if value is None:
        del weights[name]
    else:
        weights[name][:] = value
    safetensors.numpy.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_weights_that_are_not_numbers_are_told_by_the_text(tiny: Path) -> None:
    change_weight(tiny, "encoder.layer.0.output.LayerNorm.bias", np.nan)
    encoder = load(tiny)
    with pytest.raises(EncodingFailed, match="not finite of the text 'Quantum physics' \\(1 of 1 texts\\)"):
        encoder.encode_documents(["Quantum physics"])
    with pytest.raises(EncodingFailed, match=f"'{'graph ' * 10}'"):
        encoder.encode_queries(["graph " * 100])


def test_weights_that_are_missing_are_not_made_up(tiny: Path) -> None:
    change_weight(tiny, "pooler.dense.weight", None)
    load(tiny)  # the pooler takes no part
    change_weight(tiny, "encoder.layer.0.output.dense.weight", None)
    with pytest.raises(ModelUnusable, match=r"do not fit its config\.json: encoder\.layer\.0\.output\.dense\.weight"):
        load(tiny)


def test_weights_of_another_shape_are_refused(tiny: Path) -> None:
    change_json(tiny / "config.json", intermediate_size=48)
    with pytest.raises(ModelUnusable, match="cannot be loaded"):
        load(tiny)


def test_vectors_of_another_length_than_stated_are_refused(tiny: Path) -> None:
    change_json(tiny / "1_Pooling" / "config.json", word_embedding_dimension=16)
    with pytest.raises(ModelUnusable, match="gives vectors of 32 numbers; its files say 16"):
        load(tiny).encode_queries(["graph"])


@pytest.mark.parametrize(("row", "words"), [
    ([np.nan, 0], "not finite"), ([np.inf, 0], "not finite"), ([0, 0], "norm 0 "), ([0.9985, 0], "norm 0.9985"),
    ([1.002, 0], "norm 1.002"),
])
def test_rows_that_are_no_unit_vectors_are_refused(row: list[float], words: str) -> None:
    vectors = np.array([[0, 1], row], dtype=np.float32)
    with pytest.raises(EncodingFailed, match=f"{words}.*'second'.*1 of 2 texts"):
        unit_rows(vectors, ["first", "second"])


def test_rows_that_are_nearly_unit_vectors_are_made_so() -> None:
    rows = unit_rows(np.array([[0.9995, 0], [0, 1]], dtype=np.float32), ["first", "second"])
    assert rows.tolist() == [[1, 0], [0, 1]]
    assert rows.dtype == np.float32


def test_code_of_the_model_runs_only_where_it_is_trusted(tiny: Path) -> None:
    (tiny / "tiny_step.py").write_text(
        "from sentence_transformers.sentence_transformer.modules import Normalize\n"
        "class Flip(Normalize):\n"
        "    def forward(self, features, **kwargs):\n"
        "        features['sentence_embedding'] = -features['sentence_embedding']\n"
        "        return features\n")
    expected = -load(tiny).encode_queries(["graph"])
    modules = json.loads((tiny / "modules.json").read_text())
    write_json(tiny / "modules.json", [*modules, {"idx": 3, "name": "3", "path": "", "type": "tiny_step.Flip"}])
    with pytest.raises(ModelUnusable, match=r"would run code from its repository \(module tiny_step\.Flip\)"):
        load(tiny)
    trusted = load(tiny, trust_remote_code=True)
    assert np.allclose(trusted.encode_queries(["graph"]), expected, atol=1e-6)


# Devices


def fake_torch(monkeypatch: pytest.MonkeyPatch, *, gpus: int = 0, mps: bool = False) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


def test_the_best_device_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch)
    assert choose_device("auto") == "cpu"
    fake_torch(monkeypatch, mps=True)
    assert (choose_device("auto"), choose_device("mps"), choose_device("cpu")) == ("mps", "mps", "cpu")
    fake_torch(monkeypatch, gpus=2)
    assert (choose_device("auto"), choose_device("cuda"), choose_device("cuda:1")) == ("cuda", "cuda", "cuda:1")


@pytest.mark.parametrize(("asked", "gpus", "there"), [
    ("cuda", 0, "has cpu"), ("cuda:0", 0, "has cpu"), ("mps", 0, "has cpu"), ("cuda:2", 2, "has cuda:0, cuda:1, cpu")])
def test_a_device_that_is_not_there_is_named(
        monkeypatch: pytest.MonkeyPatch, asked: str, gpus: int, there: str) -> None:
    import torch

    fake_torch(monkeypatch, gpus=gpus)
    with pytest.raises(ModelError, match=f"{asked} is not there") as caught:
        choose_device(asked)
    assert f"torch {torch.__version__} {there}" in str(caught.value)


@pytest.mark.parametrize("asked", ["", "gpu", "cuda:", "cuda:x", "CPU", "cpu:0 "])
def test_what_is_no_device_is_refused_before_anything_is_loaded(asked: str) -> None:
    with pytest.raises(UsageError, match="is no device"):
        load_encoder(EncoderRequest("someone/nowhere", device=asked))


def test_batches_shrink_where_memory_ends(tiny: Path) -> None:
    real = load(tiny)
    sizes: list[int] = []

    def short_of_memory(texts: list[str], *, batch_size: int, **options: Any) -> Any:
        sizes.append(batch_size)
        if batch_size > 1 or texts == ["too much"]:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real._model.encode_document(texts, batch_size=batch_size, **options)

    stub = SimpleNamespace(device=real._model.device, tokenizer=real._model.tokenizer, encode_document=short_of_memory)
    encoder = SentenceTransformerEncoder(stub, real.identity, real._prompts)  # type: ignore[arg-type]
    assert np.allclose(encoder.encode_documents(TEXTS).vectors, real.encode_documents(TEXTS).vectors, atol=1e-6)
    assert sizes == [16, 8, 4, 2, 1]  # the longest has 64 of 1024 tokens
    with pytest.raises(ModelError, match="memory of cpu does not hold"):
        encoder.encode_documents(["too much"])


# Manners


def test_importing_costs_nothing() -> None:
    code = ("import sys, semsearch.encoder\n"
            "print(sorted({'torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'safetensors'}"
            " & set(sys.modules)))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_loading_and_encoding_say_nothing(tiny: Path) -> None:
    change_json(tiny / "config_sentence_transformers.json", default_prompt_name="q", prompts={"q": "graph "},
                __version__={"sentence_transformers": "99.0.0"})
    change_weight(tiny, "pooler.dense.weight", None)
    code = ("import sys\nfrom semsearch.encoder import load_encoder\nfrom semsearch.encoding import EncoderRequest\n"
            "encoder = load_encoder(EncoderRequest(sys.argv[1], device='cpu'))\n"
            "encoder.encode_documents(['graph ' * 500, 'x'])\nencoder.encode_queries(['x'])\n")
    run = subprocess.run([sys.executable, "-c", code, str(tiny)], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


@pytest.mark.filterwarnings("ignore:Cannot enable progress bars")  # where an earlier test wrote into a log
def test_the_logging_of_others_is_left_as_it_was(tiny: Path) -> None:
    from transformers.utils import logging as transformers_logging

    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    transformers_logging.enable_progress_bar()
    before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    load(tiny).encode_documents(TEXTS)
    assert [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers] == before
    assert transformers_logging.is_progress_bar_enabled()


def test_telemetry_is_off_and_tokenizers_do_not_fork(tiny: Path) -> None:
    code = ("import os, sys\n"
            "from semsearch.encoder import load_encoder\nfrom semsearch.encoding import EncoderRequest\n"
            "load_encoder(EncoderRequest(sys.argv[1], device='cpu'))\nfrom huggingface_hub import constants\n"
            "print(constants.HF_HUB_DISABLE_TELEMETRY, os.environ['TOKENIZERS_PARALLELISM'], constants.HF_HUB_OFFLINE)")
    run = subprocess.run([sys.executable, "-c", code, str(tiny)], capture_output=True, text=True, check=True)
    assert run.stdout == "True false False\n"
