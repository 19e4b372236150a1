"""What decides the vectors of a model, read from its files alone."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from semsearch.encoding import FLOAT32, PRECISIONS, EncoderIdentity
from semsearch.errors import ModelUnusable, UsageError
from semsearch.models.cache import file_sha256, remembered_digest
from semsearch.models.layout import (
    MIN_TOKENS,
    TOKENIZER_VOCABULARIES,
    WITH_WEIGHTS,
    WITHOUT_WEIGHTS,
    Module,
    foreign_code,
    is_known,
    pooling_modes,
    read_json,
    read_modules,
    read_prompts,
    tensor_shape,
    weights_files,
)
from semsearch.models.resolve import LocalModel

FINGERPRINT_FORMAT: Final = 1
DEFAULT_TOKENS: Final = 512
"""For a model that states no limit at all: what most encoders are trained with."""
UNLIMITED_TOKENS: Final = 1_000_000
"""For a model that has no limit because it only averages its tokens: beyond any abstract."""

_MOST_TOKENS_STATED: Final = 10_000_000
"""Tokenizers write 10^30 for "not known"."""

_OFFSET_POSITIONS: Final = frozenset({
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer", "ibert", "data2vec-text",
    "roberta-prelayernorm", "xmod", "luke", "mluke",
})
"""Architectures that count positions from the padding token's number plus one, and so lose that many."""

_VOLATILE_CONFIG: Final = frozenset({
    "_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures", "gradient_checkpointing",
    "use_cache", "initializer_range", "attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout",
    "id2label", "label2id", "finetuning_task", "problem_type", "auto_map", "_attn_implementation",
})
_VOLATILE_TOKENIZER: Final = frozenset({
    "name_or_path", "model_max_length", "max_length", "max_len", "special_tokens_map_file", "tokenizer_file",
    "processor_class", "transformers_version", "clean_up_tokenization_spaces", "chat_template", "auto_map", "padding",
    "truncation", "stride", "pad_to_multiple_of", "pad_to_max_length", "is_local", "local_files_only",
})


def identify(model: LocalModel, max_tokens: int | None = None, precision: str = FLOAT32) -> EncoderIdentity:
    """Return what decides the vectors of a model when texts are cut at `max_tokens`, None for its own limit.

    Reads files only. Raises UsageError where `max_tokens` is below 8 or more than the model has positions for, or the
    precision is none of those there are, and ModelUnusable where the files make no encoder.
    """
    if precision not in PRECISIONS:
        raise UsageError(f"{precision!r} is no precision.", f"Give {' or '.join(PRECISIONS)}.")
    modules = read_modules(model.folder)
    _check_kinds(model, modules)
    tokens = _choose_tokens(model, modules[0], max_tokens)
    dimension = _dimension(model, modules)
    prompts = read_prompts(model.folder)
    fingerprint = _sha256_of_json({
        "format": FINGERPRINT_FORMAT,
        "modules": [_describe_module(module) for module in modules],
        "code": _digests_of_code(model.folder),
        "precision": precision,
        "dimension": dimension,
        "max_tokens": tokens,
        "prompts": {"documents": prompts.documents, "queries": prompts.queries},
        "normalisation": "unit",
    })
    return EncoderIdentity(model.name, model.revision, dimension, tokens, precision, fingerprint)


def _check_kinds(model: LocalModel, modules: tuple[Module, ...]) -> None:
    made_as = read_json(model.folder / "config_sentence_transformers.json").get("model_type", "SentenceTransformer")
    if made_as != "SentenceTransformer":
        raise ModelUnusable(f"The model {model.name} is a {made_as}, which does not give one vector for a text.",
                            "Give a model that was made for dense embeddings.")
    for position, module in enumerate(modules):
        supported = module.kind in WITH_WEIGHTS | WITHOUT_WEIGHTS or not is_known(module)
        if not supported or (position > 0 and module.kind in ("Transformer", "StaticEmbedding")):
            raise ModelUnusable(f"The model {model.name} has a module that is not supported here: {module.type}.",
                                "Give a model of transformer, pooling, dense and normalisation modules.")


def _choose_tokens(model: LocalModel, first: Module, asked: int | None) -> int:
    own, limit = _token_limits(first)
    if asked is None:
        return own
    if asked < MIN_TOKENS or (limit is not None and asked > limit):
        allowed = f"from {MIN_TOKENS} to {limit}" if limit is not None else f"of at least {MIN_TOKENS}"
        raise UsageError(f"The model {model.name} cannot cut texts at {asked} tokens.",
                         f"Give a maximum {allowed}, or none for its own, {own}.")
    return asked


