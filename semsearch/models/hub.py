"""Fetches a model from the Hugging Face hub: the only place that uses the network."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from semsearch.errors import ModelNotFound
from semsearch.models.places import not_found

REQUEST_TIMEOUT_SECONDS: Final = 10
"""How long the hub may be silent before it counts as unreachable, as huggingface_hub has it for its own requests."""

_SETTINGS_SUFFIXES: Final = frozenset({".json", ".txt", ".model", ".py", ".jinja", ".vocab", ".bpe"})
_OTHER_ENGINES: Final = frozenset({"onnx", "openvino", "coreml", "tflite", "gguf"})


def download(name: str, revision: str, cache: Path) -> Path:
    """Return the folder of a model that was fetched into `cache`, with huggingface_hub's progress bar on stderr.

    Raises ModelNotFound where the hub has no such model, does not give it to us or cannot be reached.
    """
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    import huggingface_hub
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        information = huggingface_hub.HfApi(endpoint=endpoint).model_info(
            name, revision=revision, timeout=REQUEST_TIMEOUT_SECONDS)
        files = needed_files([entry.rfilename for entry in information.siblings or ()])
        folder = huggingface_hub.snapshot_download(
            name, revision=revision, cache_dir=cache, endpoint=endpoint,
            allow_patterns=[glob.escape(file) for file in files])
    except GatedRepoError as error:
        raise ModelNotFound(f"The hub gives the model {name} only to those who have accepted its terms.",
                            f"Accept them on https://huggingface.co/{name}, then log in with: hf auth login") from error
    except RevisionNotFoundError as error:
        raise ModelNotFound(f"The model {name} has no revision {revision} on the hub.",
                            "Leave --model-revision out, or give a branch, a tag or a commit that exists.") from error
    except RepositoryNotFoundError as error:
        raise ModelNotFound(f"The hub has no model {name}, or it is private.",
                            "Check the spelling; for a private model, log in first with: hf auth login") from error
    except Exception as error:  # whatever the layers below raise for a dead line, a proxy, a full disk: no traceback
        raise not_found(name, _first_line(error)) from error
    return Path(folder)


def _first_line(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def needed_files(files: Sequence[str]) -> list[str]:
    """Return those files of a repository that sentence-transformers needs on torch.

    All settings and vocabularies; of the weights the safetensors where a folder has them, else pytorch_model.bin;
    nothing for ONNX, OpenVINO, TensorFlow, Flax or Rust.
    """
    kept = []
    with_safetensors = {str(PurePosixPath(file).parent) for file in files
                        if file.endswith((".safetensors", ".safetensors.index.json"))}
    for file in files:
        path = PurePosixPath(file)
        if _OTHER_ENGINES & set(path.parts[:-1]):
            continue
        is_weights_of_torch = path.suffix == ".safetensors" or (
            path.match("pytorch_model*.bin") and str(path.parent) not in with_safetensors)
        if path.suffix in _SETTINGS_SUFFIXES or is_weights_of_torch:
            kept.append(file)
    return kept
