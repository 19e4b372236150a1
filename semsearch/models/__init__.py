"""From the name of a model to a folder on this machine, and to what decides its vectors.

Imports neither torch nor sentence_transformers, so that an index can be checked against a model in milliseconds.
"""

from semsearch.models.cache import cache_folder
from semsearch.models.cross_encoder import refuse_foreign_activation
from semsearch.models.fingerprint import identify
from semsearch.models.layout import MIN_TOKENS, Prompts, needs_another_repository, read_prompts, refuse_foreign_code
from semsearch.models.resolve import CROSS_ENCODER, LocalModel, resolve_model

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
