"""What loading and running any model takes, whatever it computes: devices, silence, offline, texts that can be read.

Importing this module costs nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final

from semsearch.errors import UsageError

_LIBRARIES: Final = ("transformers", "sentence_transformers", "huggingface_hub")
_ONE_THREAD: Final = threading.RLock()
_DEVICE: Final = re.compile(r"^(auto|cpu|cuda(:\d+)?|mps(:0)?)$")
_UNTRAINED_WEIGHT: Final = re.compile(r"^(\S.*?)\s*\|\s*(?:\x1b\[\d+m)?MISSING", re.MULTILINE)


def check_device(asked: str) -> None:
    """Check that a device is spelt as one.

    Raises:
        UsageError: it is not.
    """
    if not _DEVICE.match(asked):
        raise UsageError(f"{asked!r} is no device.", "Give auto, cpu, cuda, cuda:N or mps.")


def set_environment() -> None:
    """Set what the model libraries read from the environment: no telemetry, no tokenizers that fork."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"


def encodable(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list, lone surrogates (bytes that were no UTF-8) replaced, which no tokenizer takes."""
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of strings, not one string")
    return [text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8") for text in texts]


def untrained_weights(warned: Sequence[str]) -> list[str]:
    """Return the names of weights that, by these warnings, were not in a model's files and were made up at random."""
    return [name for text in warned for name in _UNTRAINED_WEIGHT.findall(text)]


@contextlib.contextmanager
def hub_offline(*, unless: bool) -> Iterator[None]:
    """Make huggingface_hub refuse every request, whatever a library does on the way to files that are here already."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not unless
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


class _Recorder(logging.Handler):
    """Keeps the text of warnings and shows nothing."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextlib.contextmanager
def silence() -> Iterator[list[str]]:
    """Keep the warnings and progress bars of the model libraries off stderr; yield what they warned of.

    One thread at a time: it changes what belongs to the whole process, and tokenizers are not to be shared either.
    """
    with _ONE_THREAD, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bars: Any = importlib.import_module("transformers.utils.logging")
        recorder = _Recorder()
        loggers = [logging.getLogger(name) for name in _LIBRARIES]
        before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
        had_bars = bars.is_progress_bar_enabled()
        bars.disable_progress_bar()
        for logger in loggers:
            logger.handlers[:] = [recorder]
            logger.propagate = False
            logger.setLevel(logging.WARNING)
        try:
            yield recorder.texts
        finally:
            for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
                logger.handlers[:] = handlers
                logger.propagate = propagate
                logger.setLevel(level)
            if had_bars:
                bars.enable_progress_bar()
