"""A loaded encoder -> the form that onnxruntime and tokenizers run, checked against the original.

The only importer of onnx's makers, inside functions. Anything a model does that the exported form does not do as well
shows in the check, and such a model is refused; so nothing here has to know one architecture from another.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np

from semsearch.encoder import SentenceTransformerEncoder
from semsearch.encoding import FLOAT32, INT8, EncoderIdentity
from semsearch.errors import SemsearchError
from semsearch.exported.quantise import quantise
from semsearch.exported.session import open_exported
from semsearch.exported.store import (
    ENCODERS,
    MODEL,
    TOKENIZER,
    WEIGHTS,
    ExportSettings,
    folder_of,
    is_intact,
    measured,
    read_settings,
    remember_refusal,
    staged_export,
    write_settings,
)
from semsearch.exported.trial import trial_texts
from semsearch.model_loading import silence
from semsearch.models import cache_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MIN_COSINE: Final = {FLOAT32: 0.9999, INT8: 0.95}
"""How near each vector of the exported encoder must be to that of the original, by precision."""
OPSET: Final = 17
"""The first with layer normalisation as one operator."""
MOST_BYTES: Final = 1_800_000_000
"""Weights of one exported graph; the format ends at 2 GB."""

NEEDED: Final = frozenset({"onnx", "onnxruntime"})
"""What has to be installed for an export."""
_LIBRARIES: Final = ("torch", "transformers", "sentence-transformers", "tokenizers", "onnx", "onnxruntime")
_ROOM: Final = 3
"""How many times its size an export takes on the disk while it is made."""


class NotExportable(Exception):
    """The encoder cannot be had in this form; the text says why."""


def is_prepared(fingerprint: str) -> bool:
    """Return whether an encoder needs no export: it is in the cache, or was refused by the versions installed now.

    One that was made by another onnxruntime still answers where it can, and is made again when there is occasion.
    """
    settings = read_settings(fingerprint)
    if settings is None:
        return False
    versions = installed_versions()
    if settings.refused:
        return settings.versions == versions
    return settings.versions.get("onnxruntime") == versions.get("onnxruntime") and is_intact(settings)


def can_export(encoder: object) -> TypeGuard[SentenceTransformerEncoder]:
    """Return whether an encoder is of the kind that is exported, and what that takes is installed."""
    return isinstance(encoder, SentenceTransformerEncoder) and installed_versions().keys() >= NEEDED


def export(encoder: SentenceTransformerEncoder, identity: EncoderIdentity | None = None) -> None:
    """Put the exported form of an encoder on the CPU into the cache, in place of any that is there.

    `identity`: that of the exported form where it is another, of int8.

    Raises:
        NotExportable: it does not fit, or its vectors differ; that is remembered, by the versions of the libraries.
        OSError: the cache cannot be written, or has no room; nothing is remembered.
    """
    identity = identity or encoder.identity
    model, prompts = encoder.parts
    settings = ExportSettings(identity.fingerprint, identity.model, identity.dimension, identity.max_tokens,
                              prompts.documents, prompts.queries, versions=installed_versions())
    try:
        size = sum(weight.numel() * 4 for weight in model.parameters())
        if size > MOST_BYTES:
            raise NotExportable(f"its weights have {size / 1e9:.1f} GB")
        _check_room(size)
        with staged_export(identity.fingerprint) as folder:
            settings = _write(model, folder, settings, identity.precision)
            check(encoder, folder, settings, identity)
    except NotExportable as reason:
        remember_refusal(replace(settings, files={}, refused=str(reason)))
        raise
    for name in settings.files:  # the digests are remembered by place: the first question need not compute them
        with suppress(OSError):
            measured((folder_of(identity.fingerprint) or Path()) / name)


def check(encoder: SentenceTransformerEncoder, folder: Path, settings: ExportSettings, identity: EncoderIdentity
          ) -> None:
    """Check that the encoder in a folder gives the vectors and the lengths of the original.

    Raises:
        NotExportable: one of the trial texts, as document or as question, has a cosine below `MIN_COSINE`.
    """
    exported = open_exported(folder, settings, identity)
    if exported is None:
        raise NotExportable("onnxruntime cannot run it")
    texts = trial_texts(identity.max_tokens)
    try:
        found, expected = exported.encode_documents(texts), encoder.encode_documents(texts)
        pairs = [(found.vectors, expected.vectors)]
        if settings.documents != settings.queries:
            pairs.append((exported.encode_queries(texts), encoder.encode_queries(texts)))
        alone = [exported.encode_queries([text])[0] for text in texts[:4]]  # without padding, as questions come
    except (SemsearchError, RuntimeError, ValueError) as error:
        raise NotExportable(f"it fails on a trial text: {error}") from error
    pairs.append((np.array(alone), pairs[-1][1][:4]))
    cosines = np.concatenate([np.einsum("ij,ij->i", ours, theirs) for ours, theirs in pairs])
    if not cosines.min() >= MIN_COSINE[identity.precision]:
        raise NotExportable(f"its vectors differ from those of the original: cosine {cosines.min():.6f}")
    if not np.array_equal(found.token_counts, expected.token_counts):
        raise NotExportable("its tokenizer counts other tokens than the original")


def installed_versions() -> dict[str, str]:
    """Return the versions of the libraries that take part, by name; those that are not installed are left out."""
    found = {}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _write(model: SentenceTransformer, folder: Path, settings: ExportSettings, precision: str) -> ExportSettings:
    """Write all files of the export and return its settings with them."""
    tokenizer: Any = getattr(model.tokenizer, "backend_tokenizer", None)
    if tokenizer is None:
        raise NotExportable("it has no tokenizer of the library tokenizers")
    with silence():
        try:
            (folder / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")
            _write_graph(model, folder, precision)
        except OSError:
            raise
        except Exception as error:  # the exporter meets what it does not know in any way
            first_line = (str(error).strip().splitlines() or [""])[0]
            raise NotExportable(f"{type(error).__name__}: {first_line}") from error
    files = {path.name: measured(path) for path in sorted(folder.iterdir())}
    padding = model.tokenizer.pad_token_id
    settings = replace(settings, files=files, padding=int(padding or 0))
    write_settings(folder, settings)
    return settings


def _write_graph(model: SentenceTransformer, folder: Path, precision: str) -> None:
    """Write the whole model, from tokens to its vector, as an optimised graph with the weights in a file of their own.

    The weights are apart because onnxruntime then maps them into memory and reads what a question needs; within the
    graph all of them are copied at each start.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    import torch

    class FromTokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            return self.model({"input_ids": input_ids, "attention_mask": attention_mask})["sentence_embedding"]

    raw = folder / "raw.onnx"
    ids = torch.ones((2, 7), dtype=torch.int64)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    axes = {0: "texts", 1: "tokens"}
    with _plain_attention(model), torch.no_grad():
        # The exporter by tracing: it needs onnx alone, takes half the time of the newer one, and onnxruntime makes a
        # graph of it that is a third faster, as it knows attention again in it.
        torch.onnx.export(FromTokens().eval(), (ids, mask), str(raw), dynamo=False, opset_version=OPSET,
                          input_names=["input_ids", "attention_mask"], output_names=["vectors"],
                          dynamic_axes={"input_ids": axes, "attention_mask": axes, "vectors": {0: "texts"}})
    if precision == INT8:
        quantise(raw, folder / "int8.onnx")
        raw = (folder / "int8.onnx").replace(raw)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    # Extended and not all: what is left out depends on the processor.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / MODEL)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    onnxruntime.InferenceSession(str(raw), options, providers=["CPUExecutionProvider"])
    raw.unlink()


@contextmanager
def _plain_attention(model: SentenceTransformer) -> Iterator[None]:
    """Let a model compute attention step by step, which exporter and optimiser know, and then as before."""
    backbone: Any = getattr(model[0], "auto_model", None)
    before = getattr(getattr(backbone, "config", None), "_attn_implementation", None)
    if before is None or not hasattr(backbone, "set_attn_implementation"):
        yield
        return
    backbone.set_attn_implementation("eager")
    try:
        yield
    finally:
        backbone.set_attn_implementation(before)


def _check_room(size: int) -> None:
    cache = cache_folder() / ENCODERS
    cache.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(cache).free
    if free < _ROOM * size:
        raise OSError(f"{_ROOM * size / 1e6:,.0f} MB are needed under {cache}; {free / 1e6:,.0f} MB are free")