def _token_limits(first: Module) -> tuple[int, int | None]:
    """Return the limit that the model sets itself, and the one that its positions allow (None: any)."""
    if first.kind == "StaticEmbedding":
        return UNLIMITED_TOKENS, None
    config = read_json(first.folder / "config.json")
    config = config.get("text_config") or config
    positions = _positive_int(config.get("max_position_embeddings") or config.get("n_positions"))
    if positions is not None and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= int(config.get("pad_token_id", 1) or 0) + 1
    own = (_positive_int(first.config.get("max_seq_length"))
           or _positive_int(read_json(first.folder / "tokenizer_config.json").get("model_max_length"))
           or positions or DEFAULT_TOKENS)
    return min(own, positions or own), positions


def _positive_int(value: object) -> int | None:
    usable = isinstance(value, int | float) and 0 < value < _MOST_TOKENS_STATED
    return int(value) if usable and isinstance(value, int | float) else None


def _dimension(model: LocalModel, modules: tuple[Module, ...]) -> int:
    dimension: object = None
    for module in modules:
        if module.kind == "Pooling":
            per_mode = module.config.get("embedding_dimension") or module.config.get("word_embedding_dimension")
            dimension = (_positive_int(per_mode or dimension) or 0) * len(pooling_modes(module.config))
        elif module.kind == "Dense":
            dimension = module.config.get("out_features")
        elif module.kind == "StaticEmbedding":
            dimension = _static_dimension(module)
        elif module.kind == "Transformer" or dimension is None:
            dimension = _hidden_size(read_json(module.folder / "config.json"))
    cut = read_json(model.folder / "config_sentence_transformers.json").get("truncate_dim")
    known = _positive_int(dimension)
    if known is None:
        raise ModelUnusable(f"The files of the model {model.name} do not say how long its vectors are.",
                            "Give a model that sentence-transformers has saved.")
    return min(known, _positive_int(cut) or known)


def _static_dimension(module: Module) -> int | None:
    try:
        return tensor_shape(weights_files(module)[0], "embedding.weight")[1]
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _hidden_size(config: dict[str, Any]) -> object:
    config = config.get("text_config") or config
    return next((config[key] for key in ("hidden_size", "d_model", "dim", "n_embd") if key in config), None)


def _describe_module(module: Module) -> dict[str, Any]:
    settings = {key: value for key, value in module.config.items() if key != "max_seq_length"}
    if module.kind == "Pooling":
        settings = {key: value for key, value in settings.items()
                    if not key.startswith("pooling_mode") and not key.endswith("embedding_dimension")}
        settings["modes"] = pooling_modes(module.config)
    description: dict[str, Any] = {
        "kind": module.kind if is_known(module) else module.type,
        "settings": settings,
        "weights": [file_sha256(path) for path in weights_files(module)],
    }
    if module.kind in ("Transformer", "StaticEmbedding") or not is_known(module):
        config = read_json(module.folder / "config.json")
        description["config"] = {key: value for key, value in config.items() if key not in _VOLATILE_CONFIG}
        description["tokenizer"] = _describe_tokenizer(module.folder)
    return description


def _describe_tokenizer(folder: Path) -> dict[str, Any]:
    settings = read_json(folder / "tokenizer_config.json")
    whole = folder / "tokenizer.json"
    if whole.is_file():
        vocabulary = {whole.name: remembered_digest(whole, "tokenizer", _digest_of_tokenizer)}
    else:
        vocabulary = {name: file_sha256(folder / name) for name in TOKENIZER_VOCABULARIES if (folder / name).is_file()}
    return {
        "vocabulary": vocabulary,
        "settings": {key: value for key, value in settings.items() if key not in _VOLATILE_TOKENIZER},
        "special_tokens": read_json(folder / "special_tokens_map.json"),
    }


def _digest_of_tokenizer(path: Path) -> str:
    """Return a digest of tokenizer.json without the two entries that every caller sets anew."""
    content = read_json(path)
    return _sha256_of_json({key: value for key, value in content.items() if key not in ("truncation", "padding")})


def _digests_of_code(folder: Path) -> dict[str, str]:
    if not foreign_code(folder):
        return {}
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in sorted(folder.rglob("*.py"))}


def _sha256_of_json(content: Any) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
