"""The exported encoder for many documents: several threads at once, weights laid out for long batches, can be stopped.

The matrix products of onnxruntime use all that the processor has; those of torch do so on processors of one maker only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.calibration import Setting, candidates, usable_cores
from semsearch.encoding import INT8, EncoderIdentity
from semsearch.exported.session import ExportedEncoder, open_tokenizer
from semsearch.exported.store import MODEL, ExportSettings, folder_of, is_intact, read_settings

_ERRORS_ONLY: Final = 3


class DocumentEncoder(ExportedEncoder):
    """An `ExportedEncoder` that several threads may ask at once. Made by `load_document_encoder`."""

    def __init__(self, folder: Path, settings: ExportSettings, identity: EncoderIdentity) -> None:
        self._folder = folder
        self._sessions: dict[int, Any] = {}
        self._settled: tuple[Setting, ...] = ()
        super().__init__(None, open_tokenizer(folder, identity.max_tokens), settings, identity)
        self.tune(self.settings[0])

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that are worth a trial here; the first is the one to take without."""
        if self._settled:
            return self._settled
        found = candidates(usable_cores())
        if self._identity.precision == INT8:  # each text by itself
            return tuple(dict.fromkeys(replace(setting, batch_tokens=1) for setting in found))
        return found

    def tune(self, setting: Setting) -> None:
        """Work by a setting from now on; not while texts are being encoded."""
        import onnxruntime

        onnxruntime.disable_telemetry_events()

        if setting.threads not in self._sessions:
            self._sessions[setting.threads] = _open_session(self._folder / MODEL, setting.threads)
        self._session = self._sessions[setting.threads]
        self._setting = setting
        if self._identity.precision != INT8:
            self._batch_tokens = setting.batch_tokens
        self._running = onnxruntime.RunOptions()

    def settle(self) -> None:
        """Keep to the setting of now: it is the only one from now on, and the memory of all others is given back."""
        self._settled = (self._setting,)
        self._sessions = {threads: session for threads, session in self._sessions.items() if session is self._session}

    def stop(self) -> None:
        """Let what is being encoded by other threads fail at once; `tune` makes the encoder work again."""
        self._running.terminate = True

    def _run(self, feed: dict[str, NDArray[np.int64]]) -> Any:
        return self._session.run(None, feed, self._running)


def load_document_encoder(identity: EncoderIdentity) -> DocumentEncoder | None:
    """Return the exported encoder of this fingerprint for many documents; None where the cache has none that works."""
    settings = read_settings(identity.fingerprint)
    folder = folder_of(identity.fingerprint)
    if (settings is None or folder is None or settings.refused or not is_intact(settings)
            or (settings.dimension, settings.max_tokens) != (identity.dimension, identity.max_tokens)):
        return None
    try:
        return DocumentEncoder(folder, settings, identity)
    except Exception:  # as for questions: whatever it is, there is another way to encode
        return None


def _open_session(model: Path, threads: int) -> Any:
    import onnxruntime

    onnxruntime.disable_telemetry_events()

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = threads
    # The graph was optimised when it was exported.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
