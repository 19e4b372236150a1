"""Texts -> unit vectors, with onnxruntime and tokenizers: the encoder of short-lived processes.

Imports neither torch nor transformers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import INT8, EncodedTexts, EncoderIdentity, EncodingStopped, Vectors, unit_rows
from semsearch.errors import ModelUnusable
from semsearch.exported.store import MODEL, TOKENIZER, ExportSettings, folder_of, is_intact, read_settings
from semsearch.model_loading import encodable

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

BATCH_TOKENS: Final = 512
"""Tokens that are encoded together, padding included. Measured: sentences and abstracts alike fit the caches of a CPU
so; batches four times as long take half as much time again."""
_BATCH_TEXTS: Final = 64
_MOST_THREADS: Final = 8
_ERRORS_ONLY: Final = 3


class ExportedEncoder:
    """An `Encoder` made of an exported model. Made by `load_exported`."""

    def __init__(self, session: Any, tokenizer: Tokenizer, settings: ExportSettings, identity: EncoderIdentity) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._settings = settings
        self._identity = identity
        self._batch_tokens = 1 if identity.precision == INT8 else BATCH_TOKENS  # 1: each text by itself
        self._tokenizing = threading.Lock()

    @property
    def identity(self) -> EncoderIdentity:
        """What decides this encoder's vectors."""
        return self._identity

    @property
    def device(self) -> str:
        """Where it runs, as torch spells it."""
        return "cpu"

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors of documents, in their order, and their lengths in tokens before they were cut.

        The lengths count special tokens and the model's prompt. Raises EncodingFailed, with the beginning of the
        text, where one comes out as something that is no unit vector.
        """
        readable = encodable(texts)
        tokenized, lengths = self._tokenize([self._settings.documents + text for text in readable], counted=True)
        return EncodedTexts(self._vectors(tokenized, readable), lengths)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the `(n, d)` float32 unit vectors of questions, in their order.

        Raises EncodingFailed as `encode_documents` does.
        """
        readable = encodable(texts)
        tokenized, _ = self._tokenize([self._settings.queries + text for text in readable], counted=False)
        return self._vectors(tokenized, readable)

    def stoppable(self) -> StoppableSession:
        """Return an encoder of the same session and tokenizer that another thread can stop."""
        return StoppableSession(self)

    def _tokenize(self, texts: list[str], *, counted: bool) -> tuple[list[list[int]], NDArray[np.int32]]:
        """Return the tokens of texts, cut at the limit, and, where `counted`, how many there were before."""
        limit = self._identity.max_tokens
        with self._tokenizing:  # the limit belongs to the tokenizer, and is taken away to count
            tokens = [encoded.ids for encoded in self._encode(texts)]
            lengths = np.array([len(ids) for ids in tokens], np.int32)
            reached = np.flatnonzero(lengths >= limit) if counted else ()
            if len(reached):
                self._tokenizer.no_truncation()
                try:
                    whole = self._encode([texts[row] for row in reached])
                    lengths[reached] = [len(encoded.ids) for encoded in whole]
                finally:
                    self._tokenizer.enable_truncation(limit)
        return tokens, lengths

    def _encode(self, texts: list[str]) -> list[Encoding]:
        # One text by itself: a batch of one would start the threads of the tokenizer.
        return [self._tokenizer.encode(texts[0])] if len(texts) == 1 else self._tokenizer.encode_batch_fast(texts)

    def _vectors(self, tokens: list[list[int]], texts: list[str]) -> Vectors:
        vectors = np.zeros((len(tokens), self._identity.dimension), np.float32)
        for rows in _batches([len(ids) for ids in tokens], self._batch_tokens):
            longest = len(tokens[rows[0]])
            ids = np.full((len(rows), longest), self._settings.padding, np.int64)
            mask = np.zeros((len(rows), longest), np.int64)
            for place, row in enumerate(rows):
                ids[place, :len(tokens[row])] = tokens[row]
                mask[place, :len(tokens[row])] = 1
            [found] = self._run({"input_ids": ids, "attention_mask": mask})
            if found.ndim != 2 or found.shape[1] < self._identity.dimension:
                raise ModelUnusable(f"The exported model gives {found.shape} numbers for {len(rows)} texts.")
            vectors[rows] = _unit(found[:, :self._identity.dimension])
        return unit_rows(vectors, texts)

    def _run(self, feed: dict[str, NDArray[np.int64]]) -> Any:
        """Return what the graph gives for a batch."""
        return self._session.run(None, feed)


class StoppableSession(ExportedEncoder):
    """An `ExportedEncoder` that ends between two operations of its graph when it is told to, for good."""

    def __init__(self, of: ExportedEncoder) -> None:
        """Share what there is of another."""
        import onnxruntime

        super().__init__(of._session, of._tokenizer, of._settings, of._identity)
        self._batch_tokens, self._tokenizing = of._batch_tokens, of._tokenizing
        self._running = onnxruntime.RunOptions()

    def stop(self) -> None:
        """Let what is being encoded, and all that comes after, fail at once with `EncodingStopped`."""
        self._running.terminate = True

    def _run(self, feed: dict[str, NDArray[np.int64]]) -> Any:
        try:
            return self._session.run(None, feed, self._running)
        except Exception as error:  # of a kind that onnxruntime does not document
            if self._running.terminate:
                raise EncodingStopped from error
            raise


def load_exported(identity: EncoderIdentity) -> ExportedEncoder | None:
    """Return the exported encoder of this fingerprint from the cache; None where there is none that works."""
    settings = read_settings(identity.fingerprint)
    folder = folder_of(identity.fingerprint)
    if (settings is None or folder is None or settings.refused
            or (settings.dimension, settings.max_tokens) != (identity.dimension, identity.max_tokens)):
        return None
    return open_exported(folder, settings, identity) if is_intact(settings) else None


def open_exported(folder: Path, settings: ExportSettings, identity: EncoderIdentity) -> ExportedEncoder | None:
    """Return the exported encoder that lies in a folder; None where it cannot be run here."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import onnxruntime

        onnxruntime.disable_telemetry_events()

        tokenizer = open_tokenizer(folder, identity.max_tokens)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS_ONLY
        options.intra_op_num_threads = _threads()
        # The graph was optimised when it was exported. Its weights are mapped from their file, and stay there: laid
        # out anew in memory they would make long batches a twentieth faster, and every start six times slower.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
    except Exception:  # not installed, made by another version, damaged: whatever it is, there is another way to encode
        return None
    return ExportedEncoder(session, tokenizer, settings, identity)


def open_tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """Return the tokenizer of the exported encoder in a folder, set to cut texts at `max_tokens`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _threads() -> int:
    """Return how many threads to compute with: the cores that this process may use, within reason."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MOST_THREADS)


def _batches(lengths: Sequence[int], budget: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Yield rows by their lengths in tokens, the longest first, as many together as the budget of tokens allows."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        together = min(_BATCH_TEXTS, max(1, budget // max(1, lengths[order[start]])))
        yield order[start:start + together]
        start += together


def _unit(vectors: NDArray[Any]) -> Vectors:
    """Return rows scaled to norm 1; rows of zeros, and those that are not finite, stay wrong and are told later."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(vectors / norms, np.float32)
