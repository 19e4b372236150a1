"""Cross-encoders: scores against transformers alone, what is refused, and the order of reranked hits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from network_guard import network_forbidden
from safetensors.numpy import load_file, save_file
from tiny_cross_encoder import make_tiny_cross_encoder, save_as_sentence_transformers_does
from tiny_model import change_json, make_tiny_model, put_in_hub_cache

from semsearch.errors import EncodingFailed, ModelNotFound, ModelUnusable, UsageError
from semsearch.models import resolve_model
from semsearch.rerank import CPU_BATCH, load_reranker

QUESTION = "dense retrieval of papers"
TEXTS = ["We study dense retrieval of papers.", "Quantum physics of galaxies", "", "graph " * 200, "A cell.",
         "Quantum physics of galaxies"]
IDENTITY = "torch.nn.modules.linear.Identity"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with network_forbidden(monkeypatch):
        yield


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty hub cache."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    return tmp_path / "huggingface" / "hub"


def logits(folder: Path, question: str, texts: list[str]) -> np.ndarray:
    """Compute the model's numbers with tokenizers and transformers alone, each pair by itself."""
    import tokenizers
    import torch
    from transformers import AutoModelForSequenceClassification
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128, strategy="longest_first")
    model = AutoModelForSequenceClassification.from_pretrained(str(folder)).eval()
    found = []
    for text in texts:
        pair = tokenizer.encode(question, text)
        with torch.inference_mode():
            found.append(model(input_ids=torch.tensor([pair.ids]),
                               token_type_ids=torch.tensor([pair.type_ids])).logits[0].numpy())
    return np.array(found)[:, 0]


def test_scores_are_those_of_the_model_alone(tmp_path: Path) -> None:
    plain = make_tiny_cross_encoder(tmp_path / "plain", activation=IDENTITY)
    expected = logits(plain, QUESTION, TEXTS)
    heard: list[int] = []
    scores = load_reranker(str(plain), device="cpu").score(QUESTION, TEXTS, heard.append)
    assert scores.dtype == np.float32 and np.allclose(scores, expected, atol=1e-4)
    assert len(set(np.round(expected, 4))) == 5 and scores[1] == scores[5]  # equal texts, equal scores
    assert sum(heard) == len(TEXTS)
    squashed = load_reranker(str(make_tiny_cross_encoder(tmp_path / "squashed")), device="cpu").score(QUESTION, TEXTS)
    assert np.allclose(squashed, 1 / (1 + np.exp(-expected)), atol=1e-5)


def test_scores_do_not_depend_on_company_and_order(tmp_path: Path) -> None:
    reranker = load_reranker(str(make_tiny_cross_encoder(tmp_path / "m", activation=IDENTITY)), device="cpu")
    texts = [f"{text} paper {number}" for number, text in enumerate(TEXTS * 3)]
    assert len(texts) > 2 * CPU_BATCH
    together = reranker.score(QUESTION, texts)
    assert np.allclose(together, [reranker.score(QUESTION, [text])[0] for text in texts], atol=1e-4)
    assert np.allclose(together[::-1], reranker.score(QUESTION, texts[::-1]), atol=1e-4)
    assert reranker.score(QUESTION, []).shape == (0,)
    assert np.isfinite(reranker.score("\ud800 lone", ["\udfff"])).all()


def test_both_layouts_of_folders_are_read(tmp_path: Path) -> None:
    older = load_reranker(str(make_tiny_cross_encoder(tmp_path / "older")), device="cpu").score(QUESTION, TEXTS)
    newer = save_as_sentence_transformers_does(make_tiny_cross_encoder(tmp_path / "newer"))
    assert np.allclose(load_reranker(str(newer), device="cpu").score(QUESTION, TEXTS), older, atol=1e-6)


def test_a_name_is_found_in_the_hub_cache_and_nothing_is_said(
        tmp_path: Path, hub: Path, capfd: pytest.CaptureFixture[str]) -> None:
    put_in_hub_cache(make_tiny_cross_encoder(tmp_path / "m"), hub, "cross-encoder/tiny")
    scores = load_reranker("tiny", device="cpu").score(QUESTION, TEXTS)  # without an organisation
    assert np.allclose(scores, load_reranker(str(tmp_path / "m"), device="cpu").score(QUESTION, TEXTS))
    assert capfd.readouterr() == ("", "")


def test_a_model_that_is_nowhere_is_named_with_ways_out() -> None:
    with pytest.raises(ModelNotFound, match="cross-encoder/nowhere is not on this machine") as caught:
        load_reranker("nowhere")
    assert "the path of a folder" in caught.value.way_out
    with pytest.raises(UsageError, match="no device"):
        load_reranker("nowhere", device="abacus")


def test_an_encoder_is_no_cross_encoder(tmp_path: Path) -> None:
    encoder = make_tiny_model(tmp_path / "encoder")
    with pytest.raises(ModelUnusable, match="sentence encoder"):
        load_reranker(str(encoder))
    (encoder / "modules.json").unlink()
    with pytest.raises(ModelUnusable, match=r"names BertModel where a ForSequenceClassification is expected"):
        load_reranker(str(encoder))
    change_json(encoder / "config.json", architectures=None)
    with pytest.raises(ModelUnusable, match="no architecture"):
        load_reranker(str(encoder))


def test_another_kind_of_model_is_named(tmp_path: Path) -> None:
    folder = save_as_sentence_transformers_does(make_tiny_cross_encoder(tmp_path / "m"))
    change_json(folder / "config_sentence_transformers.json", model_type="SparseEncoder")
    with pytest.raises(ModelUnusable, match="SparseEncoder"):
        load_reranker(str(folder))


def test_a_cross_encoder_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match="classifier or reranker"):
        resolve_model(str(make_tiny_cross_encoder(tmp_path / "m")))


def test_several_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match="gives 3 numbers for a pair"):
        load_reranker(str(make_tiny_cross_encoder(tmp_path / "m", labels=3)), device="cpu")


def test_foreign_code_is_refused(tmp_path: Path) -> None:
    folder = make_tiny_cross_encoder(tmp_path / "m", activation="somewhere.Else")
    with pytest.raises(ModelUnusable, match=r"activation somewhere\.Else"):
        load_reranker(str(folder), device="cpu")
    change_json(folder / "config.json", sentence_transformers=None,
                auto_map={"AutoModelForSequenceClassification": "code.Model"})
    with pytest.raises(ModelUnusable, match="auto_map"):
        load_reranker(str(folder), device="cpu")


def test_incomplete_models_are_refused(tmp_path: Path) -> None:
    folder = make_tiny_cross_encoder(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    save_file({name: tensor for name, tensor in weights.items() if "classifier" not in name},
              folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnusable, match=r"do not fit its config\.json: classifier"):
        load_reranker(str(folder), device="cpu")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnusable, match=r"tokenizer\.json is missing"):
        load_reranker(str(folder), device="cpu")


def test_what_loads_and_gives_no_scores_is_refused(tmp_path: Path) -> None:
    folder = save_as_sentence_transformers_does(make_tiny_cross_encoder(tmp_path / "m"))
    (folder / "sentence_bert_config.json").unlink()
    with pytest.raises(ModelUnusable, match="cannot be loaded"):
        load_reranker(str(folder), device="cpu")


def test_scores_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    folder = make_tiny_cross_encoder(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"][:] = np.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EncodingFailed, match="score nan to the text 'We study"):
        load_reranker(str(folder), device="cpu").score(QUESTION, TEXTS[:1])
