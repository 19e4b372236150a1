"""A cross-encoder of a few kilobytes: the tiny model with a layer on top that makes scores of pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tiny_model import change_json, make_tiny_model, write_json


def make_tiny_cross_encoder(folder: Path, *, seed: int = 0, labels: int = 1, spread: float = 5.0,
                            activation: str | None = None) -> Path:
    """Return `folder` with a BertForSequenceClassification in it, as transformers saves one: no modules.json.

    `labels`: numbers for a pair. `spread`: how large the weights of the last layer are. `activation`: the function
    that the model's settings name; None for none, where the library takes the logistic function.
    """
    make_tiny_model(folder, seed=seed)
    for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
        (folder / name).unlink()
    (folder / "1_Pooling" / "config.json").unlink()
    (folder / "1_Pooling").rmdir()
    random = np.random.default_rng(seed + 1)
    encoder = load_file(folder / "model.safetensors")
    dimension = len(encoder["pooler.dense.bias"])
    weights = {f"bert.{name}": tensor for name, tensor in encoder.items()}
    weights["classifier.weight"] = random.normal(0, spread, (labels, dimension)).astype(np.float32)
    weights["classifier.bias"] = np.zeros(labels, np.float32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    change_json(folder / "config.json", architectures=["BertForSequenceClassification"],
                id2label={str(number): f"LABEL_{number}" for number in range(labels)},
                label2id={f"LABEL_{number}": number for number in range(labels)},
                sentence_transformers=None if activation is None else {"activation_fn": activation, "version": "4.0.1"})
    return folder


def save_as_sentence_transformers_does(folder: Path) -> Path:
    """Add the files by which newer versions of sentence-transformers tell a cross-encoder; return `folder`."""
    write_json(folder / "modules.json", [{"idx": 0, "name": "0", "path": "",
                                          "type": "sentence_transformers.base.modules.transformer.Transformer"}])
    write_json(folder / "sentence_bert_config.json", {
        "transformer_task": "sequence-classification", "module_output_name": "scores",
        "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}})
    write_json(folder / "config_sentence_transformers.json", {"model_type": "CrossEncoder", "prompts": {}})
    return folder
