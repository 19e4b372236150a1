"""What lies in the folder of a model: its modules, their settings and weights, and what is missing or not allowed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from semsearch.errors import ModelUnusable

MIN_TOKENS: Final = 8
"""Below this, the special tokens that models add leave next to nothing of a text."""

WITH_WEIGHTS: Final = frozenset({"Transformer", "Dense", "LayerNorm", "StaticEmbedding"})
WITHOUT_WEIGHTS: Final = frozenset({"Pooling", "Normalize", "Dropout"})
TOKENIZER_VOCABULARIES: Final = (
    "vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model",
    "added_tokens.json",
)
CLASSIFIER: Final = "ForSequenceClassification"
"""How the architectures end that give a text scores and no vector; cross-encoders are such."""
DOCUMENT_PROMPTS: Final = ("document", "passage", "corpus")

_SENTENCE_TRANSFORMERS: Final = "sentence_transformers."
_TRANSFORMER_SETTINGS: Final = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_LEGACY_POOLING: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_GIT_LFS_POINTER: Final = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Module:
    """One step from tokens to a vector. `kind` is the class's name, `type` the full name that the model gives."""

    kind: str
    type: str
    folder: Path
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the model's authors put before texts; empty where nothing."""

    documents: str
    queries: str


def is_known(module: Module) -> bool:
    """Return whether a module is of sentence-transformers itself and not of the model's repository."""
    return module.type.startswith(_SENTENCE_TRANSFORMERS)


