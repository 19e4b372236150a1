"""A sentence-transformers model of a few kilobytes, made in milliseconds without torch.

One BERT layer over an own WordPiece vocabulary, mean pooling, normalisation. The weights are random and depend on the
seed alone. The layer adds little to the word embeddings, so that texts with words in common are near each other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

MAX_TOKENS = 64
POSITIONS = 128
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = """a an and are as at by for from in is it of on or that the this to we with our can be which these not
abstract abstracts paper papers study method methods model models language large neural network networks learning deep
data text texts word words sentence sentences document documents query queries question questions answer answers search
retrieval retrieve dense sparse index vector vectors embedding embeddings semantic similarity graph graphs knowledge
translation machine parsing speech recognition image images vision attention transformer transformers training train
evaluation benchmark dataset corpus results show propose approach task tasks performance state art quantum protein cell
cells cancer patients clinical trial gene genes physics galaxy galaxies star stars climate energy optimization algorithm
passage""".split()
CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()[]{}-_/+*=%&#@$<>|~^\\"


def make_tiny_model(folder: Path, *, seed: int = 0, dimension: int = 32,
                    prompts: Mapping[str, str] | None = None) -> Path:
    """Return `folder` with a model in it whose vectors have `dimension` numbers.

    It cuts texts at 64 tokens and has positions for 128.
    """
    (folder / "1_Pooling").mkdir(parents=True)
    tokenizer = _make_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(_make_weights(tokenizer.get_vocab_size(), dimension, seed), folder / "model.safetensors",
              metadata={"format": "pt"})
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write_json(folder / "modules.json", [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(modules)])
    write_json(folder / "config.json", {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": dimension, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 2 * dimension, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "vocab_size": tokenizer.get_vocab_size(),
        "pad_token_id": 0, "transformers_version": "4.40.0"})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    write_json(folder / "config_sentence_transformers.json", {"prompts": dict(prompts or {})})
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": POSITIONS,
        "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"})
    write_json(folder / "1_Pooling" / "config.json", {
        "word_embedding_dimension": dimension, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
    return folder


def put_in_hub_cache(model: Path, cache: Path, name: str, *, commit: str = "0123456789abcdef" * 2 + "01234567",
                     reference: str = "main") -> Path:
    """Return the snapshot of a model in a cache laid out as the hub's client lays it out: files are links to blobs."""
    repository = cache / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / commit
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "blobs").mkdir(exist_ok=True)
    (repository / "refs" / reference).write_text(commit)
    for number, file in enumerate(sorted(path for path in model.rglob("*") if path.is_file())):
        blob = repository / "blobs" / f"{number:040x}"
        shutil.copyfile(file, blob)
        link = snapshot / file.relative_to(model)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blob)
    return snapshot


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON."""
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


def change_json(path: Path, **changes: Any) -> None:
    """Set some keys of a JSON object in a file; None takes a key away."""
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    write_json(path, {key: value for key, value in content.items() if value is not None})


def _make_tokenizer() -> Tokenizer:
    pieces = [*SPECIAL_TOKENS, *CHARACTERS, *(f"##{c}" for c in CHARACTERS), *WORDS]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")])
    return tokenizer


def _make_weights(words: int, dimension: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}

    def dense(name: str, rows: int, columns: int) -> None:
        weights[f"{name}.weight"] = random.normal(0, 0.02, (rows, columns)).astype(np.float32)
        weights[f"{name}.bias"] = np.zeros(rows, dtype=np.float32)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = np.ones(dimension, dtype=np.float32)
        weights[f"{name}.bias"] = np.zeros(dimension, dtype=np.float32)

    for name, rows, spread in (("word", words, 1.0), ("position", POSITIONS, 0.05), ("token_type", 2, 0.05)):
        table = random.normal(0, spread, (rows, dimension)).astype(np.float32)
        weights[f"embeddings.{name}_embeddings.weight"] = table
    norm("embeddings.LayerNorm")
    layer = "encoder.layer.0"
    for name in ("query", "key", "value"):
        dense(f"{layer}.attention.self.{name}", dimension, dimension)
    dense(f"{layer}.attention.output.dense", dimension, dimension)
    norm(f"{layer}.attention.output.LayerNorm")
    dense(f"{layer}.intermediate.dense", 2 * dimension, dimension)
    dense(f"{layer}.output.dense", dimension, 2 * dimension)
    norm(f"{layer}.output.LayerNorm")
    dense("pooler.dense", dimension, dimension)
    return weights
