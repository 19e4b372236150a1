"""From the name of a model to a folder on this machine, and to what decides its vectors.

Imports neither torch nor sentence_transformers, so that an index can be checked against a model in milliseconds. Names
are imported when they are first used: a question that an exported encoder answers needs none of them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semsearch.models.cache import cache_folder
    from semsearch.models.cross_encoder import refuse_foreign_activation
    from semsearch.models.fingerprint import identify
    from semsearch.models.layout import MIN_TOKENS, Prompts, needs_another_repository, read_prompts, refuse_foreign_code
    from semsearch.models.resolve import CROSS_ENCODER, LocalModel, resolve_model

_HOME = {
    "CROSS_ENCODER": "resolve", "LocalModel": "resolve", "MIN_TOKENS": "layout", "Prompts": "layout",
    "cache_folder": "cache", "identify": "fingerprint", "needs_another_repository": "layout", "read_prompts": "layout",
    "refuse_foreign_activation": "cross_encoder", "refuse_foreign_code": "layout", "resolve_model": "resolve",
}

__all__ = [
    "CROSS_ENCODER",
    "MIN_TOKENS",
    "LocalModel",
    "Prompts",
    "cache_folder",
    "identify",
    "needs_another_repository",
    "read_prompts",
    "refuse_foreign_activation",
    "refuse_foreign_code",
    "resolve_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'semsearch.models' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"semsearch.models.{_HOME[name]}"), name)