def holds_model(folder: Path) -> bool:
    """Return whether a folder looks like a model of sentence-transformers or transformers, complete or not."""
    return (folder / "modules.json").is_file() or (folder / "config.json").is_file()


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, empty where there is no file.

    Raises ModelUnusable, naming the file, where it is something else.
    """
    content = _parse_json(path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ModelUnusable(f"{path} does not hold a JSON object.")
    return content


def _parse_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelUnusable(f"{path} cannot be read: {error}") from error


def read_modules(folder: Path) -> tuple[Module, ...]:
    """Return the modules of a model in their order.

    A model without modules.json is a bare transformer: it gets the pooling that sentence-transformers gives it, the
    mean of its tokens, or the last token where it was trained to continue text. A classifier, such as a cross-encoder,
    gets none.
    Raises ModelUnusable where modules.json makes no sense or leads out of the folder.
    """
    entries = _parse_json(folder / "modules.json")
    if entries is None:
        return _modules_of_bare_transformer(folder)
    if not isinstance(entries, list) or not entries:
        raise ModelUnusable(f"{folder / 'modules.json'} does not hold a list of modules.")
    return tuple(_read_module(folder, entry) for entry in entries)


def _read_module(folder: Path, entry: Any) -> Module:
    type_name, path = (entry.get("type"), entry.get("path", "")) if isinstance(entry, dict) else (None, "")
    if not isinstance(type_name, str) or not isinstance(path, str):
        raise ModelUnusable(f"{folder / 'modules.json'} has an entry without a type: {entry!r}")
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise ModelUnusable(f"{folder / 'modules.json'} leads out of the model's folder: {path!r}")
    kind = type_name.rpartition(".")[2]
    module_folder = folder / path
    return Module(kind, type_name, module_folder, _read_module_config(kind, module_folder))


def _read_module_config(kind: str, folder: Path) -> dict[str, Any]:
    if kind != "Transformer":
        return read_json(folder / "config.json")
    for name in _TRANSFORMER_SETTINGS:
        settings = read_json(folder / name)
        if settings:
            return settings
    return {}


def _modules_of_bare_transformer(folder: Path) -> tuple[Module, ...]:
    config = read_json(folder / "config.json")
    architecture = architecture_of(config)
    if architecture.endswith(CLASSIFIER):
        return (Module("Transformer", "sentence_transformers.models.Transformer", folder, {}),)
    continues_text = architecture.endswith("ForCausalLM") and config.get("is_causal", True)
    pooling = {"pooling_mode": "lasttoken" if continues_text else "mean"}
    return (Module("Transformer", "sentence_transformers.models.Transformer", folder, {}),
            Module("Pooling", "sentence_transformers.models.Pooling", folder, pooling))


def architecture_of(config: dict[str, Any]) -> str:
    """Return the class that a config.json was written by, `""` where it does not say."""
    architectures = config.get("architectures")
    return str(architectures[0]) if isinstance(architectures, list) and architectures else ""


def pooling_modes(config: dict[str, Any]) -> list[str]:
    """Return the ways in which a Pooling module makes one vector of many, in either spelling of its settings."""
    modes = config.get("pooling_mode")
    if modes is None:
        modes = [mode for key, mode in _LEGACY_POOLING.items() if config.get(key)] or ["mean"]
    return [modes] if isinstance(modes, str) else [str(mode) for mode in modes]


def read_prompts(folder: Path) -> Prompts:
    """Return the prompts of a model: those named for the verb, else its default prompt, else nothing."""
    settings = read_json(folder / "config_sentence_transformers.json")
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict):
        raise ModelUnusable(f"{folder / 'config_sentence_transformers.json'} does not hold prompts by name.")
    default = prompts.get(settings.get("default_prompt_name")) or ""
    documents = next((prompts[name] for name in DOCUMENT_PROMPTS if prompts.get(name) is not None), default)
    queries = prompts["query"] if prompts.get("query") is not None else default
    return Prompts(str(documents), str(queries))


def weights_files(module: Module) -> list[Path]:
    """Return the files of a module's weights, in the order of their names; those named by an index may be missing.

    Safetensors where there are any. Else pytorch_model.bin, which torch loads with `weights_only`: tensors and no
    other object of a pickle, so that no code of the file can run.
    Raises ModelUnusable for an adapter, whose weights mean nothing without another model.
    """
    if not is_known(module):
        return sorted(path for pattern in ("*.safetensors", "*.bin") for path in module.folder.glob(pattern))
    if module.kind not in WITH_WEIGHTS:
        return []
    if (module.folder / "adapter_config.json").is_file():
        raise ModelUnusable(f"{module.folder} holds an adapter of another model, not a model.",
                            "Merge the adapter into its model, save that, and give its folder.")
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (module.folder / name).is_file():
            return [module.folder / name]
        index = module.folder / f"{name}.index.json"
        if index.is_file():
            shards = read_json(index).get("weight_map")
            if not isinstance(shards, dict) or not shards:
                raise ModelUnusable(f"{index} does not say which file holds which weight.")
            return [module.folder / Path(str(shard)).name for shard in sorted(set(shards.values()))]
    return [module.folder / "model.safetensors"]


def what_is_missing(folder: Path) -> str:
    """Return which file of the encoder is missing or cut, as words for a message; empty where it is complete.

    Raises ModelUnusable where it is no encoder but a classifier.
    """
    config = {} if (folder / "modules.json").is_file() else read_json(folder / "config.json")
    if architecture_of(config).endswith(CLASSIFIER):
        raise ModelUnusable(f"{folder} holds a classifier or reranker ({architecture_of(config)}), which gives no "
                            "vector.", "Give a model that was made for embeddings.")
    return missing_file(folder)


def missing_file(folder: Path) -> str:
    """Return which file of a model of any kind is missing or cut, as words; empty where the model is complete."""
    for module in read_modules(folder):
        if not is_known(module):
            continue
        if module.kind == "Transformer" and not (module.folder / "config.json").is_file():
            return f"{module.folder / 'config.json'} is missing"
        if module.kind in ("Pooling", "Dense") and not module.config:
            return f"{module.folder / 'config.json'} is missing"
        for path in weights_files(module):
            problem = _problem_with_weights(path)
            if problem:
                return f"{path} {problem}"
        if module.kind in ("Transformer", "StaticEmbedding") and not _has_tokenizer(module.folder):
            return f"{module.folder / 'tokenizer.json'} is missing"
    return ""


def _has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("tokenizer.json", *TOKENIZER_VOCABULARIES))


def _problem_with_weights(path: Path) -> str:
    try:
        with path.open("rb") as file:
            start = file.read(len(_GIT_LFS_POINTER))
        if start == _GIT_LFS_POINTER:
            return "is a pointer of Git LFS and not the file itself"
        if path.suffix == ".safetensors":
            declared = _declared_size(path)
            if declared != path.stat().st_size:
                return f"is cut or damaged: {path.stat().st_size} bytes, {declared} expected"
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "cannot be read"
    return "" if start else "is empty"


def _declared_size(path: Path) -> int:
    """Return the size that a safetensors file must have by its own header."""
    header, start = _read_safetensors_header(path)
    ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
    return start + int(max(ends, default=0))


def _read_safetensors_header(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError("the header is longer than the file")
        header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("the header is no JSON object")
    return header, 8 + length


def tensor_shape(path: Path, name: str) -> list[int]:
    """Return the shape of a tensor in a safetensors file; KeyError or ValueError where there is none such."""
    return [int(size) for size in _read_safetensors_header(path)[0][name]["shape"]]


def foreign_code(folder: Path) -> list[str]:
    """Return what in the model's settings names code that is part neither of transformers nor of torch."""
    found = []
    for module in read_modules(folder):
        if not is_known(module):
            found.append(f"module {module.type}")
        activation = module.config.get("activation_function", "torch.") if module.kind == "Dense" else "torch."
        if not str(activation).startswith("torch."):
            found.append(f"activation {activation}")
        for name in ("config.json", "tokenizer_config.json"):
            auto_map = read_json(module.folder / name).get("auto_map")
            if auto_map:
                found.append(f"auto_map in {name}: {', '.join(sorted(auto_map))}")
    return found


def needs_another_repository(folder: Path) -> bool:
    """Return whether the model's code lies in another repository than the model, as `owner/name--module.Class` says."""
    maps = (read_json(module.folder / name).get("auto_map") for module in read_modules(folder)
            for name in ("config.json", "tokenizer_config.json"))
    return any("--" in json.dumps(auto_map) for auto_map in maps if auto_map)


def refuse_foreign_code(name: str, folder: Path, trust_remote_code: bool) -> None:
    """Raise ModelUnusable where a model needs code from its repository and that was not allowed."""
    if trust_remote_code:
        return
    found = foreign_code(folder)
    if found:
        raise ModelUnusable(f"The model {name} would run code from its repository ({'; '.join(found)}).",
                            "If you have read that code and trust it, allow it with --trust-remote-code.")
